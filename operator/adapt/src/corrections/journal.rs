//! The journal of a state folder: corrections as they arrived and what was done with them, in order. Entries
//! are never changed.
//!
//! Each file is JSON lines, appended to and made durable before anything follows from it. A killed process
//! leaves at most one incomplete line, which is cut off when the file is opened again: nothing that follows
//! from it can have happened. The journal holds the text of notes, so only the owner can access files and
//! folder.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::marker::PhantomData;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Correction;

/// Increases if an entry changes its meaning.
pub(crate) const FORMAT: u32 = 1;

/// The source of a correction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum At {
    /// A record in a topic.
    Record {
        /// The topic.
        topic: String,
        /// Its partition.
        partition: i32,
        /// The record's offset.
        offset: i64,
    },
    /// A line in a file.
    Line {
        /// The file's name.
        file: String,
        /// The line, from 1.
        line: u64,
        /// The byte after it.
        next: u64,
    },
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record {
                topic,
                partition,
                offset,
            } => write!(f, "{topic}/{partition}, offset {offset}"),
            Self::Line { file, line, .. } => write!(f, "{file}, line {line}"),
        }
    }
}

/// The position up to which each partition or file was read.
#[derive(Clone, Debug, Default)]
pub struct Positions {
    records: BTreeMap<(String, i32), i64>,
    lines: BTreeMap<String, (u64, u64)>,
}

impl Positions {
    /// Returns the next offset of a partition; `None` if nothing of it was read.
    pub fn offset(&self, topic: &str, partition: i32) -> Option<i64> {
        self.records.get(&(topic.to_owned(), partition)).copied()
    }

    /// Returns the last line that was read of a file and the byte after it; 0 and 0 if none was.
    pub fn line(&self, file: &str) -> (u64, u64) {
        self.lines.get(file).copied().unwrap_or_default()
    }

    /// Returns whether this was read before.
    pub(crate) fn has(&self, at: &At) -> bool {
        match at {
            At::Record {
                topic,
                partition,
                offset,
            } => self.offset(topic, *partition).is_some_and(|next| *offset < next),
            At::Line { file, line, .. } => *line <= self.line(file).0,
        }
    }

    pub(crate) fn read(&mut self, at: &At) {
        if self.has(at) {
            return;
        }
        match at {
            At::Record {
                topic,
                partition,
                offset,
            } => self
                .records
                .insert((topic.clone(), *partition), offset + 1)
                .map(drop),
            At::Line { file, line, next } => self.lines.insert(file.clone(), (*line, *next)).map(drop),
        };
    }
}

/// A line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Entry {
    /// The first line: the base, and the settings on which versions depend.
    Begun {
        format: u32,
        /// The version that was current at that time.
        base: String,
        /// The member that naive Bayes is mixed with.
        first: Option<String>,
        keep_share: f64,
    },
    /// A correction arrived.
    Correction { at: At, correction: Correction },
    /// An invalid correction arrived.
    Rejected(Rejected),
    /// The corrections since the last batch form a batch.
    Batch,
    /// The version that resulted from the last batch became current.
    Published { version: String },
    /// The version that resulted from the last batch was rejected as worse.
    Refused { version: String },
    /// Another version was made current from outside.
    Current { version: String },
}

/// An invalid correction. It is also written to a list of its own, for the person who fixes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rejected {
    pub(crate) at: At,
    /// The cause, without a word of the correction.
    pub(crate) fault: String,
}

/// Why a state folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A line does not parse.
    #[error("{}, line {line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The cause.
        problem: String,
    },
    /// Another process has the folder open.
    #[error("{}: another process learns corrections with this state folder", path.display())]
    Busy {
        /// The lock.
        path: PathBuf,
    },
    /// The folder was created with other settings.
    #[error("{}: created with {key} = {was}, but the setting is now {is}, which would change the versions; restore it, or use a new state folder", path.display())]
    Begun {
        /// The journal.
        path: PathBuf,
        /// The setting.
        key: &'static str,
        /// The original value.
        was: String,
        /// The current value.
        is: String,
    },
}

pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> StateError {
    let path = path.to_owned();
    move |source| StateError::Io { path, source }
}

/// Creates a folder that only the owner can access.
pub(crate) fn make_folder(path: &Path) -> Result<(), StateError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(io(path))
}

/// A file of lines that is only appended to.
pub(crate) struct Log<T> {
    path: PathBuf,
    file: File,
    kind: PhantomData<T>,
}

impl<T: Serialize + DeserializeOwned> Log<T> {
    /// Opens or creates the file, and returns its lines. An incomplete last line is cut off.
    ///
    /// # Errors
    /// [`StateError::Io`] or [`StateError::Line`].
    pub(crate) fn open(path: PathBuf) -> Result<(Self, Vec<T>), StateError> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600);
        let mut file = options.open(&path).map_err(io(&path))?;
        let bytes = std::fs::read(&path).map_err(io(&path))?;
        let whole = bytes
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |at| at + 1);
        let mut entries = Vec::new();
        for (index, line) in bytes[..whole].split_inclusive(|&byte| byte == b'\n').enumerate() {
            let entry = serde_json::from_slice(line).map_err(|error| StateError::Line {
                path: path.clone(),
                line: index + 1,
                problem: format!(
                    "column {}: not a journal entry ({:?} error); restore the file, or use a new state folder",
                    error.column(),
                    error.classify()
                ),
            })?;
            entries.push(entry);
        }
        if whole < bytes.len() {
            file.set_len(whole as u64).map_err(io(&path))?;
        }
        file.seek(SeekFrom::End(0)).map_err(io(&path))?;
        file.sync_all().map_err(io(&path))?;
        if let Some(folder) = path.parent() {
            // Makes the file's name durable as well.
            let synced = File::open(folder).and_then(|folder| folder.sync_all());
            synced.map_err(io(folder))?;
        }
        let kind = PhantomData;
        Ok((Self { path, file, kind }, entries))
    }

    /// Removes all lines.
    ///
    /// # Errors
    /// [`StateError::Io`].
    pub(crate) fn clear(&mut self) -> Result<(), StateError> {
        self.file.set_len(0).map_err(io(&self.path))
    }

    /// Appends lines, all of which are durable when this returns. After an error nothing more may be appended
    /// until the file is opened again.
    ///
    /// # Errors
    /// [`StateError::Io`].
    pub(crate) fn append<'t>(&mut self, entries: impl IntoIterator<Item = &'t T>) -> Result<(), StateError>
    where
        T: 't,
    {
        let mut lines = Vec::new();
        for entry in entries {
            serde_json::to_writer(&mut lines, entry).map_err(|error| io(&self.path)(error.into()))?;
            lines.push(b'\n');
        }
        if lines.is_empty() {
            return Ok(());
        }
        let written = self.file.write_all(&lines).and_then(|()| self.file.sync_data());
        written.map_err(io(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn entry(offset: i64) -> Entry {
        let at = At::Record {
            topic: "t".to_owned(),
            partition: 0,
            offset,
        };
        let correction = Correction {
            note: format!("n{offset}"),
            text: "Ana \"\n".to_owned(),
            spans: Vec::new(),
            who: "w".to_owned(),
            when: "2026-01-01T00:00:00Z".to_owned(),
        };
        Entry::Correction { at, correction }
    }

    #[test]
    fn what_was_added_is_there_again_and_a_torn_last_line_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let entries = [
            entry(3),
            Entry::Batch,
            Entry::Published {
                version: "v".to_owned(),
            },
        ];
        let (mut log, before) = Log::open(path.clone()).unwrap();
        assert_eq!(before, []);
        log.append(&entries).unwrap();
        drop(log);
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        let whole = std::fs::read(&path).unwrap();
        let last = whole.len() - whole.split(|&b| b == b'\n').rev().nth(1).unwrap().len() - 1;
        // Killed after any byte of the last line.
        for cut in last..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let (mut log, found) = Log::<Entry>::open(path.clone()).unwrap();
            assert_eq!(found, entries[..2], "cut at {cut}");
            log.append(&entries[2..]).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), whole);
        }
    }

    #[test]
    fn a_line_that_was_altered_is_told_by_its_number_and_not_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        std::fs::write(
            &path,
            "{\"entry\":\"batch\"}\n{\"entry\":\"Secret\"}\n{\"entry\":\"batch\"}\n",
        )
        .unwrap();
        let message = Log::<Entry>::open(path).map(drop).unwrap_err().to_string();
        assert!(
            message.contains("line 2") && !message.contains("Secret"),
            "{message}"
        );
    }

    #[test]
    fn positions_only_go_forward() {
        let mut positions = Positions::default();
        let Entry::Correction { at, .. } = entry(7) else {
            unreachable!()
        };
        assert!(!positions.has(&at));
        positions.read(&at);
        let Entry::Correction { at: earlier, .. } = entry(2) else {
            unreachable!()
        };
        positions.read(&earlier);
        assert_eq!(positions.offset("t", 0), Some(8));
        assert!(positions.has(&at) && positions.has(&earlier));
        assert_eq!(positions.offset("t", 1), None);
        let line = At::Line {
            file: "f".to_owned(),
            line: 2,
            next: 40,
        };
        positions.read(&line);
        assert_eq!((positions.line("f"), positions.line("g")), ((2, 40), (0, 0)));
    }
}
