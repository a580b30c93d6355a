//! What the poll thread knows of each lane.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::{Begin, LaneError, Partition, RawRecord};
use crate::sink::Receipt;

/// One lane, as the poll thread sees it.
pub(super) struct Flow {
    /// One past the last record that the lane was given or that waits for it. Transactions' markers and what
    /// compaction took away do not move it.
    pub(super) next: i64,
    /// Records that the lane had no room for, in order. Not empty only while the partition is paused.
    pub(super) waiting: VecDeque<RawRecord>,
    /// One past the last durable offset, not yet committed.
    pub(super) released: Option<i64>,
    /// Never to be resumed.
    pub(super) halted: bool,
}

impl Flow {
    /// A lane that was just opened.
    pub(super) fn new(begin: Begin) -> Self {
        let (next, halted) = match begin {
            Begin::At(offset) => (offset, false),
            Begin::Halted => (0, true),
        };
        Self {
            next,
            waiting: VecDeque::new(),
            released: None,
            halted,
        }
    }
}

/// All lanes, as the poll thread sees them.
#[derive(Default)]
pub(super) struct Flows {
    pub(super) lanes: HashMap<Partition, Flow>,
    /// The paused ones among them that wait for room.
    pub(super) stalled: Vec<Partition>,
    /// Whether the group has given this member its share, be it nothing.
    pub(super) settled: bool,
    /// Why an assignment failed, or that it was stopped.
    pub(super) failed: Option<LaneError>,
}

impl Flows {
    /// Notes an offset that may be committed.
    pub(super) fn release(&mut self, receipt: &Receipt) {
        let chain = receipt.chain();
        self.journalled(&(Arc::clone(&chain.topic), chain.partition), receipt.next());
    }

    /// The same of records that are durable where no chain is.
    pub(super) fn journalled(&mut self, partition: &Partition, next: i64) {
        if let Some(lane) = self.lanes.get_mut(partition) {
            lane.released = Some(next);
        }
    }
}
