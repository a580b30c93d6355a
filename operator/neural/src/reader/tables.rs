//! The tables whose rows make up a context.

use lethe_learn::{NO_SPEECH, SPEECH_TAGS};

use super::{KNOWLEDGE, field_rows};
use crate::model::{Model, slot};

/// The rows of the table of parts of speech: the universal tags, and tokens that are in no sentence.
pub(crate) const SPEECH_ROWS: usize = SPEECH_TAGS + 1;

/// The first row of each table among a context's rows: those of the knowledge table come first, then those of
/// the field table, then those of parts of speech. A table that is off has no rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tables {
    field: u16,
    speech: u16,
}

impl Tables {
    pub(super) fn new(model: &Model) -> Self {
        let (a, fields) = (&model.architecture, field_rows(model.fields.len()));
        let on = |size: usize, rows: usize| if size > 0 { rows as u16 } else { 0 };
        let field = on(a.knowledge, KNOWLEDGE * model.lists.len());
        Self {
            field,
            speech: field + on(a.field, fields),
        }
    }

    /// Returns the row of a context for a row of the field table.
    pub(super) const fn field(self, row: u16) -> u16 {
        self.field + row
    }

    /// Returns the row of a context for a part of speech.
    pub(super) fn speech(self, tag: u8) -> u16 {
        self.speech + u16::from(tag.min(NO_SPEECH))
    }

    /// Returns the table, the row in it, and the part of the input for a context's row.
    pub(crate) fn of(self, row: u16) -> (usize, usize, usize) {
        if row < self.field {
            (slot::KNOWLEDGE, usize::from(row), 4)
        } else if row < self.speech {
            (slot::FIELD, usize::from(row - self.field), 5)
        } else {
            (slot::SPEECH, usize::from(row - self.speech), 6)
        }
    }
}
