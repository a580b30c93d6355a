//! The interface between the consumer and its lanes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use lethe_core::Coordinates;

use crate::sink::Receipt;

/// A partition of a topic.
pub type Partition = (Arc<str>, i32);

/// Topic ids as Kafka's own tools print them. Topics that the brokers do not describe, or that have no id
/// (brokers older than 2.8), are left out.
pub type TopicIds = BTreeMap<Arc<str>, Arc<str>>;

/// The range of a partition's log, from its broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRange {
    /// Topic and partition.
    pub partition: Partition,
    /// The first available offset.
    pub low: i64,
    /// The offset after the last one that consumers see.
    pub high: i64,
    /// The topic's id as Kafka's own tools print it; `None` if the brokers have none, or for a file. A topic
    /// that was deleted and recreated has another id, and its offsets belong to other records.
    pub topic_id: Option<Arc<str>>,
}

/// Where a lane begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// At this offset.
    At(i64),
    /// Not at all: an operator must decide. The partition stays assigned and paused.
    Halted,
}

/// Why an assigned partition is no longer read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// The log ends before the lane's position.
    BeyondTheEnd(LogRange),
    /// The batch at an offset cannot be read. The lane was drained before.
    Unreadable {
        /// The batch's first offset.
        offset: i64,
        /// librdkafka's error.
        why: String,
    },
    /// The topic was deleted and recreated during the run. The lane has written the records that certainly
    /// belong to the old topic, or was dropped.
    Recreated {
        /// The topic's id when the lane began.
        before: Arc<str>,
        /// Its id now.
        now: Arc<str>,
    },
}

/// The kind of a consumer's error, for counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A permission on the topic, the group or the cluster is missing.
    Authorization,
    /// The login is refused.
    Login,
    /// The topic does not exist.
    Topic,
    /// Another member has this one's static name.
    Fenced,
    /// The group has evicted this member.
    Evicted,
    /// A batch cannot be read.
    Unreadable,
    /// Any other error; librdkafka retries by itself.
    Other,
}

impl ErrorKind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Authorization,
        Self::Login,
        Self::Topic,
        Self::Fenced,
        Self::Evicted,
        Self::Unreadable,
        Self::Other,
    ];

    /// Returns the name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Authorization => "authorization",
            Self::Login => "login",
            Self::Topic => "topic",
            Self::Fenced => "fenced",
            Self::Evicted => "evicted",
            Self::Unreadable => "unreadable",
            Self::Other => "other",
        }
    }
}

/// A fetched record.
#[derive(Debug)]
pub struct RawRecord {
    /// Topic, partition, offset.
    pub at: Coordinates,
    /// The payload; `None` for a tombstone.
    pub payload: Option<Payload>,
    /// When it was produced or appended, in ms since 1970, if the topic stores it.
    pub timestamp: Option<i64>,
}

/// A record's payload. `Debug` prints only its length.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload(pub Vec<u8>);

impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[{} bytes]", self.0.len())
    }
}

/// Why the lanes could not carry out a request of the consumer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaneError {
    /// A stop was requested during a wait. The run ends in order.
    #[error("stopped while waiting")]
    Stopped,
    /// The sink cannot be read, or the brokers did not respond. The run ends.
    #[error("{0}")]
    Failed(String),
}

/// Requests a partition's range again.
pub type Again<'a> = dyn Fn(&Partition) -> Result<LogRange, LaneError> + 'a;

/// The pipeline as the consumer sees it. Every method is called on the poll thread.
pub trait Lanes: Send + Sync {
    /// Opens a lane for each assigned partition and returns their start positions, in the same order.
    ///
    /// A range is requested before the chain is read, and another process may append while this one is
    /// suspended between the two. So before a chain is reported to be ahead of its log, `again` requests the
    /// range once more.
    ///
    /// # Errors
    /// [`LaneError::Failed`] if the sink cannot be read: the run ends, since any other start would lose or
    /// repeat notes. [`LaneError::Stopped`] if a stop was requested in the meantime.
    fn assign(&self, ranges: &[LogRange], again: &Again<'_>) -> Result<Vec<Begin>, LaneError>;
    /// Passes a record to its lane, or returns it if the lane is full.
    fn offer(&self, record: RawRecord) -> Result<(), RawRecord>;
    /// Returns whether the lane has enough room to resume its partition.
    fn has_room(&self, partition: &Partition) -> bool;
    /// Drains the lanes of revoked partitions until the deadline, then drops the rest. Returns the receipts
    /// of files that became durable in the meantime.
    fn revoke(&self, partitions: &[Partition], deadline: Instant) -> Vec<Receipt>;
    /// Returns how far the chains of other members' partitions are written: the offset after the last. `None`
    /// if nothing is outstanding: for a chain that starts at the latest record and has not begun, or one that
    /// is halted for an operator.
    ///
    /// # Errors
    /// As [`Lanes::assign`].
    fn written(&self, ranges: &[LogRange]) -> Result<Vec<Option<i64>>, LaneError>;
    /// Makes every lane write its rows, since other members wait to see them.
    fn flush(&self);
    /// Drops the lanes of partitions that were lost, perhaps long ago.
    fn abandon(&self, partitions: &[Partition]);
    /// Drops the lane of a partition that is no longer read, if it has one. The partition stays assigned and
    /// paused.
    fn halt(&self, partition: &Partition, why: &Halt);
    /// Reports an error of the consumer.
    fn erred(&self, _kind: ErrorKind) {}
    /// Reports that the poll thread is alive, at every poll.
    fn polled(&self) {}
    /// Reports the end of an assigned partition's log, as the broker last sent it, at the interval that the
    /// source was given.
    fn log_end(&self, _partition: &Partition, _high: i64) {}
}
