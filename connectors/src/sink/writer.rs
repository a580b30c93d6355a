//! The writer of one chain: buffers rows, seals them as files, and returns receipts for durable ones.

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array as _, RecordBatch};
use lethe_core::{AuditBatch, RedactedBatch, RowKind};
use parquet::file::metadata::KeyValue;

use super::digest::{digest_of, digest_whole};
use super::encode::{Sheet, kind};
use super::{
    ChainError, ChainId, CommitError, Encoding, FORMAT, Fingerprints, Footer, PushError, Receipt, SealedFile,
    bridge, read_tail,
};
use crate::id::new_id;
use crate::store::Store;

/// Number of rows by kind.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    notes: u64,
    tombstones: u64,
    quarantined: u64,
    structured: u64,
    review: u64,
    audit_fields: u64,
}

/// Appends to one chain.
///
/// Encoding ([`LaneWriter::push`], [`LaneWriter::seal`]) computes and belongs on a worker thread; writing
/// ([`SealedFile::upload`]) is asynchronous and waits for the store. During the upload of a sealed file the
/// writer accepts rows, but seals no further file before [`LaneWriter::committed`] has seen the receipt: a
/// file after a lost one would break the chain.
pub struct LaneWriter {
    chain: ChainId,
    writer: String,
    fingerprints: Fingerprints,
    notes: Sheet,
    audit: Sheet,
    counts: Counts,
    first: i64,
    next: i64,
    /// Digest of the previous file.
    previous: Option<Arc<str>>,
    /// The offset after a sealed file that has no receipt yet.
    awaited: Option<i64>,
    /// That file, if this writer commits it itself.
    pending: Option<SealedFile>,
    /// Set if encoding failed half-way.
    spoilt: bool,
}

impl LaneWriter {
    /// Opens a chain at its end; the source must continue at [`LaneWriter::next`]. `start` applies only to a
    /// chain without files, which then begins there. If it is not 0, a file without rows that says so is
    /// written at once.
    ///
    /// # Errors
    /// [`ChainError::AnotherLog`] if the chain belongs to a cluster or topic other than the fingerprints', or
    /// an error of [`read_tail`].
    pub async fn open(
        store: &dyn Store,
        chain: ChainId,
        start: i64,
        fingerprints: Fingerprints,
        encoding: Encoding,
    ) -> Result<Self, ChainError> {
        let (next, previous) = loop {
            if let Some(tail) = read_tail(store, &chain).await? {
                tail.check_log(&fingerprints)?;
                if let Some(changes) = fingerprints.changes_since(&tail.footer.fingerprints) {
                    tracing::info!(%chain, file = tail.file, "the next file is written under settings that differ from the last file's: {changes}");
                }
                break (tail.next, Some(digest_whole(store, &tail.file).await?.into()));
            }
            if start <= 0 {
                break (0, None);
            }
            let why = "the log began here when the chain was begun";
            match bridge(store, &chain, 0, start, why, &fingerprints).await {
                Ok(receipt) => break (receipt.next(), Some(receipt.digest().into())),
                // Another writer began it: read its end.
                Err(CommitError::Lost { .. } | CommitError::Fatal(ChainError::Gap { .. })) => {}
                Err(CommitError::Transient(error)) => return Err(error.into()),
                Err(CommitError::Fatal(error)) => return Err(error),
            }
        };
        Ok(Self {
            chain,
            writer: new_id().to_string(),
            fingerprints,
            notes: Sheet::of_notes(encoding),
            audit: Sheet::of_audit(&AuditBatch::schema(), encoding),
            counts: Counts::default(),
            first: next,
            next,
            previous,
            awaited: None,
            pending: None,
            spoilt: false,
        })
    }

    /// Returns the chain.
    pub const fn chain(&self) -> &ChainId {
        &self.chain
    }

    /// Returns the next offset: greater ones are accepted, smaller ones rejected.
    pub const fn next(&self) -> i64 {
        self.next
    }

    /// Returns the first offset of the current file.
    pub const fn first(&self) -> i64 {
        self.first
    }

    /// Returns the number of rows of the current file.
    pub const fn rows(&self) -> u64 {
        self.notes.rows()
    }

    /// Returns the number of offsets of the current file without a row.
    pub const fn skipped(&self) -> u64 {
        ((self.next - self.first) as u64).saturating_sub(self.rows())
    }

    /// Returns the memory of everything not durable, in bytes: encoded, in encoding, and pending.
    pub fn buffered_bytes(&self) -> usize {
        let pending = self.pending.as_ref().map_or(0, SealedFile::memory);
        self.notes.memory() + self.audit.memory() + pending
    }

    /// Returns the approximate size of the notes file if it were sealed now, in bytes.
    pub fn encoded_bytes(&self) -> u64 {
        self.notes.encoded()
    }

    /// Sets the fingerprints of the following files.
    ///
    /// # Errors
    /// [`ChainError::Encode`] if rows are buffered: a file has one set of fingerprints, so they must be
    /// committed first.
    pub fn follow(&mut self, fingerprints: Fingerprints) -> Result<(), ChainError> {
        if self.next != self.first {
            return Err(self.encode_error("rows of another engine version are buffered"));
        }
        self.fingerprints = fingerprints;
        Ok(())
    }

    /// Adds rows with their audit.
    ///
    /// # Errors
    /// [`PushError`] if the rows belong to another chain or are out of order, or the audit belongs to other
    /// rows; nothing is added then. After [`PushError::Encode`] the writer must be dropped.
    pub fn push(&mut self, notes: &RedactedBatch, audit: &AuditBatch) -> Result<(), PushError> {
        if self.spoilt {
            return Err(PushError::Encode(self.encode_error("spoilt before")));
        }
        let record = notes.record();
        let Some(last) = self.check_rows(record)? else {
            return Ok(());
        };
        self.check_audit(record, audit.record())?;
        let counts = self.count(record, audit);
        let written = self.notes.write(record);
        if let Err(error) = written.and_then(|()| self.audit.write(audit.record())) {
            self.spoilt = true;
            return Err(PushError::Encode(self.encode_error(kind(&error))));
        }
        self.counts = counts;
        self.next = last + 1;
        Ok(())
    }

    /// Skips offsets without a record up to `next`: transaction markers, aborted and compacted records.
    ///
    /// # Errors
    /// [`PushError::OutOfOrder`] if `next` lies before the next offset.
    pub fn advance(&mut self, next: i64) -> Result<(), PushError> {
        if next < self.next {
            return Err(PushError::OutOfOrder {
                chain: self.chain.to_string(),
                expected: self.next,
                found: next,
            });
        }
        self.next = next;
        Ok(())
    }

    /// Seals the buffered rows as a file; `None` if there are none. The writer then accepts rows of the next
    /// file.
    ///
    /// # Errors
    /// [`ChainError::NoReceipt`] if the previous file has no receipt yet; [`ChainError::Encode`], after which
    /// the writer must be dropped.
    pub fn seal(&mut self) -> Result<Option<SealedFile>, ChainError> {
        if self.awaited.is_some() {
            return Err(ChainError::NoReceipt {
                chain: self.chain.to_string(),
            });
        }
        if self.spoilt {
            return Err(self.encode_error("spoilt before"));
        }
        if self.next == self.first {
            return Ok(None);
        }
        let commit = new_id();
        let audit_rows = self.audit.rows();
        let mut footer = Footer {
            chain: self.chain.clone(),
            commit: commit.to_string(),
            writer: self.writer.clone(),
            first: self.first,
            next: self.next,
            notes: self.counts.notes,
            tombstones: self.counts.tombstones,
            quarantined: self.counts.quarantined,
            structured: self.counts.structured,
            erased: 0,
            audit: (audit_rows > 0).then(|| self.chain.audit_name(self.first, commit)),
            audit_rows,
            audit_fields: self.counts.audit_fields,
            audit_digest: None,
            previous: self.previous.as_deref().map(str::to_owned),
            review: self.counts.review,
            fingerprints: self.fingerprints.clone(),
            gap: None,
        };
        let audit = (audit_rows > 0).then(|| self.audit.finish(audit_pairs(&footer)));
        let sealed = audit.transpose().and_then(|audit| {
            footer.audit_digest = audit.as_deref().map(digest_of);
            Ok((self.notes.finish(footer.to_pairs())?, audit))
        });
        match sealed {
            Ok((notes, audit)) => {
                let sealed = SealedFile::new(footer, notes, audit);
                self.counts = Counts::default();
                self.first = self.next;
                self.awaited = Some(self.next);
                self.previous = Some(Arc::clone(sealed.digest()));
                Ok(Some(sealed))
            }
            Err(error) => {
                self.spoilt = true;
                Err(self.encode_error(kind(&error)))
            }
        }
    }

    /// Records that the sealed file is durable.
    ///
    /// # Errors
    /// [`ChainError::NoReceipt`] if the receipt belongs to another file.
    pub fn committed(&mut self, receipt: &Receipt) -> Result<(), ChainError> {
        if receipt.chain() != &self.chain || self.awaited != Some(receipt.next()) {
            return Err(ChainError::NoReceipt {
                chain: self.chain.to_string(),
            });
        }
        self.awaited = None;
        self.pending = None;
        Ok(())
    }

    /// Seals and uploads; `None` if nothing is buffered. Encodes on the calling thread; if that must not
    /// compute, use [`LaneWriter::seal`], [`SealedFile::upload`] and [`LaneWriter::committed`].
    ///
    /// # Errors
    /// As [`SealedFile::upload`]. After [`CommitError::Transient`] call again; after any other error drop the writer.
    pub async fn commit(&mut self, store: &dyn Store) -> Result<Option<Receipt>, CommitError> {
        if self.pending.is_none() {
            self.pending = self.seal()?;
        }
        let Some(sealed) = &self.pending else {
            return Ok(None);
        };
        let receipt = sealed.upload(store).await?;
        self.committed(&receipt)?;
        Ok(Some(receipt))
    }

    /// Checks that the rows follow the buffered ones. Returns the last offset, or `None` without rows.
    fn check_rows(&self, record: &RecordBatch) -> Result<Option<i64>, PushError> {
        let topics = record.column(0).as_string::<i32>();
        let partitions = record.column(1).as_primitive::<Int32Type>();
        let offsets = record.column(2).as_primitive::<Int64Type>();
        let mut expected = self.next;
        for row in 0..record.num_rows() {
            if topics.value(row) != &*self.chain.topic || partitions.value(row) != self.chain.partition {
                return Err(PushError::WrongChain {
                    chain: self.chain.to_string(),
                    row,
                });
            }
            let found = offsets.value(row);
            if found < expected || found == i64::MAX {
                return Err(PushError::OutOfOrder {
                    chain: self.chain.to_string(),
                    expected,
                    found,
                });
            }
            expected = found + 1;
        }
        Ok((record.num_rows() > 0).then(|| expected - 1))
    }

    /// Checks that each audit row belongs to a row of the batch. Both are in the order of offsets.
    fn check_audit(&self, notes: &RecordBatch, audit: &RecordBatch) -> Result<(), PushError> {
        let offsets = notes.column(2).as_primitive::<Int64Type>().values();
        let audited = audit.column(2).as_primitive::<Int64Type>().values();
        let mut row = 0;
        for &offset in audited {
            while offsets.get(row).is_some_and(|&at| at < offset) {
                row += 1;
            }
            if offsets.get(row) != Some(&offset) {
                return Err(PushError::StrayAudit {
                    chain: self.chain.to_string(),
                    offset,
                });
            }
        }
        Ok(())
    }

    fn count(&self, record: &RecordBatch, audit: &AuditBatch) -> Counts {
        let kinds = record.column(3).as_string::<i32>();
        let mut counts = self.counts;
        for row in 0..kinds.len() {
            let count = match kinds.value(row) {
                kind if kind == RowKind::Note.name() => &mut counts.notes,
                kind if kind == RowKind::Tombstone.name() => &mut counts.tombstones,
                kind if kind == RowKind::Structured.name() => &mut counts.structured,
                _ => &mut counts.quarantined,
            };
            *count += 1;
        }
        counts.audit_fields += audit.fields() as u64;
        if let Some(review) = record.column_by_name("review") {
            counts.review += (review.len() - review.null_count()) as u64;
        }
        counts
    }

    fn encode_error(&self, why: &'static str) -> ChainError {
        ChainError::Encode {
            chain: self.chain.to_string(),
            first: self.first,
            why,
        }
    }
}

impl std::fmt::Debug for LaneWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "LaneWriter({}, offsets {}..{}, {} rows)",
            self.chain,
            self.first,
            self.next,
            self.rows()
        )
    }
}

/// Returns the footer pairs of an audit file: the notes file that it belongs to if committed, its
/// fingerprints, and the unit of its span positions.
fn audit_pairs(footer: &Footer) -> Vec<KeyValue> {
    let pair = |key: &str, value: String| KeyValue::new(format!("lethe.{key}"), value);
    let mut pairs = vec![
        pair("format", FORMAT.to_string()),
        pair("topic", footer.chain.topic.to_string()),
        pair("partition", footer.chain.partition.to_string()),
        pair("first_offset", footer.first.to_string()),
        pair("next_offset", footer.next.to_string()),
        pair("commit", footer.commit.clone()),
        pair("notes", footer.chain.notes_name(footer.first)),
        pair("audit_rows", footer.audit_rows.to_string()),
        pair("span_unit", AuditBatch::SPAN_UNIT.to_owned()),
    ];
    for (name, value) in footer.fingerprints.entries() {
        pairs.push(pair(&format!("fingerprint.{name}"), value.to_owned()));
    }
    pairs
}
