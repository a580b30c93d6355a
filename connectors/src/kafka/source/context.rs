//! Rebalances and back-pressure: where partitions come, go, pause and resume.

use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::client::{ClientContext, OAuthToken};
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext, RebalanceProtocol};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::types::RDKafkaRespErr;
use rdkafka::{Offset, Statistics, TopicPartitionList};

use super::commit::commit_receipts;
use super::flow::{Flow, Flows};
use super::{Begin, Lanes, LogRange, Partition, RawRecord, SourceError, fault};
use crate::kafka::token::Login;

/// How long metadata of one partition may take.
const METADATA: Duration = Duration::from_secs(10);
/// How often a partition's range is asked for before the run gives up, and the pause between. Far from the five minutes
/// after which the group takes a consumer that does not poll for dead.
const RANGE_TRIES: u32 = 4;
const BETWEEN_TRIES: Duration = Duration::from_millis(500);

/// The consumer's callbacks, and what they share with the poll loop.
pub(super) struct Context {
    lanes: Arc<dyn Lanes>,
    flow: Mutex<Flows>,
    drain: Duration,
    login: Login,
}

impl Context {
    /// The lanes themselves.
    pub(super) fn lanes(&self) -> &dyn Lanes {
        self.lanes.as_ref()
    }

    /// What the consumer logs in with besides its settings.
    pub(super) const fn login(&self) -> &Login {
        &self.login
    }

    /// A context without lanes.
    pub(super) fn new(lanes: Arc<dyn Lanes>, drain: Duration, login: Login) -> Self {
        Self {
            lanes,
            flow: Mutex::default(),
            drain,
            login,
        }
    }

    /// The lanes' state. Not to be held while a callback may run.
    pub(super) fn flow(&self) -> MutexGuard<'_, Flows> {
        // A panic while it was held cannot leave it inconsistent: each change is one insertion or removal.
        self.flow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a record to its lane, or keeps it and pauses its partition.
    pub(super) fn deliver(&self, consumer: &BaseConsumer<Self>, record: RawRecord) {
        let full = self.flow().deliver(self.lanes.as_ref(), record);
        if let Some(partition) = full {
            pause(consumer, &partition, true);
        }
    }

    /// Gives waiting records to lanes that have room, and resumes those that have none waiting.
    ///
    /// Pausing throws away what librdkafka has fetched ahead, so a lane is resumed only once it has room for a good
    /// deal more.
    pub(super) fn refill(&self, consumer: &BaseConsumer<Self>) {
        let resumed = self.flow().refill(self.lanes.as_ref());
        for partition in &resumed {
            pause(consumer, partition, false);
        }
    }

    /// Asks for a partition's range, and again for a while if its broker does not answer.
    fn range(consumer: &BaseConsumer<Self>, topic: &str, partition: i32) -> Result<LogRange, String> {
        let mut tries = 1;
        loop {
            match consumer.fetch_watermarks(topic, partition, METADATA) {
                Ok((low, high)) => {
                    return Ok(LogRange {
                        partition: (topic.into(), partition),
                        low,
                        high,
                    });
                }
                Err(error) if tries < RANGE_TRIES => {
                    tracing::warn!(%error, "offsets of {topic}/{partition}: trying again");
                    std::thread::sleep(BETWEEN_TRIES);
                    tries += 1;
                }
                Err(error) => return Err(format!("kafka: offsets of {topic}/{partition}: {error}")),
            }
        }
    }

    /// Opens a lane anew at its chain's tail and moves the consumer there.
    pub(super) fn reopen(
        &self,
        consumer: &BaseConsumer<Self>,
        partition: &Partition,
    ) -> Result<(), SourceError> {
        if !self.flow().lanes.contains_key(partition) {
            return Ok(());
        }
        self.lanes.lose(std::slice::from_ref(partition));
        let range = Self::range(consumer, &partition.0, partition.1).map_err(SourceError::Sink)?;
        let begins = self
            .lanes
            .assign(std::slice::from_ref(&range), &|(topic, partition)| {
                Self::range(consumer, topic, *partition)
            })
            .map_err(SourceError::Sink)?;
        self.flow().stalled.retain(|stalled| stalled != partition);
        for begin in begins {
            self.flow().lanes.insert(partition.clone(), Flow::new(begin));
            match begin {
                Begin::Halted => pause(consumer, partition, true),
                Begin::At(offset) => {
                    consumer
                        .seek(&partition.0, partition.1, Offset::Offset(offset), METADATA)
                        .map_err(|error| fault("seek", error))?;
                    pause(consumer, partition, false);
                }
            }
        }
        Ok(())
    }

    fn assign(
        &self,
        consumer: &BaseConsumer<Self>,
        list: &TopicPartitionList,
    ) -> Result<TopicPartitionList, String> {
        let mut ranges = Vec::new();
        for element in list.elements() {
            ranges.push(Self::range(consumer, element.topic(), element.partition())?);
        }
        let begins = self.lanes.assign(&ranges, &|(topic, partition)| {
            Self::range(consumer, topic, *partition)
        })?;
        let mut placed = TopicPartitionList::new();
        let mut flow = self.flow();
        flow.settled = true;
        for (range, begin) in ranges.iter().zip(begins) {
            let offset = match begin {
                Begin::At(offset) => offset,
                Begin::Halted => range.high,
            };
            placed
                .add_partition_offset(&range.partition.0, range.partition.1, Offset::Offset(offset))
                .map_err(|error| format!("kafka: {error}"))?;
            flow.lanes.insert(range.partition.clone(), Flow::new(begin));
        }
        Ok(placed)
    }

    fn release(&self, consumer: &BaseConsumer<Self>, list: &TopicPartitionList) {
        let partitions: Vec<Partition> = list
            .elements()
            .iter()
            .map(|e| (e.topic().into(), e.partition()))
            .collect();
        let held: Vec<Partition> = {
            let flow = self.flow();
            partitions
                .into_iter()
                .filter(|partition| flow.lanes.contains_key(partition))
                .collect()
        };
        if consumer.assignment_lost() {
            self.lanes.lose(&held);
        } else {
            let receipts = self.lanes.revoke(&held, Instant::now() + self.drain);
            commit_receipts(consumer, receipts);
        }
        let mut flow = self.flow();
        flow.settled = false;
        flow.remove(&held);
    }

    /// Halts the lanes whose place the log no longer has.
    pub(super) fn halt_out_of_range(&self, consumer: &BaseConsumer<Self>) {
        let positions = match consumer.position() {
            Ok(positions) => positions,
            Err(error) => {
                tracing::warn!(%error, "kafka; positions unknown");
                return;
            }
        };
        for element in positions.elements() {
            let partition: Partition = (element.topic().into(), element.partition());
            let Ok((low, high)) = consumer.fetch_watermarks(element.topic(), element.partition(), METADATA)
            else {
                continue;
            };
            let outside = matches!(element.offset(), Offset::Offset(at) if at < low || at > high);
            let mut flow = self.flow();
            if let Some(lane) = flow
                .lanes
                .get_mut(&partition)
                .filter(|lane| outside && !lane.halted)
            {
                lane.halted = true;
                pause(consumer, &partition, true);
                self.lanes.halt(&LogRange { partition, low, high });
            }
        }
    }
}

fn pause(consumer: &BaseConsumer<Context>, (topic, partition): &Partition, on: bool) {
    let mut list = TopicPartitionList::new();
    list.add_partition(topic, *partition);
    let result = if on {
        consumer.pause(&list)
    } else {
        consumer.resume(&list)
    };
    if let Err(error) = result {
        // It was taken away meanwhile; the rebalance that follows settles its lane.
        tracing::debug!(%topic, partition, %error, on, "pause or resume");
    }
}

impl ClientContext for Context {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    fn generate_oauth_token(&self, _: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        self.login.token()
    }

    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        use RDKafkaLogLevel as Level;
        match level {
            Level::Emerg | Level::Alert | Level::Critical | Level::Error => {
                tracing::error!(facility, "{message}")
            }
            Level::Warning => tracing::warn!(facility, "{message}"),
            Level::Notice | Level::Info => tracing::info!(facility, "{message}"),
            Level::Debug => tracing::debug!(facility, "{message}"),
        }
    }

    fn stats(&self, statistics: Statistics) {
        let mut ends = Vec::new();
        {
            let flow = self.flow();
            for (topic, of_topic) in &statistics.topics {
                for (&partition, of_partition) in &of_topic.partitions {
                    // What readers of committed records see ends where the first open transaction begins.
                    let high = match of_partition.ls_offset {
                        stable if stable >= 0 => stable,
                        _ => of_partition.hi_offset,
                    };
                    let partition: Partition = (topic.as_str().into(), partition);
                    if high >= 0 && flow.lanes.contains_key(&partition) {
                        ends.push((partition, high));
                    }
                }
            }
        }
        for (partition, high) in &ends {
            self.lanes.log_end(partition, *high);
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        if !matches!(error, KafkaError::Global(RDKafkaErrorCode::PartitionEOF)) {
            tracing::warn!(%error, reason, "kafka; trying again");
        }
    }
}

impl ConsumerContext for Context {
    fn rebalance(&self, consumer: &BaseConsumer<Self>, err: RDKafkaRespErr, list: &mut TopicPartitionList) {
        let cooperative = matches!(consumer.rebalance_protocol(), RebalanceProtocol::Cooperative);
        let done = match err {
            RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS => {
                let placed = match self.assign(consumer, list) {
                    Ok(placed) => placed,
                    Err(error) => {
                        self.flow().failed = Some(error);
                        // Take nothing: the run ends at the next turn of the loop.
                        TopicPartitionList::new()
                    }
                };
                let done = if cooperative {
                    consumer.incremental_assign(&placed)
                } else {
                    consumer.assign(&placed)
                };
                for (partition, _) in self.flow().lanes.iter().filter(|(_, lane)| lane.halted) {
                    pause(consumer, partition, true);
                }
                done
            }
            RDKafkaRespErr::RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS => {
                self.release(consumer, list);
                if cooperative {
                    consumer.incremental_unassign(list)
                } else {
                    consumer.unassign()
                }
            }
            other => {
                tracing::warn!(code = ?other, "kafka; rebalance failed, trying again");
                let held: Vec<Partition> = std::mem::take(&mut self.flow().lanes).into_keys().collect();
                self.lanes.lose(&held);
                consumer.unassign()
            }
        };
        if let Err(error) = done {
            self.flow().failed = Some(format!("kafka: rebalance: {error}"));
        }
    }
}
