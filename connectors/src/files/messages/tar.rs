//! Reads the files of a tar archive from front to back (POSIX.1-2001 `pax`, section "ustar Interchange
//! Format", and GNU long names). Nothing is extracted, so only size, kind and name of a header are read.

use std::cell::RefCell;
use std::io::{self, Read};
use std::rc::Rc;

const BLOCK: usize = 512;
/// Maximum bytes of a long name or a pax header; longer ones count as damage.
const MOST_NAME: u64 = 1 << 20;

/// A tar archive.
pub(super) struct Tar(Rc<RefCell<Inner>>);

struct Inner {
    reader: Box<dyn Read>,
    /// Unread bytes of the current file.
    left: u64,
    /// Padding bytes of its last block.
    padding: u64,
}

/// The fields of a header.
struct Header {
    name: Vec<u8>,
    size: u64,
    kind: u8,
}

impl Tar {
    /// Returns whether the bytes begin like a tar archive.
    pub(super) fn is(head: &[u8]) -> bool {
        head.get(257..262) == Some(b"ustar")
    }

    pub(super) fn new(reader: Box<dyn Read>) -> Self {
        Self(Rc::new(RefCell::new(Inner {
            reader,
            left: 0,
            padding: 0,
        })))
    }

    /// Returns the name and content of the next file with a wanted name; `None` at the end. The unread rest of
    /// the previous file is skipped.
    pub(super) fn next(
        &mut self,
        wanted: &dyn Fn(&str) -> bool,
    ) -> io::Result<Option<(String, Box<dyn Read>)>> {
        let mut inner = self.0.borrow_mut();
        let mut long: Option<Vec<u8>> = None;
        let mut long_size = None;
        loop {
            inner.skip()?;
            let Some(header) = inner.header()? else {
                return Ok(None);
            };
            inner.left = header.size;
            inner.padding = (BLOCK as u64 - header.size % BLOCK as u64) % BLOCK as u64;
            match header.kind {
                b'L' => long = Some(inner.short()?),
                b'x' => {
                    let records = inner.short()?;
                    long = pax(&records, b"path").map(<[u8]>::to_vec);
                    long_size = pax(&records, b"size").map(digits).transpose()?;
                }
                b'0' | 0 | b'7' => {
                    if let Some(size) = long_size.take() {
                        inner.left = size;
                        inner.padding = (BLOCK as u64 - size % BLOCK as u64) % BLOCK as u64;
                    }
                    let name = long.take().unwrap_or(header.name);
                    let name = String::from_utf8_lossy(name.trim_ascii_end());
                    let name = name.trim_end_matches('\0');
                    if wanted(name) {
                        let content = Box::new(File(Rc::clone(&self.0)));
                        return Ok(Some((name.to_owned(), content)));
                    }
                }
                b'S' => return Err(damaged("a sparse file is not supported")),
                // Folders, links, devices and global headers have no records.
                _ => (long, long_size) = (None, None),
            }
        }
    }
}

impl Inner {
    /// Skips the rest of the file.
    fn skip(&mut self) -> io::Result<()> {
        let rest = self.left.saturating_add(self.padding);
        let skipped = io::copy(&mut self.reader.by_ref().take(rest), &mut io::sink())?;
        (self.left, self.padding) = (0, 0);
        if skipped < rest {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    /// Returns the next header; `None` at the end. An archive that ends without its two empty blocks is
    /// truncated.
    fn header(&mut self) -> io::Result<Option<Header>> {
        let mut block = [0; BLOCK];
        self.reader.read_exact(&mut block)?;
        if block.iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        let part = |from: usize, length: usize| block.get(from..from + length).unwrap_or_default();
        let sum: u64 = block.iter().map(|&byte| u64::from(byte)).sum();
        let of_checksum: u64 = part(148, 8).iter().map(|&byte| u64::from(byte)).sum();
        // The checksum counts its own field as blanks.
        if number(part(148, 8))? != sum - of_checksum + 8 * u64::from(b' ') {
            return Err(damaged("a header has a wrong checksum"));
        }
        let text = |bytes: &[u8]| bytes.split(|&byte| byte == 0).next().unwrap_or_default().to_vec();
        let mut name = text(part(345, 155));
        // GNU headers have times where the prefix would be.
        if name.is_empty() || part(257, 6) != b"ustar\0" {
            name = text(part(0, 100));
        } else {
            name.push(b'/');
            name.extend(text(part(0, 100)));
        }
        let kind = block.get(156).copied().unwrap_or_default();
        Ok(Some(Header {
            name,
            // Links have no content, whatever their size field has.
            size: if matches!(kind, b'1'..=b'6') {
                0
            } else {
                number(part(124, 12))?
            },
            kind,
        }))
    }

    /// Reads a name or the records of a header.
    fn short(&mut self) -> io::Result<Vec<u8>> {
        if self.left > MOST_NAME {
            return Err(damaged("a name has more than 1 MiB"));
        }
        let mut bytes = Vec::new();
        let read = self.reader.by_ref().take(self.left).read_to_end(&mut bytes)? as u64;
        self.left -= read;
        Ok(bytes)
    }
}

/// The content of a file.
struct File(Rc<RefCell<Inner>>);

impl Read for File {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut inner = self.0.borrow_mut();
        let most = usize::try_from(inner.left).unwrap_or(usize::MAX).min(into.len());
        let into = into.get_mut(..most).unwrap_or_default();
        let count = inner.reader.read(into)?;
        if count == 0 && most > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        inner.left -= count as u64;
        Ok(count)
    }
}

/// Parses a number of a header: octal digits, or 64 bits in base 256 (GNU).
fn number(field: &[u8]) -> io::Result<u64> {
    let wrong = || damaged("a number is invalid");
    if let [0x80, rest @ ..] = field {
        return rest.iter().try_fold(0_u64, |number, &byte| {
            Ok(number.checked_mul(256).ok_or_else(wrong)? | u64::from(byte))
        });
    }
    let digits = field
        .split(|&byte| byte == 0)
        .next()
        .unwrap_or_default()
        .trim_ascii();
    digits.iter().try_fold(0_u64, |number, &digit| match digit {
        b'0'..=b'7' => Ok(number.checked_mul(8).ok_or_else(wrong)? + u64::from(digit - b'0')),
        _ => Err(wrong()),
    })
}

fn digits(text: &[u8]) -> io::Result<u64> {
    let text = std::str::from_utf8(text).ok();
    text.and_then(|text| text.parse().ok())
        .ok_or_else(|| damaged("a size is invalid"))
}

/// Returns the value of a pax record: `LENGTH KEY=VALUE` and a line feed.
fn pax<'a>(records: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let mut rest = records;
    let mut found = None;
    while let Some(blank) = rest.iter().position(|&byte| byte == b' ') {
        let length: usize = std::str::from_utf8(rest.get(..blank)?).ok()?.parse().ok()?;
        let record = rest.get(blank + 1..length)?.strip_suffix(b"\n")?;
        let (name, value) = record.split_at(record.iter().position(|&byte| byte == b'=')?);
        if name == key {
            found = value.get(1..);
        }
        rest = rest.get(length..)?;
    }
    found
}

fn damaged(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
