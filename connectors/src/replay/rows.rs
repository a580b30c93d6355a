//! Tracks the quarantined rows of one notes file over its replayed parts.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use lethe_core::{RedactedBatch, RowKind};

use crate::inspect::columns::{Batches, Wanted};
use crate::sink::ChainError;
use crate::store::Store;

/// The quarantined rows of a notes file in the order of offsets. Holds 32 bytes per row.
pub(crate) struct Rows {
    states: Vec<State>,
    /// The distinct codes, which are few.
    codes: Vec<String>,
}

struct State {
    offset: i64,
    /// Index of its code in the list of codes.
    code: usize,
    /// Whether it was replayed.
    ran: bool,
    /// Whether the last attempt was made under the current configuration.
    tried: bool,
    /// Whether it is no longer quarantined.
    done: bool,
}

/// A row that is still quarantined.
pub(crate) struct Waiting<'a> {
    pub(crate) offset: i64,
    /// Its code in the last attempt.
    pub(crate) code: &'a str,
    /// Whether it was replayed.
    pub(crate) ran: bool,
    /// Whether the last attempt was made under the current configuration.
    pub(crate) tried: bool,
}

impl Rows {
    /// Reads the quarantined rows of a notes file.
    ///
    /// # Errors
    /// [`ChainError`] if it cannot be read.
    pub(crate) async fn read(store: &dyn Store, path: &str) -> Result<Self, ChainError> {
        let mut rows = Self {
            states: Vec::new(),
            codes: Vec::new(),
        };
        let add = |offset, error: Option<&str>| {
            if let Some(error) = error {
                let code = rows.code(error);
                rows.states.push(State {
                    offset,
                    code,
                    ran: false,
                    tried: false,
                    done: false,
                });
            }
        };
        each(store, path, add).await?;
        Ok(rows)
    }

    /// Adds a row of a replayed part: its error if it is quarantined again, and whether that was under the
    /// current configuration. Returns false if no quarantined row with this offset was left.
    #[must_use]
    pub(crate) fn update(&mut self, offset: i64, error: Option<&str>, tried: bool) -> bool {
        let found = self.states.binary_search_by_key(&offset, |state| state.offset);
        let code = error.map(|error| self.code(error));
        let state = found.ok().and_then(|row| self.states.get_mut(row));
        let Some(state) = state.filter(|state| !state.done) else {
            return false;
        };
        state.ran = true;
        state.tried = tried;
        match code {
            Some(code) => state.code = code,
            None => state.done = true,
        }
        true
    }

    /// Returns the rows that are still quarantined.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = Waiting<'_>> {
        let states = self.states.iter().filter(|state| !state.done);
        states.map(|state| Waiting {
            offset: state.offset,
            code: self.codes.get(state.code).map_or("", String::as_str),
            ran: state.ran,
            tried: state.tried,
        })
    }

    fn code(&mut self, error: &str) -> usize {
        match self.codes.iter().position(|code| code == error) {
            Some(code) => code,
            None => {
                self.codes.push(error.to_owned());
                self.codes.len() - 1
            }
        }
    }
}

/// Increments a count.
pub(crate) fn count(counts: &mut BTreeMap<String, u64>, code: &str) {
    match counts.get_mut(code) {
        Some(count) => *count += 1,
        None => {
            counts.insert(code.to_owned(), 1);
        }
    }
}

/// Calls `see` with the offset of each row of a file, and with its error if it is quarantined.
pub(crate) async fn each(
    store: &dyn Store,
    path: &str,
    mut see: impl FnMut(i64, Option<&str>),
) -> Result<(), ChainError> {
    let schema = RedactedBatch::schema();
    let wanted = Wanted {
        schema: &schema,
        must: &["offset", "row_kind", "error"],
        may: &[],
    };
    let mut batches = Batches::open(store, path, &wanted).await?;
    while let Some(batch) = batches.next().await? {
        each_row(&batch, &mut see);
    }
    Ok(())
}

/// Does the same as [`each`] for a batch with the columns `offset`, `row_kind` and `error`.
pub(crate) fn each_row(batch: &RecordBatch, see: &mut impl FnMut(i64, Option<&str>)) {
    let offsets = batch["offset"].as_primitive::<Int64Type>().values();
    let kinds = batch["row_kind"].as_string::<i32>();
    let errors = batch["error"].as_string::<i32>();
    for ((&offset, kind), error) in offsets.iter().zip(kinds).zip(errors) {
        let is_quarantined = kind == Some(RowKind::Quarantined.name());
        see(offset, is_quarantined.then(|| error.unwrap_or_default()));
    }
}
