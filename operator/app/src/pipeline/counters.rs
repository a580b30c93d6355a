//! Counts of a run, for the log and the final summary.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use arrow_array::cast::AsArray as _;
use arrow_array::types::UInt32Type;
use arrow_array::{Array as _, RecordBatch};
use lethe_core::RowKind;

/// Counts of a run. Every field only increases.
#[derive(Debug)]
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
    tallied: Tallied,
    tallies: Mutex<BTreeMap<String, Tally>>,
}

/// The records that share a format, and so are quarantined together if it is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tallied {
    /// The records of one topic.
    ByTopic,
    /// All records: the files of one source, each of which may hold a single record.
    Together,
}

/// The records of one topic, or of the whole source.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    records: u64,
    quarantined: u64,
    /// Whether a warning was logged.
    warned: bool,
}

impl Tally {
    /// The number of records before which no warning is logged.
    const ENOUGH: u64 = 100;

    /// Returns whether more than half of the records are quarantined, which suggests a wrong configuration.
    const fn is_mostly_quarantined(self) -> bool {
        self.quarantined * 2 > self.records
    }
}

impl Counters {
    /// Creates counters that tally records in this way.
    pub(crate) const fn new(tallied: Tallied) -> Self {
        Self {
            notes: AtomicU64::new(0),
            tombstones: AtomicU64::new(0),
            quarantined: AtomicU64::new(0),
            structured: AtomicU64::new(0),
            redactions: AtomicU64::new(0),
            text_bytes: AtomicU64::new(0),
            files: AtomicU64::new(0),
            file_bytes: AtomicU64::new(0),
            halted: AtomicU64::new(0),
            tallied,
            tallies: Mutex::new(BTreeMap::new()),
        }
    }

    /// Returns the topics, or the source, of which more than half of the records are quarantined, with both
    /// counts.
    pub(crate) fn mostly_quarantined(&self) -> Vec<String> {
        let tallies = self.tallies.lock().unwrap_or_else(PoisonError::into_inner);
        let mostly = tallies.iter().filter(|(_, tally)| tally.is_mostly_quarantined());
        mostly
            .map(|(name, tally)| format!("{name}: {} of {}", tally.quarantined, tally.records))
            .collect()
    }

    /// Counts the records of a batch, and warns once if most of the first records are quarantined.
    fn tally(&self, topic: &str, records: u64, quarantined: u64) {
        let name = match self.tallied {
            Tallied::ByTopic => topic,
            Tallied::Together => "the source",
        };
        let mut tallies = self.tallies.lock().unwrap_or_else(PoisonError::into_inner);
        let tally = match tallies.get_mut(name) {
            Some(tally) => tally,
            None => tallies.entry(name.to_owned()).or_default(),
        };
        tally.records += records;
        tally.quarantined += quarantined;
        if tally.records >= Tally::ENOUGH && tally.is_mostly_quarantined() && !tally.warned {
            tally.warned = true;
            tracing::warn!(
                "{name}: {} of the first {} records were quarantined: the format or its field mapping may be wrong; `lethe inspect` counts them by code, and docs/quarantine.md explains each code",
                tally.quarantined,
                tally.records,
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
            let quarantined = of(RowKind::Quarantined);
            self.quarantined.fetch_add(quarantined, Relaxed);
            self.structured.fetch_add(of(RowKind::Structured), Relaxed);
            if let Some(topic) = topic_of(rows) {
                self.tally(topic, rows.num_rows() as u64, quarantined);
            }
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

/// Returns the topic of a batch, which is the same for all rows of a lane.
fn topic_of(rows: &RecordBatch) -> Option<&str> {
    let topics = rows.column_by_name("topic")?.as_string::<i32>();
    (!topics.is_empty()).then(|| topics.value(0))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wholly_quarantined_topic_is_reported_next_to_a_larger_healthy_one() {
        let counters = Counters::new(Tallied::ByTopic);
        counters.tally("admissions", 10_000, 3);
        counters.tally("letters", 120, 120);
        assert_eq!(counters.mostly_quarantined(), ["letters: 120 of 120"]);
    }

    #[test]
    fn files_of_one_source_are_tallied_together() {
        let counters = Counters::new(Tallied::Together);
        counters.tally("a.jsonl", 1, 1);
        assert_eq!(counters.mostly_quarantined(), ["the source: 1 of 1"]);
        counters.tally("b.jsonl", 1, 0);
        assert!(counters.mostly_quarantined().is_empty());
    }
}
