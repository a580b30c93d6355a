//! What became of the records of a replay: counts, for people and for programs.

use std::collections::BTreeMap;
use std::fmt;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray as _;
use lethe_connectors::replay::Candidates;
use lethe_connectors::sink::ChainId;
use lethe_core::RowKind;
use serde::Serialize;

/// What became of the records of a replay.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Outcome {
    /// Records that were selected.
    pub(crate) selected: u64,
    /// Records that the same configuration has quarantined again before, and that were left out.
    tried: u64,
    /// What became of those of each chain.
    chains: BTreeMap<String, Counts>,
    /// Parts that were written.
    files: u64,
    /// Their bytes, with their audit.
    bytes: u64,
    /// Whether nothing was to be written.
    dry_run: bool,
}

/// What became of the records of one chain.
#[derive(Debug, Default, Serialize)]
struct Counts {
    /// Records that were selected, by the code of the last attempt.
    selected: BTreeMap<String, u64>,
    notes: u64,
    tombstones: u64,
    structured: u64,
    /// Records that are quarantined again, by code.
    quarantined: BTreeMap<String, u64>,
    /// Records that the source does not have any more.
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
    /// An outcome of nothing yet.
    pub(crate) fn new(dry_run: bool) -> Self {
        Self {
            dry_run,
            ..Self::default()
        }
    }

    /// Whether more than half of the records that were run are quarantined again.
    pub(crate) fn is_mostly_quarantined(&self) -> bool {
        self.sum(Counts::quarantined) > self.sum(Counts::replayed)
    }

    /// Whether there are records that the source does not have any more.
    pub(crate) fn gone_records(&self) -> u64 {
        self.sum(|counts| counts.gone)
    }

    fn sum(&self, of: impl Fn(&Counts) -> u64) -> u64 {
        self.chains.values().map(of).sum()
    }

    /// Counts what is selected of a notes file.
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

    /// Counts records that the source does not have any more.
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
                "{} more were left out: this same configuration has quarantined them again before (--again tries them once more)",
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
