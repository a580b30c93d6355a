//! Checks audit rows against the rows of their notes: every redaction must have an audit row, and every audit
//! row must fit the redacted text, its neighbours and the original.

use std::collections::BTreeSet;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type};
use arrow_array::{Array as _, ListArray, RecordBatch, StringArray};
use lethe_core::{AuditBatch, RedactedBatch};

use super::DatasetError;
use super::columns::{Batches, Wanted};
use crate::sink::{ChainError, ChainId};
use crate::store::Store;

const NOTES: [&str; 3] = ["offset", "text", "redactions"];
pub(super) const AUDIT: [&str; 10] = [
    "topic",
    "partition",
    "offset",
    "start",
    "end",
    "out_start",
    "out_end",
    "votes",
    "members",
    "scores",
];

/// Returns the contradictions between a notes file and its audit file, the first of each kind.
///
/// Reads the redacted texts one row group at a time and keeps none.
///
/// # Errors
/// [`ChainError::Footer`] if a file cannot be read, or the store's error.
pub(super) async fn hold(
    store: &dyn Store,
    chain: &ChainId,
    notes: &str,
    audit: &str,
) -> Result<Vec<DatasetError>, ChainError> {
    let mut errors = AuditErrors::new(audit);
    let wanted = Wanted {
        schema: &RedactedBatch::schema(),
        must: &NOTES,
        may: &[],
    };
    let mut notes = Notes {
        batches: Batches::open(store, notes, &wanted).await?,
        batch: None,
        row: 0,
    };
    let wanted = Wanted {
        schema: &AuditBatch::schema(),
        must: &AUDIT,
        may: &["path"],
    };
    let mut audits = Batches::open(store, audit, &wanted).await?;
    let mut place = Place::default();
    // Whether a note is open whose audit rows are being counted.
    let mut open = notes.advance().await?;
    while let Some(batch) = audits.next().await? {
        let rows = Rows::of(&batch);
        for row in 0..batch.num_rows() {
            let offset = rows.offsets[row];
            while open && notes.offset() < offset {
                notes.close(&place, &mut errors);
                place = Place::default();
                open = notes.advance().await?;
            }
            if !open || notes.offset() != offset {
                errors.tell(offset, "no note has this offset");
                continue;
            }
            if rows.topics.value(row) != &*chain.topic || rows.partitions[row] != chain.partition {
                errors.tell(offset, "it belongs to another topic or partition");
            }
            if rows.is_field(row) {
                continue;
            }
            if let Some(why) = rows.wrong(row, &place, notes.text()) {
                errors.tell(offset, why);
            }
            place = rows.place(row, place.rows + 1);
        }
    }
    while open {
        notes.close(&place, &mut errors);
        place = Place::default();
        open = notes.advance().await?;
    }
    Ok(errors.faults)
}

/// Collects faults, one of each kind.
pub(super) struct AuditErrors<'a> {
    audit: &'a str,
    kinds: BTreeSet<&'static str>,
    pub(super) faults: Vec<DatasetError>,
}

impl<'a> AuditErrors<'a> {
    /// Starts without faults of this audit file.
    pub(super) const fn new(audit: &'a str) -> Self {
        Self {
            audit,
            kinds: BTreeSet::new(),
            faults: Vec::new(),
        }
    }

    pub(super) fn tell(&mut self, offset: i64, why: &'static str) {
        if self.kinds.insert(why) {
            self.faults.push(DatasetError::Row {
                file: self.audit.to_owned(),
                offset,
                why,
            });
        }
    }
}

/// The progress within the audit rows of a note.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    rows: u32,
    end: u32,
    out_end: u32,
}

/// Iterates over the notes' rows.
struct Notes<'a> {
    batches: Batches<'a>,
    batch: Option<RecordBatch>,
    row: usize,
}

impl Notes<'_> {
    /// Moves to the next row; false after the last.
    async fn advance(&mut self) -> Result<bool, ChainError> {
        if let Some(batch) = &self.batch
            && self.row + 1 < batch.num_rows()
        {
            self.row += 1;
            return Ok(true);
        }
        self.row = 0;
        loop {
            self.batch = self.batches.next().await?;
            match &self.batch {
                Some(batch) if batch.num_rows() == 0 => {}
                found => return Ok(found.is_some()),
            }
        }
    }

    fn offset(&self) -> i64 {
        let of = |batch: &RecordBatch| batch["offset"].as_primitive::<Int64Type>().value(self.row);
        self.batch.as_ref().map_or(i64::MAX, of)
    }

    fn text(&self) -> Option<&str> {
        let texts = self.batch.as_ref()?["text"].as_string::<i32>();
        texts.is_valid(self.row).then(|| texts.value(self.row))
    }

    /// Checks the number of a note's audit rows against its count.
    fn close(&self, place: &Place, errors: &mut AuditErrors<'_>) {
        let of = |batch: &RecordBatch| batch["redactions"].as_primitive::<UInt32Type>().value(self.row);
        if self.batch.as_ref().is_some_and(|batch| of(batch) != place.rows) {
            errors.tell(
                self.offset(),
                "it has another number of audit rows than its note counts redactions",
            );
        }
    }
}

/// The columns of a batch of audit rows.
pub(super) struct Rows<'a> {
    topics: &'a StringArray,
    partitions: &'a [i32],
    offsets: &'a [i64],
    spans: [&'a [u32]; 4],
    votes: &'a [u32],
    members: &'a StringArray,
    scores: &'a ListArray,
    paths: Option<&'a StringArray>,
}

impl<'a> Rows<'a> {
    pub(super) fn of(batch: &'a RecordBatch) -> Self {
        let numbers = |name: &str| -> &'a [u32] { batch[name].as_primitive::<UInt32Type>().values() };
        Self {
            topics: batch["topic"].as_string(),
            partitions: batch["partition"].as_primitive::<Int32Type>().values(),
            offsets: batch["offset"].as_primitive::<Int64Type>().values(),
            spans: ["start", "end", "out_start", "out_end"].map(numbers),
            votes: numbers("votes"),
            members: batch["members"].as_string(),
            scores: batch["scores"].as_list(),
            paths: batch.column_by_name("path").map(|column| column.as_string()),
        }
    }

    /// Returns whether the row belongs to a field of a message, which has no position in the text.
    fn is_field(&self, row: usize) -> bool {
        self.paths.is_some_and(|paths| paths.is_valid(row))
    }

    pub(super) fn place(&self, row: usize, rows: u32) -> Place {
        let [_, end, _, out_end] = self.spans;
        Place {
            rows,
            end: end[row],
            out_end: out_end[row],
        }
    }

    /// Returns the problem of a row that follows `before`.
    pub(super) fn wrong(&self, row: usize, before: &Place, text: Option<&str>) -> Option<&'static str> {
        let [start, end, out_start, out_end] = self.spans.map(|column| column[row]);
        let Some(text) = text else {
            return Some("its note has no text, so it cannot have redactions");
        };
        let is_end = |at: u32| text.is_char_boundary(at as usize);
        let names = self.members.value(row);
        let named = names.split(',').filter(|name| !name.is_empty()).count();
        let checks = [
            (start < end, "its span is empty or ends before it begins"),
            (
                before.end <= start,
                "its span begins before the end of the previous one",
            ),
            (
                out_start <= out_end && before.out_end <= out_start,
                "its span of the redacted text begins before the end of the previous one",
            ),
            (
                is_end(out_start) && is_end(out_end),
                "its span of the redacted text lies outside that text",
            ),
            (
                start.wrapping_sub(before.end) == out_start.wrapping_sub(before.out_end),
                "between it and the previous one the redacted text is not as long as the original",
            ),
            (
                self.votes[row] as usize == named,
                "it has another number of votes than members that voted",
            ),
            (
                self.scores.value_length(row) as usize <= named,
                "it has more scores than members that voted",
            ),
        ];
        checks.into_iter().find(|(sound, _)| !sound).map(|(_, why)| why)
    }
}
