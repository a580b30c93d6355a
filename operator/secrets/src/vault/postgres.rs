//! The vault for several machines: two tables in a PostgreSQL database (10 or later, tested with 15).
//!
//! A batch of new codes is one `INSERT .. ON CONFLICT DO NOTHING`, which waits for a process that inserts the
//! same value and then keeps that process' row, followed by a `SELECT` that sees the winner's. Rows are
//! inserted in the order of their hashes, so that two batches cannot deadlock. A standby is never queried: it
//! may not have the newest codes.
//!
//! Every call has a deadline, also against a server that accepts connections and does not respond. The client
//! runs on a runtime of the vault's own, so calls must come from ordinary threads, not from asynchronous code
//! (which a vault would block anyway, since it waits for a disk).

mod server;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use lethe_postgres::tokio_postgres;
use tokio::runtime::Runtime;
use zeroize::Zeroizing;

use self::server::{Server, Session, is_lost, told, within};
use super::cipher::{Cipher, Hash, complete, missing, unwritten};
use super::{Code, Entry, Vault, VaultError, VaultKey};
use crate::keys::Keyring;

/// A code that is already taken is drawn again; this many attempts in a row cannot be chance.
const DRAWS: usize = 8;
/// Codes that one statement removes.
const REMOVED: usize = 10_000;

/// The encryption of the connection to the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PostgresTls {
    /// TLS by the system's OpenSSL. The server's certificate and name are verified with the system's
    /// certificate authorities.
    #[default]
    System,
    /// The same, verified only with the certificate authorities in a PEM file.
    Authority(PathBuf),
    /// No encryption: for a socket of this machine, or an encrypted network.
    Off,
}

/// A vault in a database. Threads share one; each call takes its own connection from a small pool.
pub struct PostgresVault {
    /// Taken when the vault is dropped, so that it can be dropped in any context.
    runtime: Option<Runtime>,
    server: Server,
    cipher: Cipher,
}

impl PostgresVault {
    /// The default time limit of a call.
    pub const LIMIT: Duration = Duration::from_secs(10);

    /// Opens the vault in a database. `connection` is a libpq connection string (`host=.. user=.. dbname=..`)
    /// or URL, whose `sslmode` is ignored; `limit` is the time limit of opening and of each later call.
    ///
    /// # Errors
    ///
    /// [`VaultError::Missing`] if the database has none, [`VaultError::Form`], [`VaultError::Key`],
    /// [`VaultError::WrongKey`], [`VaultError::Refused`], and [`VaultError::Unavailable`].
    pub fn open(
        connection: &str,
        tls: &PostgresTls,
        limit: Duration,
        keyring: &Keyring,
    ) -> Result<Self, VaultError> {
        Self::start(connection, tls, limit, keyring, false)
    }

    /// Opens the vault as [`PostgresVault::open`] does, and creates it under the current key if the database
    /// has none. Needs the right to create tables in the first schema of the user's `search_path`.
    ///
    /// # Errors
    ///
    /// As [`PostgresVault::open`].
    pub fn open_or_create(
        connection: &str,
        tls: &PostgresTls,
        limit: Duration,
        keyring: &Keyring,
    ) -> Result<Self, VaultError> {
        Self::start(connection, tls, limit, keyring, true)
    }

    fn start(
        connection: &str,
        tls: &PostgresTls,
        limit: Duration,
        keyring: &Keyring,
        create: bool,
    ) -> Result<Self, VaultError> {
        let server = Server::new(connection, tls, limit)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("vault")
            .enable_all()
            .build()
            .map_err(|error| VaultError::Unavailable {
                reason: format!("no thread for the connection: {error}"),
            })?;
        let opened = runtime.block_on(within(limit, server.owner(keyring, create)));
        let cipher = match opened {
            Ok(cipher) => cipher,
            Err(error) => {
                runtime.shutdown_background();
                return Err(error);
            }
        };
        Ok(Self {
            runtime: Some(runtime),
            server,
            cipher,
        })
    }

    /// Runs one call, which must be idempotent: a connection that died unnoticed is only detected by its use.
    fn run<T>(
        &self,
        call: impl AsyncFn(&Session) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, VaultError> {
        let work = async {
            while let Some(session) = self.server.take() {
                match call(&session).await {
                    Ok(done) => {
                        self.server.give(session);
                        return Ok(done);
                    }
                    Err(error) if is_lost(&error) => {}
                    Err(error) => return Err(told(&error)),
                }
            }
            let session = self.server.session().await?;
            let done = call(&session).await.map_err(|error| told(&error))?;
            self.server.give(session);
            Ok(done)
        };
        // Invariant: only `drop` takes the runtime.
        let runtime = self.runtime.as_ref().expect("a vault in use has its runtime");
        runtime.block_on(within(self.server.limit, work))
    }
}

impl Drop for PostgresVault {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Vault for PostgresVault {
    fn codes(&self, wanted: &[VaultKey<'_>]) -> Result<Vec<Code>, VaultError> {
        let hashes = self.cipher.hashes(wanted)?;
        let known = self.run(async |session| session.look_up(&hashes).await)?;
        let found: Vec<_> = hashes.iter().map(|hash| known.get(hash).copied()).collect();
        let mut new = BTreeMap::new();
        let mut missing = missing(&hashes, wanted, &found);
        for _ in 0..DRAWS {
            if missing.is_empty() {
                break;
            }
            let codes = Code::draw(missing.len())?;
            let sealed: Vec<_> = missing
                .values()
                .zip(&codes)
                .map(|(key, code)| self.cipher.close(*code, key))
                .collect();
            let asked: Vec<Hash> = missing.keys().copied().collect();
            let now = self.run(async |session| {
                session.insert(&asked, &codes, &sealed).await?;
                session.look_up(&asked).await
            })?;
            // The values that are still missing had drawn a code that is taken.
            missing.retain(|hash, _| !now.contains_key(hash));
            new.extend(now);
        }
        complete(&hashes, &found, &new)
    }

    fn value(&self, code: Code) -> Result<Option<Entry>, VaultError> {
        let sealed = self.run(async |session| session.value(code).await)?;
        sealed.map(|sealed| self.cipher.open(code, &sealed)).transpose()
    }

    fn keep(&self, key: VaultKey<'_>, text: &str) -> Result<Zeroizing<String>, VaultError> {
        let hashes = self.cipher.hashes(&[key])?;
        for _ in 0..DRAWS {
            let codes = Code::draw(1)?;
            let entry = VaultKey { value: text, ..key };
            let sealed: Vec<_> = codes
                .iter()
                .map(|code| self.cipher.close(*code, &entry))
                .collect();
            self.run(async |session| session.insert(&hashes, &codes, &sealed).await)?;
            // The code of a faster process counts; a code that is taken is drawn again.
            if let Some(kept) = self.kept(key)? {
                return Ok(kept);
            }
        }
        Err(unwritten())
    }

    fn kept(&self, key: VaultKey<'_>) -> Result<Option<Zeroizing<String>>, VaultError> {
        let hashes = self.cipher.hashes(&[key])?;
        let known = self.run(async |session| session.look_up(&hashes).await)?;
        let code = known.into_values().next();
        let entry = code.map(|code| self.value(code)).transpose()?.flatten();
        Ok(entry.map(|entry| entry.value))
    }

    fn page(&self, after: Option<Code>, limit: u32) -> Result<Vec<(Code, Entry)>, VaultError> {
        let found = self.run(async |session| session.page(after, limit).await)?;
        let open = |(number, sealed): (i64, Vec<u8>)| {
            let code = Code::from_number(number).ok_or_else(|| VaultError::Damaged {
                what: "it has an entry with an invalid number".to_owned(),
            })?;
            Ok((code, self.cipher.open(code, &sealed)?))
        };
        found.into_iter().map(open).collect()
    }

    fn remove(&self, codes: &[Code]) -> Result<u64, VaultError> {
        let mut removed = 0;
        for codes in codes.chunks(REMOVED) {
            removed += self.run(async |session| session.remove(codes).await)?;
        }
        Ok(removed)
    }

    fn key_id(&self) -> &str {
        self.cipher.id()
    }
}

impl fmt::Debug for PostgresVault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresVault")
            .field("database", &self.server.place())
            .field("key", &self.cipher.id())
            .finish_non_exhaustive()
    }
}
