//! What can be wrong with an output dataset.

use std::fmt;

use serde::Serialize;

/// Something wrong with a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fault {
    /// Offsets that no file has.
    Missing {
        /// The file before them, empty at the chain's beginning.
        after: String,
        /// The file that should begin there.
        file: String,
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
    /// A file that cannot be read, or that contradicts itself or another.
    Unreadable {
        /// The file.
        file: String,
        /// What is wrong.
        why: String,
    },
    /// A file whose bytes are not those that another file answers for.
    Digest {
        /// The file.
        file: String,
        /// The file that holds its digest.
        by: String,
        /// The digest that one holds.
        kept: String,
        /// The digest of the file's bytes.
        found: String,
    },
    /// A file without a digest that all files of this program have.
    Unlinked {
        /// The file.
        file: String,
        /// What it has no digest of.
        of: &'static str,
    },
    /// A digest that was kept of a chain's end, and that no file has.
    Head {
        /// The digest.
        digest: String,
        /// The file that had it, if that was kept too.
        file: Option<String>,
    },
    /// A row whose offset is outside its file's, or not after the row before it.
    Offset {
        /// The file.
        file: String,
        /// The offset.
        offset: i64,
    },
    /// An audit row that contradicts its note, its neighbours or itself. The first of its kind in a file.
    Row {
        /// The file.
        file: String,
        /// The note's offset.
        offset: i64,
        /// What is wrong.
        why: &'static str,
    },
    /// An erasure that was begun and not finished.
    Unfinished {
        /// Its record.
        record: String,
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
    /// A file of a backfill that a manifest or another file names, and that is not there.
    MissingPart {
        /// The file.
        file: String,
        /// What names it.
        by: String,
    },
    /// A file of a backfill that no manifest lists, and that no run at work can have written.
    Added {
        /// The file.
        file: String,
        /// How that is known.
        why: &'static str,
    },
    /// An audit file that is named and not there.
    NoAudit {
        /// The notes file.
        file: String,
        /// The audit file.
        audit: String,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing {
                after,
                file,
                from,
                to,
            } => {
                write!(f, "offsets {from} to {to} are missing")?;
                match after.is_empty() {
                    true => f.write_str(" at the beginning")?,
                    false => write!(f, " after {after}")?,
                }
                write!(f, ": {file} is not there, or cannot be read")
            }
            Self::Overlap { file, next } => write!(f, "{file} begins before offset {next}, which is due"),
            Self::Unreadable { file, why } => write!(f, "{file}: {why}"),
            Self::Digest {
                file,
                by,
                kept,
                found,
            } => write!(
                f,
                "{file} is not what it was: its digest is {found}, and {by} says {kept}; one of the two was changed"
            ),
            Self::Unlinked { file, of } => {
                write!(f, "{file} has no digest of {of}, as files of this program have")
            }
            Self::Head { digest, file } => {
                write!(f, "the kept head {digest}: ")?;
                match file {
                    Some(file) => write!(f, "{file} has it no longer")?,
                    None => f.write_str("no notes file has it")?,
                }
                f.write_str(", so the chain's end was changed or cut off")
            }
            Self::Offset { file, offset } => write!(f, "{file}: offset {offset} is out of place"),
            Self::Row { file, offset, why } => write!(f, "{file}: offset {offset}: {why}"),
            Self::Unfinished { record } => write!(
                f,
                "{record}: this erasure is not finished; run the same `lethe erase` again"
            ),
            Self::Count {
                file,
                of,
                footer,
                found,
            } => write!(f, "{file}: {found} {of}, and its footer says {footer}"),
            Self::MissingPart { file, by } => write!(f, "{file} is not there, and {by} names it"),
            Self::Added { file, why } => write!(
                f,
                "{file}: {why}; if a backfill is running, inspect again when it has ended, else remove the file and find out who added it"
            ),
            Self::NoAudit { file, audit } => write!(f, "{file}: its audit file {audit} is not there"),
        }
    }
}
