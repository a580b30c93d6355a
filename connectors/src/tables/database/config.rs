//! The configuration of a query as the table.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::secret::Secret;
use crate::tables::TableError;

/// A query of a PostgreSQL database (11 or later), which Lethe reads instead of objects.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DatabaseConfig {
    /// The server and the database: a URL, or keywords as libpq has them. `lethe backfill --source` overrides
    /// it. `sslmode` means what libpq documents. Without it, Lethe verifies the server's certificate and name
    /// (`verify-full`).
    #[schemars(extend("examples" = ["postgresql://reader@db.example:5432/clinic"]))]
    pub connection: Secret,
    /// The password. Default: the one in `connection`, then `PGPASSWORD`, then `PGPASSFILE` or `~/.pgpass`.
    pub password: Option<Secret>,
    /// One `SELECT`, or `WITH ... SELECT`, whose rows are the table. `lethe backfill --query` overrides it.
    #[schemars(extend("examples" = ["SELECT note_id, mrn, note_text FROM notes WHERE year = 2025"]))]
    pub query: String,
    /// A column of the query whose values are unique and not null. Lethe reads the rows in its order. `lethe
    /// backfill --key` overrides it.
    #[schemars(extend("examples" = ["note_id"]))]
    pub key: String,
    /// The time limit of a statement on the server. The longest one sorts all rows by `key`.
    pub statement_timeout_seconds: u64,
}

impl Default for DatabaseConfig {
    fn default() -> Self {
        Self {
            connection: Secret::default(),
            password: None,
            query: String::new(),
            key: String::new(),
            statement_timeout_seconds: 3600,
        }
    }
}

impl DatabaseConfig {
    /// Returns the query without the semicolon at its end.
    pub(super) fn statement(&self) -> &str {
        self.query
            .trim_end_matches(|letter: char| letter == ';' || letter.is_whitespace())
    }

    /// Checks that nothing is missing.
    ///
    /// # Errors
    /// [`TableError::Setting`] with the key.
    pub(in crate::tables) fn check(&self) -> Result<(), TableError> {
        self.check_connection()?;
        if self.key.is_empty() {
            return Err(missing(
                "key",
                "key",
                "a column of the query whose values are unique and not null",
            ));
        }
        Ok(())
    }

    /// Checks that nothing is missing of what a query without an order needs.
    ///
    /// # Errors
    /// [`TableError::Setting`] with the key.
    pub(super) fn check_connection(&self) -> Result<(), TableError> {
        if self.connection.is_empty() {
            return Err(missing(
                "connection",
                "source",
                "the URL of a database, such as postgresql://USER@HOST/DATABASE",
            ));
        }
        if self.statement().is_empty() {
            return Err(missing("query", "query", "a SELECT"));
        }
        if self.statement_timeout_seconds == 0 {
            return Err(TableError::Setting {
                key: "database.statement_timeout_seconds".to_owned(),
                problem: "is 0; set a time limit of at least 1 s".to_owned(),
            });
        }
        Ok(())
    }
}

fn missing(key: &str, option: &str, what: &str) -> TableError {
    TableError::Setting {
        key: format!("database.{key}"),
        problem: format!("is missing; set it to {what}, or use the option --{option}"),
    }
}
