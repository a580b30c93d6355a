//! Publishing from chains on disk, written by the real sink, and read back by other readers of Delta and Iceberg.

mod check;
mod common;
mod crashes;
mod erasure;
mod iceberg;
mod iceberg_catalogue;
mod iceberg_crashes;
mod list;
mod other_writers;
mod program;
mod rows;
mod schema;
