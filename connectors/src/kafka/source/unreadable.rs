//! Finds batches that librdkafka cannot read.
//!
//! librdkafka retries such a batch forever and reports that a batch could not be read, but not which one. A
//! batch fails if it needs more memory than `receive.message.max.bytes` once decompressed, or if it is
//! damaged in the log. So a separate consumer reads each partition from its lane's position.

use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::{Offset, TopicPartitionList};

use super::Credentials;
use crate::Stop;
use crate::kafka::token::Quiet;
use crate::source::Partition;

/// Timeout for the next record of one partition.
const ANSWER: Duration = Duration::from_secs(5);
/// Timeout of one poll.
const POLL: Duration = Duration::from_millis(100);

/// Returns whether the error is about an unreadable batch.
pub(super) const fn is_unreadable(error: &KafkaError) -> bool {
    matches!(
        error,
        KafkaError::MessageConsumption(Code::BadCompression | Code::BadMessage)
    )
}

/// Returns the partitions whose next batch is unreadable, with its offset. Partitions whose broker does not
/// respond are left out.
pub(super) fn unreadable(
    credentials: &Credentials,
    places: Vec<(Partition, i64)>,
    stop: &Stop,
) -> Result<Vec<(Partition, i64)>, KafkaError> {
    let mut client = credentials.client.clone();
    // It joins no group.
    client.remove("group.instance.id");
    let probe: BaseConsumer<Quiet> = client.create_with_context(Quiet(credentials.login.clone()))?;
    let mut found = Vec::new();
    for (partition, next) in places {
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(&partition.0, partition.1, Offset::Offset(next))?;
        probe.assign(&list)?;
        let asked = Instant::now();
        while asked.elapsed() < ANSWER && !stop.is_requested() {
            match probe.poll(POLL) {
                Some(Err(error)) if is_unreadable(&error) => {
                    found.push((partition, next));
                    break;
                }
                Some(Ok(_) | Err(KafkaError::PartitionEOF(_))) => break,
                Some(Err(error)) => tracing::debug!(%error, "looking for a batch that cannot be read"),
                None => {}
            }
        }
    }
    Ok(found)
}
