//! Tables of Delta Lake: the files of a chain are added to the table's log.

mod columns;
mod object_store;
mod rows;
mod table;

pub(crate) use table::DeltaTable;
