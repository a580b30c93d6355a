//! Reads the result of a query of a PostgreSQL database.
//!
//! A result has no version as an object has one, so Lethe makes one. A first pass reads the key and the digest
//! of every row in the order of the key, splits the rows into units of consecutive keys, and digests each unit;
//! the digest of all units is the version. Nothing of it is stored: a later run makes the same pass, and
//! unchanged rows have the same version. A unit is read in one transaction (REPEATABLE READ READ ONLY), which
//! first compares the unit's digest with that of the pass. So all rows of a dataset come from the state that
//! the pass saw, or the run fails.
//!
//! Keys may identify patients. They are in no name, no log and no error.

#[cfg(not(feature = "postgres"))]
mod absent;
mod config;
#[cfg(feature = "postgres")]
mod error;
#[cfg(feature = "postgres")]
mod plan;
#[cfg(feature = "postgres")]
mod prepare;
#[cfg(feature = "postgres")]
mod rows;
#[cfg(feature = "postgres")]
mod sample;
#[cfg(feature = "postgres")]
mod server;
#[cfg(feature = "postgres")]
mod types;

use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use tokio::runtime::Handle;

use super::TableError;
pub use config::DatabaseConfig;

#[cfg(not(feature = "postgres"))]
pub(super) use absent::Database;
#[cfg(not(feature = "postgres"))]
use absent::sample;
#[cfg(feature = "postgres")]
use sample::sample;
#[cfg(feature = "postgres")]
pub(super) use server::Database;

/// The name of the table in the output.
#[cfg(feature = "postgres")]
pub(super) const NAME: &str = "query";

/// Returns whether a connection string contains a password.
pub fn has_password(connection: &str) -> bool {
    #[cfg(feature = "postgres")]
    return lethe_postgres::Settings::has_password(connection);
    // This build refuses every connection.
    #[cfg(not(feature = "postgres"))]
    return connection.contains("password");
}

/// A schema, and rows.
pub type Sample = (Arc<Schema>, Vec<RecordBatch>);

/// Reads the first rows of a query, at most `rows`, with all its columns. Blocks the calling thread, which must
/// not belong to the runtime.
///
/// # Errors
/// [`TableError`] of the configuration, the query or the server.
pub fn sample_query(config: &DatabaseConfig, rows: usize, runtime: &Handle) -> Result<Sample, TableError> {
    config.check_connection()?;
    sample(config, rows, runtime)
}

/// The keys of a unit's rows, and their digest.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    /// The last key before the unit; `None` for the first unit.
    after: Option<String>,
    /// The last key of the unit; `None` for the last unit, which has no upper bound.
    up_to: Option<String>,
    /// The digest of the rows.
    digest: [u8; 32],
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys")
    }
}

#[cfg(feature = "postgres")]
impl Keys {
    /// Returns bounds that a statement can be prepared with.
    fn all() -> Self {
        Self {
            after: Some(String::new()),
            up_to: Some(String::new()),
            digest: [0; 32],
        }
    }
}
