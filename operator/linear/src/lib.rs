//! Linear members over one shared feature extractor (Kim 2020, table 3), and how they are trained.
//!
//! Features are worked out once a batch and shared by every linear member ([`Columns`]); a member is a table of weights
//! and a way to decode. Trained and run over the same columns.

mod columns;
mod features;

pub use columns::{Columns, Table, View, salted};
pub use features::{Extractor, FEATURES_VERSION, FeatureConfig, FeatureError};
