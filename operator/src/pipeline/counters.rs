//! What went through, for the log and the last word.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use arrow_array::cast::AsArray as _;
use arrow_array::types::UInt32Type;
use arrow_array::{Array as _, RecordBatch};
use lethe_core::RowKind;

/// Counts of a run. Every field only grows.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) notes: AtomicU64,
    pub(crate) tombstones: AtomicU64,
    pub(crate) quarantined: AtomicU64,
    pub(crate) structured: AtomicU64,
    pub(crate) redactions: AtomicU64,
    pub(crate) text_bytes: AtomicU64,
    pub(crate) files: AtomicU64,
    pub(crate) file_bytes: AtomicU64,
    pub(crate) halted: AtomicU64,
    /// Whether it was said that most of what comes is quarantined.
    warned: AtomicBool,
}

impl Counters {
    /// Records after which a stream whose records are mostly quarantined is warned about.
    const ENOUGH: u64 = 100;

    /// Records that became rows.
    fn records(&self) -> u64 {
        let all = [&self.notes, &self.structured, &self.tombstones, &self.quarantined];
        all.into_iter().map(|count| count.load(Relaxed)).sum()
    }

    /// Whether more than half of the records were quarantined: then it is the configuration that is wrong, not the records.
    pub(crate) fn is_mostly_quarantined(&self) -> bool {
        self.quarantined.load(Relaxed) * 2 > self.records()
    }

    /// Warns once if most of the first records were quarantined.
    fn warn(&self) {
        if self.records() >= Self::ENOUGH && self.is_mostly_quarantined() && !self.warned.swap(true, Relaxed)
        {
            tracing::warn!(
                "{} of the first {} records were quarantined: the format or its field mapping may be wrong; `lethe inspect` counts them by code, and docs/quarantine.md says what to do about each",
                self.quarantined.load(Relaxed),
                self.records(),
            );
        }
    }

    /// Counts a batch of redacted rows.
    pub(crate) fn count(&self, rows: &RecordBatch) {
        if let Some(kinds) = rows
            .column_by_name("row_kind")
            .map(|column| column.as_string::<i32>())
        {
            let of = |kind: RowKind| kinds.iter().filter(|&name| name == Some(kind.name())).count() as u64;
            self.notes.fetch_add(of(RowKind::Note), Relaxed);
            self.tombstones.fetch_add(of(RowKind::Tombstone), Relaxed);
            self.quarantined.fetch_add(of(RowKind::Quarantined), Relaxed);
            self.structured.fetch_add(of(RowKind::Structured), Relaxed);
            self.warn();
        }
        if let Some(redactions) = rows
            .column_by_name("redactions")
            .map(|column| column.as_primitive::<UInt32Type>())
        {
            self.redactions
                .fetch_add(redactions.values().iter().map(|&n| u64::from(n)).sum(), Relaxed);
        }
        if let Some(text) = rows
            .column_by_name("text")
            .map(|column| column.as_string::<i32>())
            .filter(|text| !text.is_empty())
        {
            self.text_bytes.fetch_add(text.value_data().len() as u64, Relaxed);
        }
    }

    /// Counts a durable file.
    pub(crate) fn file(&self, bytes: u64) {
        self.files.fetch_add(1, Relaxed);
        self.file_bytes.fetch_add(bytes, Relaxed);
    }
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let get = |counter: &AtomicU64| counter.load(Relaxed);
        let structured = match get(&self.structured) {
            0 => String::new(),
            count => format!(", {count} structured messages"),
        };
        write!(
            f,
            "{} notes, {} tombstones, {} quarantined{structured}; {} redactions; {} files, {:.1} MiB",
            get(&self.notes),
            get(&self.tombstones),
            get(&self.quarantined),
            get(&self.redactions),
            get(&self.files),
            get(&self.file_bytes) as f64 / f64::from(1 << 20),
        )
    }
}
