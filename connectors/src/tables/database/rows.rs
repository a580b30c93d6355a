//! Reads the rows of a unit, and continues after a lost connection with the next row.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use lethe_core::QuarantineCode;
use lethe_postgres::tokio_postgres::types::ToSql;
use lethe_postgres::tokio_postgres::{Row, Statement, Transaction};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Sender, channel};

use super::Keys;
use super::error::Failure;
use super::plan::FETCHED;
use super::prepare::Prepared;
use super::server::{Server, backoff, within};
use super::types::{Builder, Kind, Raw};
use crate::tables::{SLAB_BYTES, SLAB_ROWS, Slab, Slabs, TableError, Unit};

const DOING: &str = "reading rows";

/// The next rows, or the end.
type Step = Result<Option<Slab>, TableError>;

/// Returns the rows of a unit from `from` on. A task of the runtime reads one slab ahead.
pub(super) fn read(
    server: &Arc<Server>,
    prepared: Arc<Prepared>,
    runtime: &Handle,
    unit: &Unit,
    from: u64,
) -> Slabs {
    let (to, mut steps) = channel(1);
    let place = server.place.clone();
    let groups = unit.groups.clone().unwrap_or_default();
    let average = unit.bytes / (groups.len() as u64).max(1);
    if let Some(keys) = unit.keys.clone() {
        let reader = Reader {
            server: Arc::clone(server),
            prepared,
            keys,
            first: groups.start as u64,
            rows: groups.len() as u64,
            // The same for the whole unit, so that reading it again returns the same slabs.
            fetched: (SLAB_BYTES as u64 / average.max(1)).clamp(1, SLAB_ROWS as u64) as i32,
            done: from,
        };
        runtime.spawn(reader.run(to));
    }
    let mut ended = false;
    Box::new(std::iter::from_fn(move || {
        if ended {
            return None;
        }
        // A channel without an end is no end: the task died.
        let step: Step = steps.blocking_recv().unwrap_or_else(|| {
            Err(TableError::Database {
                place: place.clone(),
                problem: "reading rows ended early; run again".to_owned(),
            })
        });
        ended = !matches!(step, Ok(Some(_)));
        step.transpose()
    }))
}

struct Reader {
    server: Arc<Server>,
    prepared: Arc<Prepared>,
    keys: Arc<Keys>,
    /// The number of the unit's first row in the result, and of its rows.
    first: u64,
    rows: u64,
    /// Rows of a slab.
    fetched: i32,
    /// Rows of the unit that were passed on.
    done: u64,
}

impl Reader {
    async fn run(mut self, to: Sender<Step>) {
        let mut backoff = backoff();
        loop {
            let before = self.done;
            let end = match self.attempt(&to).await {
                Ok(()) => Ok(None),
                Err(failure) => {
                    if self.done > before {
                        backoff = self::backoff();
                    }
                    match self.server.again(failure, &mut backoff).await {
                        Ok(()) => continue,
                        // The first pass read the same rows under the same configuration.
                        Err(TableError::Setting { problem, .. }) => Err(TableError::Database {
                            place: self.server.place.clone(),
                            problem,
                        }),
                        Err(error) => Err(error),
                    }
                }
            };
            // Nobody waits for rows after an error elsewhere.
            drop(to.send(end).await);
            return;
        }
    }

    /// Reads the rows that are not passed on yet, in one transaction.
    async fn attempt(&mut self, to: &Sender<Step>) -> Result<(), Failure> {
        let server = Arc::clone(&self.server);
        let prepared = Arc::clone(&self.prepared);
        let keys = Arc::clone(&self.keys);
        let mut client = server.client().await?;
        let transaction = server.begin(&mut client).await?;
        // The rows that this transaction sees are those of the first pass.
        if self.digest(&transaction).await? != keys.digest {
            return Err(self.changed());
        }
        let (sql, parameters) = prepared.rows(&keys, self.done);
        let statement = within(DOING, server.limit(), transaction.prepare(&sql)).await?;
        if !self.has_kinds(&statement) {
            return Err(self.changed());
        }
        let parameters: Vec<&(dyn ToSql + Sync)> = parameters
            .iter()
            .map(|bound| bound as &(dyn ToSql + Sync))
            .collect();
        let portal = within(DOING, server.limit(), transaction.bind(&statement, &parameters)).await?;
        while self.done < self.rows {
            let fetch = transaction.query_portal(&portal, self.fetched);
            let rows = within(DOING, server.limit(), fetch).await?;
            if rows.is_empty() {
                return Err(self.changed());
            }
            let slab = self.slab(&rows)?;
            self.done += rows.len() as u64;
            if to.send(Ok(Some(slab))).await.is_err() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns the digest of the unit's rows as this transaction sees them.
    async fn digest(&self, transaction: &Transaction<'_>) -> Result<[u8; 32], Failure> {
        let doing = "comparing the digest of rows";
        let limit = self.server.limit();
        let (sql, parameters) = self.prepared.digests(&self.keys);
        let parameters: Vec<&(dyn ToSql + Sync)> = parameters
            .iter()
            .map(|bound| bound as &(dyn ToSql + Sync))
            .collect();
        let statement = within(doing, limit, transaction.prepare(&sql)).await?;
        let portal = within(doing, limit, transaction.bind(&statement, &parameters)).await?;
        let mut digest = Sha256::new();
        loop {
            let rows = within(doing, limit, transaction.query_portal(&portal, FETCHED)).await?;
            for row in &rows {
                let one: &[u8] = row.try_get(0).map_err(Failure::server(doing))?;
                digest.update(one);
            }
            if rows.len() < FETCHED as usize {
                return Ok(digest.finalize().into());
            }
        }
    }

    /// Returns whether the columns still have the types that were prepared.
    fn has_kinds(&self, statement: &Statement) -> bool {
        let now = statement.columns().iter().map(|column| Kind::of(column.type_()));
        let due = self.prepared.kinds.iter().map(|kind| match kind {
            Kind::Cast => Some(Kind::Text),
            other => Some(*other),
        });
        now.eq(due)
    }

    fn changed(&self) -> Failure {
        let rows = self.first..self.first + self.rows;
        Failure::Table(TableError::Database {
            place: self.server.place.clone(),
            problem: format!(
                "rows {} to {} of the query changed since Lethe began to read them; run again when nothing changes them, or limit the query to rows that no longer change",
                rows.start, rows.end
            ),
        })
    }

    fn slab(&self, rows: &[Row]) -> Result<Slab, Failure> {
        let Prepared { kinds, schema, .. } = &*self.prepared;
        let (record, bad) = batch(rows, kinds, schema, &self.server.place)?;
        Ok(Slab {
            first: i64::try_from(self.first + self.done).unwrap_or(i64::MAX),
            record,
            bad,
            share: (self.done + rows.len() as u64) as f64 / self.rows.max(1) as f64,
        })
    }
}

/// Returns rows as a batch, and those with a value that Arrow cannot hold.
pub(super) fn batch(
    rows: &[Row],
    kinds: &[Kind],
    schema: &Arc<Schema>,
    place: &str,
) -> Result<(RecordBatch, Vec<(usize, QuarantineCode)>), Failure> {
    let mut builders: Vec<Builder> = kinds.iter().map(|kind| Builder::new(*kind)).collect();
    let mut bad = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let mut wrong = None;
        for (at, builder) in builders.iter_mut().enumerate() {
            let value: Option<Raw<'_>> = row.try_get(at).map_err(Failure::server(DOING))?;
            if let Err(code) = builder.push(value) {
                wrong.get_or_insert(code);
            }
        }
        bad.extend(wrong.map(|code| (number, code)));
    }
    let columns = builders.iter_mut().map(Builder::finish).collect();
    let record = RecordBatch::try_new(Arc::clone(schema), columns).map_err(|_| TableError::Database {
        place: place.to_owned(),
        problem: "rows of the query cannot be put into a batch".to_owned(),
    })?;
    Ok((record, bad))
}
