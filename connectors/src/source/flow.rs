//! The poll thread's state of each lane, and the handling of records. It uses no broker and no clock, so that
//! the simulation runs the same code.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Begin, LaneError, Lanes, LogRange, Partition, RawRecord};
use crate::sink::Receipt;

/// Maximum number of consecutive evictions before the member makes anything durable.
pub const MOST_EVICTIONS: u32 = 5;
/// Evictions this far apart are unrelated.
const APART: Duration = Duration::from_secs(1800);

/// The poll thread's state of one lane.
#[derive(Debug)]
pub struct Flow {
    /// The offset after the last record that the lane has or that waits for it. Transaction markers and
    /// compacted records do not advance it.
    pub next: i64,
    /// Records for which the lane had no room, in order. Empty unless the partition is paused.
    pub waiting: VecDeque<RawRecord>,
    /// The offset after the last durable one, if it is not committed yet.
    pub released: Option<i64>,
    /// Whether the lane is halted and must not be resumed.
    pub halted: bool,
    /// The topic's id when the lane began, if the brokers provide one.
    pub topic_id: Option<Arc<str>>,
    /// Records before this offset certainly belong to the topic with that id.
    pub confirmed: i64,
    /// The offset after the last durable one.
    durable: i64,
    /// The log's end when the lane began.
    end: i64,
}

impl Flow {
    /// Returns the flow of a lane that was just opened over a log.
    pub fn new(begin: Begin, range: &LogRange) -> Self {
        let (next, halted) = match begin {
            Begin::At(offset) => (offset, false),
            Begin::Halted => (range.high, true),
        };
        Self {
            next,
            waiting: VecDeque::new(),
            released: None,
            halted,
            topic_id: range.topic_id.clone(),
            confirmed: next,
            durable: next,
            end: range.high,
        }
    }

    /// Returns whether all records of the lane certainly belong to the topic that it began with.
    pub const fn is_confirmed(&self) -> bool {
        self.next <= self.confirmed
    }

    /// Returns whether there are records to read or to make durable.
    const fn owes(&self) -> bool {
        !self.halted && (self.durable < self.next || self.next < self.end)
    }
}

/// The poll thread's state of all lanes.
#[derive(Debug, Default)]
pub struct Flows {
    /// The state of each lane.
    pub lanes: BTreeMap<Partition, Flow>,
    /// Paused lanes that wait for room.
    pub stalled: Vec<Partition>,
    /// Whether the group has assigned this member its share, which may be empty.
    pub settled: bool,
    /// Why an assignment failed or was stopped.
    pub failed: Option<LaneError>,
    /// Number of times that lanes were opened.
    pub assignments: u64,
    evictions: Evictions,
}

/// Number of consecutive evictions before anything was durable.
#[derive(Clone, Copy, Debug, Default)]
struct Evictions {
    row: u32,
    last: Option<Instant>,
}

impl Flows {
    /// Passes a record to its lane, or keeps it. Returns the partition if it must be paused.
    pub fn deliver(&mut self, lanes: &dyn Lanes, record: RawRecord) -> Option<Partition> {
        let partition = (Arc::clone(&record.at.topic), record.at.partition);
        // No lane: the record was fetched before the partition was revoked, and the new owner reads it again.
        let lane = self.lanes.get_mut(&partition).filter(|lane| !lane.halted)?;
        // The lane has this record, or its chain does: after a rebalance, the client can deliver one again that
        // lies before the position it was given.
        if record.at.offset < lane.next {
            return None;
        }
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

    /// Passes waiting records to lanes that have room. Returns the partitions without waiting records, to be
    /// resumed.
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

    /// Removes revoked partitions.
    pub fn remove(&mut self, partitions: &[Partition]) {
        for partition in partitions {
            self.lanes.remove(partition);
            self.stalled.retain(|stalled| stalled != partition);
        }
    }

    /// Records an offset that may be committed.
    pub fn release(&mut self, receipt: &Receipt) {
        let chain = receipt.chain();
        self.journalled(&(Arc::clone(&chain.topic), chain.partition), receipt.next());
    }

    /// Records such an offset for a consumer without a chain.
    pub fn journalled(&mut self, partition: &Partition, next: i64) {
        self.evictions.row = 0;
        if let Some(lane) = self.lanes.get_mut(partition) {
            lane.released = Some(next);
            lane.durable = next;
        }
    }

    /// Stops reading a partition and drops its waiting records. Returns false if it is stopped already, or
    /// has no lane.
    pub fn hold(&mut self, partition: &Partition) -> bool {
        let Some(lane) = self.lanes.get_mut(partition).filter(|lane| !lane.halted) else {
            return false;
        };
        lane.halted = true;
        // Waiting records are not written; they are read again if the lane resumes.
        lane.waiting.clear();
        self.stalled.retain(|stalled| stalled != partition);
        true
    }

    /// Records that the group has evicted this member. It counts only if there was work: a member without any
    /// loses nothing.
    pub fn evicted(&mut self, now: Instant) {
        if !self.lanes.values().any(Flow::owes) {
            return;
        }
        let Evictions { row, last } = self.evictions;
        let again = last.is_some_and(|last| now.saturating_duration_since(last) < APART);
        self.evictions = Evictions {
            row: if again { row + 1 } else { 1 },
            last: Some(now),
        };
    }

    /// Returns whether the member is evicted repeatedly without making progress in between.
    pub const fn is_evicted_in_a_loop(&self) -> bool {
        self.evictions.row >= MOST_EVICTIONS
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use lethe_core::Coordinates;

    use super::*;
    use crate::source::{Again, Halt};

    fn place() -> Partition {
        ("notes".into(), 0)
    }

    fn flows(begin: i64, high: i64) -> Flows {
        let range = LogRange {
            partition: place(),
            low: 0,
            high,
            topic_id: Some("before".into()),
        };
        let mut flows = Flows::default();
        flows.lanes.insert(place(), Flow::new(Begin::At(begin), &range));
        flows
    }

    /// Lanes with this much room, which keep the offsets that they are offered.
    struct Room(usize, Mutex<Vec<i64>>);

    impl Lanes for Room {
        fn offer(&self, record: RawRecord) -> Result<(), RawRecord> {
            let mut taken = self.1.lock().unwrap_or_else(PoisonError::into_inner);
            if taken.len() == self.0 {
                return Err(record);
            }
            taken.push(record.at.offset);
            Ok(())
        }
        fn assign(&self, _: &[LogRange], _: &Again<'_>) -> Result<Vec<Begin>, LaneError> {
            Ok(Vec::new())
        }
        fn has_room(&self, _: &Partition) -> bool {
            true
        }
        fn revoke(&self, _: &[Partition], _: Instant) -> Vec<Receipt> {
            Vec::new()
        }
        fn written(&self, _: &[LogRange]) -> Result<Vec<Option<i64>>, LaneError> {
            Ok(Vec::new())
        }
        fn flush(&self) {}
        fn abandon(&self, _: &[Partition]) {}
        fn halt(&self, _: &Partition, _: &Halt) {}
    }

    fn record(offset: i64) -> RawRecord {
        let (topic, partition) = place();
        RawRecord {
            at: Coordinates {
                topic,
                partition,
                offset,
            },
            payload: None,
            timestamp: None,
        }
    }

    #[test]
    fn a_record_that_is_delivered_again_is_dropped() {
        let lanes = Room(3, Mutex::default());
        let mut flows = flows(3, 10);
        for offset in [2, 3, 2, 5, 5, 4] {
            assert!(flows.deliver(&lanes, record(offset)).is_none(), "{offset}");
        }
        assert_eq!(*lanes.1.lock().unwrap(), [3, 5]);
        // Without room, a record waits, and that it waits is known.
        let lanes = Room(0, Mutex::default());
        assert!(flows.deliver(&lanes, record(6)).is_some());
        assert!(flows.deliver(&lanes, record(5)).is_none() && flows.deliver(&lanes, record(6)).is_none());
        let lanes = Room(9, Mutex::default());
        assert_eq!(flows.refill(&lanes), [place()]);
        assert_eq!(*lanes.1.lock().unwrap(), [6]);
    }

    fn times(flows: &mut Flows, now: Instant, times: u32) -> bool {
        (0..times).for_each(|_| flows.evicted(now));
        flows.is_evicted_in_a_loop()
    }

    #[test]
    fn a_member_that_is_thrown_out_before_it_gets_anything_done_is_in_a_loop() {
        let now = Instant::now();
        let mut behind = flows(3, 10);
        assert!(!times(&mut behind, now, MOST_EVICTIONS - 1));
        assert!(times(&mut behind, now, 1));
        let mut caught_up = flows(10, 10);
        assert!(!times(&mut caught_up, now, 100), "there is no work");
        if let Some(lane) = caught_up.lanes.get_mut(&place()) {
            lane.next = 12;
        }
        assert!(times(&mut caught_up, now, MOST_EVICTIONS), "the lane holds rows");
    }

    #[test]
    fn a_durable_file_or_a_long_time_ends_the_row() {
        let now = Instant::now();
        let mut flows = flows(3, 10);
        assert!(!times(&mut flows, now, MOST_EVICTIONS - 1));
        flows.journalled(&place(), 5);
        assert!(!times(&mut flows, now, MOST_EVICTIONS - 1));
        assert!(!times(&mut flows, now + APART, 1));
    }

    #[test]
    fn a_lane_is_confirmed_up_to_the_last_question() {
        let mut flows = flows(3, 10);
        let lane = flows.lanes.get_mut(&place()).expect("it was just inserted");
        assert!(lane.is_confirmed(), "the lane has no records");
        lane.next = 7;
        assert!(!lane.is_confirmed());
        lane.confirmed = 7;
        assert!(lane.is_confirmed());
    }

    #[test]
    fn a_partition_is_held_once() {
        let mut flows = flows(3, 10);
        assert!(flows.hold(&place()) && !flows.hold(&place()));
        assert!(!flows.hold(&("other".into(), 0)));
    }
}
