//! From an error of the server to one of a table: the code and what it means, never what the server wrote
//! about a row.

use lethe_postgres::tokio_postgres::Error;
use lethe_postgres::{code, is_temporary, message};

use crate::tables::TableError;

/// Why an attempt to read failed.
pub(super) enum Failure {
    /// The server or the connection.
    Server { doing: &'static str, error: Error },
    /// The server did not respond in time.
    Late { doing: &'static str },
    /// The rows or the configuration.
    Table(TableError),
}

impl From<TableError> for Failure {
    fn from(error: TableError) -> Self {
        Self::Table(error)
    }
}

impl Failure {
    /// Returns a function that adds what failed to an error of the server.
    pub(super) const fn server(doing: &'static str) -> impl Fn(Error) -> Self {
        move |error| Self::Server { doing, error }
    }

    /// Returns whether another attempt may succeed.
    pub(super) fn is_temporary(&self) -> bool {
        match self {
            // A statement that ran into its time limit would do so again.
            Self::Server { error, .. } => is_temporary(error) && code(error) != Some("57014"),
            Self::Late { .. } => true,
            Self::Table(_) => false,
        }
    }

    /// Returns the error for the caller; `place` is the database.
    pub(super) fn at(self, place: &str) -> TableError {
        let problem = match self {
            Self::Table(error) => return error,
            Self::Late { doing } => format!("{doing}: the server did not respond in time"),
            Self::Server { doing, error } => match code(&error) {
                Some(code) => {
                    let problem = format!("{doing}: {} (SQLSTATE {code})", meaning(code));
                    if let Some(key) = key_of(code) {
                        return TableError::Setting {
                            key: format!("database.{key}"),
                            problem: format!("{place}: {problem}"),
                        };
                    }
                    problem
                }
                None => format!("{doing}: {}", message(&error)),
            },
        };
        TableError::Database {
            place: place.to_owned(),
            problem,
        }
    }
}

/// Returns the key whose value has to change; `None` if a later run may succeed with the same one.
fn key_of(code: &str) -> Option<&'static str> {
    match code.get(..2)? {
        "28" | "3D" => Some("connection"),
        "0A" | "22" | "42" => Some("query"),
        _ => (code == "25006").then_some("query"),
    }
}

/// Returns what a server's code means here, and what to do.
fn meaning(code: &str) -> &'static str {
    match code {
        "25006" => {
            "the query writes to the database, and Lethe reads in a read-only transaction; leave out functions and clauses that write"
        }
        "42501" => {
            "the user may not read a table of the query; grant SELECT on it, or log in as another user"
        }
        "57014" => {
            "the statement was cancelled, or ran longer than `backfill.database.statement_timeout_seconds`"
        }
        "3D000" => "the database does not exist; check its name",
        "0A000" | "42601" => {
            "the query is not one SELECT; it must read rows, and must not insert, update, delete or lock them"
        }
        _ => match code.get(..2) {
            Some("28") => {
                "the server refused the login; check the user, the password and the server's pg_hba.conf"
            }
            Some("22") => "the query computes a value that does not exist, or converts one that does not fit",
            Some("40") => "the server rolled the transaction back",
            Some("42") => "the query or a permission is wrong",
            Some("53") => "the server lacks a resource, such as memory, disk or connections",
            Some("08" | "57") => "the server ended the connection",
            _ => "the server reported an error; its log has the details",
        },
    }
}

/// Returns the error of a query that the server refuses before it reads a row. Its words quote only the query;
/// `is_own` says that it is not a part of another statement.
pub(super) fn refused(error: &Error, is_own: bool) -> TableError {
    let problem = match (error.as_db_error(), code(error)) {
        (Some(server), Some(code)) if is_own && code.starts_with("42") && code != "42501" => {
            format!("{} (SQLSTATE {code})", server.message())
        }
        (_, Some(code)) => format!("{} (SQLSTATE {code})", meaning(code)),
        (_, None) => message(error),
    };
    TableError::Setting {
        key: "database.query".to_owned(),
        problem,
    }
}
