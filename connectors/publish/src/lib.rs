//! Registers the files of chains in a Delta table.
//!
//! A chain's file is durable and complete before anything else learns of it. So publishing is out of band: it reads
//! chains as logs, and adds their files to a table's log as they are, without a copy. The stream does not know of it.
//!
//! Each file is added exactly once. One commit of the table holds the new files of all chains and, for each chain,
//! the offset after its last published one (`txn` of Delta's protocol, with an application id for each chain). It is
//! written under the name of the version after the one that was read, which is created once. So the first to commit
//! wins, and everybody else reads the table again, looks which offsets it has now, and adds only later files.
//! Nothing else may retry a commit: a writer that did not look again could add files twice.
//!
//! An erasure replaces files in place. Publishing adds those that a table has again, with their new size, and the
//! later entry of a path replaces the earlier one.
//!
//! Invariants: no value of a column other than topic, partition and offset enters a table's log. No error holds text
//! of a note. Nothing in the dataset is written.

mod added;
mod chain;
mod columns;
mod error;
mod object_store;
mod place;
mod report;
mod table;
mod writer;

pub use chain::Content;
pub use error::PublishError;
pub use place::Place;
pub use report::{Report, TableReport};
pub use writer::publish;
