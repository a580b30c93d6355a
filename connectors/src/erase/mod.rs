//! Erases a patient: empties the patient's rows in the files that hold them, and records it.
//!
//! A row stays in place, so that all offsets stay accounted for: it becomes a row of kind [`ERASED`] without
//! content. Its audit rows are removed. All other rows keep their values. A rewritten file keeps its name and
//! the digests of other files in its footer. Its own digest changes and no longer matches the one that its
//! neighbours hold; the record vouches for it:
//!
//! ```text
//! erased/<number, 6 digits>.json         the replacements: each file, its SHA-256 before and after, and the reason
//! erased/<number, 6 digits>-done.json    the completion; holds the SHA-256 of the record
//! ```
//!
//! Invariants: both are created once. A record is written before the first of its files is replaced, and
//! holds the SHA-256 of the previous completion. So only the last record can be unfinished, and the records
//! form a chain of their own. While a record is unfinished, each of its files has its old or its new digest;
//! a second run of the erasure replaces those with the old one. No record holds an id, a code or a text of a
//! patient.

mod record;
mod replaced;
mod rewrite;
mod select;
mod work;

pub use record::{ErasureReport, Erasures, Record, Replacement};
pub use replaced::Replaced;
pub use select::{Found, Match, Row, find, locate};
pub use work::{EraseError, Plan, complete, plan, replace, write};

/// The kind of an erased row, in the column `row_kind`.
pub const ERASED: &str = "erased";
