//! The verdict of an inspection.

use serde::Serialize;

/// The verdict of an inspection. Stable, since scripts depend on it and on its exit code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Found nothing to check: neither chains nor a backfill nor Parquet files.
    #[default]
    NothingToCheck,
    /// All checks passed.
    Intact,
    /// All checks passed, but a backfill has not finished, so files may be missing.
    Unfinished,
    /// A contradiction was found, or something is missing.
    NotIntact,
}
