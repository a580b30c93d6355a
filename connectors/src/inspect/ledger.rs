//! Holds audit rows against the rows of their notes: every redaction has its row, and every row a place in the redacted
//! text that fits its neighbours and the original.

use std::collections::BTreeSet;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type};
use arrow_array::{Array as _, ListArray, RecordBatch, StringArray};
use lethe_core::{AuditBatch, RedactedBatch};

use super::Fault;
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

/// What contradicts itself in a notes file and its audit file: the first of each kind.
///
/// Reads the redacted texts, a row group at a time; none is kept.
///
/// # Errors
/// [`ChainError::Footer`] if a file cannot be read, or the store's error.
pub(super) async fn hold(
    store: &dyn Store,
    chain: &ChainId,
    notes: &str,
    audit: &str,
) -> Result<Vec<Fault>, ChainError> {
    let mut told = Told::new(audit);
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
    // Whether a note is at hand whose rows are being counted.
    let mut open = notes.advance().await?;
    while let Some(batch) = audits.next().await? {
        let rows = Rows::of(&batch);
        for row in 0..batch.num_rows() {
            let offset = rows.offsets[row];
            while open && notes.offset() < offset {
                notes.close(&place, &mut told);
                place = Place::default();
                open = notes.advance().await?;
            }
            if !open || notes.offset() != offset {
                told.tell(offset, "no note has this offset");
                continue;
            }
            if rows.topics.value(row) != &*chain.topic || rows.partitions[row] != chain.partition {
                told.tell(offset, "it is of another topic or partition");
            }
            if rows.is_field(row) {
                continue;
            }
            if let Some(why) = rows.wrong(row, &place, notes.text()) {
                told.tell(offset, why);
            }
            place = rows.place(row, place.rows + 1);
        }
    }
    while open {
        notes.close(&place, &mut told);
        place = Place::default();
        open = notes.advance().await?;
    }
    Ok(told.faults)
}

/// Faults, one of a kind.
pub(super) struct Told<'a> {
    audit: &'a str,
    kinds: BTreeSet<&'static str>,
    pub(super) faults: Vec<Fault>,
}

impl<'a> Told<'a> {
    /// No fault of this audit file yet.
    pub(super) const fn new(audit: &'a str) -> Self {
        Self {
            audit,
            kinds: BTreeSet::new(),
            faults: Vec::new(),
        }
    }

    pub(super) fn tell(&mut self, offset: i64, why: &'static str) {
        if self.kinds.insert(why) {
            self.faults.push(Fault::Row {
                file: self.audit.to_owned(),
                offset,
                why,
            });
        }
    }
}

/// How far the rows of a note have come.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    rows: u32,
    end: u32,
    out_end: u32,
}

/// The notes' rows, one after another.
struct Notes<'a> {
    batches: Batches<'a>,
    batch: Option<RecordBatch>,
    row: usize,
}

impl Notes<'_> {
    /// Goes to the next row; false after the last.
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

    /// Holds the number of a note's rows against what it says.
    fn close(&self, place: &Place, told: &mut Told<'_>) {
        let of = |batch: &RecordBatch| batch["redactions"].as_primitive::<UInt32Type>().value(self.row);
        if self.batch.as_ref().is_some_and(|batch| of(batch) != place.rows) {
            told.tell(
                self.offset(),
                "it has not the rows that its note counts redactions",
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

    /// Whether it is the row of a field of a message, which has no place in the text.
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

    /// What is wrong with a row, after the row before it.
    pub(super) fn wrong(&self, row: usize, before: &Place, text: Option<&str>) -> Option<&'static str> {
        let [start, end, out_start, out_end] = self.spans.map(|column| column[row]);
        let Some(text) = text else {
            return Some("its note has no text, so nothing of it is redacted");
        };
        let is_end = |at: u32| text.is_char_boundary(at as usize);
        let names = self.members.value(row);
        let named = names.split(',').filter(|name| !name.is_empty()).count();
        let checks = [
            (start < end, "its span is empty or ends before it begins"),
            (
                before.end <= start,
                "its span lies before the end of the one before it",
            ),
            (
                out_start <= out_end && before.out_end <= out_start,
                "its span of the redacted text lies before the end of the one before it",
            ),
            (
                is_end(out_start) && is_end(out_end),
                "its span of the redacted text is none of that text",
            ),
            (
                start.wrapping_sub(before.end) == out_start.wrapping_sub(before.out_end),
                "between it and the one before it the redacted text is not as long as the original",
            ),
            (
                self.votes[row] as usize == named,
                "it has not as many votes as members that voted",
            ),
            (
                self.scores.value_length(row) as usize <= named,
                "it has more scores than members that voted",
            ),
        ];
        checks.into_iter().find(|(sound, _)| !sound).map(|(_, why)| why)
    }
}
