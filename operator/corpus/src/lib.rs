//! Documents with gold spans, for training and evaluation, and the statistics of corpora.
//!
//! Every file format ([`Format`]) is read to one type, [`Document`]. Offsets are bytes of the text exactly as
//! in the file, byte order mark and line ends included. Labels are the corpus' own names; the caller decides
//! which label set they belong to.

mod brat;
mod coverage;
mod digest;
mod document;
mod error;
mod folds;
mod format;
mod grouping;
mod i2b2;
mod inline;
mod jsonl;
mod mat_json;
mod merge;
mod offsets;
mod physionet;
mod places;
mod rename;
mod spans;
pub mod statistics;
mod strict;
mod xml;

pub use brat::write_brat;
pub use coverage::{covered_tokens, surface_form};
pub use digest::digest;
pub use document::{Document, Mark};
pub use error::{CorpusError, LineError};
pub use folds::{FoldError, Folds, Group, Split, folds, hold_out};
pub use format::{Format, Stand, detect, read};
pub use grouping::Grouping;
pub use i2b2::write_i2b2;
pub use jsonl::{Marked, marks_of, read_jsonl, write_jsonl};
pub use merge::{Joined, MergeError, Source, merge, source};
pub use offsets::{Predicted, read_offsets, write_offsets};
pub use places::OffsetUnit;
pub use rename::{Rename, RenameError};
pub use spans::{NoteSpans, SpanFormat, read_spans};
pub use strict::Counts;
