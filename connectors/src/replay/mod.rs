//! Replay: quarantined records run again, once their cause is mended, and written beside the chain that holds them.
//!
//! A replay never changes a chain, so a replayed record is a new version of its row in a part of its own. Readers take the rows of the
//! chain that are not quarantined, and the rows of the parts that are not quarantined; together these are each record once.
//!
//! ```text
//! replayed/notes/topic=T/partition=P/<first offset of the notes file, 20 digits>-<number, 6 digits>.parquet
//! replayed/audit/topic=T/partition=P/<first offset of the notes file, 20 digits>-<number, 6 digits>-<random>.parquet
//! ```
//!
//! Invariants: a part belongs to one notes file, and its footer holds that file's digest. The parts of a notes file are
//! numbered from 0, created once, and each but the first holds the digest of the one before. So of two replays that run at
//! the same time one finds the name taken, and no record is replayed twice. A part has a row for each record that was run,
//! also if it is quarantined again: the footer says under which configuration, which need not try it a second time.

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
pub use select::{Candidates, Code, NotesFile, Selection, candidates, notes_files};
