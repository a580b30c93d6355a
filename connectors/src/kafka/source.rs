//! The Kafka consumer: one poll thread that never blocks on a lane and never advances an offset by itself.
//!
//! The sink owns the offsets. At each assignment the lanes determine where reading begins. Offsets committed
//! to Kafka are a hint for lag and autoscaling, and come only from [`Receipt`](crate::sink::Receipt)s, or from
//! the journal of a consumer without a chain. The partition of a full lane is paused, and its records wait
//! here in order; polling continues, so that the group keeps the consumer as a member.

mod ask;
mod assign;
mod bootstrap;
mod commit;
mod context;
mod faults;
mod goal;
mod halt;
mod leave;
mod topic_monitor;
mod unreadable;

use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lethe_core::Coordinates;
use rdkafka::Message as _;
use rdkafka::config::{ClientConfig, FromClientConfigAndContext as _};
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::message::BorrowedMessage;

use bootstrap::Bootstrap;
use commit::{COMMIT_EVERY, commit};
use context::Context;
use faults::{LoginFailures, consumer_error};
use goal::Goal;
use leave::leave;
use topic_monitor::TopicMonitor;

use super::token::Login;
use crate::Stop;
use crate::source::flow::MOST_EVICTIONS;
use crate::source::{Command, LaneError, Lanes, LogRange, Partition, Payload, RawRecord};

/// Timeout of one poll, after which commands are read.
const POLL: Duration = Duration::from_millis(20);
/// How often librdkafka reports its connections at least.
const STATISTICS: Duration = Duration::from_secs(5);
/// Limit for draining lanes after everything has been read.
const FINAL_DRAIN: Duration = Duration::from_secs(24 * 3600);

/// A consumer's settings and login.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// librdkafka's configuration, from [`KafkaConfig`](super::KafkaConfig).
    pub client: ClientConfig,
    /// The login in addition to the settings, from [`KafkaConfig`](super::KafkaConfig).
    pub login: Login,
}

/// The credentials with which a consumer connects, shared with what renews them.
#[derive(Clone, Debug)]
pub struct CurrentCredentials(Arc<Mutex<Credentials>>);

impl CurrentCredentials {
    /// Shares the initial credentials.
    pub fn new(initial: Credentials) -> Self {
        Self(Arc::new(Mutex::new(initial)))
    }

    /// Replaces the credentials. The consumer uses them from its next connection on, which
    /// [`Command::Reconnect`] causes.
    pub fn replace(&self, newer: Credentials) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = newer;
    }

    fn get(&self) -> Credentials {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Why the consumer ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// librdkafka refused an operation, or reported an error that waiting cannot fix.
    #[error("kafka: {what}: {error}")]
    Kafka {
        /// The operation.
        what: &'static str,
        /// librdkafka's error.
        error: KafkaError,
    },
    /// The login was refused, or no token was available, for longer than a credential reload may take.
    #[error("kafka: {0}")]
    Login(String),
    /// The group has evicted this member repeatedly before it could make anything durable.
    #[error(
        "kafka: the group has evicted this member {times} times in a row before it could write a file. Give it more time (`session.timeout.ms` and `max.poll.interval.ms` in `[source.properties]`), or have it close files sooner (`[sink.roll]`)"
    )]
    Evicted {
        /// Number of evictions.
        times: u32,
    },
    /// The sink could not be read at an assignment, or not be written by a lane.
    #[error("{0}")]
    Sink(String),
}

/// Settings of a consumer's run.
#[derive(Debug)]
pub struct SourceSettings {
    /// The credentials, which may change during the run.
    pub credentials: CurrentCredentials,
    /// The topics.
    pub topics: Vec<String>,
    /// How long a login may be refused, or a token be missing, before the run ends. Credential files are
    /// renewed by other programs, which may be late.
    pub refused: Duration,
    /// Limit for draining lanes when partitions are revoked, or at the end.
    pub drain: Duration,
    /// The stop that interrupts every wait.
    pub stop: Stop,
    /// How often lanes learn the ends of their logs; zero means never.
    pub statistics: Duration,
    /// Ends the run once the records of these ranges are written, by any member of the group. `None` means
    /// never.
    pub until: Option<Vec<LogRange>>,
}

/// Consumes on the calling thread until it is stopped.
///
/// # Errors
/// [`SourceError`]; the lanes have written or dropped their records.
pub fn run(
    settings: &SourceSettings,
    lanes: Arc<dyn Lanes>,
    commands: &Receiver<Command>,
) -> Result<(), SourceError> {
    while let End::Reconnect = consume(settings, &settings.credentials.get(), &lanes, commands)? {
        tracing::info!("rejoining the group with other credentials");
    }
    Ok(())
}

/// Consumes with these credentials.
fn consume(
    settings: &SourceSettings,
    credentials: &Credentials,
    lanes: &Arc<dyn Lanes>,
    commands: &Receiver<Command>,
) -> Result<End, SourceError> {
    let context = Context::new(Arc::clone(lanes), settings, credentials.login.clone());
    let mut client = credentials.client.clone();
    let statistics = match settings.statistics {
        Duration::ZERO => STATISTICS,
        often => often.min(STATISTICS),
    };
    client.set("statistics.interval.ms", statistics.as_millis().to_string());
    let consumer: BaseConsumer<Context> = BaseConsumer::from_config_and_context(&client, context)
        .map_err(|error| fault("configuration", error))?;
    let topics: Vec<&str> = settings.topics.iter().map(String::as_str).collect();
    consumer
        .subscribe(&topics)
        .map_err(|error| fault("subscribe", error))?;
    let mut result = poll_loop(settings, credentials, &consumer, commands);
    let mut receipts = None;
    let held: Vec<Partition> = consumer.context().flow().lanes.keys().cloned().collect();
    match result {
        Ok(end) => {
            let drain = if matches!(end, End::Through) {
                FINAL_DRAIN
            } else {
                settings.drain
            };
            // Waiting records were never released, so the next consumer reads them again.
            receipts = Some(lanes.revoke(&held, Instant::now() + drain));
            result = last_words(&consumer, commands, end);
        }
        // The store works, so records that were read before a permission, a topic or the membership was lost
        // are written; they may not be readable again. Nothing is committed to the brokers.
        Err(SourceError::Kafka { .. } | SourceError::Login(_) | SourceError::Evicted { .. }) => {
            drop(lanes.revoke(&held, Instant::now() + settings.drain));
        }
        Err(SourceError::Sink(_)) => lanes.abandon(&held),
    }
    leave(consumer, receipts, &settings.stop);
    result
}

/// Why polling ended.
#[derive(Debug)]
enum End {
    /// A stop was requested: records that cannot be drained in time are read again later.
    Stopped,
    /// Everything requested has been read. No other run will read it soon, so lanes get the time that they
    /// need.
    Through,
    /// The credentials have changed.
    Reconnect,
}

fn poll_loop(
    settings: &SourceSettings,
    credentials: &Credentials,
    consumer: &BaseConsumer<Context>,
    commands: &Receiver<Command>,
) -> Result<End, SourceError> {
    let mut last_commit = Instant::now();
    let mut goal = settings.until.as_deref().map(Goal::new);
    let mut faults = LoginFailures::new(settings.refused);
    let mut monitor = TopicMonitor::new(consumer);
    let mut bootstrap = Bootstrap::new(&credentials.client);
    loop {
        consumer.context().lanes().polled();
        faults.look(&credentials.login)?;
        if let Some(end) = take_commands(consumer, commands)? {
            return Ok(end);
        }
        if settings.stop.is_requested() {
            return Ok(End::Stopped);
        }
        match consumer.poll(POLL) {
            None => {}
            Some(Ok(message)) => {
                consumer.context().hear();
                consumer.context().deliver(consumer, raw(&message));
                if let Some(goal) = &mut goal {
                    goal.resume();
                }
            }
            // Of use only if one topic is read at a time, since the error does not name the topic.
            Some(Err(KafkaError::PartitionEOF(_))) => {}
            Some(Err(error)) => consumer_error(consumer, &mut faults, credentials, error)?,
        }
        let failed = consumer.context().flow().failed.take();
        match failed {
            None => {}
            Some(LaneError::Stopped) => return Ok(End::Stopped),
            Some(LaneError::Failed(error)) => return Err(SourceError::Sink(error)),
        }
        if consumer.context().flow().is_evicted_in_a_loop() {
            return Err(SourceError::Evicted {
                times: MOST_EVICTIONS,
            });
        }
        monitor.look();
        bootstrap.look(consumer);
        consumer.context().refill(consumer);
        if let Some(goal) = &mut goal
            && goal.is_reached(credentials, consumer.context())?
        {
            return Ok(End::Through);
        }
        if last_commit.elapsed() >= COMMIT_EVERY {
            commit(consumer);
            last_commit = Instant::now();
        }
    }
}

/// Processes the lanes' commands; returns an end if one is due.
fn take_commands(
    consumer: &BaseConsumer<Context>,
    commands: &Receiver<Command>,
) -> Result<Option<End>, SourceError> {
    loop {
        match commands.try_recv() {
            Ok(Command::Release(receipt)) => consumer.context().flow().release(&receipt),
            Ok(Command::Journalled { partition, next }) => {
                consumer.context().flow().journalled(&partition, next)
            }
            Ok(Command::Reopen(partition)) => match consumer.context().reopen(consumer, &partition) {
                Ok(()) => {}
                Err(LaneError::Stopped) => return Ok(Some(End::Stopped)),
                Err(LaneError::Failed(error)) => return Err(SourceError::Sink(error)),
            },
            Ok(Command::Fail(error)) => return Err(SourceError::Sink(error)),
            // Every lane and the signal handler hold a sender, so a closed channel means that the program is
            // ending.
            Ok(Command::Stop) | Err(TryRecvError::Disconnected) => return Ok(Some(End::Stopped)),
            Ok(Command::Reconnect) => return Ok(Some(End::Reconnect)),
            Err(TryRecvError::Empty) => return Ok(None),
        }
    }
}

/// Processes the commands that lanes sent while they drained: a failure counts then too.
fn last_words(
    consumer: &BaseConsumer<Context>,
    commands: &Receiver<Command>,
    mut end: End,
) -> Result<End, SourceError> {
    let mut result = Ok(());
    while let Ok(command) = commands.try_recv() {
        match command {
            Command::Release(receipt) => consumer.context().flow().release(&receipt),
            Command::Journalled { partition, next } => consumer.context().flow().journalled(&partition, next),
            Command::Fail(error) => result = Err(SourceError::Sink(error)),
            Command::Reopen((topic, partition)) if matches!(end, End::Through) => {
                let error = format!(
                    "{topic}/{partition}: another run writes the same chain and was faster; run again to write the rest"
                );
                result = Err(SourceError::Sink(error));
            }
            // The next consumer begins at the chain's tail.
            Command::Reopen(_) => {}
            Command::Stop if matches!(end, End::Reconnect) => end = End::Stopped,
            // The next connection has the latest credentials.
            Command::Stop | Command::Reconnect => {}
        }
    }
    result.map(|()| end)
}

pub(super) fn raw(message: &BorrowedMessage<'_>) -> RawRecord {
    RawRecord {
        at: Coordinates {
            topic: message.topic().into(),
            partition: message.partition(),
            offset: message.offset(),
        },
        payload: message.payload().map(|bytes| Payload(bytes.to_vec())),
        timestamp: message.timestamp().to_millis(),
    }
}

const fn fault(what: &'static str, error: KafkaError) -> SourceError {
    SourceError::Kafka { what, error }
}
