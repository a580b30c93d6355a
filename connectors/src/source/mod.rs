//! The contract between a source of records and the lanes that process them. Kafka and files have it in
//! common, so nothing here depends on either.

mod command;
pub mod flow;
mod lanes;
mod start;

pub use command::{Command, commands};
pub use lanes::{
    Again, Begin, ErrorKind, Halt, LaneError, Lanes, LogRange, Partition, Payload, RawRecord, TopicIds,
};
pub use start::Start;
