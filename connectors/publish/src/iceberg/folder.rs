//! A table whose folder keeps its state: files of metadata with numbers, each created once.
//!
//! Engines call it a Hadoop table. It suits a store where a name can be created only once, which is how Lethe writes
//! there; other engines need the same guarantee from theirs.

use std::sync::Arc;

use bytes::Bytes;
use lethe_connectors::store::{StoreError, crash};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::catalogue::{Answer, State};
use super::files::Files;
use super::metadata::Metadata;
use super::update::Update;
use crate::overwrite::overwrite;
use crate::time::now;
use crate::{Place, PublishError};

/// Names the current file of metadata. It can be behind.
const HINT: &str = "metadata/version-hint.text";
/// The number of earlier files of metadata that the current one names.
const LOG: usize = 100;

/// A table in a folder.
pub(crate) struct Folder {
    place: Place,
    runtime: Handle,
    files: Arc<Files>,
}

impl Folder {
    /// Opens the place of a table, which need not exist.
    ///
    /// # Errors
    /// The store's error.
    pub(crate) fn open(place: &Place, dataset: &Place, runtime: &Handle) -> Result<Self, PublishError> {
        Ok(Self {
            files: Arc::new(Files::open(&place.location(), dataset, runtime)?),
            place: place.clone(),
            runtime: runtime.clone(),
        })
    }

    /// Returns the table's location.
    pub(crate) fn location(&self) -> String {
        self.place.location()
    }

    /// Reads the table.
    pub(crate) fn load(&self) -> Result<Option<State>, PublishError> {
        let Some((number, bytes, is_hinted)) = self.runtime.block_on(newest(&self.files))? else {
            return Ok(None);
        };
        // The writer was killed before it wrote the hint, and some readers look no further.
        if !is_hinted {
            self.hint(number);
        }
        let metadata = serde_json::from_slice(&bytes).map_err(|error| PublishError::Metadata {
            table: self.place.to_string(),
            file: name(number),
            why: error.to_string(),
        })?;
        Ok(Some(State {
            metadata: Metadata(metadata),
            files: Arc::clone(&self.files),
            file: number,
        }))
    }

    /// Creates the table.
    pub(crate) fn create(&self, updates: Vec<Update>) -> Result<Answer, PublishError> {
        let empty = json!({
            "last-sequence-number": 0,
            "last-updated-ms": now(),
            "last-partition-id": 999,
            "current-snapshot-id": -1,
            "properties": {},
            "snapshots": [],
            "snapshot-log": [],
            "metadata-log": [],
            "refs": {},
        });
        self.write(Metadata(empty), updates, 1)
    }

    /// Changes the table.
    pub(crate) fn change(&self, state: &State, updates: Vec<Update>) -> Result<Answer, PublishError> {
        let mut metadata = state.metadata.clone();
        let before = json!({
            "timestamp-ms": metadata.0["last-updated-ms"],
            "metadata-file": format!("{}/{}", self.location(), name(state.file)),
        });
        let log = &mut metadata.0["metadata-log"];
        match log {
            Value::Array(log) => {
                log.push(before);
                log.drain(..log.len().saturating_sub(LOG));
            }
            log => *log = json!([before]),
        }
        self.write(metadata, updates, state.file + 1)
    }

    fn write(
        &self,
        mut metadata: Metadata,
        updates: Vec<Update>,
        number: u64,
    ) -> Result<Answer, PublishError> {
        for update in updates {
            update.apply(&mut metadata);
        }
        let last = metadata.0["last-updated-ms"].as_i64().unwrap_or(0);
        metadata.0["last-updated-ms"] = now().max(last).into();
        match self
            .files
            .write(&name(number), metadata.0.to_string().into_bytes())
        {
            Ok(_) => {}
            Err(PublishError::Store(StoreError::Exists(_))) => return Ok(Answer::Refused),
            Err(error) if error.is_temporary() => return Ok(Answer::Unknown(error)),
            Err(error) => return Err(error),
        }
        crash::point("committed");
        self.hint(number);
        Ok(Answer::Done)
    }

    /// Writes the hint. The table is complete without it: a failure is logged.
    fn hint(&self, number: u64) {
        let hint = Bytes::from(number.to_string());
        if let Err(error) = self.runtime.block_on(overwrite(self.files.store(), HINT, hint)) {
            tracing::warn!("cannot write the hint to the newest file of metadata: {error}");
        }
    }
}

/// Returns the number and the content of the newest file of metadata, and whether the hint names it.
async fn newest(files: &Files) -> Result<Option<(u64, Bytes, bool)>, PublishError> {
    let store = files.store();
    let hint = match store.read(HINT).await {
        Ok(hint) => std::str::from_utf8(&hint)
            .ok()
            .and_then(|hint| hint.trim().parse().ok()),
        Err(StoreError::NotFound(_)) => None,
        Err(error) => return Err(error.into()),
    };
    // Engines remove old files, so that without the hint the first need not be there.
    let mut number = match hint {
        Some(hint) => hint,
        None => {
            let names = store.list("metadata").await?;
            let numbers = names.iter().filter_map(|object| {
                let name = object.name.strip_prefix("metadata/v")?;
                name.strip_suffix(".metadata.json")?.parse::<u64>().ok()
            });
            match numbers.max() {
                Some(number) => number,
                None => return Ok(None),
            }
        }
    };
    let mut found = None;
    loop {
        match store.read(&name(number)).await {
            Ok(bytes) => found = Some((number, bytes, hint == Some(number))),
            Err(StoreError::NotFound(_)) if found.is_some() => return Ok(found),
            Err(error) => return Err(error.into()),
        }
        number += 1;
    }
}

/// Returns the name of a file of metadata.
fn name(number: u64) -> String {
    format!("metadata/v{number}.metadata.json")
}
