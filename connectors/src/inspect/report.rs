//! What an inspection found, for people and for programs.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::sink::ChainId;

/// An output dataset, inspected.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// The store.
    pub store: String,
    /// Every chain, in order.
    pub chains: Vec<ChainReport>,
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
    /// Offsets without a record: transaction markers, aborted and compacted records.
    pub skipped: u64,
    /// Offsets that nobody read, with the reason given.
    pub gaps: Vec<Gap>,
    /// Quarantined rows by code.
    pub codes: BTreeMap<String, u64>,
    /// Redacted spans by label.
    pub labels: BTreeMap<String, u64>,
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

/// Something wrong with a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fault {
    /// Offsets that no file has.
    Missing {
        /// The file before them, empty at the chain's beginning.
        after: String,
        /// First offset that is missing.
        from: i64,
        /// Offset after the last that is missing.
        to: i64,
    },
    /// Offsets that two files have.
    Overlap {
        /// The file that begins too early.
        file: String,
        /// Where it should begin.
        next: i64,
    },
    /// A file that cannot be read.
    Unreadable {
        /// The file.
        file: String,
        /// What is wrong.
        why: String,
    },
    /// A row whose offset is outside its file's, or not after the row before it.
    Offset {
        /// The file.
        file: String,
        /// The offset.
        offset: i64,
    },
    /// A count that is not what the footer says.
    Count {
        /// The file.
        file: String,
        /// What was counted.
        of: &'static str,
        /// What the footer says.
        footer: u64,
        /// What there is.
        found: u64,
    },
    /// An audit file that is named and not there.
    NoAudit {
        /// The notes file.
        file: String,
        /// The audit file.
        audit: String,
    },
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
        self.chains.iter().all(|chain| chain.faults.is_empty())
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
            skipped: 0,
            gaps: Vec::new(),
            codes: BTreeMap::new(),
            labels: BTreeMap::new(),
            changes: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// Rows of the notes files.
    pub const fn rows(&self) -> u64 {
        self.notes + self.tombstones + self.quarantined
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
        if self.chains.is_empty() {
            writeln!(f, "no notes files")?;
        }
        let (mut rows, mut labels) = (0, BTreeMap::<&str, u64>::new());
        for chain in &self.chains {
            write!(f, "{chain}")?;
            rows += chain.rows();
            for (label, count) in &chain.labels {
                *labels.entry(label).or_default() += count;
            }
        }
        writeln!(f, "{} rows in {} chains", rows, self.chains.len())?;
        let redacted: u64 = labels.values().sum();
        writeln!(f, "{redacted} spans redacted")?;
        for (label, count) in labels {
            writeln!(f, "  {label:<24}{count:>12}")?;
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
        let faults: usize = self.chains.iter().map(|chain| chain.faults.len()).sum();
        match faults {
            0 => writeln!(f, "intact: every offset is accounted for once"),
            1 => writeln!(f, "NOT INTACT: 1 fault"),
            faults => writeln!(f, "NOT INTACT: {faults} faults"),
        }
    }
}

impl fmt::Display for ChainReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: offsets 0 to {} in {} files; {} notes, {} tombstones, {} quarantined, {} without record, {} in gaps",
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
        for Gap { from, to, reason } in &self.gaps {
            writeln!(f, "  gap {from} to {to}: {reason}")?;
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
        Ok(())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { after, from, to } if after.is_empty() => {
                write!(f, "offsets {from} to {to} are missing at the beginning")
            }
            Self::Missing { after, from, to } => {
                write!(f, "offsets {from} to {to} are missing after {after}")
            }
            Self::Overlap { file, next } => write!(f, "{file} begins before offset {next}, which is due"),
            Self::Unreadable { file, why } => write!(f, "{file}: {why}"),
            Self::Offset { file, offset } => write!(f, "{file}: offset {offset} is out of place"),
            Self::Count {
                file,
                of,
                footer,
                found,
            } => write!(f, "{file}: {found} {of}, and its footer says {footer}"),
            Self::NoAudit { file, audit } => write!(f, "{file}: its audit file {audit} is not there"),
        }
    }
}
