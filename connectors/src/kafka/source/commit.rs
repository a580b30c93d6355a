//! What is committed to Kafka: how far files are durable, as a hint for lag and autoscaling.

use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::{Offset, TopicPartitionList};

use super::context::Context;
use crate::sink::Receipt;

/// How often released offsets are committed.
pub(super) const COMMIT_EVERY: Duration = Duration::from_secs(1);

/// Commits what became durable while lanes drained, and waits for the broker's word.
pub(super) fn commit_receipts(consumer: &BaseConsumer<Context>, receipts: Vec<Receipt>) {
    {
        let mut flow = consumer.context().flow();
        receipts.iter().for_each(|receipt| flow.release(receipt));
    }
    commit(consumer, CommitMode::Sync);
}

/// Commits what was released. A failure costs nothing but an old hint, so it is only logged.
pub(super) fn commit(consumer: &BaseConsumer<Context>, mode: CommitMode) {
    let mut list = TopicPartitionList::new();
    for ((topic, partition), next) in consumer.context().flow().take_released() {
        if let Err(error) = list.add_partition_offset(&topic, partition, Offset::Offset(next)) {
            tracing::warn!(%topic, partition, %error, "offset hint not committed");
        }
    }
    if list.count() > 0
        && let Err(error) = consumer.commit(&list, mode)
    {
        tracing::warn!(%error, "offset hints not committed");
    }
}
