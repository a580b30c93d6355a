//! Connections to PostgreSQL servers, for the vault and for tables: settings as libpq documents them, TLS by
//! the system's OpenSSL, and the meaning of each error.
//!
//! Nothing here prints a password or a value of a row: a server's detail and hint, which may quote one, are
//! never part of a message.

mod error;
mod password;
mod settings;
mod split;
mod tls;

pub use error::{code, is_lost, is_temporary, message};
pub use postgres_openssl::MakeTlsConnector;
pub use settings::{Settings, SettingsError};
pub use tls::{Verify, connect, connector};
pub use tokio_postgres;
