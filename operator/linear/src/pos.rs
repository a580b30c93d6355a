//! Parts of speech: a small greedy tagger over the universal tags, averaged perceptron (Collins 2002; history of the
//! last two tags).
//!
//! What a word says of its own tag and of its neighbours' is added up once a word type; a token then costs three short
//! sums and two rows of the history's table.

mod corpus;
mod model;
mod train;

pub use corpus::{Sentence, TsvError, read_tsv};
pub(crate) use model::Context;
pub use model::{PosError, PosTagger, TAGS, Vectors};
pub use train::{Accuracy, train};
