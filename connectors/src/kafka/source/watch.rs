//! Notices that a topic was deleted and recreated while it is read.
//!
//! librdkafka reads on in the new topic from the old offset, without a word if the new log is long enough. So the brokers
//! are asked for the topics' ids now and then, without waiting for the answer. What a lane was given before the question was sent is
//! of the topic that the answer names.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;

use super::Partition;
use super::context::Context;
use crate::kafka::ids::{Question, TopicIds};

/// How often topics' ids are asked for, and how soon again when one is another: a broker that has yet to hear of a new topic may
/// tell the id of the old one.
const EVERY: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(1));
/// How long brokers may take to answer.
const ANSWER: Duration = Duration::from_secs(10);

/// The look at topics' ids.
pub(super) struct Watch<'a> {
    consumer: &'a BaseConsumer<Context>,
    asked: Option<Asked<'a>>,
    next: Instant,
    /// Ids that were other ones at the last look.
    suspects: TopicIds,
}

/// A question that is under way.
struct Asked<'a> {
    question: Question<'a>,
    /// The assignments so far: an answer is no use to lanes that were opened after the question.
    assignments: u64,
    /// What each lane had been given.
    nexts: BTreeMap<Partition, i64>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(consumer: &'a BaseConsumer<Context>) -> Self {
        Self {
            consumer,
            asked: None,
            next: Instant::now() + EVERY.0,
            suspects: TopicIds::new(),
        }
    }

    /// Asks if it is time, takes the answer if it is there, and halts the lanes of topics that were recreated.
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
                self.judge(others, now);
            }
            // librdkafka reports brokers that are down.
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

    /// Halts the lanes of topics that were other ones twice in a row.
    fn judge(&mut self, others: TopicIds, now: Instant) {
        for (topic, id) in &others {
            if self.suspects.get(topic) == Some(id) {
                self.consumer.context().topic_made_anew(self.consumer, topic, id);
            } else {
                self.next = now + EVERY.1;
            }
        }
        self.suspects = others;
    }
}

/// Confirms the lanes of topics that are the same. Returns the topics that are not, with their ids now.
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
