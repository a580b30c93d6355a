//! Iterates over the records of one file, with their positions in the file's chain.

use std::io::{self, Read};
use std::rc::Rc;

use lethe_core::{Coordinates, Quarantine, QuarantineCode};

use super::content::{Contents, Entry, UNSUPPORTED, why};
use super::framing::{Payloads, Piece};
use super::place::{Failure, Place, Reader};
use super::{Reading, wanted};
use crate::files::FileError;
use crate::files::codes::Slot;
use crate::source::Payload;

/// The payload exceeds the limit.
const TOO_LARGE: Quarantine = Quarantine::new(QuarantineCode::TooLarge, None, None);

/// One record of a file.
#[derive(Debug)]
pub struct FilePayload {
    /// Its coordinates.
    pub at: Coordinates,
    /// The payload for the format, or the reason of its quarantine.
    pub payload: Result<Payload, Quarantine>,
}

/// A file of the source with its position.
pub struct MessageFile {
    pub(super) slot: Slot,
    single: bool,
    place: Place,
    reading: Rc<Reading>,
}

impl MessageFile {
    pub(super) fn new(slot: Slot, single: bool, place: Place, reading: &Rc<Reading>) -> Self {
        // Logs name an object by its code.
        let place = match place {
            Place::Remote(remote) => Place::Remote(remote.called(&slot.topic)),
            local => local,
        };
        Self {
            slot,
            single,
            place,
            reading: Rc::clone(reading),
        }
    }

    /// Returns the position of its first record.
    pub const fn slot(&self) -> &Slot {
        &self.slot
    }

    /// Returns whether all of its records are in a chain that ends at `next`, as far as that is known without
    /// reading.
    pub const fn is_done(&self, next: i64) -> bool {
        self.single && self.slot.offset < next
    }

    /// Returns its records, in order.
    pub fn records(&self) -> FileRecords {
        FileRecords {
            topic: self.slot.clone(),
            single: self.single,
            reader: Reader::new(self.place.clone()),
            reading: Rc::clone(&self.reading),
            contents: None,
            payloads: None,
            ended: false,
        }
    }
}

/// The records of a file. The iterator ends after an error.
pub struct FileRecords {
    /// The position of the next record.
    topic: Slot,
    single: bool,
    reader: Reader,
    reading: Rc<Reading>,
    contents: Option<Contents>,
    payloads: Option<Payloads<Box<dyn Read>>>,
    ended: bool,
}

impl FileRecords {
    fn step(&mut self) -> Result<Option<Result<Payload, Quarantine>>, FileError> {
        loop {
            if let Some(payloads) = &mut self.payloads {
                match payloads.next() {
                    Ok(Some(Piece { payload, .. })) => {
                        self.ended = self.single;
                        return Ok(Some(payload.ok_or(TOO_LARGE)));
                    }
                    Ok(None) => self.payloads = None,
                    Err(error) => {
                        self.payloads = None;
                        let goes_on = self
                            .contents
                            .as_ref()
                            .is_some_and(|contents| contents.survives(&error));
                        self.ended = !goes_on;
                        return self.failed(&error).map(Some);
                    }
                }
                continue;
            }
            match self.open() {
                Ok(Some(Entry::Content(content))) => {
                    let Reading { cut, limit, .. } = *self.reading;
                    self.payloads = Some(Payloads::cut(content, cut, limit));
                }
                Ok(Some(Entry::Refused(why))) => {
                    self.ended = self.single;
                    return Ok(Some(Err(why)));
                }
                Ok(None) => return Ok(None),
                Err(error) => {
                    self.ended = true;
                    return self.failed(&error).map(Some);
                }
            }
        }
    }

    /// Opens the next stream of the file.
    fn open(&mut self) -> io::Result<Option<Entry>> {
        if self.contents.is_none() {
            let endings = self.reading.endings.clone();
            let wanted = move |name: &str| wanted(&endings, name);
            let contents = Contents::new(self.reader.clone(), &self.reading.archives, Rc::new(wanted))?;
            self.contents = Some(contents);
        }
        let Some(contents) = &mut self.contents else {
            return Ok(None);
        };
        let entry = contents.next()?;
        if self.single && contents.is_archive() {
            // The file's slot in the chain has room for one record.
            return Ok(Some(Entry::Refused(UNSUPPORTED)));
        }
        Ok(entry)
    }

    /// Converts a failed read: a failure of the system is an error; a damaged file is a quarantined record.
    fn failed(&self, error: &io::Error) -> Result<Result<Payload, Quarantine>, FileError> {
        match self.reader.failure() {
            None => Ok(Err(why(error))),
            Some(Failure::Away(error)) => Err(FileError::Store(error.renamed(&self.topic.topic))),
            Some(Failure::Unreadable(kind)) => Err(FileError::Unreadable {
                file: self.topic.topic.to_string(),
                kind,
            }),
        }
    }
}

impl Iterator for FileRecords {
    type Item = Result<FilePayload, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        match self.step() {
            Ok(Some(payload)) => {
                let at = Coordinates {
                    topic: self.topic.topic.clone(),
                    partition: 0,
                    offset: self.topic.offset,
                };
                self.topic.offset += 1;
                Some(Ok(FilePayload { at, payload }))
            }
            Ok(None) => {
                self.ended = true;
                None
            }
            Err(error) => {
                self.ended = true;
                Some(Err(error))
            }
        }
    }
}
