//! Opens, reopens and closes the lanes of partitions.

use std::time::Instant;

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::{Offset, TopicPartitionList};

use super::ask::RANGES;
use super::commit::commit_receipts;
use super::context::{Context, pause};
use crate::source::flow::Flow;
use crate::source::{Begin, ErrorKind, LaneError, Partition};

impl Context {
    /// Reopens a lane at its chain's tail and seeks the consumer there.
    pub(super) fn reopen(
        &self,
        consumer: &BaseConsumer<Self>,
        partition: &Partition,
    ) -> Result<(), LaneError> {
        if !self.flow().lanes.contains_key(partition) {
            return Ok(());
        }
        self.lanes().abandon(std::slice::from_ref(partition));
        self.begin_again(consumer, partition)
    }

    /// Opens the lane of an assigned partition that has none, at its chain's tail, and seeks the consumer
    /// there.
    pub(super) fn begin_again(
        &self,
        consumer: &BaseConsumer<Self>,
        partition: &Partition,
    ) -> Result<(), LaneError> {
        let range = self.range(consumer, partition)?;
        let begins = self.lanes().assign(std::slice::from_ref(&range), &|partition| {
            self.range(consumer, partition)
        })?;
        {
            let mut flow = self.flow();
            flow.stalled.retain(|stalled| stalled != partition);
            flow.assignments += 1;
        }
        for begin in begins {
            self.flow()
                .lanes
                .insert(partition.clone(), Flow::new(begin, &range));
            match begin {
                Begin::Halted => pause(consumer, partition, true),
                Begin::At(offset) => {
                    let (topic, number) = partition;
                    self.persist(Instant::now() + RANGES, |step| {
                        consumer.seek(topic, *number, Offset::Offset(offset), step)
                    })
                    .map_err(|refused| refused.about("seek", topic, Some(*number)))?;
                    pause(consumer, partition, false);
                }
            }
        }
        Ok(())
    }

    /// Opens the lanes of an assignment. Returns the partitions with their start offsets.
    pub(super) fn assign(
        &self,
        consumer: &BaseConsumer<Self>,
        list: &TopicPartitionList,
    ) -> Result<TopicPartitionList, LaneError> {
        let partitions = partitions_of(list);
        let ranges = self.ranges(consumer, &partitions, Instant::now() + RANGES)?;
        let begins = self
            .lanes()
            .assign(&ranges, &|partition| self.range(consumer, partition))?;
        let mut placed = TopicPartitionList::new();
        let mut flow = self.flow();
        flow.settled = true;
        flow.assignments += 1;
        for (range, begin) in ranges.iter().zip(begins) {
            let offset = match begin {
                Begin::At(offset) => offset,
                Begin::Halted => range.high,
            };
            placed
                .add_partition_offset(&range.partition.0, range.partition.1, Offset::Offset(offset))
                .map_err(|error| LaneError::Failed(format!("kafka: {error}")))?;
            flow.lanes
                .insert(range.partition.clone(), Flow::new(begin, range));
        }
        Ok(placed)
    }

    /// Closes the lanes of partitions that are revoked, or already lost.
    pub(super) fn release(&self, consumer: &BaseConsumer<Self>, list: &TopicPartitionList) {
        let held: Vec<Partition> = {
            let flow = self.flow();
            let partitions = partitions_of(list).into_iter();
            partitions
                .filter(|partition| flow.lanes.contains_key(partition))
                .collect()
        };
        if consumer.assignment_lost() {
            self.lanes().erred(ErrorKind::Evicted);
            self.flow().evicted(Instant::now());
            self.lanes().abandon(&held);
        } else {
            let receipts = self.lanes().revoke(&held, Instant::now() + self.drain());
            commit_receipts(consumer, &receipts);
        }
        let mut flow = self.flow();
        flow.settled = false;
        flow.remove(&held);
    }
}

fn partitions_of(list: &TopicPartitionList) -> Vec<Partition> {
    let elements = list.elements();
    elements
        .iter()
        .map(|element| (element.topic().into(), element.partition()))
        .collect()
}
