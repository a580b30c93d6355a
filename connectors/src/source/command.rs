//! What lanes tell their source.

use std::sync::mpsc::{Receiver, Sender, channel};

use super::Partition;
use crate::sink::Receipt;

/// A message from lanes to the source.
#[derive(Debug)]
pub enum Command {
    /// A file is durable: its offsets may be committed.
    Release(Receipt),
    /// A consumer without a chain has made all records before an offset durable: it may be committed.
    Journalled {
        /// The partition.
        partition: Partition,
        /// The offset after the last one.
        next: i64,
    },
    /// Another writer's file took a lane's place in the chain: reopen the lane at the chain's tail.
    Reopen(Partition),
    /// A lane failed permanently: drop every lane, disconnect, and end.
    Fail(String),
    /// Drain every lane, disconnect, and connect again: the credentials have changed.
    Reconnect,
    /// Drain every lane, disconnect, and end.
    Stop,
}

/// Returns the two ends of the command channel.
pub fn commands() -> (Sender<Command>, Receiver<Command>) {
    channel()
}
