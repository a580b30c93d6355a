//! Where a source begins.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where to begin reading a partition that has no output yet. A partition with output continues at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// The oldest available record.
    #[default]
    Earliest,
    /// The first record that arrives after the source has started.
    Latest,
}
