//! Reads single records of a partition again by their offsets, outside of a group.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use rdkafka::Message as _;
use rdkafka::consumer::Consumer as _;
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::{Offset, TopicPartitionList};

use super::{Cluster, KafkaClientError, code};
use crate::kafka::source::raw;
use crate::source::{Partition, RawRecord};

/// Timeout of one poll.
const POLL: Duration = Duration::from_millis(100);
/// Maximum gap between two wanted records that is read through instead of skipped, since a seek costs a round
/// trip.
const NEAR: i64 = 1000;

impl Cluster {
    /// Reads the records at these ascending offsets and passes each to `take` in order until it breaks.
    /// Offsets without a record, or outside the log, are skipped. Nothing is committed and no group is
    /// joined.
    ///
    /// # Errors
    /// [`KafkaClientError`], also if no record arrives within the cluster's timeout.
    pub fn reread(
        &self,
        partition: &Partition,
        offsets: &[i64],
        mut take: impl FnMut(RawRecord) -> ControlFlow<()>,
    ) -> Result<(), KafkaClientError> {
        let (low, high) = self.watermarks(&partition.0, partition.1)?;
        let from = offsets.partition_point(|&offset| offset < low);
        let to = offsets.partition_point(|&offset| offset < high);
        let there = offsets.get(from..to).unwrap_or_default();
        let mut runs = there.chunk_by(|before, after| after - before <= NEAR);
        let ended = runs.find_map(|run| match self.read_run(partition, run, &mut take) {
            Ok(ControlFlow::Continue(())) => None,
            Ok(ControlFlow::Break(())) => Some(Ok(())),
            Err(error) => Some(Err(error)),
        });
        let unassigned = self.client.unassign().map_err(|error| failed(&error));
        ended.unwrap_or(Ok(())).and(unassigned)
    }

    /// Reads from the first of these offsets to the last.
    fn read_run(
        &self,
        (topic, partition): &Partition,
        offsets: &[i64],
        take: &mut impl FnMut(RawRecord) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, KafkaClientError> {
        let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else {
            return Ok(ControlFlow::Continue(()));
        };
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(topic, *partition, Offset::Offset(first))
            .and_then(|()| self.client.assign(&list))
            .map_err(|error| failed(&error))?;
        let mut last_event = Instant::now();
        loop {
            match self.client.poll(POLL) {
                Some(Ok(message)) => {
                    let offset = message.offset();
                    let is_assigned = message.topic() == &**topic && message.partition() == *partition;
                    let is_wanted = is_assigned && offsets.binary_search(&offset).is_ok();
                    if is_wanted && take(raw(&message)).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                    if is_assigned && offset >= last {
                        return Ok(ControlFlow::Continue(()));
                    }
                    // After `take`, which may take long.
                    last_event = Instant::now();
                }
                // The last offsets of the log may be transaction markers, which no consumer sees.
                Some(Err(KafkaError::PartitionEOF(_))) => return Ok(ControlFlow::Continue(())),
                Some(Err(error)) if self.is_final(&error) => return Err(failed(&error)),
                Some(Err(_)) | None => {}
            }
            if last_event.elapsed() > self.timeout {
                let reported = self.client.context().last();
                return Err(KafkaClientError::Unreachable {
                    brokers: self.brokers.clone(),
                    seconds: self.timeout.as_secs(),
                    reason: reported.map_or_else(|| "no record arrived".to_owned(), |(_, reason)| reason),
                });
            }
        }
    }
}

impl Cluster {
    /// Returns whether waiting does not help after this error, which a poll has just returned.
    pub(super) fn is_final(&self, error: &KafkaError) -> bool {
        let code = code(error);
        is_refusal(code) || (code == Code::Authentication && !self.client.context().login_was_interrupted())
    }
}

const fn is_refusal(code: Code) -> bool {
    matches!(
        code,
        Code::SSL
            | Code::TopicAuthorizationFailed
            | Code::UnknownTopicOrPartition
            | Code::UnknownPartition
            | Code::UnknownTopic
            | Code::AutoOffsetReset
            | Code::OffsetOutOfRange
    )
}

pub(super) fn failed(error: &KafkaError) -> KafkaClientError {
    KafkaClientError::Broker {
        what: "reading records again",
        code: code(error),
    }
}
