//! Locates a file of the source and reads its bytes.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use crate::store::StoreError;
use crate::tables::Remote;

/// A local file, an object of a store, or the content of a file.
#[derive(Clone)]
pub(super) enum Place {
    Local(PathBuf),
    Bytes(Arc<[u8]>),
    Remote(Remote),
}

/// Why bytes of a file could not be read: a failure of the system or the store, not damage of the file.
#[derive(Debug)]
pub(super) enum Failure {
    /// The store is unavailable, so no other file can be read either.
    Away(StoreError),
    /// This file cannot be read; others may.
    Unreadable(io::ErrorKind),
}

/// Reads a file, and records why a read failed.
#[derive(Clone)]
pub(super) struct Reader {
    place: Place,
    failed: Rc<Cell<Option<io::ErrorKind>>>,
}

impl Reader {
    pub(super) fn new(place: Place) -> Self {
        Self {
            place,
            failed: Rc::default(),
        }
    }

    /// Returns the size in bytes.
    pub(super) fn size(&self) -> io::Result<u64> {
        match &self.place {
            Place::Local(path) => self.track(std::fs::metadata(path).map(|about| about.len())),
            Place::Bytes(bytes) => Ok(bytes.len() as u64),
            Place::Remote(remote) => Ok(remote.size()),
        }
    }

    /// Opens the bytes from a position on.
    pub(super) fn open_at(&self, at: u64) -> io::Result<Box<dyn Read>> {
        match &self.place {
            Place::Local(path) => {
                let open = || {
                    let mut file = File::open(path)?;
                    file.seek(SeekFrom::Start(at))?;
                    Ok(file)
                };
                Ok(Box::new(Tracked {
                    file: self.track(open())?,
                    of: self.clone(),
                }))
            }
            Place::Bytes(bytes) => {
                let mut cursor = Cursor::new(Arc::clone(bytes));
                cursor.set_position(at);
                Ok(Box::new(cursor))
            }
            Place::Remote(remote) => Ok(Box::new(remote.reader_at(at))),
        }
    }

    /// Returns why the last read failed, if it did.
    pub(super) fn failure(&self) -> Option<Failure> {
        if let Place::Remote(remote) = &self.place
            && let Some(error) = remote.failure()
        {
            return Some(match error {
                StoreError::NotFound(_) => Failure::Unreadable(io::ErrorKind::NotFound),
                error => Failure::Away(error),
            });
        }
        self.failed.take().map(Failure::Unreadable)
    }

    fn track<T>(&self, done: io::Result<T>) -> io::Result<T> {
        done.inspect_err(|error| self.failed.set(Some(error.kind())))
    }
}

struct Tracked {
    file: File,
    of: Reader,
}

impl Read for Tracked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.file.read(into) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => self.of.track(Err(error)),
            read => read,
        }
    }
}
