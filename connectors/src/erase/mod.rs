//! Erasure: rows of a patient are emptied in the files that hold them, and a record says so.
//!
//! A row stays where it is, so that offsets stay accounted for: it becomes a row of kind [`ERASED`] without content. Its
//! audit rows go. All other rows keep their values. A rewritten file keeps its name and, in its footer, the digests that it
//! held of other files; so its own digest is no longer the one that its neighbours hold. The record is what answers for it:
//!
//! ```text
//! erased/<number, 6 digits>.json         what is to be replaced: each file, its SHA-256 before and after, and why
//! erased/<number, 6 digits>-done.json    that it is done; holds the SHA-256 of the record
//! ```
//!
//! Invariants: both are created once. A record is there before the first of its files is replaced, and holds the SHA-256 of
//! the completion before it; so at most the last record is unfinished, and the records are a chain of their own. While it is
//! unfinished each of its files is as before or as after; run again, the erasure goes on with those that are as before. No
//! record holds an id, a code or a text of a patient.

mod record;
mod rewrite;
mod select;
mod work;

pub use record::{ErasureReport, Erasures, Record, Replacement};
pub use select::{Found, Match, Row, find, locate};
pub use work::{EraseError, Plan, complete, plan, replace, write};

/// The kind of an erased row, in the column `row_kind`.
pub const ERASED: &str = "erased";
