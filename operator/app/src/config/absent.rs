//! Settings of a part that this build lacks.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Settings of Kafka in a build without it. Reading them is an error that says so.
#[derive(Clone, Debug, JsonSchema)]
pub(crate) enum Absent {}

impl<'de> Deserialize<'de> for Absent {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom(
            "this build of Lethe cannot use Kafka; use one that was built with the feature `kafka`",
        ))
    }
}
