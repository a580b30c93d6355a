//! What an inspection found, for people and for programs.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::{BackfillReport, Fault, FileReport, Head, Replayed, Verdict};
use crate::erase::{ErasureReport, Erasures};
use crate::sink::ChainId;

/// An output dataset, inspected.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// The store.
    pub store: String,
    /// What it comes to.
    pub verdict: Verdict,
    /// Whether every byte was looked at: whether files are what they were.
    pub digests: bool,
    /// Whether audit rows were held against their notes.
    pub audited: bool,
    /// Every chain, in order.
    pub chains: Vec<ChainReport>,
    /// What a backfill wrote, if one did.
    pub backfill: Option<BackfillReport>,
    /// Files that were looked at each for itself, since nothing around them is a dataset.
    pub files: Vec<FileReport>,
    /// Erasures, in their order.
    pub erasures: Vec<ErasureReport>,
    /// What is wrong that no chain answers for: heads that were kept and that no file has, records of erasures.
    pub faults: Vec<Fault>,
    /// Audit files that no notes file names.
    pub orphans: Vec<Orphan>,
    /// Files below `notes` and `audit` that this program did not name.
    pub strays: Vec<String>,
}

/// One chain, inspected.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChainReport {
    /// The chain.
    pub chain: ChainId,
    /// Notes files.
    pub files: u64,
    /// Bytes of the notes files.
    pub bytes: u64,
    /// Bytes of the audit files.
    pub audit_bytes: u64,
    /// Offset after the last: offsets 0 up to here are accounted for, if the chain is intact.
    pub next: i64,
    /// Rows that are notes.
    pub notes: u64,
    /// Rows that are tombstones.
    pub tombstones: u64,
    /// Rows that are quarantined events.
    pub quarantined: u64,
    /// Rows that are messages without narrative.
    pub structured: u64,
    /// Rows that an erasure emptied.
    pub erased: u64,
    /// Offsets without a record: transaction markers, aborted and compacted records.
    pub skipped: u64,
    /// Offsets that nobody read, with the reason given.
    pub gaps: Vec<Gap>,
    /// Quarantined rows by code.
    pub codes: BTreeMap<String, u64>,
    /// What was replayed of the quarantined rows, if anything was.
    pub replayed: Option<Replayed>,
    /// Redacted spans by label.
    pub labels: BTreeMap<String, u64>,
    /// Notes that a human should look at.
    pub review: u64,
    /// Why, by reason: a note may have several.
    pub reasons: BTreeMap<String, u64>,
    /// Files at its beginning that are from before chains had digests: nothing tells whether they are what they were.
    pub unlinked: u64,
    /// The last file and its digest, to be kept elsewhere.
    pub head: Option<Head>,
    /// Where a fingerprint changed along the chain.
    pub changes: Vec<Change>,
    /// What is wrong.
    pub faults: Vec<Fault>,
}

/// Offsets that nobody read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// First offset.
    pub from: i64,
    /// Offset after the last.
    pub to: i64,
    /// Why.
    pub reason: String,
}

/// A fingerprint that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// First offset written under the new one.
    pub offset: i64,
    /// Which fingerprint.
    pub field: String,
    /// What it was.
    pub from: String,
    /// What it is.
    pub to: String,
}

/// An audit file that no notes file names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Orphan {
    /// The file.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Seconds since it was written, by the store's clock and this machine's.
    pub age_seconds: u64,
    /// Whether the chain has gone past it, so that no writer can still be about to name it.
    pub superseded: bool,
}

impl Report {
    /// Whether every chain is whole and every count agrees. Orphans and strays harm nothing.
    pub fn is_intact(&self) -> bool {
        self.fault_count() == 0
    }

    /// How many faults there are.
    fn fault_count(&self) -> usize {
        let chains: usize = self.chains.iter().map(|chain| chain.faults.len()).sum();
        let files: usize = self.files.iter().map(|file| file.faults.len()).sum();
        let backfill = self.backfill.as_ref().map_or(0, |backfill| backfill.faults.len());
        self.faults.len() + chains + files + backfill
    }

    /// Says what it comes to, once all is looked at.
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

    /// Takes what the records of erasures say. What does not add up in the files of an unfinished one is not reported apart.
    pub(super) fn take_erasures(&mut self, erasures: &Erasures) {
        self.erasures = erasures.reports().to_vec();
        self.strays.extend_from_slice(erasures.strays());
        let records = erasures.faults().iter().map(|(file, why)| Fault::Unreadable {
            file: file.clone(),
            why: why.clone(),
        });
        self.faults.extend(records);
        let Some(record) = erasures.unfinished() else {
            return;
        };
        let follows = |fault: &Fault| match fault {
            Fault::Count { file, .. } | Fault::Row { file, .. } | Fault::Offset { file, .. } => {
                erasures.is_open(file)
            }
            _ => false,
        };
        for chain in &mut self.chains {
            chain.faults.retain(|fault| !follows(fault));
        }
        self.faults.retain(|fault| !follows(fault));
        self.faults.push(Fault::Unfinished {
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

    /// Rows of the notes files.
    pub const fn rows(&self) -> u64 {
        self.notes + self.tombstones + self.quarantined + self.structured + self.erased
    }

    /// Quarantined rows whose record was not replayed, or is quarantined again.
    pub fn still_quarantined(&self) -> u64 {
        let replayed = self.replayed.as_ref().map_or(0, Replayed::rows);
        self.quarantined.saturating_sub(replayed)
    }

    /// Offsets in gaps.
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
            writeln!(f, "not of this program: {stray}")?;
        }
        for fault in &self.faults {
            writeln!(f, "FAULT: {fault}")?;
        }
        match self.fault_count() {
            0 if self.verdict == Verdict::NothingToCheck => {
                writeln!(
                    f,
                    "NOTHING TO CHECK: no chain, no backfill and no Parquet file is here"
                )
            }
            0 => {
                f.write_str(match self.verdict {
                    Verdict::Unfinished => "unfinished: what is there agrees",
                    _ if self.chains.is_empty() => "intact: all that was checked agrees",
                    _ => "intact: every offset is accounted for once",
                })?;
                if self.digests && self.files.is_empty() {
                    f.write_str("; every file that is answered for is what it was")?;
                }
                if self.audited && self.files.is_empty() {
                    f.write_str("; every audit row fits its note")?;
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
                "  not chained: {} files at its beginning, from before chains had digests",
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
