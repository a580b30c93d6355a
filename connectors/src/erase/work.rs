//! Carries out an erasure: plans and records it, replaces the files, and records its completion.

use std::collections::BTreeSet;

use bytes::Bytes;
use jiff::Timestamp;
use serde::Serialize;

use super::record::{Completion, FORMAT, completion_name, record_name};
use super::rewrite::{Rewritten, rewrite};
use super::{Erasures, Found, Record, Replacement};
use crate::Backoff;
use crate::inspect::Progress;
use crate::replay::{NotesFile, read_replay};
use crate::sink::{ChainError, digest_of, read_footer};
use crate::store::{Store, StoreError, crash};

/// Attempts to replace a file. The store has made several for each of them.
const ATTEMPTS: u32 = 5;

/// Why an erasure was not carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EraseError {
    /// A record of the dataset is invalid.
    #[error("{file}: {why}; find out the cause before you erase (`lethe inspect` checks the whole dataset)")]
    Records {
        /// The record.
        file: String,
        /// The problem.
        why: String,
    },
    /// Another erasure was recorded at the same time.
    #[error("{record} was written by a concurrent erasure; run this one again")]
    Lost {
        /// The record.
        record: String,
    },
    /// A file matches neither the old nor the new digest of the record.
    #[error(
        "{file} was changed since {record} was written; do not go on before it is known how that came about (`lethe inspect` shows \
         the whole dataset)"
    )]
    Changed {
        /// The file.
        file: String,
        /// The record.
        record: String,
    },
    /// This version encodes files differently from the one that began the erasure.
    #[error(
        "{record} was begun by lethe {began}, and this version encodes files differently; finish the erasure with lethe {began}"
    )]
    Program {
        /// The record.
        record: String,
        /// The version that began it.
        began: String,
    },
    /// A file cannot be read or written.
    #[error(transparent)]
    Chain(#[from] ChainError),
}

impl From<StoreError> for EraseError {
    fn from(error: StoreError) -> Self {
        ChainError::from(error).into()
    }
}

/// The reason of an erasure, and the encoding of its files.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The reason that the operator gave; it must not contain a patient's id.
    pub reason: String,
    /// Zstandard level of the new files.
    pub zstd_level: i32,
    /// SHA-256 of each code to remove from the vault, hex.
    pub vault: Vec<String>,
}

/// Returns the record of an erasure of these rows. Writes nothing: each file is rewritten in memory for its
/// digest.
///
/// # Errors
/// [`EraseError::Records`] if an existing record is invalid or unfinished, [`EraseError::Chain`] if a file
/// cannot be read or emptied.
pub async fn plan(
    store: &dyn Store,
    erasures: &Erasures,
    found: &Found,
    plan: Plan,
    mut progress: impl FnMut(Progress) + Send,
) -> Result<Record, EraseError> {
    if let Some((file, why)) = erasures.faults().first() {
        return Err(EraseError::Records {
            file: file.clone(),
            why: why.clone(),
        });
    }
    let (number, previous) = erasures.next();
    if erasures.unfinished().is_some() {
        return Err(EraseError::Records {
            file: record_name(number.saturating_sub(1)),
            why: "it is not finished".to_owned(),
        });
    }
    let mut record = Record {
        format: FORMAT,
        number,
        begun_at: now(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        reason: plan.reason,
        previous,
        zstd_level: plan.zstd_level,
        rows: 0,
        vault: plan.vault,
        files: Vec::new(),
    };
    let mut done = Progress {
        of: found.offsets.len() as u64,
        ..Progress::default()
    };
    for ((chain, first), offsets) in &found.offsets {
        let file = NotesFile {
            chain: chain.clone(),
            first: *first,
            parts: found
                .parts
                .get(&(chain.clone(), *first))
                .cloned()
                .unwrap_or_default(),
        };
        for number in &file.parts {
            let path = file.part(*number).path();
            let audit = read_replay(store, &path).await?.audit.map(|(audit, _)| audit);
            pair(store, &mut record, path, audit, offsets).await?;
        }
        let path = chain.notes_name(*first);
        let audit = read_footer(store, &path).await?.audit;
        pair(store, &mut record, path, audit, offsets).await?;
        done.files += 1;
        done.rows = record.rows;
        progress(done);
    }
    Ok(record)
}

fn now() -> String {
    format!("{:.0}", Timestamp::now())
}

/// Adds a file of rows and, before it, its audit file to the record, unless they have none of these offsets.
async fn pair(
    store: &dyn Store,
    record: &mut Record,
    path: String,
    audit: Option<String>,
    offsets: &BTreeSet<i64>,
) -> Result<(), EraseError> {
    let of = |path: String| Replacement {
        path,
        before: String::new(),
        after: String::new(),
        offsets: offsets.iter().copied().collect(),
        audit_rows: 0,
        audit_fields: 0,
    };
    let mut rows = of(path);
    if let Some(audit) = audit {
        let mut audit = of(audit);
        let removed = tried(store, &mut audit, record.zstd_level).await?;
        (rows.audit_rows, rows.audit_fields) = (removed.rows, removed.fields);
        if removed.rows > 0 {
            record.files.push(audit);
        }
    }
    let emptied = tried(store, &mut rows, record.zstd_level).await?;
    if emptied.rows > 0 {
        record.rows += emptied.rows;
        record.files.push(rows);
    }
    Ok(())
}

/// Rewrites a file in memory and sets its digests.
async fn tried(store: &dyn Store, file: &mut Replacement, zstd_level: i32) -> Result<Rewritten, EraseError> {
    let bytes = store.read(&file.path).await?;
    let rewritten = rewritten(file, &bytes, zstd_level).await?;
    file.before = digest_of(&bytes);
    file.after = digest_of(&rewritten.bytes);
    Ok(rewritten)
}

/// Rewrites a file on a blocking thread.
async fn rewritten(file: &Replacement, bytes: &Bytes, zstd_level: i32) -> Result<Rewritten, EraseError> {
    let (of, bytes) = (file.clone(), bytes.clone());
    let done = tokio::task::spawn_blocking(move || rewrite(&of, &bytes, zstd_level)).await;
    let done = done.unwrap_or_else(|_| {
        Err(ChainError::Footer {
            name: file.path.clone(),
            why: "the rewrite was interrupted".to_owned(),
        })
    });
    Ok(done?)
}

async fn create(store: &dyn Store, name: &str, what: &(impl Serialize + Sync)) -> Result<(), EraseError> {
    let encode = |_| ChainError::Footer {
        name: name.to_owned(),
        why: "it cannot be encoded as JSON".to_owned(),
    };
    let mut bytes = serde_json::to_vec_pretty(what).map_err(encode)?;
    bytes.push(b'\n');
    let lost = || EraseError::Lost {
        record: name.to_owned(),
    };
    match store.create(name, bytes.clone().into()).await {
        Ok(()) => Ok(()),
        // The response may have been lost, or another erasure may have written the same.
        Err(StoreError::Exists(_)) => match store.read(name).await? == bytes {
            true => Ok(()),
            false => Err(lost()),
        },
        Err(error) => Err(error.into()),
    }
}

/// Writes the record. From then on the erasure is unfinished until [`complete`] returns.
///
/// # Errors
/// [`EraseError::Lost`] if another erasure wrote a record of this number, or the store's error.
pub async fn write(store: &dyn Store, record: &Record) -> Result<(), EraseError> {
    create(store, &record_name(record.number), record).await?;
    crash::point("erasure_recorded");
    Ok(())
}

/// Replaces the files of a record that still have their old digest.
///
/// # Errors
/// [`EraseError::Changed`], [`EraseError::Program`], or the store's error. A caller may retry after any of
/// them.
pub async fn replace(
    store: &dyn Store,
    record: &Record,
    mut progress: impl FnMut(Progress) + Send,
) -> Result<(), EraseError> {
    let mut done = Progress {
        of: record.files.len() as u64,
        ..Progress::default()
    };
    for file in &record.files {
        let mut backoff = Backoff::new(&file.path).attempts(ATTEMPTS);
        loop {
            match replace_one(store, record, file).await {
                Err(EraseError::Chain(ChainError::Store(error)))
                    if error.is_transient() || matches!(error, StoreError::Changed(_)) =>
                {
                    let Some(pause) = backoff.pause() else {
                        break Err(EraseError::Chain(ChainError::Store(error)));
                    };
                    tokio::time::sleep(pause).await;
                }
                done => break done,
            }
        }?;
        crash::point("file_erased");
        done.files += 1;
        progress(done);
    }
    crash::point("files_erased");
    Ok(())
}

async fn replace_one(store: &dyn Store, record: &Record, file: &Replacement) -> Result<(), EraseError> {
    let version = store.look(&file.path).await?.version;
    let bytes = store.read(&file.path).await?;
    let digest = digest_of(&bytes);
    if digest == file.after {
        return Ok(());
    }
    if digest != file.before {
        return Err(EraseError::Changed {
            file: file.path.clone(),
            record: record_name(record.number),
        });
    }
    let rewritten = rewritten(file, &bytes, record.zstd_level).await?;
    if digest_of(&rewritten.bytes) != file.after {
        return Err(EraseError::Program {
            record: record_name(record.number),
            began: record.program.clone(),
        });
    }
    Ok(store.replace(&file.path, rewritten.bytes, &version).await?)
}

/// Writes the completion: the files are replaced, and `vault_entries` entries were removed from the vault.
///
/// # Errors
/// The store's error.
pub async fn complete(store: &dyn Store, record: &Record, vault_entries: u64) -> Result<(), EraseError> {
    let completion = Completion {
        format: FORMAT,
        number: record.number,
        record: digest_of(&store.read(&record_name(record.number)).await?),
        finished_at: now(),
        vault_entries,
    };
    match create(store, &completion_name(record.number), &completion).await {
        // Another run of the same erasure finished first, with the same result.
        Err(EraseError::Lost { .. }) => Ok(()),
        done => done,
    }
}

impl Record {
    /// Returns its name in the dataset.
    pub fn name(&self) -> String {
        record_name(self.number)
    }
}
