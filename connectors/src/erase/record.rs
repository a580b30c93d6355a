//! Reads and checks the records of erasures.

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::inspect::Head;
use crate::sink::{Damage, digest_of, is_digest};
use crate::store::{Store, StoreError};

/// The folder of the records.
pub(crate) const FOLDER: &str = "erased";

/// Version of the records' format.
pub(super) const FORMAT: u32 = 1;

/// The replacements of an erasure and their reason. Written before the first file is replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    pub(super) format: u32,
    /// Its number, from 0.
    pub number: u32,
    /// When it began, as RFC 3339.
    pub begun_at: String,
    /// Version of the program.
    pub program: String,
    /// The reason that the operator gave.
    pub reason: String,
    /// SHA-256 of the previous erasure's completion, hex; `None` in the first.
    pub previous: Option<String>,
    /// Zstandard level of the new files.
    pub zstd_level: i32,
    /// Number of rows of notes files and replayed parts that it empties.
    pub rows: u64,
    /// SHA-256 of each code to remove from the vault, hex.
    pub vault: Vec<String>,
    /// The files, in the order in which they are replaced.
    pub files: Vec<Replacement>,
}

/// One replaced file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replacement {
    /// The file.
    pub path: String,
    /// Its SHA-256 before, hex.
    pub before: String,
    /// Its SHA-256 after, hex.
    pub after: String,
    /// Offsets whose rows are emptied, or whose audit rows are removed, ascending.
    pub offsets: Vec<i64>,
    /// Number of rows that the audit file of these rows loses.
    pub audit_rows: u64,
    /// Number of those that belong to fields of messages.
    pub audit_fields: u64,
}

/// Marks an erasure as done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Completion {
    pub(super) format: u32,
    pub(super) number: u32,
    /// SHA-256 of the record, hex.
    pub(super) record: String,
    /// When it finished, as RFC 3339.
    pub(super) finished_at: String,
    /// Number of entries removed from the vault.
    pub(super) vault_entries: u64,
}

/// Returns the name of a record.
pub(super) fn record_name(number: u32) -> String {
    format!("{FOLDER}/{number:06}.json")
}

/// Returns the name of its completion.
pub(super) fn completion_name(number: u32) -> String {
    format!("{FOLDER}/{number:06}-done.json")
}

/// The report of one erasure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErasureReport {
    /// Its record.
    pub record: String,
    /// When it began.
    pub begun_at: String,
    /// Its reason.
    pub reason: String,
    /// Number of rows that it emptied.
    pub rows: u64,
    /// Number of files that it replaced.
    pub files: u64,
    /// SHA-256 of its completion, hex; with the completion's name it is a head to store elsewhere. `None`
    /// while it is unfinished.
    pub head: Option<String>,
    /// The completion's name.
    pub completion: String,
}

impl ErasureReport {
    /// Returns whether a stored head is that of its completion.
    pub(crate) fn is_head(&self, head: &Head) -> bool {
        self.head
            .as_deref()
            .is_some_and(|digest| head.is_of(&self.completion, digest))
    }
}

impl fmt::Display for ErasureReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "erasure of {}: {} rows in {} files: {}",
            self.begun_at, self.rows, self.files, self.reason
        )?;
        match &self.head {
            Some(head) => write!(f, "\n  head {head}  {}", self.completion),
            None => Ok(()),
        }
    }
}

/// The digests that the records list for a file: one more than its number of replacements.
#[derive(Clone, Debug, Default)]
struct History {
    digests: Vec<String>,
    /// The last record that lists it.
    by: String,
    /// Whether that record is unfinished.
    is_open: bool,
}

/// All erasures of a dataset.
#[derive(Clone, Debug, Default)]
pub struct Erasures {
    reports: Vec<ErasureReport>,
    files: HashMap<String, History>,
    unfinished: Option<Record>,
    faults: Vec<(String, String)>,
    strays: Vec<String>,
    /// Digest of the last completion.
    last: Option<String>,
    next: u32,
}

impl Erasures {
    /// Reads the records of a dataset. Errors in them go to [`Erasures::faults`].
    ///
    /// # Errors
    /// The store's error.
    pub async fn read(store: &dyn Store) -> Result<Self, StoreError> {
        let mut erasures = Self::default();
        let mut records = Vec::new();
        let mut completions = Vec::new();
        for object in store.list(FOLDER).await? {
            let stem = object
                .name
                .strip_prefix(FOLDER)
                .and_then(|rest| rest.strip_prefix('/'));
            let stem = stem
                .and_then(|file| file.strip_suffix(".json"))
                .unwrap_or_default();
            match stem
                .strip_suffix("-done")
                .map_or_else(|| stem.parse(), str::parse::<u32>)
            {
                Ok(number) if object.name == record_name(number) => records.push(number),
                Ok(number) if object.name == completion_name(number) => completions.push(number),
                _ => erasures.strays.push(object.name),
            }
        }
        records.sort_unstable();
        for number in &completions {
            if !records.contains(number) {
                erasures.fault(
                    &record_name(*number),
                    "the record is missing, but its completion exists",
                );
            }
        }
        for (due, &number) in (0..).zip(&records) {
            let name = record_name(number);
            if number != due {
                erasures.fault(&name, "the previous record is missing");
            }
            let bytes = store.read(&name).await?;
            let digest = digest_of(&bytes);
            let completion = match completions.contains(&number) {
                true => Some(store.read(&completion_name(number)).await?),
                false => None,
            };
            let is_last = records.last() == Some(&number);
            erasures.take(number, &bytes, &digest, completion.as_deref(), is_last);
            erasures.last = completion.as_deref().map(digest_of);
            erasures.next = number.saturating_add(1);
        }
        Ok(erasures)
    }

    fn take(&mut self, number: u32, bytes: &[u8], digest: &str, completion: Option<&[u8]>, is_last: bool) {
        let name = record_name(number);
        let record = match parse(bytes, number) {
            Ok(record) => record,
            Err(damage) => return self.fault(&name, &damage.to_string()),
        };
        if record.previous != self.last {
            return self.fault(
                &name,
                "it does not refer to the previous completion, or that one was changed",
            );
        }
        let read = completion.map(|bytes| (digest_of(bytes), serde_json::from_slice::<Completion>(bytes)));
        let head = match read {
            None if is_last => None,
            None => {
                return self.fault(
                    &completion_name(number),
                    "it is missing, but a later record exists",
                );
            }
            Some((head, Ok(done))) if done.format == FORMAT && done.number == number => {
                if done.record != digest {
                    let why = format!(
                        "it was changed, or its completion was: its digest is {digest}, but its completion lists {}",
                        done.record
                    );
                    return self.fault(&name, &why);
                }
                Some(head)
            }
            Some(_) => {
                return self.fault(
                    &completion_name(number),
                    "it is not a valid completion of a record",
                );
            }
        };
        for file in &record.files {
            let history = self.files.entry(file.path.clone()).or_default();
            if history.digests.last().is_some_and(|last| *last != file.before) {
                let why = format!(
                    "it replaces {}, but an earlier record lists another digest for it",
                    file.path
                );
                self.faults.push((name, why));
                return;
            }
            if history.digests.is_empty() {
                history.digests.push(file.before.clone());
            }
            history.digests.push(file.after.clone());
            history.by.clone_from(&name);
            history.is_open = head.is_none();
        }
        self.reports.push(ErasureReport {
            record: name,
            begun_at: record.begun_at.clone(),
            reason: record.reason.clone(),
            rows: record.rows,
            files: record.files.len() as u64,
            completion: completion_name(number),
            head: head.clone(),
        });
        if head.is_none() {
            self.unfinished = Some(record);
        }
    }

    fn fault(&mut self, file: &str, why: &str) {
        self.faults.push((file.to_owned(), why.to_owned()));
    }

    /// Returns the errors in the records: the file and the problem.
    pub fn faults(&self) -> &[(String, String)] {
        &self.faults
    }

    /// Returns all erasures in the order of their numbers.
    pub fn reports(&self) -> &[ErasureReport] {
        &self.reports
    }

    /// Returns the unfinished erasure, if there is one.
    pub const fn unfinished(&self) -> Option<&Record> {
        self.unfinished.as_ref()
    }

    /// Returns the number of the next record, and the digest of the previous completion that it must hold.
    pub(super) fn next(&self) -> (u32, Option<String>) {
        (self.next, self.last.clone())
    }

    /// Returns files of the folder that are neither records nor completions.
    pub(crate) fn strays(&self) -> &[String] {
        &self.strays
    }

    /// Compares the digest of a file with the one that another file holds (`kept`: that file and the digest),
    /// and with the records. Returns the file that contradicts it and the digest listed there, if they
    /// differ.
    pub(crate) fn contradicts<'a>(
        &'a self,
        file: &str,
        kept: Option<(&'a str, &'a str)>,
        found: &str,
    ) -> Option<(&'a str, &'a str)> {
        let Some(history) = self.files.get(file) else {
            return kept.filter(|(_, kept)| *kept != found);
        };
        // A neighbour may hold the digest from before any erasure, or from between two.
        let unknown = kept.filter(|(_, kept)| !history.digests.iter().any(|digest| digest == kept));
        unknown.or_else(|| {
            let mut digests = history.digests.iter().rev();
            let last = digests.next().map_or("", String::as_str);
            let is_before = history.is_open && digests.next().is_some_and(|before| before == found);
            (last != found && !is_before).then_some((history.by.as_str(), last))
        })
    }

    /// Returns the earlier digests of a file that the records list.
    pub(crate) fn past(&self, file: &str) -> &[String] {
        self.files.get(file).map_or(&[], |history| &history.digests)
    }

    /// Returns whether the unfinished erasure replaces this file.
    pub(crate) fn is_open(&self, file: &str) -> bool {
        self.files.get(file).is_some_and(|history| history.is_open)
    }
}

pub(super) fn parse(bytes: &[u8], number: u32) -> Result<Record, Damage> {
    let record: Record = serde_json::from_slice(bytes)
        .map_err(|_| Damage::Contradiction("it is not a valid erasure record"))?;
    if record.format != FORMAT {
        return Err(Damage::Format {
            found: record.format.into(),
            supported: FORMAT,
        });
    }
    let is_whole = |file: &Replacement| {
        is_digest(&file.before) && is_digest(&file.after) && file.offsets.is_sorted_by(|a, b| a < b)
    };
    let is_sound = record.number == number
        && record.files.iter().all(is_whole)
        && record
            .vault
            .iter()
            .chain(&record.previous)
            .all(|one| is_digest(one));
    match is_sound {
        true => Ok(record),
        false => Err(Damage::Contradiction("its parts contradict each other")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Memory;
    use bytes::Bytes;

    fn digest(of: &str) -> String {
        digest_of(of.as_bytes())
    }

    fn record(number: u32, previous: Option<String>, before: &str, after: &str) -> Record {
        Record {
            format: FORMAT,
            number,
            begun_at: "2026-03-01T08:00:00Z".into(),
            program: "1".into(),
            reason: "a request".into(),
            previous,
            zstd_level: 3,
            rows: 1,
            vault: Vec::new(),
            files: vec![Replacement {
                path: "notes/x".into(),
                before: digest(before),
                after: digest(after),
                offsets: vec![3],
                audit_rows: 0,
                audit_fields: 0,
            }],
        }
    }

    async fn put(store: &Memory, name: &str, what: &impl Serialize) -> String {
        let bytes = serde_json::to_vec(what).unwrap();
        let digest = digest_of(&bytes);
        store.delete(name).await.unwrap();
        store.create(name, Bytes::from(bytes)).await.unwrap();
        digest
    }

    async fn done(store: &Memory, number: u32, record: String) -> String {
        let completion = Completion {
            format: FORMAT,
            number,
            record,
            finished_at: "2026-03-01T08:00:01Z".into(),
            vault_entries: 0,
        };
        put(store, &completion_name(number), &completion).await
    }

    #[tokio::test]
    async fn a_file_may_be_known_by_any_digest_that_it_had_and_has_the_last() {
        let store = Memory::default();
        let first = put(&store, &record_name(0), &record(0, None, "a", "b")).await;
        let first = done(&store, 0, first).await;
        put(&store, &record_name(1), &record(1, Some(first), "b", "c")).await;
        let [a, b, c, d] = ["a", "b", "c", "d"].map(digest);
        let open = Erasures::read(&store).await.unwrap();
        assert_eq!((open.faults(), open.unfinished().is_some()), (&[][..], true));
        for kept in [None, Some(("y", a.as_str())), Some(("y", b.as_str()))] {
            assert_eq!(open.contradicts("notes/x", kept, &c), None);
            // Unfinished: the file may still have the old digest.
            assert_eq!(open.contradicts("notes/x", kept, &b), None);
            assert!(open.contradicts("notes/x", kept, &a).is_some());
            assert!(open.contradicts("notes/x", kept, &d).is_some());
        }
        assert_eq!(
            open.contradicts("notes/x", Some(("y", &d)), &c),
            Some(("y", d.as_str()))
        );
        assert_eq!(
            open.contradicts("notes/z", Some(("y", &d)), &c),
            Some(("y", d.as_str()))
        );
        assert_eq!(open.contradicts("notes/z", Some(("y", &c)), &c), None);

        let second = digest_of(&store.read(&record_name(1)).await.unwrap());
        done(&store, 1, second).await;
        let closed = Erasures::read(&store).await.unwrap();
        assert!(closed.faults().is_empty() && closed.unfinished().is_none());
        assert!(closed.contradicts("notes/x", Some(("y", &a)), &b).is_some());
        assert_eq!(closed.contradicts("notes/x", Some(("y", &a)), &c), None);
    }

    #[tokio::test]
    async fn a_record_that_was_changed_or_removed_is_found() {
        let store = Memory::default();
        let first = put(&store, &record_name(0), &record(0, None, "a", "b")).await;
        let head = done(&store, 0, first.clone()).await;
        let second = put(&store, &record_name(1), &record(1, Some(head), "b", "c")).await;
        done(&store, 1, second).await;
        assert!(Erasures::read(&store).await.unwrap().faults().is_empty());
        // Changed together with its completion: the next record holds that one's digest.
        let other = put(&store, &record_name(0), &record(0, None, "a", "d")).await;
        assert_eq!(
            Erasures::read(&store).await.unwrap().faults()[0].0,
            record_name(0)
        );
        done(&store, 0, other).await;
        assert_eq!(
            Erasures::read(&store).await.unwrap().faults()[0].0,
            record_name(1)
        );
        put(&store, &record_name(0), &record(0, None, "a", "b")).await;
        store.delete(&completion_name(0)).await.unwrap();
        assert_eq!(
            Erasures::read(&store).await.unwrap().faults()[0].0,
            completion_name(0)
        );
        done(&store, 0, first).await;
        store.delete(&record_name(0)).await.unwrap();
        assert!(!Erasures::read(&store).await.unwrap().faults().is_empty());
    }
}
