//! Decides when a finite run has reached its end.
//!
//! The group's assignment does not suffice: a member that was killed during a rebalance keeps its partitions
//! until its session times out, and the first member may die before it has written its share. So for a
//! partition of this member the records of its lane count, and for another member's the content of its chain.

use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::{Message as _, Offset, TopicPartitionList};

use super::context::Context;
use super::{Credentials, SourceError, fault};
use crate::Stop;
use crate::kafka::token::Quiet;
use crate::source::{LaneError, LogRange};

/// How often to check lanes.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often to check chains and logs, which needs requests to the store and the brokers.
const ASK_EVERY: Duration = Duration::from_secs(2);
/// A partition of this member below its end may only wait for a fetch, so its log is queried only after this
/// long without a record.
const QUIET: Duration = Duration::from_secs(1);
/// Timeout for the brokers to tell whether a log holds a record.
const ANSWER: Duration = Duration::from_secs(10);

/// A range, and the offset up to which it is read or written.
type Behind = (LogRange, i64);

/// The ranges to write before the run ends.
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

    /// Notes that a record arrived.
    pub(super) fn resume(&mut self) {
        self.last_record = Instant::now();
    }

    /// Returns whether every record of the ranges is in a lane of this member, which must still drain, or in
    /// its chain.
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
            // A member that waits for this one sees only written records.
            context.lanes().flush();
        }
        let written = match context.lanes().written(&others) {
            Ok(written) => written,
            // The poll loop notices the stop as well.
            Err(LaneError::Stopped) => return Ok(false),
            Err(LaneError::Failed(why)) => return Err(SourceError::Sink(why)),
        };
        for (range, written) in others.into_iter().zip(written) {
            match written {
                Some(next) if next < range.high => behind.push((range, next)),
                // A chain never shrinks.
                _ => self.open.retain(|open| open.partition != range.partition),
            }
        }
        let held = holds_record(credentials, &behind, context.stop());
        let reached = !held.map_err(|error| fault("end of the log", error))?;
        self.asked = Some(Instant::now());
        if !reached && !self.told {
            tracing::info!(
                partitions = behind.len(),
                "waiting for partitions of other members of the group, which may have died"
            );
            self.told = true;
        }
        Ok(reached)
    }

    /// Returns the ranges that lanes of this member have not finished, with their positions, and the ranges
    /// of partitions that other members have. `None` while neither needs a request.
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

/// Returns whether a log holds a record between an offset and its range's end. Transaction markers, aborted
/// records and compacted records leave offsets without a record, which no consumer ever reaches. True if the
/// brokers do not respond, or if a stop is requested.
fn holds_record(credentials: &Credentials, behind: &[Behind], stop: &Stop) -> Result<bool, KafkaError> {
    let mut client = credentials.client.clone();
    // It joins no group; its partitions are assigned explicitly.
    client.remove("group.instance.id");
    let mut left = behind;
    // The binding's end-of-partition event names no topic, so topics are checked one at a time.
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
