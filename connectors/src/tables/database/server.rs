//! The server: sessions that can only read, and attempts after a lost connection.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lethe_core::Backoff;
use lethe_postgres::Settings;
use lethe_postgres::tokio_postgres::{Client, Error, IsolationLevel, Transaction};
use tokio::runtime::Handle;

use super::error::Failure;
use super::plan::pass;
use super::prepare::{Prepared, prepare};
use super::{DatabaseConfig, rows};
use crate::tables::{Shape, Slabs, TableColumns, TableError, TablesConfig, Unit};

/// Attempts to reach the server, over about half a minute.
const ATTEMPTS: u32 = 8;
/// The time limit of a connection with its login, and of small statements.
const SHORT: Duration = Duration::from_secs(60);

/// Settings of a transaction, so that values have one form whatever the server's or the user's settings are.
const FORMS: &str = "SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL TimeZone = 'UTC'; \
                     SET LOCAL DateStyle = 'ISO, MDY'; SET LOCAL IntervalStyle = 'postgres'; \
                     SET LOCAL extra_float_digits = 3; SET LOCAL bytea_output = 'hex'";

/// A query of a server.
pub(in crate::tables) struct Database {
    server: Arc<Server>,
    runtime: Handle,
    prepared: OnceLock<Arc<Prepared>>,
}

/// The server, and what to read from it.
pub(super) struct Server {
    settings: Settings,
    pub(super) config: DatabaseConfig,
    pub(super) columns: TableColumns,
    pub(super) unit_bytes: u64,
    /// The database, for errors.
    pub(super) place: String,
}

impl Database {
    /// Opens a query without connecting.
    pub(in crate::tables) fn open(
        tables: &TablesConfig,
        config: &DatabaseConfig,
        runtime: Handle,
    ) -> Result<Self, TableError> {
        let server = Server::new(config, tables.columns.clone(), tables.unit_bytes.max(1))?;
        Ok(Self {
            server: Arc::new(server),
            runtime,
            prepared: OnceLock::new(),
        })
    }

    /// Connects once, prepares the query, checks it against the configuration, and returns the names of its
    /// columns.
    pub(in crate::tables) fn check(&self) -> Result<BTreeSet<String>, TableError> {
        Ok(self.prepared(1)?.names.clone())
    }

    fn prepared(&self, attempts: u32) -> Result<Arc<Prepared>, TableError> {
        if let Some(prepared) = self.prepared.get() {
            return Ok(Arc::clone(prepared));
        }
        let server = Arc::clone(&self.server);
        let prepared = self.runtime.block_on(async {
            let mut backoff = backoff().attempts(attempts);
            loop {
                match prepare(&server).await {
                    Ok(prepared) => return Ok::<_, TableError>(Arc::new(prepared)),
                    Err(failure) => server.again(failure, &mut backoff).await?,
                }
            }
        })?;
        Ok(Arc::clone(self.prepared.get_or_init(|| prepared)))
    }

    /// Reads the keys and digests of all rows, and returns the units.
    pub(in crate::tables) fn units(&self) -> Result<Vec<Unit>, TableError> {
        let prepared = self.prepared(ATTEMPTS)?;
        self.runtime.block_on(async {
            let mut backoff = backoff();
            loop {
                match pass(&self.server, &prepared).await {
                    Ok(units) => return Ok(units),
                    Err(failure) => self.server.again(failure, &mut backoff).await?,
                }
            }
        })
    }

    /// Returns the shape of the rows, and a unit's rows from `from`.
    pub(in crate::tables) fn read(&self, unit: &Unit, from: u64) -> Result<(Shape, Slabs), TableError> {
        let prepared = self.prepared(ATTEMPTS)?;
        let shape = prepared.shape.clone();
        let slabs = rows::read(&self.server, prepared, &self.runtime, unit, from);
        Ok((shape, slabs))
    }
}

/// Returns the pauses between attempts.
pub(super) fn backoff() -> Backoff {
    Backoff::new("database").attempts(ATTEMPTS)
}

impl Server {
    pub(super) fn new(
        config: &DatabaseConfig,
        columns: TableColumns,
        unit_bytes: u64,
    ) -> Result<Self, TableError> {
        let password = config.password.as_ref().map(|password| password.expose());
        let settings = Settings::parse(config.connection.expose(), password);
        let settings = settings.map_err(|error| TableError::Setting {
            key: "database.connection".to_owned(),
            problem: error.to_string(),
        })?;
        Ok(Self {
            place: settings.place(),
            settings,
            config: config.clone(),
            columns,
            unit_bytes,
        })
    }

    /// The time limit of a statement as the client measures it: the server's own limit comes first.
    pub(super) fn limit(&self) -> Duration {
        Duration::from_secs(self.config.statement_timeout_seconds).saturating_add(SHORT)
    }

    /// Connects.
    pub(super) async fn client(&self) -> Result<Client, Failure> {
        within("connecting", SHORT, self.settings.connect()).await
    }

    /// Begins a transaction that can only read, and that sees one state of the database.
    pub(super) async fn begin<'c>(&self, client: &'c mut Client) -> Result<Transaction<'c>, Failure> {
        let milliseconds = self.config.statement_timeout_seconds.saturating_mul(1000);
        let settings = format!(
            "{FORMS}; SET LOCAL statement_timeout = {}",
            milliseconds.min(i32::MAX as u64)
        );
        let begin = async {
            let transaction = client
                .build_transaction()
                .isolation_level(IsolationLevel::RepeatableRead)
                .read_only(true)
                .start()
                .await?;
            transaction.batch_execute(&settings).await?;
            Ok(transaction)
        };
        within("beginning a read-only transaction", SHORT, begin).await
    }

    /// Waits before another attempt.
    ///
    /// # Errors
    /// The failure, if another attempt cannot help or this one was the last.
    pub(super) async fn again(&self, failure: Failure, backoff: &mut Backoff) -> Result<(), TableError> {
        let pause = failure.is_temporary().then(|| backoff.pause()).flatten();
        let error = failure.at(&self.place);
        let Some(pause) = pause else {
            return Err(error);
        };
        tracing::warn!("{error}; trying again in {} ms", pause.as_millis());
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

/// Waits for the server, with a time limit.
pub(super) async fn within<T>(
    doing: &'static str,
    limit: Duration,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Failure> {
    match tokio::time::timeout(limit, work).await {
        Ok(done) => done.map_err(Failure::server(doing)),
        Err(_) => Err(Failure::Late { doing }),
    }
}
