//! Halts partitions that cannot be read further.

use std::sync::Arc;
use std::time::Instant;

use rdkafka::Offset;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;

use super::Credentials;
use super::ask::STEP;
use super::commit::commit_receipts;
use super::context::{Context, pause};
use super::unreadable::unreadable;
use crate::kafka::ids::topic_ids;
use crate::source::{Halt, LaneError, LogRange, Partition};

impl Context {
    /// Stops reading a partition. Returns false if it is stopped already, or no longer assigned.
    fn hold(&self, consumer: &BaseConsumer<Self>, partition: &Partition) -> bool {
        let held = self.flow().hold(partition);
        if held {
            pause(consumer, partition, true);
        }
        held
    }

    /// Halts the lanes whose next batch is unreadable, once they have written the records before it.
    pub(super) fn halt_unreadable(
        &self,
        consumer: &BaseConsumer<Self>,
        credentials: &Credentials,
        error: &KafkaError,
    ) {
        let places: Vec<(Partition, i64)> = {
            let flow = self.flow();
            let reading = flow.lanes.iter().filter(|(_, lane)| !lane.halted);
            reading
                .map(|(partition, lane)| (partition.clone(), lane.next))
                .collect()
        };
        let found = match unreadable(credentials, places, self.stop()) {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(%error, "kafka; looking for a batch that cannot be read");
                return;
            }
        };
        for (partition, offset) in found {
            if !self.hold(consumer, &partition) {
                continue;
            }
            let drained = self
                .lanes()
                .revoke(std::slice::from_ref(&partition), Instant::now() + self.drain());
            commit_receipts(consumer, &drained);
            let why = error.to_string();
            self.lanes().halt(&partition, &Halt::Unreadable { offset, why });
        }
    }

    /// Handles the lanes whose position is outside the log.
    ///
    /// If the log begins after the position, the lane writes its records, which cannot be read again, and
    /// reopens: another member may have written the missing ones. Otherwise the lanes themselves halt it. If
    /// the log ends before the position, the lane halts.
    ///
    /// # Errors
    /// An error if a lane cannot be reopened.
    pub(super) fn out_of_range(&self, consumer: &BaseConsumer<Self>) -> Result<(), LaneError> {
        let positions = match consumer.position() {
            Ok(positions) => positions,
            Err(error) => {
                tracing::warn!(%error, "kafka; positions unknown");
                return Ok(());
            }
        };
        for element in positions.elements() {
            let partition: Partition = (element.topic().into(), element.partition());
            // If no broker responds, the error comes again, and with it this check.
            let Ok((low, high)) = consumer.fetch_watermarks(element.topic(), element.partition(), STEP.1)
            else {
                continue;
            };
            let Offset::Offset(at) = element.offset() else {
                continue;
            };
            if (low..=high).contains(&at) || !self.hold(consumer, &partition) {
                continue;
            }
            if at < low {
                let drained = self
                    .lanes()
                    .revoke(std::slice::from_ref(&partition), Instant::now() + self.drain());
                commit_receipts(consumer, &drained);
                self.begin_again(consumer, &partition)?;
                continue;
            }
            match self.recreated(consumer, &partition) {
                // If the log ends before the position, it holds none of the lane's records: all of them
                // belong to the old topic.
                Some(halt) => self.halt_recreated(&partition, &halt, true),
                None => {
                    let topic_id = None;
                    let range = LogRange {
                        partition: partition.clone(),
                        low,
                        high,
                        topic_id,
                    };
                    self.lanes().halt(&partition, &Halt::BeyondTheEnd(range));
                }
            }
        }
        Ok(())
    }

    /// Returns whether the topic's id differs from the lane's, as far as a broker responds.
    fn recreated(&self, consumer: &BaseConsumer<Self>, partition: &Partition) -> Option<Halt> {
        let before = self.flow().lanes.get(partition)?.topic_id.clone()?;
        let ids = topic_ids(consumer.client(), &[&partition.0], STEP.1).ok()?;
        let now = Arc::clone(ids.get(&partition.0)?);
        (before != now).then_some(Halt::Recreated { before, now })
    }

    /// Halts the lanes of a topic that was recreated during the run.
    pub(super) fn topic_recreated(&self, consumer: &BaseConsumer<Self>, topic: &str, now: &Arc<str>) {
        let other: Vec<(Partition, Halt, bool)> = {
            let flow = self.flow();
            let lanes = flow.lanes.iter().filter(|((name, _), _)| **name == *topic);
            let other = lanes.filter_map(|(partition, lane)| {
                let before = lane.topic_id.clone().filter(|before| before != now)?;
                let now = Arc::clone(now);
                let halt = Halt::Recreated { before, now };
                Some((partition.clone(), halt, lane.is_confirmed()))
            });
            other.collect()
        };
        for (partition, halt, is_sound) in other {
            if self.hold(consumer, &partition) {
                self.halt_recreated(&partition, &halt, is_sound);
            }
        }
    }

    /// Halts such a lane. It writes its records only if all belong to the old topic, since the offsets of a
    /// chain must come from one log.
    fn halt_recreated(&self, partition: &Partition, halt: &Halt, is_sound: bool) {
        let lanes = std::slice::from_ref(partition);
        if is_sound {
            self.lanes().revoke(lanes, Instant::now() + self.drain());
        } else {
            self.lanes().abandon(lanes);
        }
        self.lanes().halt(partition, halt);
    }
}
