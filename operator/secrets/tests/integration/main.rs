//! Tests of keys, ciphers and vaults, in one binary so that it is linked once.

mod known_answers;
mod vault_postgres;
mod vault_sqlite;
mod workers;
