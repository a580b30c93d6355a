//! The vault on one machine: an SQLite file that any number of processes share.
//!
//! It has two tables: `lookup`, from hash to code, with rows so small that ten million of them take four
//! levels of a tree; and `entry`, from code to sealed value, which only re-identification reads. Write-ahead
//! logging lets readers run concurrently with the one writer; a batch of new codes is one transaction that
//! takes the write lock at its start, so that it never has to abort half-way. `synchronous = FULL` writes the
//! log to the disk before the writer or a reader sees it.
//!
//! The file must be on a local disk: the shared memory of the log does not work over network file systems
//! (sqlite.org/wal.html). Memory mapping is off, since it turns a disk error into the end of the process.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, TransactionBehavior};

use zeroize::Zeroizing;

use super::cipher::{Cipher, FORM, Hash, complete, missing, unwritten};
use super::{Code, Entry, Vault, VaultError, VaultKey};
use crate::keys::Keyring;

/// "LthV": distinguishes a vault from any other SQLite file.
const APPLICATION: i32 = 0x4c74_6856;

const SCHEMA: &str = "
    CREATE TABLE vault (one INTEGER PRIMARY KEY CHECK (one = 1), key TEXT NOT NULL, key_check BLOB NOT NULL) STRICT;
    CREATE TABLE lookup (hash BLOB PRIMARY KEY, code INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE entry (code INTEGER PRIMARY KEY, sealed BLOB NOT NULL) STRICT;
";

/// The page cache of each connection, in KiB: the inner levels of `lookup` at ten million codes take 4 MiB.
const CACHE: i32 = 32 * 1024;

/// A vault in a file. Threads share one; each look-up takes its own connection from a small pool.
pub struct SqliteVault {
    path: PathBuf,
    wait: Duration,
    cipher: Cipher,
    /// Threads of one process take turns here rather than at the file's lock, where they would sleep and
    /// retry.
    writer: Mutex<Connection>,
    readers: Mutex<Vec<Connection>>,
}

impl SqliteVault {
    /// The time that [`SqliteVault::open`] lets calls wait for other processes.
    pub const WAIT: Duration = Duration::from_secs(30);

    /// Opens the vault in a file.
    ///
    /// # Errors
    ///
    /// [`VaultError::Missing`] if the file does not exist, [`VaultError::Foreign`], [`VaultError::Form`],
    /// [`VaultError::Key`], [`VaultError::WrongKey`], and [`VaultError::Unavailable`] if others keep it
    /// locked for [`SqliteVault::WAIT`].
    pub fn open(path: &Path, keyring: &Keyring) -> Result<Self, VaultError> {
        Self::with_wait(path, keyring, Self::WAIT)
    }

    /// Opens the vault as [`SqliteVault::open`] does; this and later calls wait for other processes at most
    /// this long.
    ///
    /// # Errors
    ///
    /// As [`SqliteVault::open`].
    pub fn with_wait(path: &Path, keyring: &Keyring, wait: Duration) -> Result<Self, VaultError> {
        if !path.exists() {
            return Err(missing_at(path));
        }
        let writer = connect(path, wait)?;
        let cipher = owner(&writer, path, keyring)?;
        Ok(Self {
            path: path.to_owned(),
            wait,
            cipher,
            writer: Mutex::new(writer),
            readers: Mutex::default(),
        })
    }

    /// Opens the vault in a file, and creates it under the current key if it does not exist. If several
    /// processes do so at once, one creates it and all open it. Only the owner can read the file.
    ///
    /// # Errors
    ///
    /// As [`SqliteVault::open`], and [`VaultError::Refused`] if the file cannot be created.
    pub fn open_or_create(path: &Path, keyring: &Keyring) -> Result<Self, VaultError> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path).map_err(|error| VaultError::Refused {
            reason: format!("{}: {error}", path.display()),
        })?;
        let mut writer = connect(path, Self::WAIT)?;
        retry(Self::WAIT, || create(&mut writer, keyring)).map_err(|error| at(path, &error))?;
        drop(writer);
        Self::open(path, keyring)
    }

    fn reader(&self) -> Result<Connection, VaultError> {
        match lock(&self.readers).pop() {
            Some(reader) => Ok(reader),
            None => connect(&self.path, self.wait),
        }
    }

    fn wrong(&self, error: &rusqlite::Error) -> VaultError {
        at(&self.path, error)
    }
}

impl Vault for SqliteVault {
    fn codes(&self, wanted: &[VaultKey<'_>]) -> Result<Vec<Code>, VaultError> {
        let hashes = self.cipher.hashes(wanted)?;
        let reader = self.reader()?;
        let found = look_up(&reader, &hashes).map_err(|error| self.wrong(&error))?;
        lock(&self.readers).push(reader);
        let missing = missing(&hashes, wanted, &found);
        if missing.is_empty() {
            return complete(&hashes, &found, &BTreeMap::new());
        }
        let codes = Code::draw(missing.len())?;
        let new =
            write(&mut lock(&self.writer), &self.cipher, &missing, codes).map_err(|error| match error {
                WriteError::Store(error) => self.wrong(&error),
                WriteError::Code(error) => error,
            })?;
        complete(&hashes, &found, &new)
    }

    fn value(&self, code: Code) -> Result<Option<Entry>, VaultError> {
        let reader = self.reader()?;
        let sealed: Option<Vec<u8>> = reader
            .prepare_cached("SELECT sealed FROM entry WHERE code = ?1")
            .and_then(|mut query| query.query_row([code.number()], |row| row.get(0)).optional())
            .map_err(|error| self.wrong(&error))?;
        lock(&self.readers).push(reader);
        sealed.map(|sealed| self.cipher.open(code, &sealed)).transpose()
    }

    fn keep(&self, key: VaultKey<'_>, text: &str) -> Result<Zeroizing<String>, VaultError> {
        let hashes = self.cipher.hashes(&[key])?;
        let entry = VaultKey { value: text, ..key };
        let keys = hashes.iter().map(|hash| (*hash, entry)).collect();
        write(&mut lock(&self.writer), &self.cipher, &keys, Code::draw(1)?).map_err(|error| match error {
            WriteError::Store(error) => self.wrong(&error),
            WriteError::Code(error) => error,
        })?;
        self.kept(key)?.ok_or_else(unwritten)
    }

    fn kept(&self, key: VaultKey<'_>) -> Result<Option<Zeroizing<String>>, VaultError> {
        let reader = self.reader()?;
        let found = look_up(&reader, &self.cipher.hashes(&[key])?).map_err(|error| self.wrong(&error))?;
        lock(&self.readers).push(reader);
        let code = found.into_iter().flatten().next();
        let entry = code.map(|code| self.value(code)).transpose()?.flatten();
        Ok(entry.map(|entry| entry.value))
    }

    fn page(&self, after: Option<Code>, limit: u32) -> Result<Vec<(Code, Entry)>, VaultError> {
        let reader = self.reader()?;
        let read = || -> rusqlite::Result<Vec<(Code, Vec<u8>)>> {
            let sql = "SELECT code, sealed FROM entry WHERE code > ?1 ORDER BY code LIMIT ?2";
            let mut query = reader.prepare_cached(sql)?;
            let rows = query.query_map((after.map_or(-1, Code::number), limit), |row| {
                Ok((code_of(row.get(0)?)?, row.get(1)?))
            })?;
            rows.collect()
        };
        let found = read().map_err(|error| self.wrong(&error))?;
        lock(&self.readers).push(reader);
        let open = |(code, sealed): (Code, Vec<u8>)| Ok((code, self.cipher.open(code, &sealed)?));
        found.into_iter().map(open).collect()
    }

    fn remove(&self, codes: &[Code]) -> Result<u64, VaultError> {
        if codes.is_empty() {
            return Ok(0);
        }
        let numbers: Vec<String> = codes.iter().map(|code| code.number().to_string()).collect();
        let list = format!("[{}]", numbers.join(","));
        let mut writer = lock(&self.writer);
        let mut remove = || -> rusqlite::Result<usize> {
            // This overwrites deleted content (sqlite.org/pragma.html#pragma_secure_delete).
            writer.execute_batch("PRAGMA secure_delete = ON")?;
            let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let listed = "(SELECT value FROM json_each(?1))";
            transaction.execute(&format!("DELETE FROM lookup WHERE code IN {listed}"), [&list])?;
            let removed =
                transaction.execute(&format!("DELETE FROM entry WHERE code IN {listed}"), [&list])?;
            transaction.commit()?;
            // The log still has the old pages. Active readers leave that to a later checkpoint.
            writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
            Ok(removed)
        };
        remove()
            .map(|removed| removed as u64)
            .map_err(|error| self.wrong(&error))
    }

    fn key_id(&self) -> &str {
        self.cipher.id()
    }
}

impl fmt::Debug for SqliteVault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteVault")
            .field("path", &self.path)
            .field("key", &self.cipher.id())
            .finish_non_exhaustive()
    }
}

/// Locks a mutex. A panic elsewhere leaves the connection intact: its transaction was rolled back on drop.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn connect(path: &Path, wait: Duration) -> Result<Connection, VaultError> {
    // Each connection is used by one thread at a time, so SQLite's own mutexes are unnecessary.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(wait)?;
        // This is checked before anything is set: a file of another program stays unchanged. The order
        // matters, since another process may create the vault between the two reads, in one transaction.
        if !is_empty(&connection)? && !is_vault(&connection)? {
            return Ok((connection, None));
        }
        // The first process turns logging on, which, unlike other statements, does not wait for a lock.
        let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
        connection.execute_batch(&format!(
            "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA cache_size = -{CACHE};
             PRAGMA journal_size_limit = 67108864; PRAGMA trusted_schema = OFF;"
        ))?;
        Ok((connection, Some(mode)))
    };
    match retry(wait, open).map_err(|error| at(path, &error))? {
        (connection, Some(mode)) if mode == "wal" => Ok(connection),
        (_, Some(_)) => Err(VaultError::Refused {
            reason: format!(
                "{}: the file system does not allow write-ahead logging",
                path.display()
            ),
        }),
        (_, None) => Err(VaultError::Foreign {
            place: path.display().to_string(),
        }),
    }
}

fn is_vault(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("PRAGMA application_id", [], |row| {
        Ok(row.get::<_, i32>(0)? == APPLICATION)
    })
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))
}

/// Retries while others hold a lock for which SQLite itself does not wait.
fn retry<T>(wait: Duration, mut work: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let end = Instant::now() + wait;
    loop {
        match work() {
            Err(error) if is_busy(&error) && Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(5))
            }
            done => return done,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

/// Creates the tables in an empty file; leaves any other file unchanged.
fn create(connection: &mut Connection, keyring: &Keyring) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if is_empty(&transaction)? {
        let cipher = Cipher::new(keyring.current());
        transaction.execute_batch(SCHEMA)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", FORM)?;
        transaction.execute(
            "INSERT INTO vault VALUES (1, ?1, ?2)",
            (cipher.id(), cipher.check()),
        )?;
    }
    transaction.commit()
}

/// Returns the cipher of the key that the vault belongs to.
fn owner(connection: &Connection, path: &Path, keyring: &Keyring) -> Result<Cipher, VaultError> {
    let read = || -> rusqlite::Result<_> {
        let form = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        Ok((is_vault(connection)?, form))
    };
    let (made, form): (bool, i32) = read().map_err(|error| at(path, &error))?;
    if !made {
        return Err(missing_at(path));
    }
    if form != FORM {
        return Err(VaultError::Form {
            found: form,
            known: FORM,
        });
    }
    let (id, check): (String, Vec<u8>) = connection
        .query_row("SELECT key, key_check FROM vault", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .map_err(|error| at(path, &error))?;
    Cipher::of_vault(keyring, form, &id, &check)
}

/// Returns the existing codes, in the order of the hashes. Takes no write lock.
fn look_up(connection: &Connection, hashes: &[Hash]) -> rusqlite::Result<Vec<Option<Code>>> {
    // One snapshot for all takes the lock once instead of for each.
    let snapshot = (hashes.len() > 1)
        .then(|| connection.unchecked_transaction())
        .transpose()?;
    let mut query = connection.prepare_cached("SELECT code FROM lookup WHERE hash = ?1")?;
    let found = hashes
        .iter()
        .map(|hash| query.query_row([hash], |row| code_of(row.get(0)?)).optional())
        .collect::<rusqlite::Result<_>>()?;
    drop(query);
    snapshot.map_or(Ok(()), rusqlite::Transaction::commit)?;
    Ok(found)
}

fn code_of(number: i64) -> rusqlite::Result<Code> {
    Code::from_number(number).ok_or(rusqlite::Error::IntegralValueOutOfRange(0, number))
}

enum WriteError {
    Store(rusqlite::Error),
    Code(VaultError),
}

impl From<rusqlite::Error> for WriteError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error)
    }
}

/// Assigns codes to values that had none when they were looked up, in one transaction. The code of a faster
/// process counts.
fn write(
    connection: &mut Connection,
    cipher: &Cipher,
    wanted: &BTreeMap<Hash, VaultKey<'_>>,
    mut codes: Vec<Code>,
) -> Result<BTreeMap<Hash, Code>, WriteError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let hashes: Vec<Hash> = wanted.keys().copied().collect();
    let mut given = BTreeMap::new();
    let mut new = Vec::new();
    {
        let mut query = transaction.prepare_cached("SELECT code FROM lookup WHERE hash = ?1")?;
        for hash in hashes {
            match query.query_row([hash], |row| code_of(row.get(0)?)).optional()? {
                Some(code) => {
                    given.insert(hash, code);
                }
                None => new.push((codes.pop(), hash)),
            }
        }
        // The order of the codes is unrelated to that of the values: one walk through the tree.
        new.sort_unstable();
        let mut insert = transaction.prepare_cached("INSERT OR IGNORE INTO entry VALUES (?1, ?2)")?;
        for (code, hash) in new {
            let mut code = match code {
                Some(code) => code,
                None => one_more()?,
            };
            // Once in 10^11 draws, with ten million codes assigned, a code is taken.
            while insert.execute((code.number(), cipher.close(code, &wanted[&hash])))? == 0 {
                code = one_more()?;
            }
            given.insert(hash, code);
        }
        let mut insert = transaction.prepare_cached("INSERT OR IGNORE INTO lookup VALUES (?1, ?2)")?;
        for (hash, code) in &given {
            insert.execute((hash, code.number()))?;
        }
    }
    transaction.commit()?;
    Ok(given)
}

fn one_more() -> Result<Code, WriteError> {
    let drawn = Code::draw(1).map_err(WriteError::Code)?;
    drawn.first().copied().ok_or(WriteError::Code(VaultError::Random))
}

fn missing_at(path: &Path) -> VaultError {
    VaultError::Missing {
        place: path.display().to_string(),
    }
}

/// Maps a store's error to a vault's.
fn at(path: &Path, error: &rusqlite::Error) -> VaultError {
    let place = path.display();
    let reason = format!("{place}: {error}");
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::DiskFull
            | ErrorCode::OutOfMemory
            | ErrorCode::SystemIoFailure
            | ErrorCode::SchemaChanged,
        ) => VaultError::Unavailable { reason },
        Some(ErrorCode::NotADatabase) => VaultError::Foreign {
            place: place.to_string(),
        },
        Some(
            ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::ReadOnly
            | ErrorCode::AuthorizationForStatementDenied,
        ) => VaultError::Refused { reason },
        _ => VaultError::Damaged { what: reason },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::source_tests::SECRET_A;

    #[test]
    fn every_connection_puts_a_commit_on_the_disk_before_it_shows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vault");
        let ring = Keyring::parse_short(&format!("a:{SECRET_A}")).unwrap();
        let vault = SqliteVault::open_or_create(&path, &ring).unwrap();
        for connection in [&*lock(&vault.writer), &vault.reader().unwrap()] {
            let number =
                |name| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
            // FULL (sqlite.org/pragma.html#pragma_synchronous), and the disk's own cache on systems that
            // distinguish them.
            assert_eq!((number("synchronous"), number("fullfsync")), (Ok(2), Ok(1)));
            let mode = connection.query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0));
            assert_eq!(mode, Ok("wal".to_owned()));
        }
    }

    #[test]
    fn a_look_up_is_one_walk_down_a_tree() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vault");
        let ring = Keyring::parse_short(&format!("a:{SECRET_A}")).unwrap();
        let vault = SqliteVault::open_or_create(&path, &ring).unwrap();
        let plan = |sql: &str| {
            let reader = vault.reader().unwrap();
            let plan = reader.query_row(&format!("EXPLAIN QUERY PLAN {sql}"), [0], |row| {
                row.get::<_, String>(3)
            });
            plan.unwrap()
        };
        assert_eq!(
            plan("SELECT code FROM lookup WHERE hash = ?1"),
            "SEARCH lookup USING PRIMARY KEY (hash=?)"
        );
        let by_code = plan("SELECT sealed FROM entry WHERE code = ?1");
        assert_eq!(by_code, "SEARCH entry USING INTEGER PRIMARY KEY (rowid=?)");
    }
}
