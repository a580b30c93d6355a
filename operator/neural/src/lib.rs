//! Neural members: recurrent networks with and without a CRF layer, a convolutional network, and transformer
//! checkpoints.
//!
//! [`Recurrent`] holds the settings of a recurrent member and fits it, [`Network`] saves and loads it,
//! [`NeuralMember`] runs it; [`convolution`] has the same three for a convolutional one. [`Stacked`] reads the predictions of other members. The hot loops are in `lethe-kernel`.

mod adam;
mod alone;
mod bilstm;
mod bucket;
mod checkpoint;
pub mod convolution;
mod crf;
mod halves;
mod member;
mod model;
mod network;
mod precision;
mod reader;
mod rmsprop;
mod rng;
mod rounded;
mod rows;
mod runner;
mod self_training;
mod settings;
mod skipgram;
mod stacked;
mod tape;
mod train;
#[cfg(feature = "transformer")]
pub mod transformer;
mod tuning;
mod types;
mod vectors;
mod weights;

pub use bilstm::{BiLstm, Trace, Weights};
pub use bucket::Bucket;
pub use checkpoint::CheckpointError;
pub use member::NeuralMember;
pub use model::Architecture;
pub use network::{Network, NetworkError};
pub use precision::Precision;
pub use self_training::{SelfTask, SelfTrained};
pub use settings::{Recurrent, SelfTraining, SettingsError, VectorSource};
pub use skipgram::SkipGram;
pub use stacked::{MemberTags, Stacked, StackedError, StackedScratch, StackedSettings};
pub use train::{Data, Schedule, TrainError, train};
pub use tuning::{Tuning, TuningError, Words};
pub use types::Casing;
pub use vectors::{Vectors, VectorsError};
