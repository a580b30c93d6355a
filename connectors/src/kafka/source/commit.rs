//! Commits durable offsets to Kafka, as a hint for lag and autoscaling.
//!
//! A hint is not worth a wait: no commit here blocks, and after a stop none begins unless the coordinator
//! responds.

use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::{Offset, TopicPartitionList};

use super::context::Context;
use crate::sink::Receipt;

/// How often released offsets are committed.
pub(super) const COMMIT_EVERY: Duration = Duration::from_secs(1);

/// Begins to commit what became durable while lanes drained.
pub(super) fn commit_receipts(consumer: &BaseConsumer<Context>, receipts: &[Receipt]) {
    release(consumer, receipts);
    commit(consumer);
}

/// Commits in the same way before the consumer leaves, if the coordinator responds within `timeout`: closing
/// a consumer waits for pending commits.
pub(super) fn commit_last(consumer: &BaseConsumer<Context>, receipts: &[Receipt], timeout: Duration) {
    release(consumer, receipts);
    let list = released(consumer);
    if list.count() == 0 {
        return;
    }
    match consumer.committed_offsets(list.clone(), timeout) {
        Ok(_) => begin(consumer, &list),
        Err(error) => tracing::warn!(%error, "offset hints not committed: the coordinator does not answer"),
    }
}

/// Begins to commit the released offsets. A failure only leaves the hint outdated, so it is logged.
pub(super) fn commit(consumer: &BaseConsumer<Context>) {
    let list = released(consumer);
    if list.count() > 0 {
        begin(consumer, &list);
    }
}

fn release(consumer: &BaseConsumer<Context>, receipts: &[Receipt]) {
    let mut flow = consumer.context().flow();
    receipts.iter().for_each(|receipt| flow.release(receipt));
}

/// Takes the released offsets that are not committed yet.
fn released(consumer: &BaseConsumer<Context>) -> TopicPartitionList {
    let mut list = TopicPartitionList::new();
    for ((topic, partition), next) in consumer.context().flow().take_released() {
        if let Err(error) = list.add_partition_offset(&topic, partition, Offset::Offset(next)) {
            tracing::warn!(%topic, partition, %error, "offset hint not committed");
        }
    }
    list
}

fn begin(consumer: &BaseConsumer<Context>, list: &TopicPartitionList) {
    if let Err(error) = consumer.commit(list, CommitMode::Async) {
        tracing::warn!(%error, "offset hints not committed");
    }
}
