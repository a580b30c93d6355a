//! Batches that librdkafka cannot take apart.
//!
//! librdkafka reads such a batch again and again and says only that one could not be read, not where: it gives a batch no
//! more memory than `receive.message.max.bytes` once it is decompressed, and a batch may be damaged where it lies. So a
//! consumer of its own reads each partition from where its lane is.

use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::{Offset, TopicPartitionList};

use super::{Credentials, Partition};
use crate::Stop;
use crate::kafka::token::Quiet;

/// How long one partition may take to show what comes next.
const ANSWER: Duration = Duration::from_secs(5);
/// How long one poll waits.
const POLL: Duration = Duration::from_millis(100);

/// Whether the error is about a batch that cannot be taken apart.
pub(super) const fn is_unreadable(error: &KafkaError) -> bool {
    matches!(
        error,
        KafkaError::MessageConsumption(Code::BadCompression | Code::BadMessage)
    )
}

/// Those of the partitions whose next batch cannot be read, each with its offset. A partition whose broker does not answer is
/// not among them.
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
