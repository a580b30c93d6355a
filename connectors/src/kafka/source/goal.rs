//! When a run that is to end has reached its end.
//!
//! The group's word is not enough: a member that was killed while the group made up its mind keeps its partitions until
//! its session ends, and a member that came first may die before it has written its share. So what counts for a
//! partition of this member is what its lane was given, and for another's what its chain holds.

use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::{Message as _, Offset, TopicPartitionList};

use super::context::Context;
use super::{Credentials, LaneError, LogRange, SourceError, fault};
use crate::Stop;
use crate::kafka::token::Quiet;

/// How often lanes are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often chains and logs are: that asks the store and the brokers.
const ASK_EVERY: Duration = Duration::from_secs(2);
/// A partition of this member that has not reached its end may only lack a fetch: its log is asked for once nothing has
/// come for so long.
const QUIET: Duration = Duration::from_secs(1);
/// How long the brokers may take to say whether a log holds a record.
const ANSWER: Duration = Duration::from_secs(10);

/// A range, and how far it has been read or written.
type Behind = (LogRange, i64);

/// The ranges that are to be written before the run ends.
pub(super) struct Goal {
    open: Vec<LogRange>,
    last_record: Instant,
    looked: Instant,
    asked: Option<Instant>,
    told: bool,
}

impl Goal {
    pub(super) fn new(ranges: &[LogRange]) -> Self {
        Self {
            open: ranges.to_vec(),
            last_record: Instant::now(),
            looked: Instant::now(),
            asked: None,
            told: false,
        }
    }

    /// A record came.
    pub(super) fn go_on(&mut self) {
        self.last_record = Instant::now();
    }

    /// Whether every record of the ranges is in a lane of this member, which has yet to drain, or in its chain.
    pub(super) fn is_reached(
        &mut self,
        credentials: &Credentials,
        context: &Context,
    ) -> Result<bool, SourceError> {
        if self.looked.elapsed() < LOOK_EVERY {
            return Ok(false);
        }
        self.looked = Instant::now();
        let Some((mut behind, others)) = self.look(context) else {
            return Ok(false);
        };
        if behind.is_empty() && others.is_empty() {
            return Ok(true);
        }
        if (!behind.is_empty() && self.last_record.elapsed() < QUIET)
            || self.asked.is_some_and(|asked| asked.elapsed() < ASK_EVERY)
        {
            return Ok(false);
        }
        if !others.is_empty() {
            // A member that waits for this one sees only what is written.
            context.lanes().flush();
        }
        let written = match context.lanes().written(&others) {
            Ok(written) => written,
            // The poll loop hears the stop as well.
            Err(LaneError::Stopped) => return Ok(false),
            Err(LaneError::Failed(why)) => return Err(SourceError::Sink(why)),
        };
        for (range, written) in others.into_iter().zip(written) {
            match written {
                Some(next) if next < range.high => behind.push((range, next)),
                // Nobody takes back what a chain has.
                _ => self.open.retain(|open| open.partition != range.partition),
            }
        }
        let held = holds_record(credentials, &behind, context.stop());
        let reached = !held.map_err(|error| fault("end of the log", error))?;
        self.asked = Some(Instant::now());
        if !reached && !self.told {
            tracing::info!(
                partitions = behind.len(),
                "what is left is with other members of the group, or with one that has died: waiting for it"
            );
            self.told = true;
        }
        Ok(reached)
    }

    /// Ranges that lanes of this member have yet to reach, with where they are, and those of partitions that it does not
    /// have. None while neither is worth asking.
    fn look(&self, context: &Context) -> Option<(Vec<Behind>, Vec<LogRange>)> {
        let flow = context.flow();
        if !flow.settled {
            return None;
        }
        let (mut behind, mut others) = (Vec::new(), Vec::new());
        for range in &self.open {
            match flow.lanes.get(&range.partition) {
                None => others.push(range.clone()),
                Some(lane) if !lane.waiting.is_empty() => return None,
                Some(lane) if lane.halted || lane.next >= range.high => {}
                Some(lane) => behind.push((range.clone(), lane.next)),
            }
        }
        Some((behind, others))
    }
}

/// Whether a log holds a record from an offset to before its range's end. Transactions' markers, aborted records and what
/// compaction took away are offsets without a record: no reader ever comes by them. True if the brokers
/// do not answer, or if the stop is requested meanwhile.
fn holds_record(credentials: &Credentials, behind: &[Behind], stop: &Stop) -> Result<bool, KafkaError> {
    let mut client = credentials.client.clone();
    // It joins no group: it is told what to read.
    client.remove("group.instance.id");
    let mut left = behind;
    // The binding's news of an end names no topic, so one topic is asked for at a time.
    while let Some((first, _)) = left.first() {
        let topic = &first.partition.0;
        let count = left
            .iter()
            .take_while(|(range, _)| range.partition.0 == *topic)
            .count();
        let (these, rest) = left.split_at(count);
        left = rest;
        let mut list = TopicPartitionList::new();
        for (range, next) in these {
            list.add_partition_offset(topic, range.partition.1, Offset::Offset(*next))?;
        }
        let probe: BaseConsumer<Quiet> = client.create_with_context(Quiet(credentials.login.clone()))?;
        probe.assign(&list)?;
        let high = |partition| {
            these
                .iter()
                .find(|(range, _)| range.partition.1 == partition)
                .map_or(i64::MAX, |(range, _)| range.high)
        };
        let mut open: Vec<i32> = these.iter().map(|(range, _)| range.partition.1).collect();
        let asked = Instant::now();
        while !open.is_empty() {
            if asked.elapsed() > ANSWER || stop.is_requested() {
                return Ok(true);
            }
            match probe.poll(LOOK_EVERY) {
                Some(Ok(record)) if record.offset() < high(record.partition()) => return Ok(true),
                Some(Ok(record)) => open.retain(|&partition| partition != record.partition()),
                Some(Err(KafkaError::PartitionEOF(ended))) => open.retain(|&partition| partition != ended),
                Some(Err(error)) => tracing::debug!(%error, "asking where a log ends"),
                None => {}
            }
        }
    }
    Ok(false)
}
