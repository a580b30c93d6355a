//! Reads all records of a partition in order, outside of a group.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use rdkafka::Message as _;
use rdkafka::consumer::Consumer as _;
use rdkafka::error::KafkaError;
use rdkafka::{Offset, TopicPartitionList};

use super::reread::failed;
use super::{Cluster, KafkaClientError};
use crate::kafka::source::raw;
use crate::source::{LogRange, RawRecord};

/// Timeout of one poll.
const POLL: Duration = Duration::from_millis(100);

impl Cluster {
    /// Reads the records of a range and passes each to `take` in the order of offsets until it breaks.
    /// Offsets without a record (transaction markers, aborted and compacted records) are skipped. Nothing is
    /// committed and no group is joined.
    ///
    /// # Errors
    /// [`KafkaClientError`], also if no record arrives within the cluster's timeout.
    pub fn scan(
        &self,
        log: &LogRange,
        mut take: impl FnMut(RawRecord) -> ControlFlow<()>,
    ) -> Result<(), KafkaClientError> {
        if log.low >= log.high {
            return Ok(());
        }
        let (topic, partition) = &log.partition;
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(topic, *partition, Offset::Offset(log.low))
            .and_then(|()| self.client.assign(&list))
            .map_err(|error| failed(&error))?;
        let read = self.read_all(log, &mut take);
        let unassigned = self.client.unassign().map_err(|error| failed(&error));
        read.and(unassigned)
    }

    fn read_all(
        &self,
        log: &LogRange,
        take: &mut impl FnMut(RawRecord) -> ControlFlow<()>,
    ) -> Result<(), KafkaClientError> {
        let (topic, partition) = &log.partition;
        let mut last_event = Instant::now();
        loop {
            match self.client.poll(POLL) {
                Some(Ok(message)) if message.topic() == &**topic && message.partition() == *partition => {
                    let offset = message.offset();
                    if offset >= log.high || take(raw(&message)).is_break() || offset + 1 == log.high {
                        return Ok(());
                    }
                    // After `take`, which may take long.
                    last_event = Instant::now();
                }
                // The last offsets of the log may be transaction markers, which no consumer sees.
                Some(Err(KafkaError::PartitionEOF(of))) if of == *partition => return Ok(()),
                Some(Err(error)) if self.is_final(&error) => return Err(failed(&error)),
                Some(Ok(_) | Err(_)) | None => {}
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
