//! Detects topics that are deleted and recreated during a run.
//!
//! librdkafka silently continues in the new topic at the old offset if the new log is long enough. So the
//! topic ids are requested regularly, without waiting for the response. Records that a lane received before
//! the request belong to the topic in the response.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;

use super::context::Context;
use crate::kafka::ids::Question;
use crate::source::{Partition, TopicIds};

/// How often to request topic ids, and how soon to repeat the request after a different id: a broker that has
/// not learned of a new topic yet may return the old id.
const EVERY: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(1));
/// Timeout of a request.
const ANSWER: Duration = Duration::from_secs(10);

/// The state of the check.
pub(super) struct TopicMonitor<'a> {
    consumer: &'a BaseConsumer<Context>,
    asked: Option<Asked<'a>>,
    next: Instant,
    /// Ids that differed at the last check.
    suspects: TopicIds,
}

/// A pending request.
struct Asked<'a> {
    question: Question<'a>,
    /// Number of assignments so far: the response does not apply to lanes that were opened after the request.
    assignments: u64,
    /// The position of each lane at the request.
    nexts: BTreeMap<Partition, i64>,
}

impl<'a> TopicMonitor<'a> {
    pub(super) fn new(consumer: &'a BaseConsumer<Context>) -> Self {
        Self {
            consumer,
            asked: None,
            next: Instant::now() + EVERY.0,
            suspects: TopicIds::new(),
        }
    }

    /// Sends a request if one is due, takes its response if it has arrived, and halts the lanes of recreated
    /// topics.
    pub(super) fn look(&mut self) {
        let now = Instant::now();
        let Some(asked) = &self.asked else {
            if now >= self.next {
                self.next = now + EVERY.0;
                self.ask();
            }
            return;
        };
        let Some(answer) = asked.question.answer(Duration::ZERO) else {
            return;
        };
        let Some(asked) = self.asked.take() else { return };
        match answer {
            Ok(ids) => {
                let others = compare(self.consumer.context(), &asked, &ids);
                self.compare(others, now);
            }
            // librdkafka reports unavailable brokers itself.
            Err(error) => tracing::debug!(%error, "asking for topic ids"),
        }
    }

    fn ask(&mut self) {
        match self.question() {
            Ok(asked) => self.asked = asked,
            Err(error) => tracing::debug!(%error, "asking for topic ids"),
        }
    }

    fn question(&self) -> Result<Option<Asked<'a>>, KafkaError> {
        let flow = self.consumer.context().flow();
        let lanes = flow.lanes.iter();
        let nexts: BTreeMap<Partition, i64> = lanes
            .filter(|(_, lane)| !lane.halted && lane.topic_id.is_some())
            .map(|(partition, lane)| (partition.clone(), lane.next))
            .collect();
        let assignments = flow.assignments;
        drop(flow);
        let mut topics: Vec<&str> = nexts.keys().map(|(topic, _)| topic.as_ref()).collect();
        topics.dedup();
        if topics.is_empty() {
            return Ok(None);
        }
        let question = Question::ask(self.consumer.client(), &topics, ANSWER)?;
        Ok(Some(Asked {
            question,
            assignments,
            nexts,
        }))
    }

    /// Halts the lanes of topics whose id differed twice in a row.
    fn compare(&mut self, others: TopicIds, now: Instant) {
        for (topic, id) in &others {
            if self.suspects.get(topic) == Some(id) {
                self.consumer.context().topic_recreated(self.consumer, topic, id);
            } else {
                self.next = now + EVERY.1;
            }
        }
        self.suspects = others;
    }
}

/// Confirms the lanes whose topic id is unchanged. Returns the other topics with their current ids.
fn compare(context: &Context, asked: &Asked<'_>, ids: &TopicIds) -> TopicIds {
    let mut others = TopicIds::new();
    let mut flow = context.flow();
    if flow.assignments != asked.assignments {
        return others;
    }
    for (partition, &next) in &asked.nexts {
        let (Some(lane), Some(id)) = (flow.lanes.get_mut(partition), ids.get(&partition.0)) else {
            continue;
        };
        match &lane.topic_id {
            Some(own) if own == id => lane.confirmed = next,
            Some(_) => drop(others.insert(Arc::clone(&partition.0), Arc::clone(id))),
            None => {}
        }
    }
    others
}
