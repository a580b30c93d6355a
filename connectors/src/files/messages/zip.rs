//! Reads the files of a ZIP archive (PKWARE APPNOTE 6.3.10) by its central directory, which is streamed.
//!
//! Stored and deflated files are read; encrypted files and other methods are refused one by one. Checksums
//! are verified.

use std::io::{self, BufReader, Read};

use flate2::Crc;
use flate2::read::DeflateDecoder;

use super::content::{Entry, UNSUPPORTED};
use super::place::Reader;

/// Bytes from the end within which the end record begins: its own 22, and a comment of at most 65,535.
const TAIL: u64 = 22 + 0xffff;
/// Bytes of the 64-bit end record's locator, which precedes the end record.
const LOCATOR: u64 = 20;

/// A ZIP archive.
pub(super) struct Zip {
    archive: Reader,
    directory: BufReader<Box<dyn Read>>,
    /// Number of files left in the directory.
    left: u64,
}

/// An entry of the directory.
struct Header {
    flags: u16,
    method: u16,
    checksum: u32,
    packed: u64,
    size: u64,
    /// Position of its local header.
    at: u64,
    name: Vec<u8>,
}

impl Zip {
    pub(super) fn open(archive: Reader) -> io::Result<Self> {
        let size = archive.size()?;
        let from = size.saturating_sub(TAIL + LOCATOR);
        let mut tail = Vec::new();
        archive
            .open_at(from)?
            .take(TAIL + LOCATOR)
            .read_to_end(&mut tail)?;
        let end = tail.windows(4).rposition(|four| four == b"PK\x05\x06");
        let end = end.ok_or_else(|| damaged("the end record is missing"))?;
        let record = tail.get(end..).unwrap_or_default();
        let (mut left, mut at) = (u64::from(u16_at(record, 10)?), u64::from(u32_at(record, 16)?));
        let locator = end
            .checked_sub(LOCATOR as usize)
            .and_then(|start| tail.get(start..end));
        if let Some(locator) = locator.filter(|locator| locator.starts_with(b"PK\x06\x07")) {
            let mut record = Vec::new();
            open_at(&archive, u64_at(locator, 8)?)?
                .take(56)
                .read_to_end(&mut record)?;
            if !record.starts_with(b"PK\x06\x06") {
                return Err(damaged("the 64-bit end record is missing"));
            }
            (left, at) = (u64_at(&record, 32)?, u64_at(&record, 48)?);
        }
        Ok(Self {
            directory: BufReader::new(open_at(&archive, at)?),
            archive,
            left,
        })
    }

    /// Returns the name and content of the next file with a wanted name; `None` at the end.
    pub(super) fn next(&mut self, wanted: &dyn Fn(&str) -> bool) -> io::Result<Option<(String, Entry)>> {
        while let Some(left) = self.left.checked_sub(1) {
            self.left = left;
            let header = self.header()?;
            let name = String::from_utf8_lossy(&header.name);
            if name.ends_with(['/', '\\']) || !wanted(&name) {
                continue;
            }
            let name = name.into_owned();
            return Ok(Some((name, self.content(&header)?)));
        }
        Ok(None)
    }

    fn header(&mut self) -> io::Result<Header> {
        let fixed = bytes(&mut self.directory, 46)?;
        if !fixed.starts_with(b"PK\x01\x02") {
            return Err(damaged("no directory"));
        }
        let length = |at| u16_at(&fixed, at).map(usize::from);
        let name = bytes(&mut self.directory, length(28)?)?;
        let extra = bytes(&mut self.directory, length(30)?)?;
        bytes(&mut self.directory, length(32)?)?;
        let mut header = Header {
            flags: u16_at(&fixed, 8)?,
            method: u16_at(&fixed, 10)?,
            checksum: u32_at(&fixed, 16)?,
            packed: u32_at(&fixed, 20)?.into(),
            size: u32_at(&fixed, 24)?.into(),
            at: u32_at(&fixed, 42)?.into(),
            name,
        };
        header.widen(&extra)?;
        Ok(header)
    }

    fn content(&self, header: &Header) -> io::Result<Entry> {
        // Bit 0: encrypted. Methods: 0 stored, 8 deflated.
        if header.flags & 1 != 0 || !matches!(header.method, 0 | 8) {
            return Ok(Entry::Refused(UNSUPPORTED));
        }
        let mut local = open_at(&self.archive, header.at)?;
        let fixed = bytes(&mut local, 30)?;
        if !fixed.starts_with(b"PK\x03\x04") {
            return Err(damaged("a local header is missing"));
        }
        let skipped = usize::from(u16_at(&fixed, 26)?) + usize::from(u16_at(&fixed, 28)?);
        bytes(&mut local, skipped)?;
        let packed = local.take(header.packed);
        let content: Box<dyn Read> = match header.method {
            0 => Box::new(packed),
            _ => Box::new(DeflateDecoder::new(packed)),
        };
        Ok(Entry::Content(Box::new(Checked {
            content,
            sum: Crc::new(),
            left: header.size,
            checksum: header.checksum,
        })))
    }
}

impl Header {
    /// Takes 64-bit values from the extra field 0x0001 for fields of the directory with all bits set.
    fn widen(&mut self, extra: &[u8]) -> io::Result<()> {
        let mut rest = extra;
        while rest.len() >= 4 {
            let length = usize::from(u16_at(rest, 2)?);
            let field = rest
                .get(4..4 + length)
                .ok_or_else(|| damaged("an extra field is truncated"))?;
            if u16_at(rest, 0)? == 1 {
                let mut at = 0;
                for value in [&mut self.size, &mut self.packed, &mut self.at] {
                    if *value == u64::from(u32::MAX) {
                        *value = u64_at(field, at)?;
                        at += 8;
                    }
                }
            }
            rest = rest.get(4 + length..).unwrap_or_default();
        }
        Ok(())
    }
}

/// Reads a file's content and checks its length and checksum against the directory.
struct Checked {
    content: Box<dyn Read>,
    sum: Crc,
    left: u64,
    checksum: u32,
}

impl Read for Checked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(into)?;
        self.sum.update(into.get(..count).unwrap_or_default());
        let left = self.left.checked_sub(count as u64);
        self.left = left.ok_or_else(|| damaged("a file is longer than in the directory"))?;
        if count == 0 && !into.is_empty() && (self.left > 0 || self.sum.sum() != self.checksum) {
            return Err(damaged("a file has a wrong checksum"));
        }
        Ok(count)
    }
}

/// Opens the archive at a position that it names itself.
fn open_at(archive: &Reader, at: u64) -> io::Result<Box<dyn Read>> {
    if at > archive.size()? {
        return Err(damaged("a position is past its end"));
    }
    archive.open_at(at)
}

fn bytes(reader: &mut impl Read, count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; count];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> io::Result<[u8; N]> {
    let found = bytes.get(at..at + N).and_then(|found| found.try_into().ok());
    found.ok_or_else(|| damaged("a record is truncated"))
}

fn u16_at(bytes: &[u8], at: usize) -> io::Result<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> io::Result<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> io::Result<u64> {
    array(bytes, at).map(u64::from_le_bytes)
}

fn damaged(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
