//! What the consumer and its lanes hand each other.

use std::sync::Arc;
use std::time::Instant;

use lethe_core::Coordinates;

use crate::sink::Receipt;

/// A partition of a topic.
pub type Partition = (Arc<str>, i32);

/// A partition's log as the broker has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRange {
    /// Topic and partition.
    pub partition: Partition,
    /// The first offset that is there.
    pub low: i64,
    /// One past the last offset that readers see.
    pub high: i64,
    /// The topic's id, as Kafka's own tools print it; none if the brokers have none, or for a file. A topic that was deleted
    /// and recreated has another, and its offsets are of other records.
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

/// Why a partition that stays assigned is read no further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// The log ends before the offset that the lane is at.
    BeyondTheEnd(LogRange),
    /// The batch at an offset cannot be read, and why. The lane was drained before.
    Unreadable {
        /// The batch's first offset.
        offset: i64,
        /// What librdkafka reports.
        why: String,
    },
    /// The topic was deleted and recreated while it was read. The lane has written what was certainly of the topic before, or
    /// was dropped.
    MadeAnew {
        /// The topic's id when the lane began.
        before: Arc<str>,
        /// Its id now.
        now: Arc<str>,
    },
}

/// What kind of error a consumer met, for counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A right to the topic, the group or the cluster is missing.
    Authorization,
    /// The login is refused.
    Login,
    /// The topic does not exist.
    Topic,
    /// Another member has this one's static name.
    Fenced,
    /// The group has thrown this member out.
    Evicted,
    /// A batch cannot be read.
    Unreadable,
    /// Anything else; librdkafka tries again by itself.
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

    /// The name in metrics.
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

/// One record as it was fetched.
#[derive(Debug)]
pub struct RawRecord {
    /// Topic, partition, offset.
    pub at: Coordinates,
    /// The payload; none for a tombstone.
    pub payload: Option<Payload>,
    /// When it was produced or appended, in ms since 1970, if the topic tells.
    pub timestamp: Option<i64>,
}

/// A record's payload. Prints as its length.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload(pub Vec<u8>);

impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[{} bytes]", self.0.len())
    }
}

/// Why the lanes did not do what the consumer asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaneError {
    /// The program was asked to stop while it waited. The run ends in order.
    #[error("stopped while waiting")]
    Stopped,
    /// The sink cannot be read, or the brokers did not answer. The run ends.
    #[error("{0}")]
    Failed(String),
}

/// Asks for a partition's range anew.
pub type Again<'a> = dyn Fn(&Partition) -> Result<LogRange, LaneError> + 'a;

/// What the pipeline does for the consumer. Every method is called on the poll thread.
pub trait Lanes: Send + Sync {
    /// Partitions are assigned: opens a lane for each and says where it begins, in the same order.
    ///
    /// A range is asked for before the chain is read, and this process may stand still between the two while another
    /// goes on: before a chain is said to be ahead of its log, `again` asks for the range anew.
    ///
    /// # Errors
    /// [`LaneError::Failed`] if the sink cannot be read: the run ends, since to begin anywhere else would lose or repeat
    /// notes. [`LaneError::Stopped`] if the program was asked to stop meanwhile.
    fn assign(&self, ranges: &[LogRange], again: &Again<'_>) -> Result<Vec<Begin>, LaneError>;
    /// Hands a record to its lane, or gives it back if the lane is full.
    fn offer(&self, record: RawRecord) -> Result<(), RawRecord>;
    /// Whether the lane has worked off enough that its partition is worth resuming.
    fn has_room(&self, partition: &Partition) -> bool;
    /// Partitions go to another member: drains their lanes until the deadline, then drops what is left. The answer is
    /// what became durable meanwhile.
    fn revoke(&self, partitions: &[Partition], deadline: Instant) -> Vec<Receipt>;
    /// How far the chains of partitions that other members have are written: one past the last offset. None where
    /// nothing is owed: a chain that begins at the latest record and has not begun, or one that halts for an operator.
    ///
    /// # Errors
    /// As [`Lanes::assign`].
    fn written(&self, ranges: &[LogRange]) -> Result<Vec<Option<i64>>, LaneError>;
    /// Has every lane write what it holds: other members wait to see it.
    fn flush(&self);
    /// Partitions are lost, perhaps long ago: drops their lanes at once.
    fn lose(&self, partitions: &[Partition]);
    /// A partition is read no further: drops its lane, if it still has one. The partition stays assigned and paused.
    fn halt(&self, partition: &Partition, why: &Halt);
    /// The consumer met an error.
    fn erred(&self, _kind: ErrorKind) {}
    /// The poll thread is alive: told with every poll.
    fn polled(&self) {}
    /// Where the log of an assigned partition ends now, as its broker last said: told every [`SourceSettings::statistics`](super::SourceSettings::statistics).
    fn log_end(&self, _partition: &Partition, _high: i64) {}
}
