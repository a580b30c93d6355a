//! What the poll thread knows of each lane.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::{Partition, RawRecord};
use crate::sink::Receipt;

/// One lane, as the poll thread sees it.
#[derive(Default)]
pub(super) struct Flow {
    /// Records that the lane had no room for, in order. Not empty only while the partition is paused.
    pub(super) waiting: VecDeque<RawRecord>,
    /// One past the last durable offset, not yet committed.
    pub(super) released: Option<i64>,
    /// Never to be resumed.
    pub(super) halted: bool,
}

/// All lanes, as the poll thread sees them.
#[derive(Default)]
pub(super) struct Flows {
    pub(super) lanes: HashMap<Partition, Flow>,
    /// The paused ones among them that wait for room.
    pub(super) stalled: Vec<Partition>,
    /// Whether the group has given this member its share, be it nothing.
    pub(super) settled: bool,
    /// Why an assignment failed.
    pub(super) failed: Option<String>,
}

impl Flows {
    /// Notes an offset that may be committed.
    pub(super) fn release(&mut self, receipt: &Receipt) {
        let chain = receipt.chain();
        if let Some(lane) = self.lanes.get_mut(&(Arc::clone(&chain.topic), chain.partition)) {
            lane.released = Some(receipt.next());
        }
    }
}

/// Which partitions have been read to their end. The binding's news of an end names no topic, only the partition's
/// number: where several topics have that number, none is taken for ended before as many ends have come.
#[derive(Default)]
pub(super) struct Ended {
    pub(super) lanes: HashSet<Partition>,
    unnamed: HashMap<i32, usize>,
}

impl Ended {
    /// A record came: the partition had not ended, or goes on.
    pub(super) fn go_on(&mut self, partition: &Partition) {
        self.lanes.remove(partition);
    }

    /// Some topic's partition of this number ended.
    pub(super) fn end(&mut self, number: i32, flow: &Flows) {
        let pending: Vec<Partition> = flow
            .lanes
            .iter()
            .filter(|(partition, lane)| {
                partition.1 == number && !lane.halted && !self.lanes.contains(*partition)
            })
            .map(|(partition, _)| partition.clone())
            .collect();
        let ends = self.unnamed.entry(number).or_default();
        *ends += 1;
        if *ends >= pending.len() {
            *ends = 0;
            self.lanes.extend(pending);
        }
    }
}
