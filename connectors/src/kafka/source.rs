//! The Kafka consumer: one poll thread that never blocks on a lane and never moves an offset on its own account.
//!
//! The sink owns the offsets. At each assignment the lanes say where reading begins; what is committed to Kafka is a
//! hint for lag and autoscaling, made from [`Receipt`]s alone, or from the journal of a reader that has no chain. A full
//! lane's partition is paused, and its records wait here in order; polling goes on, so that the group never takes the
//! consumer for dead.

mod ask;
mod assign;
mod commit;
mod context;
mod faults;
pub mod flow;
mod goal;
mod halt;
mod lanes;
mod leave;
mod unreadable;
mod watch;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use lethe_core::Coordinates;
use rdkafka::Message as _;
use rdkafka::config::{ClientConfig, FromClientConfigAndContext as _};
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::message::BorrowedMessage;

use commit::{COMMIT_EVERY, commit};
use context::Context;
use faults::{Faults, consumer_error};
use flow::MOST_EVICTIONS;
use goal::Goal;
use leave::leave;
use watch::Watch;

use super::token::Login;
use crate::Stop;
use crate::sink::Receipt;

pub use lanes::{Again, Begin, ErrorKind, Halt, LaneError, Lanes, LogRange, Partition, Payload, RawRecord};

/// How long one poll waits for a record before commands are looked at again.
const POLL: Duration = Duration::from_millis(20);
/// How long lanes may drain when everything has been read.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// What lanes ask of the consumer.
#[derive(Debug)]
pub enum Command {
    /// A file is durable: its offsets may be committed.
    Release(Receipt),
    /// Whoever reads these records has made all before an offset durable where no chain is: it may be committed.
    Journalled {
        /// The partition.
        partition: Partition,
        /// One past the last offset.
        next: i64,
    },
    /// Another writer's file took a lane's place in the chain: open the lane anew, at the chain's tail.
    Reopen(Partition),
    /// A lane failed for good: drop every lane, leave the group, end.
    Fail(String),
    /// Drain every lane, leave the group, and join it again with other credentials.
    Renew(Box<Credentials>),
    /// Drain every lane, leave the group, end.
    Stop,
}

/// What a consumer is made of: settings, and what it logs in with besides.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// librdkafka's configuration, as [`KafkaConfig`](super::KafkaConfig) makes it.
    pub client: ClientConfig,
    /// What it logs in with besides, as [`KafkaConfig`](super::KafkaConfig) has it.
    pub login: Login,
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
    /// The login has been refused, or there has been no token for it, for longer than others may take to renew it.
    #[error("kafka: {0}")]
    Login(String),
    /// The group has thrown this member out again and again before it could make anything durable.
    #[error(
        "kafka: the group has thrown this member out {times} times in a row before it could write a file. Give it more time (`session.timeout.ms` and `max.poll.interval.ms` in `[source.properties]`), or have it close files sooner (`[sink.roll]`)"
    )]
    Evicted {
        /// How often.
        times: u32,
    },
    /// The sink could not be read at an assignment, or written by a lane.
    #[error("{0}")]
    Sink(String),
}

/// How a consumer runs.
#[derive(Debug)]
pub struct SourceSettings {
    /// What the consumer is made of at first.
    pub credentials: Credentials,
    /// The topics.
    pub topics: Vec<String>,
    /// For how long a login may be refused, or a token not be had, before the run ends: what is read from files is renewed
    /// by others, who need not be in time.
    pub refused: Duration,
    /// How long lanes may drain when partitions are taken away, or at the end.
    pub drain: Duration,
    /// The stop that every wait hears.
    pub stop: Stop,
    /// How often lanes are told where logs end; never if zero.
    pub statistics: Duration,
    /// End once the records of these ranges are written, by whichever member of the group. Never if not given.
    pub until: Option<Vec<LogRange>>,
}

/// The two ends of the command channel.
pub fn commands() -> (Sender<Command>, Receiver<Command>) {
    channel()
}

/// Consumes until told to stop, on the calling thread.
///
/// # Errors
/// [`SourceError`]; lanes have written or dropped what they held.
pub fn run(
    settings: &SourceSettings,
    lanes: Arc<dyn Lanes>,
    commands: &Receiver<Command>,
) -> Result<(), SourceError> {
    let mut credentials = settings.credentials.clone();
    while let End::Renewed(other) = consume(settings, &credentials, &lanes, commands)? {
        tracing::info!("joining the group again with other credentials");
        credentials = *other;
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
    client.set(
        "statistics.interval.ms",
        settings.statistics.as_millis().to_string(),
    );
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
                PATIENCE
            } else {
                settings.drain
            };
            // Records that wait here were never released; whoever reads next begins before them.
            receipts = Some(lanes.revoke(&held, Instant::now() + drain));
            result = last_words(&consumer, commands, end);
        }
        // The store is well: what was read before a right, a topic or the membership was lost is written, since it may not be there
        // to be read again. Nothing is said to the brokers of it.
        Err(SourceError::Kafka { .. } | SourceError::Login(_) | SourceError::Evicted { .. }) => {
            drop(lanes.revoke(&held, Instant::now() + settings.drain));
        }
        Err(SourceError::Sink(_)) => lanes.lose(&held),
    }
    leave(consumer, receipts, &settings.stop);
    result
}

/// Why polling ended.
#[derive(Debug)]
enum End {
    /// Somebody said so: what cannot be drained in time is read again.
    Stopped,
    /// All that was asked for has been read: nobody will read it again soon, so lanes get the time they need.
    Through,
    /// There are other credentials to go on with.
    Renewed(Box<Credentials>),
}

fn poll_loop(
    settings: &SourceSettings,
    credentials: &Credentials,
    consumer: &BaseConsumer<Context>,
    commands: &Receiver<Command>,
) -> Result<End, SourceError> {
    let mut last_commit = Instant::now();
    let mut goal = settings.until.as_deref().map(Goal::new);
    let mut faults = Faults::new(settings.refused);
    let mut watch = Watch::new(consumer);
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
                consumer.context().deliver(consumer, raw(&message));
                if let Some(goal) = &mut goal {
                    goal.go_on();
                }
            }
            // Of use only where one topic is read at a time: it does not say which one ended.
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
        watch.look();
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

/// Takes in what lanes have sent; an end if it is time for one.
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
            // Every lane and the signal handler hold a sender: none left means that the program is ending.
            Ok(Command::Stop) | Err(TryRecvError::Disconnected) => return Ok(Some(End::Stopped)),
            Ok(Command::Renew(other)) => return Ok(Some(End::Renewed(other))),
            Err(TryRecvError::Empty) => return Ok(None),
        }
    }
}

/// Takes in what lanes sent while they drained: a lane that failed then has failed no less.
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
                    "{topic}/{partition}: another run writes the same chain and came first; run again to write what it has not"
                );
                result = Err(SourceError::Sink(error));
            }
            // Whoever reads next begins at the chain's tail.
            Command::Reopen(_) => {}
            Command::Stop if matches!(end, End::Renewed(_)) => end = End::Stopped,
            Command::Renew(newer) if matches!(end, End::Renewed(_)) => end = End::Renewed(newer),
            Command::Stop | Command::Renew(_) => {}
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
