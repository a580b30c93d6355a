//! Documents with gold spans: what is trained on and what predictions are held against.
//!
//! One [`Document`] whatever the file format; offsets are bytes of the text exactly as the file has it, byte order mark
//! and line ends included. Labels are the corpus' own names: which label set they belong to is the reader's business.

mod document;
mod jsonl;
mod strict;

pub use document::{Document, Mark};
pub use jsonl::{JsonlError, read_jsonl};
pub use strict::Counts;
