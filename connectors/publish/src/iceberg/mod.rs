//! Tables of Apache Iceberg, format version 2 (the specification, "Table Metadata" and "Manifests").
//!
//! A commit adds a snapshot that names a list of manifests, and a manifest names the files of chains. The catalogue
//! swaps the table's state for the new one, and refuses if the state is not the one that the commit is made of. The
//! published ends of chains are properties of the table, set in the same commit.
//!
//! The well-kept library for Iceberg takes another version of Arrow, and repeats a commit on top of a state that its
//! caller has not seen, which would add files twice. So the few files of a commit are written here.

mod avro;
mod catalogue;
mod files;
mod folder;
mod manifest;
mod manifest_list;
mod metadata;
mod rest;
mod schema;
mod settings;
mod snapshot;
mod table;
mod update;

pub use settings::CatalogueSettings;
pub(crate) use table::IcebergTable;
