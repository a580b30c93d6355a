//! The Kafka consumer: one poll thread that never blocks on a lane and never moves an offset on its own account.
//!
//! The sink owns the offsets. At each assignment the lanes say where reading begins; what is committed to Kafka is a
//! hint for lag and autoscaling, made from [`Receipt`]s alone. A full lane's partition is paused, and its records wait
//! here in order; polling goes on, so that the group never takes the consumer for dead.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lethe_core::Coordinates;
use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, FromClientConfigAndContext as _, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _, ConsumerContext, RebalanceProtocol};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::BorrowedMessage;
use rdkafka::types::RDKafkaRespErr;
use rdkafka::{Message as _, Offset, TopicPartitionList};

use crate::sink::Receipt;

/// How long one poll waits for a record before commands are looked at again.
const POLL: Duration = Duration::from_millis(20);
/// How often released offsets are committed.
const COMMIT_EVERY: Duration = Duration::from_secs(1);
/// How long lanes may drain when everything has been read.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);
/// How long metadata of one partition may take.
const METADATA: Duration = Duration::from_secs(10);

/// A partition of a topic.
pub type Partition = (Arc<str>, i32);

/// A partition's log as the broker has it.
#[derive(Clone, Debug)]
pub struct LogRange {
    /// Topic and partition.
    pub partition: Partition,
    /// The first offset that is there.
    pub low: i64,
    /// One past the last offset that readers see.
    pub high: i64,
}

/// Where a lane begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// At this offset.
    At(i64),
    /// Not at all: an operator must decide. The partition stays assigned and paused.
    Halted,
}

/// One record as it was fetched.
#[derive(Debug)]
pub struct RawRecord {
    /// Topic, partition, offset.
    pub at: Coordinates,
    /// The payload; none for a tombstone.
    pub payload: Option<Payload>,
}

/// A record's payload. Prints as its length.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload(pub Vec<u8>);

impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[{} bytes]", self.0.len())
    }
}

/// What the pipeline does for the consumer. Every method is called on the poll thread.
pub trait Lanes: Send + Sync {
    /// Partitions are assigned: opens a lane for each and says where it begins, in the same order.
    ///
    /// # Errors
    /// If the sink cannot be read. The run ends: to begin anywhere else would lose or repeat notes.
    fn assign(&self, ranges: &[LogRange]) -> Result<Vec<Begin>, String>;
    /// Hands a record to its lane, or gives it back if the lane is full.
    fn offer(&self, record: RawRecord) -> Result<(), RawRecord>;
    /// Whether the lane has worked off enough that its partition is worth resuming.
    fn has_room(&self, partition: &Partition) -> bool;
    /// Partitions go to another member: drains their lanes until the deadline, then drops what is left. The answer is
    /// what became durable meanwhile.
    fn revoke(&self, partitions: &[Partition], deadline: Instant) -> Vec<Receipt>;
    /// Partitions are lost, perhaps long ago: drops their lanes at once.
    fn lose(&self, partitions: &[Partition]);
    /// The broker no longer has the offset that a lane is at.
    fn halt(&self, range: &LogRange);
}

/// What lanes ask of the consumer.
#[derive(Debug)]
pub enum Command {
    /// A file is durable: its offsets may be committed.
    Release(Receipt),
    /// Another writer's file took a lane's place in the chain: open the lane anew, at the chain's tail.
    Reopen(Partition),
    /// A lane failed for good: drop every lane, leave the group, end.
    Fail(String),
    /// Drain every lane, leave the group, end.
    Stop,
}

/// Why the consumer ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// librdkafka refused, or reported something that waiting will not mend.
    #[error("kafka: {what}: {error}")]
    Kafka {
        /// What was being done.
        what: &'static str,
        /// What librdkafka says.
        error: KafkaError,
    },
    /// The sink could not be read at an assignment, or written by a lane.
    #[error("{0}")]
    Sink(String),
}

/// How a consumer runs.
#[derive(Debug)]
pub struct SourceSettings {
    /// librdkafka's configuration, as [`KafkaConfig`](super::KafkaConfig) makes it.
    pub client: ClientConfig,
    /// The topics.
    pub topics: Vec<String>,
    /// How long lanes may drain when partitions are taken away, or at the end.
    pub drain: Duration,
    /// End once every assigned partition has been read to its end.
    pub until_end: bool,
}

/// The two ends of the command channel.
pub fn commands() -> (Sender<Command>, Receiver<Command>) {
    channel()
}

/// Consumes until told to stop, on the calling thread.
///
/// # Errors
/// [`SourceError`]; lanes have been told to drop what they held.
pub fn run(
    settings: &SourceSettings,
    lanes: Arc<dyn Lanes>,
    commands: &Receiver<Command>,
) -> Result<(), SourceError> {
    let context = Context {
        lanes: Arc::clone(&lanes),
        flow: Mutex::default(),
        drain: settings.drain,
    };
    let consumer: BaseConsumer<Context> = BaseConsumer::from_config_and_context(&settings.client, context)
        .map_err(|error| fault("configuration", error))?;
    let topics: Vec<&str> = settings.topics.iter().map(String::as_str).collect();
    consumer
        .subscribe(&topics)
        .map_err(|error| fault("subscribe", error))?;
    let result = poll_loop(settings, &consumer, commands);
    let held: Vec<Partition> = consumer.context().flow().lanes.keys().cloned().collect();
    match &result {
        Ok(end) => {
            let drain = if *end == End::Through {
                PATIENCE
            } else {
                settings.drain
            };
            // Records that wait here were never released; whoever reads next begins before them.
            let receipts = lanes.revoke(&held, Instant::now() + drain);
            commit_receipts(&consumer, receipts);
        }
        Err(_) => lanes.lose(&held),
    }
    consumer.context().flow().lanes.clear();
    consumer.unsubscribe();
    result.map(drop)
}

/// Why polling ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Somebody said so: what cannot be drained in time is read again.
    Stopped,
    /// All that was there has been read: nobody will read it again soon, so lanes get the time they need.
    Through,
}

fn poll_loop(
    settings: &SourceSettings,
    consumer: &BaseConsumer<Context>,
    commands: &Receiver<Command>,
) -> Result<End, SourceError> {
    let mut last_commit = Instant::now();
    let mut ended = Ended::default();
    loop {
        if take_commands(consumer, commands)? {
            return Ok(End::Stopped);
        }
        match consumer.poll(POLL) {
            None => {}
            Some(Ok(message)) => {
                let record = raw(&message);
                ended.go_on(&(Arc::clone(&record.at.topic), record.at.partition));
                consumer.context().deliver(consumer, record);
            }
            Some(Err(KafkaError::PartitionEOF(partition))) => {
                ended.end(partition, &consumer.context().flow());
            }
            Some(Err(error)) => consumer_error(consumer, error)?,
        }
        if let Some(error) = consumer.context().flow().failed.take() {
            return Err(SourceError::Sink(error));
        }
        consumer.context().refill(consumer);
        if settings.until_end && consumer.context().is_through(&ended.lanes) {
            return Ok(End::Through);
        }
        if last_commit.elapsed() >= COMMIT_EVERY {
            commit(consumer, CommitMode::Async);
            last_commit = Instant::now();
        }
    }
}

/// Which partitions have been read to their end. The binding's news of an end names no topic, only the partition's
/// number: where several topics have that number, none is taken for ended before as many ends have come.
#[derive(Default)]
struct Ended {
    lanes: HashSet<Partition>,
    unnamed: HashMap<i32, usize>,
}

impl Ended {
    /// A record came: the partition had not ended, or goes on.
    fn go_on(&mut self, partition: &Partition) {
        self.lanes.remove(partition);
    }

    /// Some topic's partition of this number ended.
    fn end(&mut self, number: i32, flow: &Flows) {
        let pending: Vec<Partition> = flow
            .lanes
            .iter()
            .filter(|(partition, lane)| {
                partition.1 == number && !lane.halted && !self.lanes.contains(*partition)
            })
            .map(|(partition, _)| partition.clone())
            .collect();
        let ends = self.unnamed.entry(number).or_default();
        *ends += 1;
        if *ends >= pending.len() {
            *ends = 0;
            self.lanes.extend(pending);
        }
    }
}

/// Takes in what lanes have sent; true if it is time to stop.
fn take_commands(
    consumer: &BaseConsumer<Context>,
    commands: &Receiver<Command>,
) -> Result<bool, SourceError> {
    loop {
        match commands.try_recv() {
            Ok(Command::Release(receipt)) => consumer.context().flow().release(&receipt),
            Ok(Command::Reopen(partition)) => consumer.context().reopen(consumer, &partition)?,
            Ok(Command::Fail(error)) => return Err(SourceError::Sink(error)),
            // Every lane and the signal handler hold a sender: none left means that the program is ending.
            Ok(Command::Stop) | Err(TryRecvError::Disconnected) => return Ok(true),
            Err(TryRecvError::Empty) => return Ok(false),
        }
    }
}

/// Commits what became durable while lanes drained, and waits for the broker's word.
fn commit_receipts(consumer: &BaseConsumer<Context>, receipts: Vec<Receipt>) {
    {
        let mut flow = consumer.context().flow();
        receipts.iter().for_each(|receipt| flow.release(receipt));
    }
    commit(consumer, CommitMode::Sync);
}

/// Commits what was released. A failure costs nothing but an old hint, so it is only logged.
fn commit(consumer: &BaseConsumer<Context>, mode: CommitMode) {
    let mut list = TopicPartitionList::new();
    for ((topic, partition), lane) in &mut consumer.context().flow().lanes {
        if let Some(next) = lane.released.take()
            && let Err(error) = list.add_partition_offset(topic, *partition, Offset::Offset(next))
        {
            tracing::warn!(%topic, partition, %error, "offset hint not committed");
        }
    }
    if list.count() > 0
        && let Err(error) = consumer.commit(&list, mode)
    {
        tracing::warn!(%error, "offset hints not committed");
    }
}

/// Most errors pass: librdkafka tries again by itself. What waiting does not mend ends the run.
fn consumer_error(consumer: &BaseConsumer<Context>, error: KafkaError) -> Result<(), SourceError> {
    use RDKafkaErrorCode as Code;
    match error.rdkafka_error_code() {
        Some(Code::AutoOffsetReset | Code::OffsetOutOfRange) => {
            consumer.context().halt_out_of_range(consumer);
            Ok(())
        }
        Some(
            Code::Fatal
            | Code::TopicAuthorizationFailed
            | Code::GroupAuthorizationFailed
            | Code::ClusterAuthorizationFailed
            | Code::SaslAuthenticationFailed
            | Code::Authentication
            | Code::UnknownTopicOrPartition
            | Code::UnknownTopic
            | Code::UnsupportedSASLMechanism,
        ) => Err(fault("consume", error)),
        _ => {
            tracing::warn!(%error, "kafka; trying again");
            Ok(())
        }
    }
}

fn raw(message: &BorrowedMessage<'_>) -> RawRecord {
    RawRecord {
        at: Coordinates {
            topic: message.topic().into(),
            partition: message.partition(),
            offset: message.offset(),
        },
        payload: message.payload().map(|bytes| Payload(bytes.to_vec())),
    }
}

const fn fault(what: &'static str, error: KafkaError) -> SourceError {
    SourceError::Kafka { what, error }
}

/// One lane, as the poll thread sees it.
#[derive(Default)]
struct Flow {
    /// Records that the lane had no room for, in order. Not empty only while the partition is paused.
    waiting: VecDeque<RawRecord>,
    /// One past the last durable offset, not yet committed.
    released: Option<i64>,
    /// Never to be resumed.
    halted: bool,
}

#[derive(Default)]
struct Flows {
    lanes: HashMap<Partition, Flow>,
    /// The paused ones among them that wait for room.
    stalled: Vec<Partition>,
    /// Whether the group has given this member its share, be it nothing.
    settled: bool,
    /// Why an assignment failed.
    failed: Option<String>,
}

impl Flows {
    fn release(&mut self, receipt: &Receipt) {
        let chain = receipt.chain();
        if let Some(lane) = self.lanes.get_mut(&(Arc::clone(&chain.topic), chain.partition)) {
            lane.released = Some(receipt.next());
        }
    }
}

struct Context {
    lanes: Arc<dyn Lanes>,
    flow: Mutex<Flows>,
    drain: Duration,
}

impl Context {
    fn flow(&self) -> MutexGuard<'_, Flows> {
        // A panic while it was held cannot leave it inconsistent: each change is one insertion or removal.
        self.flow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deliver(&self, consumer: &BaseConsumer<Self>, record: RawRecord) {
        let partition = (Arc::clone(&record.at.topic), record.at.partition);
        let mut flow = self.flow();
        let Some(lane) = flow.lanes.get_mut(&partition) else {
            // Fetched before the partition was taken away; whoever has it now reads it again.
            return;
        };
        if lane.halted {
            return;
        }
        if !lane.waiting.is_empty() {
            lane.waiting.push_back(record);
            return;
        }
        if let Err(record) = self.lanes.offer(record) {
            lane.waiting.push_back(record);
            pause(consumer, &partition, true);
            flow.stalled.push(partition);
        }
    }

    /// Gives waiting records to lanes that have room, and resumes those that have none waiting.
    ///
    /// Pausing throws away what librdkafka has fetched ahead, so a lane is resumed only once it has room for a good
    /// deal more.
    fn refill(&self, consumer: &BaseConsumer<Self>) {
        let mut flow = self.flow();
        let Flows { lanes, stalled, .. } = &mut *flow;
        stalled.retain(|partition| {
            let Some(lane) = lanes.get_mut(partition) else {
                return false;
            };
            if !self.lanes.has_room(partition) {
                return true;
            }
            while let Some(record) = lane.waiting.pop_front() {
                if let Err(record) = self.lanes.offer(record) {
                    lane.waiting.push_front(record);
                    return true;
                }
            }
            pause(consumer, partition, false);
            false
        });
    }

    fn is_through(&self, ended: &HashSet<Partition>) -> bool {
        let flow = self.flow();
        flow.settled
            && flow.lanes.iter().all(|(partition, lane)| {
                lane.halted || (lane.waiting.is_empty() && ended.contains(partition))
            })
    }

    fn range(consumer: &BaseConsumer<Self>, topic: &str, partition: i32) -> Result<LogRange, String> {
        let (low, high) = consumer
            .fetch_watermarks(topic, partition, METADATA)
            .map_err(|error| format!("kafka: offsets of {topic}/{partition}: {error}"))?;
        Ok(LogRange {
            partition: (topic.into(), partition),
            low,
            high,
        })
    }

    /// Opens a lane anew at its chain's tail and moves the consumer there.
    fn reopen(&self, consumer: &BaseConsumer<Self>, partition: &Partition) -> Result<(), SourceError> {
        if !self.flow().lanes.contains_key(partition) {
            return Ok(());
        }
        self.lanes.lose(std::slice::from_ref(partition));
        let range = Self::range(consumer, &partition.0, partition.1).map_err(SourceError::Sink)?;
        let begins = self
            .lanes
            .assign(std::slice::from_ref(&range))
            .map_err(SourceError::Sink)?;
        let halted = begins.contains(&Begin::Halted);
        self.flow().stalled.retain(|stalled| stalled != partition);
        self.flow().lanes.insert(
            partition.clone(),
            Flow {
                halted,
                ..Flow::default()
            },
        );
        if halted {
            pause(consumer, partition, true);
        }
        for begin in begins {
            if let Begin::At(offset) = begin {
                consumer
                    .seek(&partition.0, partition.1, Offset::Offset(offset), METADATA)
                    .map_err(|error| fault("seek", error))?;
                pause(consumer, partition, false);
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
        let begins = self.lanes.assign(&ranges)?;
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
            flow.lanes.insert(
                range.partition.clone(),
                Flow {
                    halted: begin == Begin::Halted,
                    ..Flow::default()
                },
            );
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
        for partition in &held {
            flow.lanes.remove(partition);
            flow.stalled.retain(|stalled| stalled != partition);
        }
    }

    /// Halts the lanes whose place the log no longer has.
    fn halt_out_of_range(&self, consumer: &BaseConsumer<Self>) {
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

    fn error(&self, error: KafkaError, reason: &str) {
        // The end of a partition is news for the poll loop alone, which gets it too.
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
                let held: Vec<Partition> = self
                    .flow()
                    .lanes
                    .drain()
                    .map(|(partition, _)| partition)
                    .collect();
                self.lanes.lose(&held);
                consumer.unassign()
            }
        };
        if let Err(error) = done {
            self.flow().failed = Some(format!("kafka: rebalance: {error}"));
        }
    }
}
