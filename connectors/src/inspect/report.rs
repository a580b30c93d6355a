//! The result of an inspection, as text and as JSON.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::{BackfillReport, DatasetError, FileReport, Head, Replayed, Verdict};
use crate::erase::{ErasureReport, Erasures};
use crate::sink::ChainId;

/// The report of an output dataset.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// The store.
    pub store: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether digests were checked, which reads every byte.
    pub digests: bool,
    /// Whether audit rows were checked against their notes.
    pub audited: bool,
    /// All chains, in order.
    pub chains: Vec<ChainReport>,
    /// The report of a backfill, if there is one.
    pub backfill: Option<BackfillReport>,
    /// Reports of single files, if the folder contains no dataset.
    pub files: Vec<FileReport>,
    /// Erasures, in order.
    pub erasures: Vec<ErasureReport>,
    /// Faults outside of chains: stored heads that no file has, and records of erasures.
    pub faults: Vec<DatasetError>,
    /// Audit files that no notes file names.
    pub orphans: Vec<Orphan>,
    /// Files below `notes` and `audit` with names that this program does not use.
    pub strays: Vec<String>,
}

/// The report of one chain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChainReport {
    /// The chain.
    pub chain: ChainId,
    /// Number of notes files.
    pub files: u64,
    /// Size of the notes files in bytes.
    pub bytes: u64,
    /// Size of the audit files in bytes.
    pub audit_bytes: u64,
    /// Offset after the last: if the chain is intact, all offsets before it are accounted for.
    pub next: i64,
    /// Number of notes.
    pub notes: u64,
    /// Number of tombstones.
    pub tombstones: u64,
    /// Number of quarantined events.
    pub quarantined: u64,
    /// Number of messages without narrative.
    pub structured: u64,
    /// Number of rows that an erasure emptied.
    pub erased: u64,
    /// Number of offsets without a record: transaction markers, aborted and compacted records.
    pub skipped: u64,
    /// Offsets that were never read, with the recorded reason.
    pub gaps: Vec<Gap>,
    /// Quarantined rows by code.
    pub codes: BTreeMap<String, u64>,
    /// The replay of the quarantined rows, if there was one.
    pub replayed: Option<Replayed>,
    /// Redacted spans by label.
    pub labels: BTreeMap<String, u64>,
    /// Number of notes flagged for review.
    pub review: u64,
    /// Number of notes by reason for review; a note may have several.
    pub reasons: BTreeMap<String, u64>,
    /// Number of files at its beginning from before chains had digests; changes of these cannot be detected.
    pub unlinked: u64,
    /// The last file and its digest, to store elsewhere.
    pub head: Option<Head>,
    /// Changes of fingerprints along the chain.
    pub changes: Vec<Change>,
    /// The faults.
    pub faults: Vec<DatasetError>,
}

/// A range of offsets that were never read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// First offset.
    pub from: i64,
    /// Offset after the last.
    pub to: i64,
    /// The reason.
    pub reason: String,
}

/// A change of a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// First offset written under the new one.
    pub offset: i64,
    /// The fingerprint's name.
    pub field: String,
    /// Its value before.
    pub from: String,
    /// Its value after.
    pub to: String,
}

/// An audit file that no notes file names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Orphan {
    /// The file.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Seconds since it was written, by the difference between the store's clock and this machine's.
    pub age_seconds: u64,
    /// Whether the chain has passed it, so that no writer can still name it.
    pub superseded: bool,
}

impl Report {
    /// Returns whether every chain is complete and every count agrees. Orphans and strays are harmless.
    pub fn is_intact(&self) -> bool {
        self.fault_count() == 0
    }

    /// Returns the number of faults.
    fn fault_count(&self) -> usize {
        let chains: usize = self.chains.iter().map(|chain| chain.faults.len()).sum();
        let files: usize = self.files.iter().map(|file| file.faults.len()).sum();
        let backfill = self.backfill.as_ref().map_or(0, |backfill| backfill.faults.len());
        self.faults.len() + chains + files + backfill
    }

    /// Sets the verdict after all checks.
    pub(super) fn settle(&mut self) {
        let unfinished = self.backfill.as_ref().is_some_and(|found| !found.is_finished());
        let nothing = self.chains.is_empty() && self.files.is_empty() && self.backfill.is_none();
        self.verdict = match (self.fault_count(), nothing) {
            (1.., _) => Verdict::NotIntact,
            (0, true) => Verdict::NothingToCheck,
            (0, false) if unfinished => Verdict::Unfinished,
            (0, false) => Verdict::Intact,
        };
    }

    /// Adds the records of erasures. Contradictions in the files of an unfinished erasure are not reported
    /// separately.
    pub(super) fn take_erasures(&mut self, erasures: &Erasures) {
        self.erasures = erasures.reports().to_vec();
        self.strays.extend_from_slice(erasures.strays());
        let records = erasures
            .faults()
            .iter()
            .map(|(file, why)| DatasetError::Unreadable {
                file: file.clone(),
                why: why.clone(),
            });
        self.faults.extend(records);
        let Some(record) = erasures.unfinished() else {
            return;
        };
        let follows = |fault: &DatasetError| match fault {
            DatasetError::Count { file, .. }
            | DatasetError::Row { file, .. }
            | DatasetError::Offset { file, .. } => erasures.is_open(file),
            _ => false,
        };
        for chain in &mut self.chains {
            chain.faults.retain(|fault| !follows(fault));
        }
        self.faults.retain(|fault| !follows(fault));
        self.faults.push(DatasetError::Unfinished {
            record: record.name(),
        });
    }
}

impl ChainReport {
    pub(super) const fn new(chain: ChainId) -> Self {
        Self {
            chain,
            files: 0,
            bytes: 0,
            audit_bytes: 0,
            next: 0,
            notes: 0,
            tombstones: 0,
            quarantined: 0,
            structured: 0,
            erased: 0,
            skipped: 0,
            gaps: Vec::new(),
            codes: BTreeMap::new(),
            replayed: None,
            labels: BTreeMap::new(),
            review: 0,
            reasons: BTreeMap::new(),
            unlinked: 0,
            head: None,
            changes: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// Returns the number of rows of the notes files.
    pub const fn rows(&self) -> u64 {
        self.notes + self.tombstones + self.quarantined + self.structured + self.erased
    }

    /// Returns the number of quarantined rows that were not replayed, or were quarantined again.
    pub fn still_quarantined(&self) -> u64 {
        let replayed = self.replayed.as_ref().map_or(0, Replayed::rows);
        self.quarantined.saturating_sub(replayed)
    }

    /// Returns the number of offsets in gaps.
    pub fn bridged(&self) -> u64 {
        self.gaps
            .iter()
            .map(|gap| (gap.to - gap.from).unsigned_abs())
            .sum()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.store)?;
        let (mut rows, mut labels) = (0, BTreeMap::<&str, u64>::new());
        let (mut quarantined, mut codes) = (0, BTreeMap::<&str, u64>::new());
        for chain in &self.chains {
            write!(f, "{chain}")?;
            rows += chain.rows();
            quarantined += chain.still_quarantined();
            for (code, count) in &chain.codes {
                *codes.entry(code).or_default() += count;
            }
            for (label, count) in &chain.labels {
                *labels.entry(label).or_default() += count;
            }
        }
        if !self.chains.is_empty() {
            writeln!(f, "{} rows in {} chains", rows, self.chains.len())?;
        }
        if let Some(backfill) = &self.backfill {
            write!(f, "{backfill}")?;
            for (label, count) in &backfill.labels {
                *labels.entry(label).or_default() += count;
            }
        }
        for file in &self.files {
            write!(f, "{file}")?;
        }
        let written: u64 = codes.values().sum();
        if written > 0 {
            let replayed = written.saturating_sub(quarantined);
            writeln!(f, "{written} rows quarantined, {replayed} of them replayed since")?;
            for (code, count) in codes {
                writeln!(f, "  {code:<40}{count:>12}")?;
            }
        }
        let redacted: u64 = labels.values().sum();
        if self.files.is_empty() && self.verdict != Verdict::NothingToCheck {
            writeln!(f, "{redacted} spans redacted")?;
        }
        for (label, count) in labels {
            writeln!(f, "  {label:<24}{count:>12}")?;
        }
        for erasure in &self.erasures {
            writeln!(f, "{erasure}")?;
        }
        for orphan in &self.orphans {
            let why = if orphan.superseded {
                "superseded"
            } else {
                "at the chain's end"
            };
            writeln!(f, "orphan ({why}, {} s old): {}", orphan.age_seconds, orphan.name)?;
        }
        for stray in &self.strays {
            writeln!(f, "unknown file: {stray}")?;
        }
        for fault in &self.faults {
            writeln!(f, "FAULT: {fault}")?;
        }
        match self.fault_count() {
            0 if self.verdict == Verdict::NothingToCheck => {
                writeln!(
                    f,
                    "NOTHING TO CHECK: found no chain, no backfill and no Parquet file"
                )
            }
            0 => {
                f.write_str(match self.verdict {
                    Verdict::Unfinished => "unfinished: everything written so far agrees",
                    _ if self.chains.is_empty() => "intact: all checks passed",
                    _ => "intact: every offset is accounted for once",
                })?;
                if self.digests && self.files.is_empty() {
                    f.write_str("; all checksums match")?;
                }
                if self.audited && self.files.is_empty() {
                    f.write_str("; all audit rows match their notes")?;
                }
                writeln!(f)
            }
            1 => writeln!(f, "NOT INTACT: 1 fault"),
            faults => writeln!(f, "NOT INTACT: {faults} faults"),
        }
    }
}

impl fmt::Display for ChainReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let structured = match self.structured {
            0 => String::new(),
            count => format!(", {count} structured messages"),
        };
        let erased = match self.erased {
            0 => String::new(),
            count => format!(", {count} erased"),
        };
        writeln!(
            f,
            "{}: offsets 0 to {} in {} files; {} notes, {} tombstones, {} quarantined{structured}{erased}, {} without record, {} in gaps",
            self.chain,
            self.next,
            self.files,
            self.notes,
            self.tombstones,
            self.quarantined,
            self.skipped,
            self.bridged(),
        )?;
        for (code, count) in &self.codes {
            writeln!(f, "  quarantined, {code}: {count}")?;
        }
        if let Some(replayed) = &self.replayed {
            write!(f, "{replayed}")?;
        }
        for Gap { from, to, reason } in &self.gaps {
            writeln!(f, "  gap {from} to {to}: {reason}")?;
        }
        if self.review > 0 {
            let reasons: Vec<_> = self
                .reasons
                .iter()
                .map(|(why, count)| format!("{why} {count}"))
                .collect();
            writeln!(f, "  to review: {} notes ({})", self.review, reasons.join(", "))?;
        }
        if self.unlinked > 0 {
            writeln!(
                f,
                "  without digests: {} files at its beginning, from before chains had digests",
                self.unlinked
            )?;
        }
        for change in &self.changes {
            writeln!(
                f,
                "  from offset {} on: {} {} instead of {}",
                change.offset, change.field, change.to, change.from
            )?;
        }
        for fault in &self.faults {
            writeln!(f, "  FAULT: {fault}")?;
        }
        match &self.head {
            Some(Head {
                digest,
                file: Some(file),
            }) => writeln!(f, "  head {digest}  {file}"),
            _ => Ok(()),
        }
    }
}
