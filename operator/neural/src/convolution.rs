//! `cnn`: a convolutional network that reads characters, trained and run on candle.
//!
//! A token is the sum of the vectors of its character n-grams and of the word itself, which are looked up by
//! hash (Bojanowski 2017, section 3.2), and a vector of its shape. Dilated convolutions with residual
//! connections read the tokens around it (Strubell 2017, section 4). The network has no vocabulary and no
//! dictionary: it reads other evidence than the members with tables of words, so that it errs on other words,
//! and its model's folder holds no word of a note.
//!
//! candle computes the layers and their gradients, on the calling thread. A trained network runs with weights of eight
//! bits ([`crate::Precision`]). Each window of a note is computed
//! alone, so that its spans and scores are the same in every batch.

mod folded;
mod layers;
mod member;
mod network;
mod path;
mod pieces;
mod rounded;
mod runner;
mod settings;
mod train;

pub use member::ConvolutionMember;
pub use network::ConvolutionNetwork;
pub use settings::{ConvolutionSchedule, ConvolutionShape, Convolutional};

/// A failure of candle, which only a defect of the program or a lack of memory causes.
const FAILED: &str = "the network could not be computed";
