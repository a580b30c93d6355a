//! Requests to the brokers that an assignment waits for, in steps that a stop can interrupt.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;

use super::context::Context;
use crate::kafka::ids::topic_ids;
use crate::source::{LaneError, LogRange, Partition};

/// Timeout for the ranges of an assignment, after which the run ends. It is well below the five minutes after
/// which the group evicts a consumer that does not poll.
pub(super) const RANGES: Duration = Duration::from_secs(60);
/// Initial and maximum timeout of one request, which a stop cannot interrupt.
pub(super) const STEP: (Duration, Duration) = (Duration::from_millis(400), Duration::from_secs(1));
/// The pause between two requests.
const PAUSE: Duration = Duration::from_millis(500);

impl Context {
    /// Requests the partitions' ranges until their brokers respond, the deadline passes, or a stop is
    /// requested. Returns them in the same order.
    pub(super) fn ranges(
        &self,
        consumer: &BaseConsumer<Self>,
        partitions: &[Partition],
        deadline: Instant,
    ) -> Result<Vec<LogRange>, LaneError> {
        let Some((first, _)) = partitions.first() else {
            return Ok(Vec::new());
        };
        let mut topics: Vec<&str> = partitions.iter().map(|(topic, _)| topic.as_ref()).collect();
        topics.sort_unstable();
        topics.dedup();
        // Ids before watermarks: if the topic is recreated in between, the ids are those of the old topic,
        // and the next check of the ids notices it.
        let asked = self.persist(deadline, |step| topic_ids(consumer.client(), &topics, step));
        let ids = asked.map_err(|refused| refused.about("topic id", first, None))?;
        let range = |partition: &Partition| {
            let (topic, number) = partition;
            let asked = self.persist(deadline, |step| consumer.fetch_watermarks(topic, *number, step));
            let (low, high) = asked.map_err(|refused| refused.about("offsets", topic, Some(*number)))?;
            Ok(LogRange {
                partition: partition.clone(),
                low,
                high,
                topic_id: ids.get(topic).map(Arc::clone),
            })
        };
        partitions.iter().map(range).collect()
    }

    /// Requests the range of one partition.
    pub(super) fn range(
        &self,
        consumer: &BaseConsumer<Self>,
        partition: &Partition,
    ) -> Result<LogRange, LaneError> {
        let asked = self.ranges(consumer, std::slice::from_ref(partition), Instant::now() + RANGES)?;
        let none = || LaneError::Failed(format!("kafka: no offsets of {}/{}", partition.0, partition.1));
        asked.into_iter().next().ok_or_else(none)
    }

    /// Requests in short steps, between which a stop is noticed. Waiting for a broker counts as progress.
    pub(super) fn persist<T>(
        &self,
        deadline: Instant,
        mut ask: impl FnMut(Duration) -> Result<T, KafkaError>,
    ) -> Result<T, Refused> {
        let mut step = STEP.0;
        loop {
            if self.stop().is_requested() {
                return Err(Refused::Stopped);
            }
            match ask(step) {
                Ok(answer) => return Ok(answer),
                Err(error) if Instant::now() >= deadline => return Err(Refused::Kafka(error)),
                Err(error) => tracing::warn!(%error, "kafka; a broker does not answer, trying again"),
            }
            self.lanes().polled();
            self.stop().sleep(PAUSE);
            step = (step * 2).min(STEP.1);
        }
    }
}

/// Why a broker did not respond.
pub(super) enum Refused {
    /// A stop was requested first.
    Stopped,
    /// The request timed out or failed.
    Kafka(KafkaError),
}

impl Refused {
    pub(super) fn about(self, what: &str, topic: &str, partition: Option<i32>) -> LaneError {
        let place = match partition {
            Some(partition) => format!("{topic}/{partition}"),
            None => topic.to_owned(),
        };
        match self {
            Self::Stopped => LaneError::Stopped,
            Self::Kafka(error) => LaneError::Failed(format!("kafka: {what} of {place}: {error}")),
        }
    }
}
