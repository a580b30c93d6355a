//! Builds and writes replayed parts.

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array as _, RecordBatch};
use bytes::Bytes;
use lethe_core::{AuditBatch, RedactedBatch, RowKind};
use parquet::errors::ParquetError;
use uuid::Uuid;

use super::{Candidates, ReplayFooter, ReplayName, read_replay};
use crate::sink::{ChainError, Encoding, Fingerprints, Sheet, digest_of, digest_whole, encode_kind};
use crate::store::{Store, StoreError, crash};

/// Why a replayed part was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// A row does not belong to the notes file, or does not follow the previous row: a bug of the caller.
    #[error("{part}: offset {offset} does not belong there")]
    OutOfPlace {
        /// The part.
        part: String,
        /// The row's offset.
        offset: i64,
    },
    /// The rows could not be encoded. The library's message is dropped, since it could quote a value.
    #[error("{part}: cannot encode the rows as Parquet ({why})")]
    Encode {
        /// The part.
        part: String,
        /// The kind of the library's error.
        why: &'static str,
    },
    /// Another replay wrote a part with this name.
    #[error(
        "{part} was written by a concurrent replay; run this one again, which skips the records of the other"
    )]
    Lost {
        /// The part.
        part: String,
    },
    /// A file cannot be read or written.
    #[error(transparent)]
    Chain(#[from] ChainError),
}

impl From<StoreError> for ReplayError {
    fn from(error: StoreError) -> Self {
        ChainError::from(error).into()
    }
}

impl ReplayError {
    /// Returns whether the store is unavailable, so that the same call may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Chain(ChainError::Store(error)) if error.is_transient())
    }
}

/// Writes the replayed parts of one notes file in the order of their numbers.
pub struct ReplayWriter {
    footer: ReplayFooter,
    rows: Sheet,
    audit: Sheet,
    /// The smallest offset that may follow.
    next: i64,
    /// The offset after the notes file's last.
    end: i64,
}

impl ReplayWriter {
    /// Returns a writer that continues after the existing parts of the notes file. `attempt` is the digest of
    /// the configuration.
    ///
    /// # Errors
    /// An error if the notes file or its last part cannot be read.
    pub async fn open(
        store: &dyn Store,
        candidates: &Candidates,
        attempt: &str,
        fingerprints: Fingerprints,
        encoding: Encoding,
    ) -> Result<Self, ReplayError> {
        let file = &candidates.file;
        let before = file.parts.last().copied();
        let name = file.part(before.map_or(0, |number| number + 1));
        let previous = match before {
            Some(number) => Some(digest_whole(store, &file.part(number).path()).await?),
            None => None,
        };
        Ok(Self {
            footer: ReplayFooter {
                original_digest: digest_whole(store, &name.original()).await?,
                name,
                previous,
                attempt: attempt.to_owned(),
                fingerprints,
                ..ReplayFooter::empty()
            },
            rows: Sheet::of_notes(encoding),
            audit: Sheet::of_audit(&AuditBatch::schema(), encoding),
            next: file.first,
            end: candidates.next,
        })
    }

    /// Adds rows with their audit.
    ///
    /// # Errors
    /// [`ReplayError::OutOfPlace`] or [`ReplayError::Encode`]; the writer must be dropped after either.
    pub fn push(&mut self, notes: &RedactedBatch, audit: &AuditBatch) -> Result<(), ReplayError> {
        let record = notes.record();
        self.check(record)?;
        let written = self.rows.write(record);
        written
            .and_then(|()| self.audit.write(audit.record()))
            .map_err(|error| self.encode_error(&error))?;
        self.count(record, audit);
        Ok(())
    }

    /// Returns the number of rows of the next part.
    pub const fn rows(&self) -> u64 {
        self.rows.rows()
    }

    /// Returns the approximate size of the next part in bytes.
    pub fn encoded_bytes(&self) -> u64 {
        self.rows.encoded()
    }

    /// Seals the buffered rows as a part and continues with the next number; `None` if there are none.
    ///
    /// # Errors
    /// [`ReplayError::Encode`], after which the writer must be dropped.
    pub fn seal(&mut self) -> Result<Option<SealedReplay>, ReplayError> {
        if self.rows.rows() == 0 {
            return Ok(None);
        }
        let commit = Uuid::new_v4();
        let mut footer = self.footer.clone();
        footer.commit = commit.to_string();
        footer.audit_rows = self.audit.rows();
        let mut audit = None;
        if footer.audit_rows > 0 {
            let finished = self.audit.finish(footer.to_pairs());
            let bytes = finished.map_err(|error| self.encode_error(&error))?;
            let path = footer.name.audit_path(commit);
            footer.audit = Some((path.clone(), digest_of(&bytes)));
            audit = Some((path, bytes));
        }
        let rows = self.rows.finish(footer.to_pairs());
        let rows = rows.map_err(|error| self.encode_error(&error))?;
        self.footer = ReplayFooter {
            name: ReplayName {
                number: footer.name.number + 1,
                ..footer.name.clone()
            },
            original_digest: footer.original_digest.clone(),
            previous: Some(digest_of(&rows)),
            attempt: footer.attempt.clone(),
            fingerprints: footer.fingerprints.clone(),
            ..ReplayFooter::empty()
        };
        Ok(Some(SealedReplay { footer, rows, audit }))
    }

    /// Checks that rows belong to the notes file and follow the earlier ones.
    fn check(&mut self, record: &RecordBatch) -> Result<(), ReplayError> {
        let chain = &self.footer.name.chain;
        let topics = record.column(0).as_string::<i32>();
        let partitions = record.column(1).as_primitive::<Int32Type>();
        let offsets = record.column(2).as_primitive::<Int64Type>();
        for row in 0..record.num_rows() {
            let offset = offsets.value(row);
            let is_of_chain = topics.value(row) == &*chain.topic && partitions.value(row) == chain.partition;
            if !is_of_chain || offset < self.next || offset >= self.end {
                return Err(ReplayError::OutOfPlace {
                    part: self.footer.name.path(),
                    offset,
                });
            }
            if self.footer.rows() == 0 && row == 0 {
                self.footer.first = offset;
            }
            self.next = offset + 1;
            self.footer.next = self.next;
        }
        Ok(())
    }

    fn count(&mut self, record: &RecordBatch, audit: &AuditBatch) {
        let footer = &mut self.footer;
        for kind in record.column(3).as_string::<i32>().iter().flatten() {
            let count = match kind {
                kind if kind == RowKind::Note.name() => &mut footer.notes,
                kind if kind == RowKind::Tombstone.name() => &mut footer.tombstones,
                kind if kind == RowKind::Structured.name() => &mut footer.structured,
                _ => &mut footer.quarantined,
            };
            *count += 1;
        }
        footer.audit_fields += audit.fields() as u64;
        if let Some(review) = record.column_by_name("review") {
            footer.review += (review.len() - review.null_count()) as u64;
        }
    }

    fn encode_error(&self, error: &ParquetError) -> ReplayError {
        ReplayError::Encode {
            part: self.footer.name.path(),
            why: encode_kind(error),
        }
    }
}

impl std::fmt::Debug for ReplayWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "ReplayWriter({}, {} rows)",
            self.footer.name.path(),
            self.rows()
        )
    }
}

/// An encoded part that is not written yet.
pub struct SealedReplay {
    footer: ReplayFooter,
    rows: Bytes,
    audit: Option<(String, Bytes)>,
}

impl SealedReplay {
    /// Returns its footer.
    pub const fn footer(&self) -> &ReplayFooter {
        &self.footer
    }

    /// Returns its size in bytes, including its audit file.
    pub fn size(&self) -> u64 {
        (self.rows.len() + self.audit.as_ref().map_or(0, |(_, bytes)| bytes.len())) as u64
    }

    /// Writes the audit file, then the part. A caller may retry after a transient error.
    ///
    /// # Errors
    /// [`ReplayError::Lost`] if another replay wrote a part with this name, or the store's error.
    pub async fn create(&self, store: &dyn Store) -> Result<(), ReplayError> {
        if let Some((path, bytes)) = &self.audit {
            match store.create(path, bytes.clone()).await {
                // The name contains this attempt's id, so an existing file was written by it.
                Ok(()) | Err(StoreError::Exists(_)) => {}
                Err(error) => return Err(error.into()),
            }
            crash::point("audit_written");
        }
        let path = self.footer.name.path();
        match store.create(&path, self.rows.clone()).await {
            Ok(()) => {
                crash::point("notes_written");
                Ok(())
            }
            Err(StoreError::Exists(_)) => match read_replay(store, &path).await {
                Ok(there) if there.commit == self.footer.commit => Ok(()),
                Ok(_) => Err(ReplayError::Lost { part: path }),
                Err(error) => Err(error.into()),
            },
            Err(error) => Err(error.into()),
        }
    }
}

impl std::fmt::Debug for SealedReplay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "SealedReplay({}, {} rows)",
            self.footer.name.path(),
            self.footer.rows()
        )
    }
}
