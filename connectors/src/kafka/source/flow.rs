//! What the poll thread knows of each lane, and what it does with records: no broker and no clock, so that the simulation
//! runs the same code.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::{Begin, LaneError, Lanes, Partition, RawRecord};
use crate::sink::Receipt;

/// One lane, as the poll thread sees it.
#[derive(Debug)]
pub struct Flow {
    /// One past the last record that the lane was given or that waits for it. Transactions' markers and what
    /// compaction took away do not move it.
    pub next: i64,
    /// Records that the lane had no room for, in order. Not empty only while the partition is paused.
    pub waiting: VecDeque<RawRecord>,
    /// One past the last durable offset, not yet committed.
    pub released: Option<i64>,
    /// Never to be resumed.
    pub halted: bool,
}

impl Flow {
    /// Returns the flow of a lane that was just opened.
    pub fn new(begin: Begin) -> Self {
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
#[derive(Debug, Default)]
pub struct Flows {
    /// Each lane's.
    pub lanes: BTreeMap<Partition, Flow>,
    /// The paused ones among them that wait for room.
    pub stalled: Vec<Partition>,
    /// Whether the group has given this member its share, be it nothing.
    pub settled: bool,
    /// Why an assignment failed, or that it was stopped.
    pub failed: Option<LaneError>,
}

impl Flows {
    /// Hands a record to its lane, or keeps it. Returns the partition if it must be paused.
    pub fn deliver(&mut self, lanes: &dyn Lanes, record: RawRecord) -> Option<Partition> {
        let partition = (Arc::clone(&record.at.topic), record.at.partition);
        // No lane: fetched before the partition was taken away; the member that has it now reads the record again.
        let lane = self.lanes.get_mut(&partition).filter(|lane| !lane.halted)?;
        lane.next = record.at.offset + 1;
        if !lane.waiting.is_empty() {
            lane.waiting.push_back(record);
            return None;
        }
        let record = lanes.offer(record).err()?;
        lane.waiting.push_back(record);
        self.stalled.push(partition.clone());
        Some(partition)
    }

    /// Gives waiting records to lanes that have room. Returns the partitions that have none waiting and are to be resumed.
    pub fn refill(&mut self, lanes: &dyn Lanes) -> Vec<Partition> {
        let mut resumed = Vec::new();
        let flows = &mut self.lanes;
        self.stalled.retain(|partition| {
            let Some(lane) = flows.get_mut(partition) else {
                return false;
            };
            if !lanes.has_room(partition) {
                return true;
            }
            while let Some(record) = lane.waiting.pop_front() {
                if let Err(record) = lanes.offer(record) {
                    lane.waiting.push_front(record);
                    return true;
                }
            }
            resumed.push(partition.clone());
            false
        });
        resumed
    }

    /// Takes the offsets that may be committed.
    pub fn take_released(&mut self) -> Vec<(Partition, i64)> {
        let released =
            |(partition, lane): (&Partition, &mut Flow)| Some((partition.clone(), lane.released.take()?));
        self.lanes.iter_mut().filter_map(released).collect()
    }

    /// Forgets partitions that were taken away.
    pub fn remove(&mut self, partitions: &[Partition]) {
        for partition in partitions {
            self.lanes.remove(partition);
            self.stalled.retain(|stalled| stalled != partition);
        }
    }

    /// Notes an offset that may be committed.
    pub fn release(&mut self, receipt: &Receipt) {
        let chain = receipt.chain();
        self.journalled(&(Arc::clone(&chain.topic), chain.partition), receipt.next());
    }

    /// The same of records that are durable where no chain is.
    pub fn journalled(&mut self, partition: &Partition, next: i64) {
        if let Some(lane) = self.lanes.get_mut(partition) {
            lane.released = Some(next);
        }
    }
}
