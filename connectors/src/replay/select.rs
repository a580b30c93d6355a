//! Selects the quarantined rows to replay: by code, by age, and by earlier replays.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::SystemTime;

use lethe_core::{Quarantine, QuarantineCode};

use super::rows::{Rows, count, each};
use super::{ReplayName, read_replay};
use crate::sink::{ChainError, ChainId, read_link};
use crate::store::{Store, StoreError};

/// Matches rows by their column `error`: by a code with all details, with one field, or with one expectation.
///
/// ```
/// use lethe_connectors::replay::Code;
///
/// let code: Code = "invalid_payload:note_id".parse()?;
/// assert!(code.has("invalid_payload:note_id") && code.has("invalid_payload:note_id:required"));
/// assert!(!code.has("invalid_payload:text:required"));
/// assert!("invalid_paylod".parse::<Code>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code(String);

impl Code {
    /// Returns whether an error matches.
    pub fn has(&self, error: &str) -> bool {
        let rest = error.strip_prefix(self.0.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    }
}

/// The text is not a code of quarantined records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown code; the codes are {}", QuarantineCode::ALL.map(QuarantineCode::name).join(", "))]
pub struct UnknownCode;

impl FromStr for Code {
    type Err = UnknownCode;

    fn from_str(text: &str) -> Result<Self, UnknownCode> {
        let names = QuarantineCode::ALL.map(QuarantineCode::name);
        if names.contains(&Quarantine::code_of(text)) {
            Ok(Self(text.to_owned()))
        } else {
            Err(UnknownCode)
        }
    }
}

/// The quarantined rows to replay.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Rows with any of these codes; all codes if empty.
    pub codes: Vec<Code>,
    /// Chains of these topics; all topics if empty.
    pub topics: Vec<String>,
    /// Files that were written at or after this time, by the store's clock.
    pub since: Option<SystemTime>,
    /// Digest of the configuration: rows that were quarantined again under it are skipped.
    pub attempt: String,
    /// Whether to replay those rows all the same.
    pub again: bool,
}

impl Selection {
    fn wants(&self, code: &str) -> bool {
        self.codes.is_empty() || self.codes.iter().any(|wanted| wanted.has(code))
    }
}

/// A notes file and its replayed parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotesFile {
    /// The chain.
    pub chain: ChainId,
    /// The first offset.
    pub first: i64,
    /// The sorted numbers of its replayed parts.
    pub parts: Vec<u32>,
}

impl NotesFile {
    /// Returns the name of the part with that number.
    pub fn part(&self, number: u32) -> ReplayName {
        ReplayName {
            chain: self.chain.clone(),
            first: self.first,
            number,
        }
    }
}

/// The quarantined rows of one notes file to replay.
#[derive(Clone, Debug)]
pub struct Candidates {
    /// The file.
    pub file: NotesFile,
    /// The offset after the file's last.
    pub next: i64,
    /// Their sorted offsets.
    pub offsets: Vec<i64>,
    /// Their number by the code of the last attempt.
    pub codes: BTreeMap<String, u64>,
    /// Number of rows that were quarantined again under the current configuration, and are skipped.
    pub tried: u64,
}

/// Returns the selected notes files of a dataset, by chain and offset.
///
/// # Errors
/// The store's error.
pub async fn notes_files(store: &dyn Store, selection: &Selection) -> Result<Vec<NotesFile>, StoreError> {
    let mut parts = parts(store).await?;
    let listed = store.list("notes").await?;
    let topics = &selection.topics;
    let mut files: Vec<NotesFile> = listed
        .into_iter()
        .filter(|object| selection.since.is_none_or(|since| object.modified >= since))
        .filter_map(|object| ChainId::parse_notes(&object.name))
        .filter(|(chain, _)| topics.is_empty() || topics.iter().any(|topic| **topic == *chain.topic))
        .map(|of| NotesFile {
            parts: parts.remove(&of).unwrap_or_default(),
            chain: of.0,
            first: of.1,
        })
        .collect();
    // By number, since the name `partition=10` sorts before `partition=9`.
    files.sort_by(|a, b| (&a.chain, a.first).cmp(&(&b.chain, b.first)));
    Ok(files)
}

/// Returns the numbers of the replayed parts of each notes file, by chain and first offset.
pub(crate) async fn parts(store: &dyn Store) -> Result<BTreeMap<(ChainId, i64), Vec<u32>>, StoreError> {
    let mut parts: BTreeMap<(ChainId, i64), Vec<u32>> = BTreeMap::new();
    for object in store.list(ReplayName::NOTES_FOLDER).await? {
        if let Some(name) = ReplayName::parse(&object.name) {
            parts
                .entry((name.chain, name.first))
                .or_default()
                .push(name.number);
        }
    }
    parts.values_mut().for_each(|numbers| numbers.sort_unstable());
    Ok(parts)
}

/// Returns the quarantined rows of a notes file to replay. Holds a few bytes per quarantined row.
///
/// # Errors
/// [`ChainError`] if the notes file or one of its replayed parts cannot be read.
pub async fn candidates(
    store: &dyn Store,
    file: &NotesFile,
    selection: &Selection,
) -> Result<Candidates, ChainError> {
    let path = file.chain.notes_name(file.first);
    let link = read_link(store, &file.chain, &path).await?;
    let mut found = Candidates {
        file: file.clone(),
        next: link.next,
        offsets: Vec::new(),
        codes: BTreeMap::new(),
        tried: 0,
    };
    if link.footer.quarantined == 0 {
        return Ok(found);
    }
    let mut rows = Rows::read(store, &path).await?;
    for &number in &file.parts {
        let path = file.part(number).path();
        let footer = read_replay(store, &path).await?;
        let tried = footer.attempt == selection.attempt;
        let update = |offset, error: Option<&str>| {
            // Inspection reports a row without a match.
            let _is_due = rows.update(offset, error, tried);
        };
        each(store, &path, update).await?;
    }
    for row in rows.waiting().filter(|row| selection.wants(row.code)) {
        if row.tried && !selection.again {
            found.tried += 1;
            continue;
        }
        found.offsets.push(row.offset);
        count(&mut found.codes, row.code);
    }
    Ok(found)
}
