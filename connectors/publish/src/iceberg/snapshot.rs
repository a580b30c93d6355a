//! A new snapshot of a table: its manifests, their list, and its entry in the metadata.

use std::collections::BTreeSet;

use lethe_connectors::store::crash;
use serde_json::{Value, json};
use uuid::Uuid;

use super::catalogue::State;
use super::manifest::{self, DataFile, Manifest, Written};
use super::manifest_list::{self, Listed};
use super::schema::Field;
use crate::PublishError;
use crate::added::Added;
use crate::time::now;

/// What the names of Lethe's manifests begin with.
const OWN: &str = "lethe-";
/// The number of Lethe's small manifests that are merged into one: readers open each.
const MERGED_AT: usize = 100;
/// The size in bytes from which a manifest is not small.
const LARGE: i64 = 8 << 20;

/// A snapshot that is not in a table yet, whose files are written.
///
/// They stay whatever becomes of it, since a refused commit can be in the table: a proxy or a store's client that
/// repeats a request after a lost answer gets the refusal of its own commit.
pub(crate) struct Prepared {
    /// Its id.
    pub(crate) id: i64,
    /// Its entry in the metadata.
    pub(crate) entry: Value,
}

/// The files of a snapshot.
#[derive(Default)]
pub(crate) struct DataFiles {
    /// The files with rows.
    pub(crate) files: Vec<DataFile>,
    /// Whether others delete rows of them.
    pub(crate) has_deletes: bool,
}

/// Returns the files of a snapshot.
///
/// # Errors
/// The store's error; if the metadata are damaged.
pub(crate) fn data_files_of(table: &str, state: &State, snapshot: &Value) -> Result<DataFiles, PublishError> {
    let mut found = DataFiles::default();
    for listed in manifests_of(table, state, snapshot)? {
        let manifest = read(table, state, &listed)?;
        match listed.content {
            0 => found.files.extend(manifest.files()),
            _ => found.has_deletes |= manifest.files().next().is_some(),
        }
    }
    Ok(found)
}

/// Returns the manifests of the table's current snapshot.
fn manifests(table: &str, state: &State) -> Result<Vec<Listed>, PublishError> {
    match current(table, state)? {
        Some(snapshot) => manifests_of(table, state, snapshot),
        None => Ok(Vec::new()),
    }
}

/// Returns the manifests of a snapshot.
fn manifests_of(table: &str, state: &State, snapshot: &Value) -> Result<Vec<Listed>, PublishError> {
    let Some(list) = snapshot["manifest-list"].as_str() else {
        return Err(damaged(
            table,
            "its metadata",
            "a snapshot has no list of manifests",
        ));
    };
    let bytes = state.files.read(list)?;
    manifest_list::read(&bytes).map_err(|why| damaged(table, list, why))
}

/// Returns the table's current snapshot.
fn current<'a>(table: &str, state: &'a State) -> Result<Option<&'a Value>, PublishError> {
    let snapshot = state.metadata.snapshot();
    snapshot.map_err(|why| damaged(table, "its metadata", why))
}

fn read(table: &str, state: &State, listed: &Listed) -> Result<Manifest, PublishError> {
    let bytes = state.files.read(&listed.path)?;
    Manifest::read(&bytes, listed).map_err(|why| damaged(table, &listed.path, why))
}

/// Writes the files of a snapshot.
pub(crate) struct Builder<'a> {
    table: &'a str,
    state: &'a State,
    /// The schema of the snapshot, as JSON, and its columns.
    schema: &'a Value,
    columns: &'a [Field],
    /// What comes before the names of a dataset's files.
    base: &'a str,
    id: i64,
    sequence_number: i64,
    /// What the names of its files have in common.
    commit: Uuid,
    written: Vec<String>,
    manifests: Vec<Listed>,
}

impl<'a> Builder<'a> {
    /// Starts a snapshot on top of the current one.
    ///
    /// # Errors
    /// If the metadata are damaged.
    pub(crate) fn new(
        table: &'a str,
        state: &'a State,
        schema: &'a Value,
        columns: &'a [Field],
        base: &'a str,
    ) -> Result<Self, PublishError> {
        let (high, low) = Uuid::new_v4().as_u64_pair();
        let last = state.metadata.number("last-sequence-number");
        let last = last.map_err(|why| damaged(table, "its metadata", why))?;
        let mut builder = Self {
            table,
            state,
            schema,
            columns,
            base,
            // Random and not negative, as other writers' ids.
            id: (high ^ low).cast_signed() & i64::MAX,
            sequence_number: last + 1,
            commit: Uuid::new_v4(),
            written: Vec::new(),
            manifests: Vec::new(),
        };
        builder.manifests = manifests(table, state)?;
        Ok(builder)
    }

    /// Adds files that the table does not have.
    ///
    /// # Errors
    /// The store's error.
    pub(crate) fn append(mut self, files: &[Added]) -> Result<Prepared, PublishError> {
        let done = self.merge().and_then(|()| {
            self.add(files)?;
            self.finish("append", files, &Written::default())
        });
        self.end(done)
    }

    /// Gives files that the table has their new sizes. Files that it does not have any more stay out.
    ///
    /// # Errors
    /// The store's error.
    pub(crate) fn replace(mut self, files: &[Added]) -> Result<Option<Prepared>, PublishError> {
        let location = |file: &Added| format!("{}{}", self.base, file.name);
        let locations: BTreeSet<String> = files.iter().map(location).collect();
        let mut found = BTreeSet::new();
        let mut deleted = Written::default();
        let mut work = || {
            for at in 0..self.manifests.len() {
                let listed = self.manifests[at].clone();
                if listed.content != 0 {
                    continue;
                }
                let manifest = self.read(&listed)?;
                let paths = manifest.paths().filter(|path| locations.contains(*path));
                let paths: BTreeSet<String> = paths.map(str::to_owned).collect();
                if paths.is_empty() {
                    continue;
                }
                let written = manifest.write(|path| paths.contains(path), self.id);
                let written = written.map_err(|why| damaged(self.table, &listed.path, why))?;
                deleted.files.deleted += written.files.deleted;
                deleted.rows.deleted += written.rows.deleted;
                self.manifests[at] = self.put(written, listed.spec)?;
                found.extend(paths);
            }
            let files: Vec<Added> = files
                .iter()
                .filter(|file| found.contains(&format!("{}{}", self.base, file.name)))
                .cloned()
                .collect();
            if files.is_empty() {
                return Ok(None);
            }
            self.add(&files)?;
            self.finish("overwrite", &files, &deleted).map(Some)
        };
        match work() {
            Ok(None) => Ok(None),
            Ok(Some(entry)) => self.end(Ok(entry)).map(Some),
            Err(error) => self.end(Err(error)).map(Some),
        }
    }

    /// Returns the snapshot, or removes the files that were written if nobody can know of them yet.
    fn end(self, done: Result<Value, PublishError>) -> Result<Prepared, PublishError> {
        match done {
            Ok(entry) => Ok(Prepared { id: self.id, entry }),
            Err(error) => {
                self.state.files.remove(&self.written);
                Err(error)
            }
        }
    }

    fn read(&self, listed: &Listed) -> Result<Manifest, PublishError> {
        read(self.table, self.state, listed)
    }

    /// Writes the manifest of new files.
    fn add(&mut self, files: &[Added]) -> Result<(), PublishError> {
        let written = manifest::of_new_files(self.base, files, self.schema, self.columns, self.id);
        let written = written.map_err(|why| damaged(self.table, "a manifest", why))?;
        let listed = self.put(written, 0)?;
        self.manifests.push(listed);
        crash::point("manifest_written");
        Ok(())
    }

    /// Merges Lethe's small manifests once there are many.
    fn merge(&mut self) -> Result<(), PublishError> {
        let is_small = |listed: &Listed| {
            let name = listed.path.rsplit('/').next().unwrap_or_default();
            name.starts_with(OWN) && listed.content == 0 && listed.spec == 0 && listed.length < LARGE
        };
        if self.manifests.iter().filter(|listed| is_small(listed)).count() < MERGED_AT {
            return Ok(());
        }
        let (small, mut others): (Vec<Listed>, Vec<Listed>) =
            self.manifests.drain(..).partition(|listed| is_small(listed));
        let mut merged: Option<Manifest> = None;
        for listed in small {
            let manifest = self.read(&listed)?;
            match &mut merged {
                None => merged = Some(manifest),
                Some(merged) => {
                    // Another version of the program can have written it.
                    if !merged.merge(manifest) {
                        others.push(listed);
                    }
                }
            }
        }
        if let Some(merged) = merged {
            let written = merged.write(|_| false, self.id);
            let written = written.map_err(|why| damaged(self.table, "a manifest", why))?;
            others.push(self.put(written, 0)?);
        }
        self.manifests = others;
        Ok(())
    }

    fn put(&mut self, written: Written, spec: i64) -> Result<Listed, PublishError> {
        let name = format!("metadata/{OWN}{}-m{}.avro", self.commit, self.written.len());
        let length = written.bytes.len();
        let location = self.state.files.write(&name, written.bytes)?;
        self.written.push(location.clone());
        let mut listed = Listed::new(location, length, self.id, self.sequence_number);
        listed.spec = spec;
        listed.files = written.files;
        listed.rows = written.rows;
        listed.min_sequence_number = written.min_sequence_number.unwrap_or(self.sequence_number);
        Ok(listed)
    }

    /// Writes the list, and returns the entry of the snapshot.
    fn finish(&mut self, operation: &str, files: &[Added], deleted: &Written) -> Result<Value, PublishError> {
        let parent = current(self.table, self.state)?;
        let parent_id = parent.and_then(|parent| parent["snapshot-id"].as_i64());
        let list = manifest_list::write(self.id, parent_id, self.sequence_number, &self.manifests);
        let list = list.map_err(|why| damaged(self.table, "a list of manifests", why))?;
        let name = format!("metadata/snap-{}-1-{}.avro", self.id, self.commit);
        let location = self.state.files.write(&name, list)?;
        self.written.push(location.clone());
        crash::point("manifest_list_written");
        let last = self.state.metadata.0["last-updated-ms"].as_i64().unwrap_or(0);
        let mut entry = json!({
            "snapshot-id": self.id,
            "sequence-number": self.sequence_number,
            "timestamp-ms": now().max(last),
            "manifest-list": location,
            "summary": summary(operation, parent, files, deleted),
            "schema-id": self.schema["schema-id"],
        });
        if let Some(parent) = parent_id {
            entry["parent-snapshot-id"] = parent.into();
        }
        Ok(entry)
    }
}

/// Returns the counts of a snapshot (the specification, "Snapshot Summary").
fn summary(operation: &str, parent: Option<&Value>, files: &[Added], deleted: &Written) -> Value {
    let added_files = i64::try_from(files.len()).unwrap_or(i64::MAX);
    let added_rows: i64 = files.iter().map(|file| file.rows.cast_signed()).sum();
    let added_size: i64 = files.iter().map(|file| file.size.cast_signed()).sum();
    let mut summary = json!({
        "operation": operation,
        "engine-name": "lethe",
        "engine-version": env!("CARGO_PKG_VERSION"),
        "added-data-files": added_files.to_string(),
        "added-records": added_rows.to_string(),
        "added-files-size": added_size.to_string(),
    });
    if deleted.files.deleted > 0 {
        summary["deleted-data-files"] = deleted.files.deleted.to_string().into();
        summary["deleted-records"] = deleted.rows.deleted.to_string().into();
    }
    for (name, change) in [
        ("total-data-files", added_files - deleted.files.deleted),
        ("total-records", added_rows - deleted.rows.deleted),
    ] {
        let before = match parent {
            Some(parent) => parent["summary"][name]
                .as_str()
                .and_then(|count| count.parse().ok()),
            None => Some(0_i64),
        };
        // Without the count of the parent nothing is known.
        if let Some(before) = before {
            summary[name] = (before + change).to_string().into();
        }
    }
    summary
}

fn damaged(table: &str, file: &str, why: impl Into<String>) -> PublishError {
    PublishError::Metadata {
        table: table.to_owned(),
        file: file.to_owned(),
        why: why.into(),
    }
}
