//! Parts of speech: a small greedy tagger over the universal tags, an averaged perceptron (Collins 2002) with
//! the last two tags as history.
//!
//! The scores that a word adds to its own tag and to its neighbours' are summed once per word type; a token
//! then costs three short sums and two rows of the history's table.

mod corpus;
mod model;
mod reader;
mod train;

pub use corpus::{Sentence, TsvError, read_tsv};
pub(crate) use model::Context;
pub use model::{PosError, PosTagger, TAGS, Vectors};
pub use train::{Accuracy, train};
