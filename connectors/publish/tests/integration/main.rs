//! Publishing from chains on disk, written by the real sink, and read back by other readers of Delta.

mod common;
mod crashes;
mod erasure;
mod other_writers;
mod program;
mod rows;
mod schema;
