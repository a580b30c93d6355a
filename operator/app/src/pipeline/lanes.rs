//! The interface to the consumer's thread. These calls decide nothing, and block that thread until the work
//! is done.

use std::time::Instant;

use lethe_connectors::sink::Receipt;
use lethe_connectors::source::{
    Again, Begin, ErrorKind, Halt, LaneError, Lanes, LogRange, Partition, RawRecord,
};

use super::lane::Control;
use super::{Incoming, Pipeline, QUEUE_RECORDS};

impl Lanes for Pipeline {
    fn assign(&self, ranges: &[LogRange], again: &Again<'_>) -> Result<Vec<Begin>, LaneError> {
        self.runtime.block_on(self.open_lanes(ranges, again))
    }

    fn offer(&self, record: RawRecord) -> Result<(), RawRecord> {
        self.admit(Incoming::Raw(record))
            .map_err(|refused| match refused {
                Incoming::Raw(record) => record,
                Incoming::Read(_) | Incoming::Heavy(_) => {
                    unreachable!("the refused record is the offered one")
                }
            })
    }

    fn has_room(&self, partition: &Partition) -> bool {
        let lanes = self.lanes();
        if self.budget.is_tight() {
            // With every partition paused nothing else would trigger it.
            self.relieve(&lanes);
            return false;
        }
        // A lane that is gone always has room: records for it are skipped.
        lanes
            .get(partition)
            .is_none_or(|lane| lane.queue.capacity() >= QUEUE_RECORDS / 2)
    }

    fn revoke(&self, partitions: &[Partition], deadline: Instant) -> Vec<Receipt> {
        self.runtime
            .block_on(self.drain_lanes(partitions, deadline.into()))
    }

    fn written(&self, ranges: &[LogRange]) -> Result<Vec<Option<i64>>, LaneError> {
        self.runtime.block_on(self.tails(ranges))
    }

    fn flush(&self) {
        for lane in self.lanes().values() {
            // A lane that has ended has nothing to write.
            drop(lane.control.send(Control::Flush(None)));
        }
    }

    fn abandon(&self, partitions: &[Partition]) {
        let mut lanes = self.lanes();
        for partition in partitions {
            lanes.remove(partition);
            self.measures().rebalance("lost", 1);
            self.board().close(partition);
        }
    }

    fn halt(&self, partition: &Partition, why: &Halt) {
        let lane = self.lanes().remove(partition);
        self.log_halt(partition, lane.map(|lane| lane.board.next()), why);
    }

    fn erred(&self, kind: ErrorKind) {
        self.measures().source_error(kind);
    }

    fn polled(&self) {
        self.board().polled();
    }

    fn log_end(&self, partition: &Partition, high: i64) {
        if let Some(lane) = self.lanes().get(partition) {
            lane.board.log_end(high);
        }
    }
}
