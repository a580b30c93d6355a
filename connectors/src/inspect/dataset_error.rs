//! The faults that an output dataset can have.

use std::fmt;

use serde::Serialize;

/// A fault of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
#[non_exhaustive]
pub enum DatasetError {
    /// Offsets that no file covers.
    Missing {
        /// The file before them; empty at the chain's beginning.
        after: String,
        /// The file that should begin there.
        file: String,
        /// First missing offset.
        from: i64,
        /// Offset after the last missing one.
        to: i64,
    },
    /// Offsets that two files cover.
    Overlap {
        /// The file that begins too early.
        file: String,
        /// Where it should begin.
        next: i64,
    },
    /// A file that cannot be read, or that contradicts itself or another file.
    Unreadable {
        /// The file.
        file: String,
        /// The problem.
        why: String,
    },
    /// A file whose digest differs from the one that another file holds.
    Digest {
        /// The file.
        file: String,
        /// The file that holds its digest.
        by: String,
        /// The digest that the other file holds.
        kept: String,
        /// The file's digest.
        found: String,
    },
    /// A file lacks a digest that all files of this program have.
    Unlinked {
        /// The file.
        file: String,
        /// The file whose digest is missing.
        of: &'static str,
    },
    /// No file has a stored head.
    Head {
        /// The digest.
        digest: String,
        /// The file that had it, if known.
        file: Option<String>,
    },
    /// A row whose offset is outside its file's range, or not after the previous row's.
    Offset {
        /// The file.
        file: String,
        /// The offset.
        offset: i64,
    },
    /// An audit row that contradicts its note, its neighbours or itself; the first of its kind in a file.
    Row {
        /// The file.
        file: String,
        /// The note's offset.
        offset: i64,
        /// The problem.
        why: &'static str,
    },
    /// An unfinished erasure.
    Unfinished {
        /// Its record.
        record: String,
    },
    /// A count that differs from the footer.
    Count {
        /// The file.
        file: String,
        /// The counted items.
        of: &'static str,
        /// The count in the footer.
        footer: u64,
        /// The actual count.
        found: u64,
    },
    /// A missing file of a backfill that a manifest or another file refers to.
    MissingPart {
        /// The file.
        file: String,
        /// The file that refers to it.
        by: String,
    },
    /// A file of a backfill that no manifest lists, and that no running backfill can have written.
    Added {
        /// The file.
        file: String,
        /// The reason.
        why: &'static str,
    },
    /// A missing audit file.
    NoAudit {
        /// The notes file.
        file: String,
        /// The audit file.
        audit: String,
    },
}

impl fmt::Display for DatasetError {
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
                write!(f, ": {file} is missing or unreadable")
            }
            Self::Overlap { file, next } => {
                write!(f, "{file} begins before offset {next}, at which it should begin")
            }
            Self::Unreadable { file, why } => write!(f, "{file}: {why}"),
            Self::Digest {
                file,
                by,
                kept,
                found,
            } => write!(
                f,
                "{file} was changed, or {by} was: its digest is {found}, but {by} holds {kept}"
            ),
            Self::Unlinked { file, of } => {
                write!(
                    f,
                    "{file} lacks the digest of {of}, which files of this program have"
                )
            }
            Self::Head { digest, file } => {
                write!(f, "the stored head {digest}: ")?;
                match file {
                    Some(file) => write!(f, "{file} has another digest")?,
                    None => f.write_str("no notes file has this digest")?,
                }
                f.write_str(", so the chain's end was changed or removed")
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
            } => write!(f, "{file}: {found} {of}, but its footer says {footer}"),
            Self::MissingPart { file, by } => write!(f, "{file} is missing, but {by} lists it"),
            Self::Added { file, why } => write!(
                f,
                "{file}: {why}; if a backfill is running, inspect again when it has finished; otherwise remove the file and find out who added it"
            ),
            Self::NoAudit { file, audit } => write!(f, "{file}: its audit file {audit} is missing"),
        }
    }
}
