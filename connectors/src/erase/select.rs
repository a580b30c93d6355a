//! Selects the rows to erase: those that a caller recognises, or those of given records.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::Array as _;
use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use lethe_core::RedactedBatch;

use super::ERASED;
use crate::inspect::Progress;
use crate::inspect::columns::{Batches, Wanted};
use crate::replay::{NotesFile, Selection, notes_files};
use crate::sink::{ChainError, ChainId};
use crate::store::Store;

/// The parts of a row that identify its patient.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    /// The patient's id, if the policy keeps it.
    pub patient_id: Option<&'a str>,
    /// The redacted text.
    pub text: Option<&'a str>,
    /// The redacted message that contained the note.
    pub message: Option<&'a [u8]>,
}

impl std::fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Row([{} bytes])", self.text.map_or(0, str::len))
    }
}

/// The certainty that a row belongs to a requested patient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    /// Another patient's row may look the same.
    Possible,
    /// No other patient's row looks the same.
    Certain,
}

/// The selected rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Offsets of the rows to erase, by notes file.
    pub offsets: BTreeMap<(ChainId, i64), BTreeSet<i64>>,
    /// Numbers of the replayed parts of each of these files.
    pub parts: BTreeMap<(ChainId, i64), Vec<u32>>,
    /// Number of records that may belong to a requested patient and are not among the rows to erase.
    pub possible: u64,
    /// Number of given records that were erased before.
    pub already: u64,
    /// Whether rows contain patient ids.
    pub has_ids: bool,
}

impl Found {
    /// Returns the number of records to erase.
    pub fn records(&self) -> u64 {
        self.offsets.values().map(|offsets| offsets.len() as u64).sum()
    }

    /// Returns each of them as `TOPIC/PARTITION@OFFSET`.
    pub fn places(&self) -> impl Iterator<Item = String> {
        let files = self.offsets.iter();
        files.flat_map(|((chain, _), offsets)| offsets.iter().map(move |offset| format!("{chain}@{offset}")))
    }
}

/// Returns the rows that `matcher` recognises in all notes files and replayed parts; possible matches only if
/// `possible` is set. Reads the redacted texts and messages one row group at a time.
///
/// # Errors
/// [`ChainError::Footer`] if a file cannot be read, or the store's error.
pub async fn find(
    store: &dyn Store,
    matcher: &(dyn Fn(Row<'_>) -> Option<Match> + Sync),
    possible: bool,
    mut progress: impl FnMut(Progress) + Send,
) -> Result<Found, ChainError> {
    let files = notes_files(store, &Selection::default()).await?;
    let mut found = Found::default();
    let mut done = Progress {
        of: files.len() as u64,
        ..Progress::default()
    };
    for file in files {
        let mut matches: BTreeMap<i64, Match> = BTreeMap::new();
        let parts = file.parts.iter().map(|number| file.part(*number).path());
        for path in std::iter::once(file.chain.notes_name(file.first)).chain(parts) {
            let look = |offset, row: Row<'_>| {
                found.has_ids |= row.patient_id.is_some();
                if let Some(how) = matcher(row) {
                    let known = matches.entry(offset).or_insert(how);
                    *known = how.max(*known);
                }
            };
            done.rows += scan(store, &path, look).await?;
        }
        let is_wanted = |how: &Match| possible || *how == Match::Certain;
        found.possible += matches.values().filter(|how| !is_wanted(how)).count() as u64;
        matches.retain(|_, how| is_wanted(how));
        add(&mut found, file, matches.into_keys().collect());
        done.files += 1;
        progress(done);
    }
    Ok(found)
}

fn add(found: &mut Found, file: NotesFile, offsets: BTreeSet<i64>) {
    if !offsets.is_empty() {
        let key = (file.chain, file.first);
        found.parts.insert(key.clone(), file.parts);
        found.offsets.insert(key, offsets);
    }
}

/// Calls `look` with each row of a file and returns the number of rows.
async fn scan(store: &dyn Store, path: &str, mut look: impl FnMut(i64, Row<'_>)) -> Result<u64, ChainError> {
    let schema = RedactedBatch::schema();
    let wanted = Wanted {
        schema: &schema,
        must: &["offset"],
        may: &["patient_id", "text", "message"],
    };
    let mut batches = Batches::open(store, path, &wanted).await?;
    let mut rows = 0;
    while let Some(batch) = batches.next().await? {
        let offsets = batch["offset"].as_primitive::<Int64Type>().values();
        let texts = |name| batch.column_by_name(name).map(|column| column.as_string::<i32>());
        let (ids, texts) = (texts("patient_id"), texts("text"));
        let messages = batch
            .column_by_name("message")
            .map(|column| column.as_binary::<i32>());
        for (row, &offset) in offsets.iter().enumerate() {
            look(
                offset,
                Row {
                    patient_id: ids.filter(|ids| ids.is_valid(row)).map(|ids| ids.value(row)),
                    text: texts
                        .filter(|texts| texts.is_valid(row))
                        .map(|texts| texts.value(row)),
                    message: (messages.filter(|all| all.is_valid(row))).map(|all| all.value(row)),
                },
            );
        }
        rows += batch.num_rows() as u64;
    }
    Ok(rows)
}

/// Returns the rows of these records.
///
/// # Errors
/// The index in the list of the first record that no file has; otherwise as [`find`].
pub async fn locate(
    store: &dyn Store,
    places: &[(ChainId, i64)],
) -> Result<Result<Found, usize>, ChainError> {
    let files = notes_files(store, &Selection::default()).await?;
    let mut wanted: BTreeMap<usize, BTreeMap<i64, usize>> = BTreeMap::new();
    for (number, (chain, offset)) in places.iter().enumerate() {
        let at = files.partition_point(|file| (&file.chain, file.first) <= (chain, *offset));
        match at
            .checked_sub(1)
            .filter(|at| files.get(*at).is_some_and(|file| file.chain == *chain))
        {
            Some(at) => wanted.entry(at).or_default().insert(*offset, number),
            None => return Ok(Err(number)),
        };
    }
    let mut found = Found::default();
    for (at, mut offsets) in wanted {
        let Some(file) = files.get(at) else { continue };
        let schema = RedactedBatch::schema();
        let columns = Wanted {
            schema: &schema,
            must: &["offset", "row_kind"],
            may: &[],
        };
        let path = file.chain.notes_name(file.first);
        let mut batches = Batches::open(store, &path, &columns).await?;
        let mut there = BTreeSet::new();
        while let Some(batch) = batches.next().await? {
            let kinds = batch["row_kind"].as_string::<i32>();
            let rows = batch["offset"]
                .as_primitive::<Int64Type>()
                .values()
                .iter()
                .zip(kinds);
            for (offset, kind) in rows {
                if offsets.remove(offset).is_some() {
                    match kind {
                        Some(ERASED) => found.already += 1,
                        _ => drop(there.insert(*offset)),
                    }
                }
            }
        }
        if let Some(number) = offsets.into_values().next() {
            return Ok(Err(number));
        }
        add(&mut found, file.clone(), there);
    }
    Ok(Ok(found))
}
