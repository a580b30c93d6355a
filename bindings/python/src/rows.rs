//! Rows of a table as notes.

use std::ops::Range;

use arrow_array::{Array, LargeStringArray};
use lethe::{Known, Note};

/// The most notes that a thread takes at a time. It looks for an interruption after each time.
const NOTES: usize = 64;
/// The most text that it takes at a time, in bytes, unless a note is longer.
const BYTES: usize = 128 << 10;

/// The notes of a text column, with what other columns know of them. All columns have the same length.
pub(crate) struct Rows {
    pub(crate) text: LargeStringArray,
    pub(crate) id: Option<LargeStringArray>,
    pub(crate) patient: Option<LargeStringArray>,
    pub(crate) known: Vec<(Known, LargeStringArray)>,
}

impl Rows {
    /// Returns the number of rows.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns the note of a row, or nothing where the text is null.
    pub(crate) fn note(&self, row: usize) -> Option<Note> {
        let mut note = Note::new(value(&self.text, row)?);
        if let Some(id) = self.id.as_ref().and_then(|column| value(column, row)) {
            note = note.id(id);
        }
        if let Some(patient) = self.patient.as_ref().and_then(|column| value(column, row)) {
            note = note.patient(patient);
        }
        for (kind, column) in &self.known {
            if let Some(known) = value(column, row) {
                note = note.known(*kind, known);
            }
        }
        Some(note)
    }

    /// Splits the rows into what a thread takes at a time.
    pub(crate) fn pieces(&self) -> Vec<Range<usize>> {
        let offsets = self.text.value_offsets();
        let mut pieces = Vec::new();
        let mut start = 0;
        for row in 1..=self.len() {
            let bytes = offsets
                .get(start)
                .zip(offsets.get(row))
                .map_or(0, |(from, to)| to.abs_diff(*from));
            if row == self.len() || row - start >= NOTES || bytes >= BYTES as u64 {
                pieces.push(start..row);
                start = row;
            }
        }
        pieces
    }
}

fn value(column: &LargeStringArray, row: usize) -> Option<&str> {
    column.is_valid(row).then(|| column.value(row))
}
