//! The server of a vault: connections, their statements, TLS, and the meaning of each of its errors.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

pub(super) use lethe_postgres::is_lost;
use lethe_postgres::tokio_postgres::config::{SslMode, TargetSessionAttrs};
use lethe_postgres::tokio_postgres::error::SqlState;
use lethe_postgres::tokio_postgres::{self, Client, Config, Statement};
use lethe_postgres::{MakeTlsConnector, Verify, connect, is_temporary, message};

use super::super::cipher::{Cipher, FORM, Hash};
use super::super::{Code, VaultError};
use super::PostgresTls;
use crate::keys::Keyring;

/// The lock lets only one of several first users create the tables: `IF NOT EXISTS` alone can fail when two
/// run at once.
const SCHEMA: &str = "
    BEGIN;
    SELECT pg_advisory_xact_lock(465675941718);
    CREATE TABLE IF NOT EXISTS lethe_vault_key (
        one boolean PRIMARY KEY CHECK (one), form integer NOT NULL, key text NOT NULL, key_check bytea NOT NULL);
    CREATE TABLE IF NOT EXISTS lethe_vault (
        hash bytea PRIMARY KEY, code bigint NOT NULL UNIQUE, sealed bytea NOT NULL);
    COMMIT;
";

/// Idle connections that are kept for later calls.
const IDLE: usize = 16;

/// A server and its idle connections.
pub(super) struct Server {
    config: Config,
    tls: Option<MakeTlsConnector>,
    pub(super) limit: Duration,
    idle: Mutex<Vec<Session>>,
}

impl Server {
    /// Creates the settings of a server, without connecting.
    pub(super) fn new(connection: &str, tls: &PostgresTls, limit: Duration) -> Result<Self, VaultError> {
        // The parser's message can quote the string, which contains the password.
        let mut config = Config::from_str(connection).map_err(|_| VaultError::Refused {
            reason: "the connection string is not a valid PostgreSQL connection string".to_owned(),
        })?;
        let encrypted = *tls != PostgresTls::Off;
        config
            .ssl_mode(if encrypted {
                SslMode::Require
            } else {
                SslMode::Disable
            })
            .target_session_attrs(TargetSessionAttrs::ReadWrite)
            .connect_timeout(limit);
        if config.get_application_name().is_none() {
            config.application_name("lethe");
        }
        Ok(Self {
            config,
            tls: encrypted.then(|| connector(tls)).transpose()?,
            limit,
            idle: Mutex::default(),
        })
    }

    /// Returns the database, without user and password.
    pub(super) fn place(&self) -> String {
        format!(
            "the database {}",
            self.config.get_dbname().unwrap_or("of the user's name")
        )
    }

    pub(super) fn take(&self) -> Option<Session> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        std::iter::from_fn(|| idle.pop()).find(|session| !session.client.is_closed())
    }

    pub(super) fn give(&self, session: Session) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE {
            idle.push(session);
        }
    }

    async fn connect(&self) -> Result<Client, tokio_postgres::Error> {
        let client = connect(&self.config, self.tls.as_ref()).await?;
        // A server may be configured to respond before a commit is on its disk; codes need it on the disk.
        client
            .batch_execute(
                "SELECT set_config('synchronous_commit', 'on', false)
                 WHERE current_setting('synchronous_commit') = 'off'",
            )
            .await?;
        Ok(client)
    }

    pub(super) async fn session(&self) -> Result<Session, VaultError> {
        let prepare = async {
            let client = self.connect().await?;
            Session::new(client).await
        };
        prepare.await.map_err(|error| told(&error))
    }

    /// Returns the cipher of the key that the vault belongs to.
    pub(super) async fn owner(&self, keyring: &Keyring, create: bool) -> Result<Cipher, VaultError> {
        let read = async {
            let client = self.connect().await?;
            let there = "SELECT to_regclass('lethe_vault_key') IS NOT NULL";
            if create {
                if !client.query_one(there, &[]).await?.try_get::<_, bool>(0)? {
                    client.batch_execute(SCHEMA).await?;
                }
                let cipher = Cipher::new(keyring.current());
                let insert = "INSERT INTO lethe_vault_key VALUES (true, $1, $2, $3) ON CONFLICT DO NOTHING";
                client
                    .execute(insert, &[&FORM, &cipher.id(), &cipher.check().as_slice()])
                    .await?;
            } else if !client.query_one(there, &[]).await?.try_get::<_, bool>(0)? {
                return Ok(None);
            }
            let row = client
                .query_opt("SELECT form, key, key_check FROM lethe_vault_key", &[])
                .await?;
            row.map(|row| Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?)))
                .transpose()
        };
        let row: Option<(i32, String, Vec<u8>)> = read.await.map_err(|error| told(&error))?;
        let (form, id, check) = row.ok_or_else(|| VaultError::Missing { place: self.place() })?;
        Cipher::of_vault(keyring, form, &id, &check)
    }
}

/// A connection and its statements, prepared once.
pub(super) struct Session {
    client: Client,
    look_up: Statement,
    insert: Statement,
    value: Statement,
}

impl Session {
    async fn new(client: Client) -> Result<Self, tokio_postgres::Error> {
        Ok(Self {
            look_up: client
                .prepare("SELECT hash, code FROM lethe_vault WHERE hash = ANY($1)")
                .await?,
            insert: client
                .prepare(
                    "INSERT INTO lethe_vault SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bytea[])
                     ON CONFLICT DO NOTHING",
                )
                .await?,
            value: client
                .prepare("SELECT sealed FROM lethe_vault WHERE code = $1")
                .await?,
            client,
        })
    }

    pub(super) async fn look_up(
        &self,
        hashes: &[Hash],
    ) -> Result<BTreeMap<Hash, Code>, tokio_postgres::Error> {
        let asked: Vec<&[u8]> = hashes.iter().map(Hash::as_slice).collect();
        let mut found = BTreeMap::new();
        for row in self.client.query(&self.look_up, &[&asked]).await? {
            let (hash, number): (&[u8], i64) = (row.try_get(0)?, row.try_get(1)?);
            // An invalid row is not from Lethe, and counts as missing.
            if let (Ok(hash), Some(code)) = (hash.try_into(), Code::from_number(number)) {
                found.insert(hash, code);
            }
        }
        Ok(found)
    }

    pub(super) async fn value(&self, code: Code) -> Result<Option<Vec<u8>>, tokio_postgres::Error> {
        let row = self.client.query_opt(&self.value, &[&code.number()]).await?;
        row.map(|row| row.try_get(0)).transpose()
    }

    /// Returns entries after a code: code and sealed value, by code.
    pub(super) async fn page(
        &self,
        after: Option<Code>,
        limit: u32,
    ) -> Result<Vec<(i64, Vec<u8>)>, tokio_postgres::Error> {
        let sql = "SELECT code, sealed FROM lethe_vault WHERE code > $1 ORDER BY code LIMIT $2";
        let after = after.map_or(-1, Code::number);
        let rows = self.client.query(sql, &[&after, &i64::from(limit)]).await?;
        let rows = rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
        rows.collect()
    }

    /// Removes codes, and returns how many existed.
    pub(super) async fn remove(&self, codes: &[Code]) -> Result<u64, tokio_postgres::Error> {
        let codes: Vec<i64> = codes.iter().map(|code| code.number()).collect();
        let sql = "DELETE FROM lethe_vault WHERE code = ANY($1)";
        self.client.execute(sql, &[&codes]).await
    }

    pub(super) async fn insert(
        &self,
        hashes: &[Hash],
        codes: &[Code],
        sealed: &[Vec<u8>],
    ) -> Result<(), tokio_postgres::Error> {
        let hashes: Vec<&[u8]> = hashes.iter().map(Hash::as_slice).collect();
        let codes: Vec<i64> = codes.iter().map(|code| code.number()).collect();
        self.client
            .execute(&self.insert, &[&hashes, &codes, &sealed])
            .await?;
        Ok(())
    }
}

fn connector(tls: &PostgresTls) -> Result<MakeTlsConnector, VaultError> {
    let authority = match tls {
        PostgresTls::Authority(file) => Some(file.as_path()),
        PostgresTls::System | PostgresTls::Off => None,
    };
    lethe_postgres::connector(authority, Verify::Full).map_err(|error| VaultError::Refused {
        reason: format!("TLS cannot be set up: {error}"),
    })
}

pub(super) async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, VaultError>>,
) -> Result<T, VaultError> {
    match tokio::time::timeout(limit, work).await {
        Ok(done) => done,
        Err(_) => Err(VaultError::Unavailable {
            reason: format!("the server did not respond within {} ms", limit.as_millis()),
        }),
    }
}

/// Maps a server's error to a vault's. Messages come from the server and mention its tables, users and
/// settings; no row of the vault holds text.
pub(super) fn told(error: &tokio_postgres::Error) -> VaultError {
    let reason = message(error);
    // A server that has become a standby is left for the next one, too.
    let is_standby = error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION);
    if is_temporary(error) || is_standby {
        VaultError::Unavailable { reason }
    } else {
        VaultError::Refused { reason }
    }
}
