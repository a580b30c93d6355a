//! Assigns random codes to files. A file name such as `okafor.hl7` identifies a patient, so chains are named
//! by codes.
//!
//! A code is random, so it is not derived from the file (45 CFR 164.514(c)). The list of files and codes is
//! kept in a separate store, outside the dataset, as numbered objects that are created once:
//!
//! ```text
//! codes/00000000000000000000.jsonl
//!     {"input":"folder /feeds/adt"}
//!     {"file":"2026/okafor.hl7","code":"file-3f0c...","offset":0}
//! ```
//!
//! Files that are one record each share a code, and offsets number them within it. If two runs find the same
//! new files, one creates the next object, and the other reads it and uses its codes. A code is durable
//! before a row contains it.

use std::collections::HashMap;
use std::os::unix::fs::DirBuilderExt as _;
use std::sync::Arc;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use uuid::Uuid;

use crate::store::{Store, StoreConfig, StoreError};

/// The folder of the list in its store.
const FOLDER: &str = "codes";
/// Maximum number of files per object of the list.
const BATCH: usize = 20_000;
/// The prefix of every code.
const PREFIX: &str = "file-";
/// Number of hexadecimal digits after the prefix.
const DIGITS: usize = 32;

/// The source of chain names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Names {
    /// Random codes; the store `codes` keeps the list of files and codes.
    Codes,
    /// The files' own names, relative to the input.
    Paths,
}

/// The position of a file's records: its chain, and the offset of its first record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The chain's topic.
    pub topic: Arc<str>,
    /// The offset of the first record.
    pub offset: i64,
    /// The file's index in the list. Files are read in this order.
    pub order: usize,
}

/// Why the list of codes cannot be used. The message names no file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodesError {
    /// The store failed.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The folder cannot be created.
    #[error("{path}: cannot create the folder: {source}; create it with access for this program's user only")]
    Folder {
        /// The folder.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// An object of the list is damaged.
    #[error(
        "{object} is damaged; restore it from a backup: without it, files would be read again under other codes"
    )]
    Damaged {
        /// The object's name.
        object: String,
    },
    /// The list belongs to another input.
    #[error(
        "the list belongs to \"{of}\", but the input is \"{input}\"; use a separate list for each input, or, if the same files have moved, set `input_id` to the first"
    )]
    OtherInput {
        /// The input of the list.
        of: String,
        /// The current input.
        input: String,
    },
}

/// The first line of an object of the list.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    input: String,
}

/// Every other line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    file: String,
    code: String,
    offset: i64,
}

/// The list of files and their codes.
#[derive(Debug)]
pub struct Codes {
    store: Arc<dyn Store>,
    runtime: Handle,
    input: String,
    /// Number of objects of the list.
    objects: u64,
    slots: HashMap<String, Slot>,
}

impl Codes {
    /// Reads the list of the input with the id `input`. Blocks the calling thread on the store, so the thread
    /// must not belong to the runtime.
    ///
    /// # Errors
    /// [`CodesError`].
    pub fn open(config: &StoreConfig, input: &str, runtime: Handle) -> Result<Self, CodesError> {
        if let StoreConfig::Folder(folder) = config {
            // File names identify patients: no other user may list them.
            let made = std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&folder.path);
            made.map_err(|source| CodesError::Folder {
                path: folder.path.display().to_string(),
                source,
            })?;
        }
        Self::of(config.build()?, input, runtime)
    }

    fn of(store: Arc<dyn Store>, input: &str, runtime: Handle) -> Result<Self, CodesError> {
        let mut codes = Self {
            store,
            runtime,
            input: input.to_owned(),
            objects: 0,
            slots: HashMap::new(),
        };
        codes.read()?;
        Ok(codes)
    }

    /// Returns whether no file has a code yet.
    pub fn is_new(&self) -> bool {
        self.objects == 0
    }

    /// Returns the position of a file's records; `None` if none was assigned.
    pub fn slot(&self, file: &str) -> Option<&Slot> {
        self.slots.get(file)
    }

    /// Assigns a position to each file that has none, durably. Files that are one record each share chains.
    ///
    /// # Errors
    /// [`CodesError`]. Files before the failing one may have been assigned.
    pub fn assign<'a>(
        &mut self,
        files: impl IntoIterator<Item = &'a str>,
        one_record_each: bool,
    ) -> Result<(), CodesError> {
        let mut new: Vec<&str> = Vec::new();
        new.extend(files.into_iter().filter(|&file| !self.slots.contains_key(file)));
        let mut rest = new.as_slice();
        while !rest.is_empty() {
            let (batch, after) = rest.split_at(rest.len().min(BATCH));
            if self.append(batch, one_record_each)? {
                rest = after;
            } else {
                // Another run was faster; its codes count.
                self.read()?;
                new.retain(|&file| !self.slots.contains_key(file));
                rest = new.as_slice();
            }
        }
        Ok(())
    }

    /// Writes the next object of the list. Returns false if another run has written it.
    fn append(&mut self, files: &[&str], one_record_each: bool) -> Result<bool, CodesError> {
        let code = || format!("{PREFIX}{}", Uuid::new_v4().simple());
        let shared = code();
        let lines: Vec<Line> = (0..)
            .zip(files)
            .map(|(number, &file)| Line {
                file: file.to_owned(),
                code: if one_record_each { shared.clone() } else { code() },
                offset: if one_record_each { number } else { 0 },
            })
            .collect();
        let name = object_name(self.objects);
        let bytes =
            written(&self.input, &lines).ok_or_else(|| CodesError::Damaged { object: name.clone() })?;
        match self.runtime.block_on(self.store.create(&name, bytes.clone())) {
            Ok(()) => {}
            Err(StoreError::Exists(_)) => return Ok(false),
            Err(error) if error.is_transient() => {
                // The write may have succeeded all the same: the stored object counts.
                let back = self.runtime.block_on(self.store.read(&name));
                if !back.is_ok_and(|back| back == bytes) {
                    return Err(error.into());
                }
            }
            Err(error) => return Err(error.into()),
        }
        self.objects += 1;
        self.take(lines);
        Ok(true)
    }

    /// Reads the new objects of the list.
    fn read(&mut self) -> Result<(), CodesError> {
        loop {
            let object = object_name(self.objects);
            let bytes = match self.runtime.block_on(self.store.read(&object)) {
                Ok(bytes) => bytes,
                Err(StoreError::NotFound(_)) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            let (input, lines) = parsed(&bytes).ok_or(CodesError::Damaged { object })?;
            if input != self.input {
                return Err(CodesError::OtherInput {
                    of: input,
                    input: self.input.clone(),
                });
            }
            self.objects += 1;
            self.take(lines);
        }
    }

    fn take(&mut self, lines: Vec<Line>) {
        let mut last: Arc<str> = Arc::default();
        for line in lines {
            let order = self.slots.len();
            if *last != *line.code {
                last = line.code.into();
            }
            // A file's first code counts.
            self.slots.entry(line.file).or_insert(Slot {
                topic: Arc::clone(&last),
                offset: line.offset,
                order,
            });
        }
    }
}

/// Returns whether a topic is a code.
pub fn is_code(topic: &str) -> bool {
    let digits = topic.strip_prefix(PREFIX);
    digits.is_some_and(|digits| digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn object_name(number: u64) -> String {
    format!("{FOLDER}/{number:020}.jsonl")
}

fn written(input: &str, lines: &[Line]) -> Option<Bytes> {
    let head = Head {
        input: input.to_owned(),
    };
    let mut text = serde_json::to_string(&head).ok()?;
    for line in lines {
        text.push('\n');
        text.push_str(&serde_json::to_string(line).ok()?);
    }
    text.push('\n');
    Some(text.into())
}

fn parsed(bytes: &[u8]) -> Option<(String, Vec<Line>)> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut lines = text.strip_suffix('\n')?.split('\n');
    let head: Head = serde_json::from_str(lines.next()?).ok()?;
    let lines = lines.map(|line| serde_json::from_str(line).ok());
    Some((head.input, lines.collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Memory;
    use tokio::runtime::Runtime;

    fn open(store: &Arc<Memory>, runtime: &Runtime) -> Codes {
        let store: Arc<dyn Store> = Arc::<Memory>::clone(store);
        Codes::of(store, "in", runtime.handle().clone()).unwrap()
    }

    #[test]
    fn a_file_keeps_its_code_and_new_files_come_after_old_ones() {
        let (runtime, store) = (Runtime::new().unwrap(), Arc::new(Memory::default()));
        let mut codes = open(&store, &runtime);
        assert!(codes.is_new());
        codes.assign(["b", "c"], false).unwrap();
        let of_b = codes.slot("b").unwrap().clone();
        assert!(is_code(&of_b.topic) && !is_code("file-1.jsonl"));
        assert_ne!(of_b.topic, codes.slot("c").unwrap().topic);
        let mut again = open(&store, &runtime);
        again.assign(["a", "b", "c"], false).unwrap();
        assert!(!again.is_new());
        assert_eq!(again.slot("b"), Some(&of_b));
        assert!(again.slot("a").unwrap().order > again.slot("c").unwrap().order);
    }

    #[test]
    fn files_of_one_record_each_share_a_chain_and_are_numbered_in_it() {
        let (runtime, store) = (Runtime::new().unwrap(), Arc::new(Memory::default()));
        let mut codes = open(&store, &runtime);
        codes.assign(["a", "b"], true).unwrap();
        codes.assign(["a", "b", "c"], true).unwrap();
        let place = |file: &str| codes.slot(file).unwrap().clone();
        assert_eq!(place("a").topic, place("b").topic);
        assert_eq!(
            (place("a").offset, place("b").offset, place("c").offset),
            (0, 1, 0)
        );
        assert_ne!(place("a").topic, place("c").topic);
    }

    #[test]
    fn of_two_runs_that_name_a_file_the_first_counts() {
        let (runtime, store) = (Runtime::new().unwrap(), Arc::new(Memory::default()));
        let (mut one, mut other) = (open(&store, &runtime), open(&store, &runtime));
        one.assign(["a", "b"], false).unwrap();
        other.assign(["b", "c"], false).unwrap();
        one.assign(["c"], false).unwrap();
        for file in ["b", "c"] {
            assert_eq!(one.slot(file), other.slot(file), "{file}");
        }
    }

    #[test]
    fn a_list_of_another_input_or_a_damaged_one_is_refused() {
        let (runtime, store) = (Runtime::new().unwrap(), Arc::new(Memory::default()));
        open(&store, &runtime).assign(["a"], false).unwrap();
        let store: Arc<dyn Store> = store;
        let other = Codes::of(Arc::clone(&store), "elsewhere", runtime.handle().clone());
        assert!(matches!(other, Err(CodesError::OtherInput { of, .. }) if of == "in"));
        runtime
            .block_on(store.create(&object_name(1), "{\"input\":\"in\"}\n{\"file\"".into()))
            .unwrap();
        let damaged = Codes::of(store, "in", runtime.handle().clone());
        assert!(matches!(damaged, Err(CodesError::Damaged { .. })));
    }
}
