//! A record on its way from a source to a row.

use lethe_connectors::kafka::source::RawRecord;
use lethe_core::{Coordinates, Record};

use super::cost::HEAVY;

/// One record on its way to a lane.
pub(crate) enum Incoming {
    /// As Kafka delivered it: the format has yet to read it.
    Raw(RawRecord),
    /// As a file source read it.
    Read(Record),
    /// Decoded, and too heavy to be worked on together with others.
    Heavy(HeavyRecord),
}

/// A decoded record that has a turn to itself.
pub(crate) struct HeavyRecord {
    pub(super) record: Record,
    /// What the work on it takes, in bytes of memory.
    pub(super) cost: usize,
    /// Bytes of its payload, or of its text.
    pub(super) size: usize,
    pub(super) timestamp: Option<i64>,
}

impl Incoming {
    /// Where it came from.
    pub(crate) const fn at(&self) -> &Coordinates {
        match self {
            Self::Raw(record) => &record.at,
            Self::Read(record) => record.at(),
            Self::Heavy(heavy) => heavy.record.at(),
        }
    }

    /// When it was produced, in ms since 1970, if its source tells.
    pub(crate) const fn timestamp(&self) -> Option<i64> {
        match self {
            Self::Raw(record) => record.timestamp,
            Self::Read(_) => None,
            Self::Heavy(heavy) => heavy.timestamp,
        }
    }

    /// Bytes of its payload, or of its text.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Raw(record) => record.payload.as_ref().map_or(0, |payload| payload.0.len()),
            Self::Read(Record::Note(event)) => event.text.len(),
            Self::Read(_) => 0,
            Self::Heavy(heavy) => heavy.size,
        }
    }

    /// The bytes that the budget of the lanes books while it waits and while it is worked on together with others: twice its
    /// size, since then it is in memory both as it came and as it leaves. What exceeds the size of a heavy record is booked
    /// once: the work on such a record has a budget of its own ([`Limits`](super::Limits)).
    pub(crate) fn weight(&self) -> usize {
        self.size() + self.size().min(HEAVY) + size_of::<Self>()
    }
}
