//! What an inspection comes to.

use serde::Serialize;

/// What an inspection comes to. Stable: scripts act on it, and on the exit code that goes with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing that could be checked was found: neither chains nor a backfill nor Parquet files.
    #[default]
    NothingToCheck,
    /// Everything that was checked agrees.
    Intact,
    /// Everything that was checked agrees, and a backfill has not ended: files may still be missing.
    Unfinished,
    /// Something contradicts something else, or is missing.
    NotIntact,
}
