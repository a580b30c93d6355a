//! The meaning of errors.

use std::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// Returns the server's code of an error (SQLSTATE), unless the error is the client's own.
pub fn code(error: &Error) -> Option<&str> {
    error.code().map(SqlState::code)
}

/// Returns whether the connection died, so that the same call on a new one is conclusive.
pub fn is_lost(error: &Error) -> bool {
    match error.code() {
        // The server is shutting down, or one of its processes died.
        Some(code) => [
            SqlState::ADMIN_SHUTDOWN,
            SqlState::CRASH_SHUTDOWN,
            SqlState::CANNOT_CONNECT_NOW,
        ]
        .contains(code),
        None => error.is_closed() || is_io(error),
    }
}

/// Returns whether a later attempt may succeed: connection exceptions, transactions rolled back (for instance
/// by deadlocks), resources, operator intervention (classes of appendix A of PostgreSQL's manual), and errors
/// of the network.
pub fn is_temporary(error: &Error) -> bool {
    match error.code() {
        Some(code) => ["08", "40", "53", "55", "57"]
            .iter()
            .any(|class| code.code().starts_with(class)),
        None => error.is_closed() || is_io(error) || error.to_string().contains("timed out"),
    }
}

fn is_io(error: &Error) -> bool {
    error.source().is_some_and(|source| source.is::<std::io::Error>())
}

/// Returns an error's message with its causes. Of the server's words it has only the primary message, since
/// the detail and the hint may quote a row.
pub fn message(error: &Error) -> String {
    if let Some(server) = error.as_db_error() {
        return format!("{} (SQLSTATE {})", server.message(), server.code().code());
    }
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        message = format!("{message}: {inner}");
        source = inner.source();
    }
    message
}
