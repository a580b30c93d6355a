//! Linear members over one shared feature extractor (Kim 2020, table 3), and their training.
//!
//! Features are computed once per batch and shared by all linear members ([`Columns`]); a member is a table
//! of weights and a decoder. Members are trained and run on the same columns.

mod batch;
mod bytes;
mod chain;
mod columns;
mod crf;
mod data;
mod decode;
mod dense;
mod features;
mod gradient;
mod greedy;
mod kernel;
mod margin;
mod member;
mod memm;
mod mira;
mod model;
mod naive_bayes;
mod ogd;
mod optimise;
pub mod pos;
mod registry;
mod scorer;
mod searn;
mod self_training;
mod ssvm;
mod states;
mod svm;
mod train;
mod warm_start;

pub use chain::{Chain, Layout, Scratch};
pub use columns::{Columns, Table, View, salted};
pub use data::Data;
pub use decode::Decoder;
pub use features::{Extractor, FEATURES_VERSION, FeatureConfig, FeatureError, Window};
pub use member::{LinearMember, MemberError};
pub use model::{Fitted, Form, MOST_WEIGHTS, Model, ModelError};
pub use naive_bayes::Bayes;
pub use registry::Learner;
pub use searn::Config as Searn;
pub use self_training::{SOFT, SelfTask, SelfTrained, SelfTraining, self_train};
pub use states::{FORBIDDEN, LANES, States, StatesError};
pub use train::{Run, Task, TrainError, Trained, fit_columns, train};
pub use warm_start::{WarmStartError, WarmStartTask, warm_start};
