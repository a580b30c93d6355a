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
use super::unreadable::unreadable;
use super::{Begin, Credentials, LaneError, Lanes, LogRange, Partition, RawRecord, SourceSettings};
use crate::Stop;
use crate::kafka::token::Login;

/// How long brokers may take to give the ranges of an assignment before the run ends. Far from the five minutes after which
/// the group takes a consumer that does not poll for dead.
const RANGES: Duration = Duration::from_secs(60);
/// How long one question may take at first and at most: no stop is heard meanwhile.
const STEP: (Duration, Duration) = (Duration::from_millis(400), Duration::from_secs(1));
/// The pause between two questions.
const PAUSE: Duration = Duration::from_millis(500);

/// The consumer's callbacks, and what they share with the poll loop.
pub(super) struct Context {
    lanes: Arc<dyn Lanes>,
    flow: Mutex<Flows>,
    drain: Duration,
    stop: Stop,
    login: Login,
}

impl Context {
    /// The lanes themselves.
    pub(super) fn lanes(&self) -> &dyn Lanes {
        self.lanes.as_ref()
    }

    /// The stop that every wait hears.
    pub(super) const fn stop(&self) -> &Stop {
        &self.stop
    }

    /// What the consumer logs in with besides its settings.
    pub(super) const fn login(&self) -> &Login {
        &self.login
    }

    /// A context without lanes.
    pub(super) fn new(lanes: Arc<dyn Lanes>, settings: &SourceSettings, login: Login) -> Self {
        Self {
            lanes,
            flow: Mutex::default(),
            drain: settings.drain,
            stop: settings.stop.clone(),
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

    /// Asks for a partition's range until its broker answers, the deadline passes, or the stop is requested.
    fn range(
        &self,
        consumer: &BaseConsumer<Self>,
        topic: &str,
        partition: i32,
        deadline: Instant,
    ) -> Result<LogRange, LaneError> {
        let asked = self.persist(deadline, |step| consumer.fetch_watermarks(topic, partition, step));
        let (low, high) = asked.map_err(|refused| refused.about("offsets", topic, partition))?;
        Ok(LogRange {
            partition: (topic.into(), partition),
            low,
            high,
        })
    }

    /// Asks in short steps, between which the stop is heard. Waiting for a broker counts as progress.
    fn persist<T>(
        &self,
        deadline: Instant,
        mut ask: impl FnMut(Duration) -> Result<T, KafkaError>,
    ) -> Result<T, Refused> {
        let mut step = STEP.0;
        loop {
            if self.stop.is_requested() {
                return Err(Refused::Stopped);
            }
            match ask(step) {
                Ok(answer) => return Ok(answer),
                Err(error) if Instant::now() >= deadline => return Err(Refused::Kafka(error)),
                Err(error) => tracing::warn!(%error, "kafka; a broker does not answer, trying again"),
            }
            self.lanes.polled();
            self.stop.sleep(PAUSE);
            step = (step * 2).min(STEP.1);
        }
    }

    /// Opens a lane anew at its chain's tail and moves the consumer there.
    pub(super) fn reopen(
        &self,
        consumer: &BaseConsumer<Self>,
        partition: &Partition,
    ) -> Result<(), LaneError> {
        if !self.flow().lanes.contains_key(partition) {
            return Ok(());
        }
        self.lanes.lose(std::slice::from_ref(partition));
        let range = self.range(consumer, &partition.0, partition.1, Instant::now() + RANGES)?;
        let begins = self
            .lanes
            .assign(std::slice::from_ref(&range), &|(topic, partition)| {
                self.range(consumer, topic, *partition, Instant::now() + RANGES)
            })?;
        self.flow().stalled.retain(|stalled| stalled != partition);
        for begin in begins {
            self.flow().lanes.insert(partition.clone(), Flow::new(begin));
            match begin {
                Begin::Halted => pause(consumer, partition, true),
                Begin::At(offset) => {
                    let (topic, number) = partition;
                    self.persist(Instant::now() + RANGES, |step| {
                        consumer.seek(topic, *number, Offset::Offset(offset), step)
                    })
                    .map_err(|refused| refused.about("seek", topic, *number))?;
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
    ) -> Result<TopicPartitionList, LaneError> {
        let deadline = Instant::now() + RANGES;
        let mut ranges = Vec::new();
        for element in list.elements() {
            ranges.push(self.range(consumer, element.topic(), element.partition(), deadline)?);
        }
        let begins = self.lanes.assign(&ranges, &|(topic, partition)| {
            self.range(consumer, topic, *partition, Instant::now() + RANGES)
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
                .map_err(|error| LaneError::Failed(format!("kafka: {error}")))?;
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
            commit_receipts(consumer, &receipts);
        }
        let mut flow = self.flow();
        flow.settled = false;
        flow.remove(&held);
    }

    /// Halts the lanes whose next batch cannot be read, once they have written what comes before it.
    pub(super) fn halt_unreadable(
        &self,
        consumer: &BaseConsumer<Self>,
        credentials: &Credentials,
        error: &KafkaError,
    ) {
        let places: Vec<(Partition, i64)> = {
            let flow = self.flow();
            let reading = flow.lanes.iter().filter(|(_, lane)| !lane.halted);
            reading
                .map(|(partition, lane)| (partition.clone(), lane.next))
                .collect()
        };
        let found = match unreadable(credentials, places, &self.stop) {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(%error, "kafka; looking for a batch that cannot be read");
                return;
            }
        };
        for (partition, offset) in found {
            let waiting = {
                let mut flow = self.flow();
                let Some(lane) = flow.lanes.get_mut(&partition) else {
                    continue;
                };
                lane.halted = true;
                let waiting = std::mem::take(&mut lane.waiting);
                flow.stalled.retain(|stalled| *stalled != partition);
                waiting
            };
            pause(consumer, &partition, true);
            // What no lane had room for is not written; a restart reads it again.
            drop(waiting);
            let drained = self
                .lanes
                .revoke(std::slice::from_ref(&partition), Instant::now() + self.drain);
            commit_receipts(consumer, &drained);
            self.lanes.unreadable(&partition, offset, &error.to_string());
        }
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
            // If no broker answers, the error comes again, and so does this question.
            let Ok((low, high)) = consumer.fetch_watermarks(element.topic(), element.partition(), STEP.1)
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

/// Why a broker gave no answer.
enum Refused {
    /// The stop was requested first.
    Stopped,
    /// It had none in time, or this one.
    Kafka(KafkaError),
}

impl Refused {
    fn about(self, what: &str, topic: &str, partition: i32) -> LaneError {
        match self {
            Self::Stopped => LaneError::Stopped,
            Self::Kafka(error) => LaneError::Failed(format!("kafka: {what} of {topic}/{partition}: {error}")),
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
            self.flow().failed = Some(LaneError::Failed(format!("kafka: rebalance: {error}")));
        }
    }
}
