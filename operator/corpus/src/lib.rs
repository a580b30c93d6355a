//! Documents with gold spans: what is trained on and what predictions are held against.
//!
//! One [`Document`] whatever the file format ([`Format`]); offsets are bytes of the text exactly as the file has it,
//! byte order mark and line ends included. Labels are the corpus' own names: which label set they belong to is the
//! reader's business.

mod brat;
mod digest;
mod document;
mod error;
mod folds;
mod format;
mod i2b2;
mod inline;
mod jsonl;
mod merge;
mod offsets;
mod places;
mod rename;
mod strict;
mod xml;

pub use brat::write_brat;
pub use digest::digest;
pub use document::{Document, Mark};
pub use error::{CorpusError, Fault};
pub use folds::{FoldError, Folds, Group, Split, folds, hold_out};
pub use format::{Format, Stand, read};
pub use i2b2::write_i2b2;
pub use jsonl::{Marked, marks_of, read_jsonl, write_jsonl};
pub use merge::{Joined, MergeError, Source, merge, source};
pub use offsets::{Predicted, read_offsets, write_offsets};
pub use rename::{Rename, RenameError};
pub use strict::Counts;
