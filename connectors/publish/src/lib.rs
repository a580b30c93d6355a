//! Registers the files of chains in a Delta or Iceberg table.
//!
//! A chain's file is durable and complete before anything else learns of it. So publishing is out of band: it reads
//! chains as logs, and adds their files to a table as they are, without a copy. The stream does not know of it.
//!
//! Each file is added exactly once. One commit of the table holds the new files of all chains and, for each chain,
//! the offset after its last published one: `txn` of Delta's protocol, or a property of an Iceberg table. It takes
//! effect only if the table still has the state that was read: a version of Delta's log is created once, and a
//! catalogue compares. So the first to commit wins, and everybody else reads the table again, looks which offsets it
//! has now, and adds only later files. Nothing else may retry a commit: a writer that did not look again could add
//! files twice.
//!
//! An erasure replaces files in place. Publishing gives those that a table has their new size.
//!
//! Invariants: no value of a column other than topic, partition and offset enters a table's metadata. No error holds text
//! of a note. Nothing in the dataset is written.

mod added;
mod chain;
mod check;
mod delta;
mod error;
mod iceberg;
mod list;
mod overwrite;
mod place;
mod report;
mod table;
mod target;
mod time;
mod writer;

pub use chain::Content;
pub use check::{CheckReport, Resized, TableCheck, check};
pub use error::PublishError;
pub use iceberg::CatalogueSettings;
pub use list::{ListedFile, Listing, list};
pub use place::Place;
pub use report::{Report, TableReport};
pub use target::{IcebergTarget, TableName, Target};
pub use writer::publish;
