//! The writer of one chain: takes rows, makes files of them, and gives a receipt for what is durable.

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

/// Rows by kind.
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
/// Encoding ([`LaneWriter::push`], [`LaneWriter::seal`]) is plain computation for a thread that computes; writing
/// ([`SealedFile::upload`]) is asynchronous and waits for the store. While a sealed file is being uploaded the writer
/// takes more rows, but seals no further file before [`LaneWriter::committed`] has seen the receipt: a file after one
/// that was lost would break the chain.
pub struct LaneWriter {
    chain: ChainId,
    writer: String,
    fingerprints: Fingerprints,
    notes: Sheet,
    audit: Sheet,
    counts: Counts,
    first: i64,
    next: i64,
    /// Digest of the file before the one under construction.
    previous: Option<Arc<str>>,
    /// The offset after a sealed file that has no receipt yet.
    awaited: Option<i64>,
    /// That file, if this writer commits it itself.
    pending: Option<SealedFile>,
    /// Set when encoding failed half-way.
    spoilt: bool,
}

impl LaneWriter {
    /// Opens a chain where it ends; [`LaneWriter::next`] says where that is, and the source must go on from there.
    /// `start` counts only for a chain without files: then the chain begins there, and if that is not 0 a file
    /// without rows is written at once that says so.
    ///
    /// # Errors
    /// [`ChainError::AnotherLog`] if the chain is of another cluster or topic than the fingerprints', or what
    /// [`read_tail`] finds.
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
                    tracing::info!(%chain, file = tail.file, "the next file is written under other settings than the last: {changes}");
                }
                break (tail.next, Some(digest_whole(store, &tail.file).await?.into()));
            }
            if start <= 0 {
                break (0, None);
            }
            let why = "the log began here when the chain was begun";
            match bridge(store, &chain, 0, start, why, &fingerprints).await {
                Ok(receipt) => break (receipt.next(), Some(receipt.digest().into())),
                // Another writer began it: see where.
                Err(CommitError::Lost { .. } | CommitError::Fatal(ChainError::Gap { .. })) => {}
                Err(CommitError::Transient(error)) => return Err(error.into()),
                Err(CommitError::Fatal(error)) => return Err(error),
            }
        };
        Ok(Self {
            chain,
            writer: new_id().to_string(),
            fingerprints,
            notes: Sheet::new(RedactedBatch::schema(), encoding),
            audit: Sheet::new(AuditBatch::schema(), encoding),
            counts: Counts::default(),
            first: next,
            next,
            previous,
            awaited: None,
            pending: None,
            spoilt: false,
        })
    }

    /// The chain.
    pub const fn chain(&self) -> &ChainId {
        &self.chain
    }

    /// The offset that comes next: one that is greater is taken too, one that is less is refused.
    pub const fn next(&self) -> i64 {
        self.next
    }

    /// First offset of the file under construction.
    pub const fn first(&self) -> i64 {
        self.first
    }

    /// Rows of the file under construction.
    pub const fn rows(&self) -> u64 {
        self.notes.rows()
    }

    /// Offsets of the file under construction that have no row.
    pub const fn skipped(&self) -> u64 {
        ((self.next - self.first) as u64).saturating_sub(self.rows())
    }

    /// Bytes of memory held by what is not durable: encoded, in encoding, and pending.
    pub fn buffered_bytes(&self) -> usize {
        let pending = self.pending.as_ref().map_or(0, SealedFile::memory);
        self.notes.memory() + self.audit.memory() + pending
    }

    /// Size in bytes that the notes file would have if it were sealed now, nearly.
    pub fn encoded_bytes(&self) -> u64 {
        self.notes.encoded()
    }

    /// Says what the content of files follows from, from here on.
    ///
    /// # Errors
    /// [`ChainError::Encode`] if rows are held: a file follows from one thing alone, so they must be committed before.
    pub fn follow(&mut self, fingerprints: Fingerprints) -> Result<(), ChainError> {
        if self.next != self.first {
            return Err(self.encode_error("rows of another edition are held"));
        }
        self.fingerprints = fingerprints;
        Ok(())
    }

    /// Takes rows, with the audit of what was redacted in them.
    ///
    /// # Errors
    /// [`PushError`] if the rows are of another chain, out of order, or the audit is of other rows; nothing is taken
    /// then. After [`PushError::Encode`] the writer must be dropped.
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

    /// Passes over offsets that have no record, up to `next`: transaction markers, aborted and compacted records.
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

    /// Makes a file of what is held; `None` if nothing is. The writer then takes rows of the file after it.
    ///
    /// # Errors
    /// [`ChainError::NoReceipt`] if the file before has no receipt yet; [`ChainError::Encode`], after which the writer
    /// must be dropped.
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

    /// Learns that the sealed file is durable.
    ///
    /// # Errors
    /// [`ChainError::NoReceipt`] if the receipt is not that file's.
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

    /// Seals and uploads; `None` if nothing is held. Encodes on the calling thread: where that must not compute, use
    /// [`LaneWriter::seal`], [`SealedFile::upload`] and [`LaneWriter::committed`].
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

    /// Checks that the rows belong after what is held; the last offset, or `None` if there is no row.
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

    /// Checks that each audit row is of a row of the batch. Both are in the order of offsets.
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

/// What an audit file says of itself: which notes file it belongs to, should that have been committed, what its rows follow
/// from, and what their spans are counted in.
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
