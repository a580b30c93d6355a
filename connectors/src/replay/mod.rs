//! Replays quarantined records once their cause is fixed, and writes them next to their chain.
//!
//! A replay never changes a chain: a replayed record is a new version of its row in a separate part. The rows
//! of the chain and of the parts that are not quarantined together contain each record once.
//!
//! ```text
//! replayed/notes/topic=T/partition=P/<first offset of the notes file, 20 digits>-<number, 6 digits>.parquet
//! replayed/audit/topic=T/partition=P/<first offset of the notes file, 20 digits>-<number, 6 digits>-<random>.parquet
//! ```
//!
//! Invariants: a part belongs to one notes file, and its footer holds that file's digest. The parts of a
//! notes file are numbered from 0 and created once, and each except the first holds the digest of the
//! previous one. So of two concurrent replays one finds the name taken, and no record is replayed twice. A
//! part has a row for each replayed record, even if it is quarantined again: the footer has the digest of the
//! configuration, under which the record need not be tried again.

mod footer;
mod name;
mod part;
mod rows;
mod select;

pub use footer::{ReplayFooter, read_replay};
pub use name::ReplayName;
pub use part::{ReplayError, ReplayWriter, SealedReplay};
pub(crate) use rows::{Rows, each, each_row};
pub(crate) use select::parts;
pub use select::{Candidates, Code, NotesFile, Selection, UnknownCode, candidates, notes_files};
