//! The result of a replay: counts, as text and as JSON.

use std::collections::BTreeMap;
use std::fmt;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray as _;
use lethe_connectors::replay::Candidates;
use lethe_connectors::sink::ChainId;
use lethe_core::RowKind;
use serde::Serialize;

/// The result of a replay.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Outcome {
    /// Selected records.
    pub(crate) selected: u64,
    /// Records that were skipped, since the same configuration has already quarantined them again.
    tried: u64,
    /// The results by chain.
    chains: BTreeMap<String, Counts>,
    /// Parts that were written.
    files: u64,
    /// Their bytes, including the audit.
    bytes: u64,
    /// Whether this was a dry run.
    dry_run: bool,
}

/// The result for one chain.
#[derive(Debug, Default, Serialize)]
struct Counts {
    /// Selected records, by the code of the last attempt.
    selected: BTreeMap<String, u64>,
    notes: u64,
    tombstones: u64,
    structured: u64,
    /// Records that are quarantined again, by code.
    quarantined: BTreeMap<String, u64>,
    /// Records that the source no longer has.
    gone: u64,
}

impl Counts {
    const fn replayed(&self) -> u64 {
        self.notes + self.tombstones + self.structured
    }

    fn quarantined(&self) -> u64 {
        self.quarantined.values().sum()
    }
}

impl Outcome {
    /// Creates an empty result.
    pub(crate) fn new(dry_run: bool) -> Self {
        Self {
            dry_run,
            ..Self::default()
        }
    }

    /// Returns whether more than half of the processed records are quarantined again.
    pub(crate) fn is_mostly_quarantined(&self) -> bool {
        self.sum(Counts::quarantined) > self.sum(Counts::replayed)
    }

    /// Returns the number of records that the source no longer has.
    pub(crate) fn gone_records(&self) -> u64 {
        self.sum(|counts| counts.gone)
    }

    fn sum(&self, of: impl Fn(&Counts) -> u64) -> u64 {
        self.chains.values().map(of).sum()
    }

    /// Counts the selected records of a notes file.
    pub(super) fn found(&mut self, found: &Candidates) {
        self.tried += found.tried;
        self.selected += found.offsets.len() as u64;
        if found.offsets.is_empty() {
            return;
        }
        let chain = self.chains.entry(found.file.chain.to_string()).or_default();
        for (code, count) in &found.codes {
            *chain.selected.entry(code.clone()).or_default() += count;
        }
    }

    /// Counts rows.
    pub(super) fn ran(&mut self, chain: &ChainId, rows: &RecordBatch) {
        let counts = self.chains.entry(chain.to_string()).or_default();
        let (Some(kinds), Some(errors)) = (rows.column_by_name("row_kind"), rows.column_by_name("error"))
        else {
            return;
        };
        let (kinds, errors) = (kinds.as_string::<i32>(), errors.as_string::<i32>());
        for (kind, error) in kinds.iter().zip(errors) {
            match kind.unwrap_or_default() {
                kind if kind == RowKind::Note.name() => counts.notes += 1,
                kind if kind == RowKind::Tombstone.name() => counts.tombstones += 1,
                kind if kind == RowKind::Structured.name() => counts.structured += 1,
                _ => {
                    let code = error.unwrap_or_default().to_owned();
                    *counts.quarantined.entry(code).or_default() += 1;
                }
            }
        }
    }

    /// Counts records that the source no longer has.
    pub(super) fn gone(&mut self, chain: &ChainId, records: u64) {
        if records > 0 {
            self.chains.entry(chain.to_string()).or_default().gone += records;
        }
    }

    /// Counts a part that was written.
    pub(super) const fn wrote(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (chain, counts) in &self.chains {
            let selected: u64 = counts.selected.values().sum();
            writeln!(
                f,
                "{chain}: {selected} quarantined records; {} replayed ({} notes, {} tombstones, {} structured messages), {} quarantined again, {} gone",
                counts.replayed(),
                counts.notes,
                counts.tombstones,
                counts.structured,
                counts.quarantined(),
                counts.gone
            )?;
            for (code, count) in &counts.selected {
                writeln!(f, "  was {code}: {count}")?;
            }
            for (code, count) in &counts.quarantined {
                writeln!(f, "  is now {code}: {count}")?;
            }
        }
        writeln!(
            f,
            "{} records selected: {} replayed, {} quarantined again, {} gone",
            self.selected,
            self.sum(Counts::replayed),
            self.sum(Counts::quarantined),
            self.gone_records()
        )?;
        if self.tried > 0 {
            writeln!(
                f,
                "{} more were skipped: this configuration has already quarantined them again (--again retries them)",
                self.tried
            )?;
        }
        match (self.dry_run, self.files) {
            (true, _) => writeln!(f, "nothing written: this was a dry run"),
            (false, 0) => writeln!(f, "nothing written"),
            (false, files) => writeln!(f, "{files} files written, {} bytes", self.bytes),
        }
    }
}
