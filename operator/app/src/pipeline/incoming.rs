//! A record between its source and its row.

use lethe_connectors::source::RawRecord;
use lethe_core::{Coordinates, Record};

use super::cost::HEAVY;

/// A record on its way to a lane.
pub(crate) enum Incoming {
    /// As delivered by Kafka, not decoded yet.
    Raw(RawRecord),
    /// As read by a file source.
    Read(Record),
    /// Decoded, and too heavy to be processed with others.
    Heavy(HeavyRecord),
}

/// A decoded record that has a turn of its own.
pub(crate) struct HeavyRecord {
    pub(super) record: Record,
    /// The memory that processing it takes, in bytes.
    pub(super) cost: usize,
    /// Bytes of its payload, or of its text.
    pub(super) size: usize,
    pub(super) timestamp: Option<i64>,
}

impl Incoming {
    /// Returns its coordinates.
    pub(crate) const fn at(&self) -> &Coordinates {
        match self {
            Self::Raw(record) => &record.at,
            Self::Read(record) => record.at(),
            Self::Heavy(heavy) => heavy.record.at(),
        }
    }

    /// Returns the time when it was produced, in ms since 1970, if its source has one.
    pub(crate) const fn timestamp(&self) -> Option<i64> {
        match self {
            Self::Raw(record) => record.timestamp,
            Self::Read(_) => None,
            Self::Heavy(heavy) => heavy.timestamp,
        }
    }

    /// Returns the bytes of its payload, or of its text.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Raw(record) => record.payload.as_ref().map_or(0, |payload| payload.0.len()),
            Self::Read(Record::Note(event)) => event.text.len(),
            Self::Read(_) => 0,
            Self::Heavy(heavy) => heavy.size,
        }
    }

    /// Returns the bytes that the lanes' budget counts while it waits and while it is processed with others:
    /// twice its size, since it is then in memory both as it came and as it leaves. Beyond the size of a
    /// heavy record only one copy counts: processing such a record has a budget of its own
    /// ([`Limits`](super::Limits)).
    pub(crate) fn weight(&self) -> usize {
        self.size() + self.size().min(HEAVY) + size_of::<Self>()
    }
}
