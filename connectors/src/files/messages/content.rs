//! Opens the content of a file: one stream of records, or an archive of several, compressed or not.
//!
//! The first bytes determine the kind, since an extension can be wrong. Limits protect against archives that
//! expand without end.

use std::cell::Cell;
use std::io::{self, Cursor, Read};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;
use lethe_core::{Quarantine, QuarantineCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::place::Reader;
use super::tar::Tar;
use super::zip::Zip;

/// Bytes needed to detect a kind: up to the magic of a tar header.
const HEAD: usize = 512;
/// Maximum memory of a Zstandard frame, as a power of two: 128 MiB, the limit of the `zstd` tool.
pub(super) const WINDOW: u32 = 27;
/// Bytes that an archive may expand to whatever its size.
const ALWAYS: u64 = 64 << 20;

/// The archive cannot be opened or is damaged.
pub(super) const DAMAGED: Quarantine = Quarantine::new(QuarantineCode::Damaged, None, Some("archive"));
/// An archive within an archive, an encrypted one, or an unsupported compression method.
pub(super) const UNSUPPORTED: Quarantine =
    Quarantine::new(QuarantineCode::UnsupportedType, None, Some("archive"));
/// An archive over its limits.
const TOO_LARGE: Quarantine = Quarantine::new(QuarantineCode::TooLarge, None, Some("archive"));

/// Limits of compressed files and archives. A file that exceeds one is quarantined from there on.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ArchiveLimits {
    /// Maximum number of files in an archive.
    #[schemars(extend("x-unit" = "files"))]
    pub max_entries: u64,
    /// Maximum size after expansion.
    pub max_expanded_bytes: u64,
    /// Maximum expanded bytes per byte of the file, beyond the first 64 MiB.
    #[schemars(extend("x-unit" = "ratio"))]
    pub max_ratio: u64,
}

impl Default for ArchiveLimits {
    fn default() -> Self {
        Self {
            max_entries: 1_000_000,
            max_expanded_bytes: 64 << 30,
            max_ratio: 200,
        }
    }
}

/// A limit was exceeded.
#[derive(Debug, thiserror::Error)]
#[error("it expands to more than the limit")]
struct OverLimit;

/// Returns the quarantine code of a failed read of an archive's content.
pub(super) fn why(error: &io::Error) -> Quarantine {
    match error.get_ref() {
        Some(inner) if inner.is::<OverLimit>() => TOO_LARGE,
        _ => DAMAGED,
    }
}

/// The bytes that a file may still expand to.
#[derive(Clone, Debug)]
pub(super) struct Budget(Rc<Cell<u64>>);

impl Budget {
    pub(super) fn new(limits: &ArchiveLimits, size: u64) -> Self {
        let by_ratio = size.saturating_mul(limits.max_ratio).max(ALWAYS);
        Self(Rc::new(Cell::new(limits.max_expanded_bytes.min(by_ratio))))
    }

    /// Counts the bytes that `reader` yields.
    pub(super) fn track<R: Read>(&self, reader: R) -> Expanded<R> {
        Expanded {
            reader,
            budget: self.clone(),
        }
    }
}

/// Reads from an archive within its budget.
pub(super) struct Expanded<R> {
    reader: R,
    budget: Budget,
}

impl<R: Read> Read for Expanded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(into)?;
        let left = self.budget.0.get().checked_sub(count as u64);
        self.budget
            .0
            .set(left.ok_or_else(|| io::Error::other(OverLimit))?);
        Ok(count)
    }
}

/// One stream of records in a file, or the reason why it cannot be read.
pub(super) enum Entry {
    Content(Box<dyn Read>),
    Refused(Quarantine),
}

/// The streams of a file.
pub(super) struct Contents {
    kind: Kind,
    budget: Budget,
    left: u64,
    /// Selects the entries to read by name.
    wanted: Rc<dyn Fn(&str) -> bool>,
}

enum Kind {
    Start(Reader),
    Tar(Tar),
    Zip(Zip),
    Ended,
}

impl Contents {
    pub(super) fn new(
        reader: Reader,
        limits: &ArchiveLimits,
        wanted: Rc<dyn Fn(&str) -> bool>,
    ) -> io::Result<Self> {
        Ok(Self {
            budget: Budget::new(limits, reader.size()?),
            kind: Kind::Start(reader),
            left: limits.max_entries,
            wanted,
        })
    }

    /// Returns whether the file is, or was, an archive.
    pub(super) const fn is_archive(&self) -> bool {
        matches!(self.kind, Kind::Tar(_) | Kind::Zip(_))
    }

    /// Returns whether later entries can be read after the content of the last one failed. The files of a ZIP
    /// archive are independent, but none is read once the budget is spent.
    pub(super) fn survives(&self, error: &io::Error) -> bool {
        matches!(self.kind, Kind::Zip(_)) && why(error) != TOO_LARGE
    }

    /// Returns the next stream; `None` at the end.
    ///
    /// # Errors
    /// An error if the archive's own structure cannot be read; then no further entry follows.
    pub(super) fn next(&mut self) -> io::Result<Option<Entry>> {
        match std::mem::replace(&mut self.kind, Kind::Ended) {
            Kind::Start(reader) => self.start(&reader),
            Kind::Tar(mut tar) => {
                let entry = tar.next(&*self.wanted)?;
                let Some((_, content)) = entry else {
                    return Ok(None);
                };
                self.kind = Kind::Tar(tar);
                self.entry(content)
            }
            Kind::Zip(mut zip) => {
                let entry = zip.next(&*self.wanted)?;
                let Some((_, entry)) = entry else { return Ok(None) };
                self.kind = Kind::Zip(zip);
                match entry {
                    Entry::Content(content) => {
                        let content = self.budget.track(content);
                        self.entry(Box::new(content))
                    }
                    refused => self.count().map(|()| Some(refused)),
                }
            }
            Kind::Ended => Ok(None),
        }
    }

    fn start(&mut self, reader: &Reader) -> io::Result<Option<Entry>> {
        let (head, content) = peek(reader.open_at(0)?)?;
        if is_zip(&head) {
            self.kind = Kind::Zip(Zip::open(reader.clone())?);
            return self.next();
        }
        let (head, content) = match self.expand(&head, content)? {
            Ok(expanded) => peek(expanded)?,
            Err(plain) => (head, plain),
        };
        if Tar::is(&head) {
            self.kind = Kind::Tar(Tar::new(content));
            return self.next();
        }
        Ok(Some(if is_packed(&head) {
            Entry::Refused(UNSUPPORTED)
        } else {
            Entry::Content(content)
        }))
    }

    /// Opens a file of an archive, which may itself be compressed.
    fn entry(&mut self, content: Box<dyn Read>) -> io::Result<Option<Entry>> {
        self.count()?;
        let entry = self.unpack(content).unwrap_or_else(|error| {
            if !self.survives(&error) {
                self.kind = Kind::Ended;
            }
            Entry::Refused(why(&error))
        });
        Ok(Some(entry))
    }

    fn unpack(&self, content: Box<dyn Read>) -> io::Result<Entry> {
        let (head, content) = peek(content)?;
        let (head, content) = match self.expand(&head, content)? {
            Ok(expanded) => peek(expanded)?,
            Err(plain) => (head, plain),
        };
        Ok(if is_packed(&head) || Tar::is(&head) {
            Entry::Refused(UNSUPPORTED)
        } else {
            Entry::Content(content)
        })
    }

    fn count(&mut self) -> io::Result<()> {
        self.left = self
            .left
            .checked_sub(1)
            .ok_or_else(|| io::Error::other(OverLimit))?;
        Ok(())
    }

    /// Returns the decompressed content, or the content itself if it is not compressed.
    fn expand(
        &self,
        head: &[u8],
        content: Box<dyn Read>,
    ) -> io::Result<Result<Box<dyn Read>, Box<dyn Read>>> {
        Ok(if is_gzip(head) {
            Ok(Box::new(self.budget.track(MultiGzDecoder::new(content))))
        } else if is_zstd(head) {
            let mut decoder = zstd::stream::read::Decoder::new(content)?;
            decoder.window_log_max(WINDOW)?;
            Ok(Box::new(self.budget.track(decoder)))
        } else {
            Err(content)
        })
    }
}

/// Returns the first bytes, and a reader that starts with them again.
pub(super) fn peek(mut reader: Box<dyn Read>) -> io::Result<(Vec<u8>, Box<dyn Read>)> {
    let mut head = Vec::with_capacity(HEAD);
    reader.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    let again = Cursor::new(head.clone()).chain(reader);
    Ok((head, Box::new(again)))
}

pub(super) fn is_gzip(head: &[u8]) -> bool {
    head.starts_with(&[0x1f, 0x8b])
}

pub(super) fn is_zstd(head: &[u8]) -> bool {
    head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
}

pub(super) fn is_zip(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06")
}

fn is_packed(head: &[u8]) -> bool {
    is_gzip(head) || is_zstd(head) || is_zip(head)
}

/// Returns whether the bytes begin like a compressed file or an archive.
pub fn is_compressed_or_archive(head: &[u8]) -> bool {
    is_packed(head) || Tar::is(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_expands_to_a_multiple_of_its_size_and_to_no_more_than_the_limit() {
        let limits = ArchiveLimits::default();
        let of = |size| Budget::new(&limits, size).0.get();
        assert_eq!(of(10), 64 << 20);
        assert_eq!(of(1 << 20), 200 << 20);
        assert_eq!(of(1 << 40), 64 << 30);
    }
}
