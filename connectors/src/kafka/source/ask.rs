//! Questions to the brokers that an assignment waits for, in steps between which the stop is heard.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;

use super::context::Context;
use super::{LaneError, LogRange, Partition};
use crate::kafka::ids::topic_ids;

/// How long brokers may take to give the ranges of an assignment before the run ends. Far from the five minutes after which
/// the group takes a consumer that does not poll for dead.
pub(super) const RANGES: Duration = Duration::from_secs(60);
/// How long one question may take at first and at most: no stop is heard meanwhile.
pub(super) const STEP: (Duration, Duration) = (Duration::from_millis(400), Duration::from_secs(1));
/// The pause between two questions.
const PAUSE: Duration = Duration::from_millis(500);

impl Context {
    /// Asks for partitions' ranges until their brokers answer, the deadline passes, or the stop is requested. Returns them in the
    /// same order.
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
        // Before the watermarks: should the topic be recreated between the two, they are of the topic that the chain is not of, and
        // the next look at the ids says so.
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

    /// The range of one partition.
    pub(super) fn range(
        &self,
        consumer: &BaseConsumer<Self>,
        partition: &Partition,
    ) -> Result<LogRange, LaneError> {
        let asked = self.ranges(consumer, std::slice::from_ref(partition), Instant::now() + RANGES)?;
        let none = || LaneError::Failed(format!("kafka: no offsets of {}/{}", partition.0, partition.1));
        asked.into_iter().next().ok_or_else(none)
    }

    /// Asks in short steps, between which the stop is heard. Waiting for a broker counts as progress.
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

/// Why a broker gave no answer.
pub(super) enum Refused {
    /// The stop was requested first.
    Stopped,
    /// It had none in time, or this one.
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
