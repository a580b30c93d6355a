//! Reads the files of an archive by their names, as they are stored, and decompresses single files.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::content::{ArchiveLimits, Budget, Entry, WINDOW, is_gzip, is_zip, is_zstd, peek};
use super::place::{Place, Reader};
use super::tar::Tar;
use super::zip::Zip;
use crate::tables::Remote;

/// How a file is packed, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    None,
    /// RFC 1952, with one or several members.
    Gzip,
    /// RFC 8878.
    Zstd,
    /// A ZIP archive, or a document that is one, such as DOCX.
    Zip,
    /// A tar archive that is not compressed.
    Tar,
}

impl Packing {
    /// The number of first bytes that suffice.
    pub const HEAD: usize = 512;

    /// Returns the packing of a file that begins with these bytes.
    pub fn of(head: &[u8]) -> Self {
        match head {
            head if is_gzip(head) => Self::Gzip,
            head if is_zstd(head) => Self::Zstd,
            head if is_zip(head) => Self::Zip,
            head if Tar::is(head) => Self::Tar,
            _ => Self::None,
        }
    }
}

/// Returns the decompressed bytes of a gzip or Zstandard stream; other bytes as they are.
///
/// # Errors
/// If a Zstandard decoder cannot be created.
pub fn decompress<R: Read + Send + 'static>(reader: R, packing: Packing) -> io::Result<Box<dyn Read + Send>> {
    Ok(match packing {
        Packing::Gzip => Box::new(MultiGzDecoder::new(reader)),
        Packing::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::new(reader)?;
            decoder.window_log_max(WINDOW)?;
            Box::new(decoder)
        }
        Packing::None | Packing::Zip | Packing::Tar => Box::new(reader),
    })
}

/// Writes a stream with a compression, the way [`decompress`] reads it.
pub enum Compressor<W: Write> {
    /// Bytes as they are.
    None(W),
    /// RFC 1952.
    Gzip(GzEncoder<W>),
    /// RFC 8878.
    Zstd(zstd::stream::write::Encoder<'static, W>),
}

impl<W: Write> Compressor<W> {
    /// Creates a writer. Archives are written as they are.
    ///
    /// # Errors
    /// If a Zstandard encoder cannot be created.
    pub fn new(to: W, packing: Packing) -> io::Result<Self> {
        Ok(match packing {
            Packing::Gzip => Self::Gzip(GzEncoder::new(to, flate2::Compression::default())),
            Packing::Zstd => Self::Zstd(zstd::stream::write::Encoder::new(to, 0)?),
            Packing::None | Packing::Zip | Packing::Tar => Self::None(to),
        })
    }

    /// Ends the stream and returns what it was written to. Without this call the stream is incomplete.
    ///
    /// # Errors
    /// If the end cannot be written.
    pub fn finish(self) -> io::Result<W> {
        match self {
            Self::None(to) => Ok(to),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for Compressor<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::None(to) => to.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::None(to) => to.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            Self::Zstd(encoder) => encoder.flush(),
        }
    }
}

/// The files of an archive, one after another.
///
/// ```no_run
/// use lethe_connectors::files::{Archive, ArchiveLimits};
///
/// let mut archive = Archive::open("export.zip".as_ref(), &ArchiveLimits::default())?;
/// while let Some(entry) = archive.next_file()? {
///     println!("{}", entry.name);
/// }
/// # std::io::Result::Ok(())
/// ```
pub struct Archive {
    kind: Kind,
    budget: Budget,
    left: u64,
}

enum Kind {
    Tar(Tar),
    Zip(Zip),
}

/// One file of an archive.
pub struct ArchiveEntry {
    /// The name that the archive gives it, unchecked: it may lead out of a folder.
    pub name: String,
    content: Option<Box<dyn Read>>,
}

impl ArchiveEntry {
    /// Reads the whole content.
    ///
    /// # Errors
    /// If it is encrypted or compressed by an unsupported method, damaged, or longer than `max` bytes.
    pub fn read(self, max: usize) -> io::Result<Vec<u8>> {
        let refused = |kind, what: &'static str| io::Error::new(kind, what);
        let Some(content) = self.content else {
            let what = "is encrypted or packed by a method other than deflate; unpack the archive first";
            return Err(refused(io::ErrorKind::Unsupported, what));
        };
        let mut bytes = Vec::new();
        content.take(max as u64 + 1).read_to_end(&mut bytes)?;
        if bytes.len() > max {
            let what = "is larger than files of archives may be; unpack the archive first";
            return Err(refused(io::ErrorKind::FileTooLarge, what));
        }
        Ok(bytes)
    }
}

impl Archive {
    /// Opens a ZIP or tar archive; a tar archive may be compressed with gzip or Zstandard.
    ///
    /// # Errors
    /// If it cannot be read or is no archive.
    pub fn open(path: &Path, limits: &ArchiveLimits) -> io::Result<Self> {
        Self::read(&Reader::new(Place::Local(path.to_owned())), limits)
    }

    /// Opens an archive in memory, such as a DOCX document.
    ///
    /// # Errors
    /// As [`Archive::open`].
    pub fn of_bytes(bytes: Arc<[u8]>, limits: &ArchiveLimits) -> io::Result<Self> {
        Self::read(&Reader::new(Place::Bytes(bytes)), limits)
    }

    /// Opens an archive that is an object of a store.
    ///
    /// # Errors
    /// As [`Archive::open`].
    pub fn of_object(object: &Remote, limits: &ArchiveLimits) -> io::Result<Self> {
        Self::read(&Reader::new(Place::Remote(object.clone())), limits)
    }

    fn read(reader: &Reader, limits: &ArchiveLimits) -> io::Result<Self> {
        let budget = Budget::new(limits, reader.size()?);
        let (head, content) = peek(reader.open_at(0)?)?;
        let kind = match Packing::of(&head) {
            Packing::Zip => Kind::Zip(Zip::open(reader.clone())?),
            Packing::Gzip => Kind::Tar(Tar::new(Box::new(budget.track(MultiGzDecoder::new(content))))),
            Packing::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::new(content)?;
                decoder.window_log_max(WINDOW)?;
                Kind::Tar(Tar::new(Box::new(budget.track(decoder))))
            }
            Packing::Tar | Packing::None => Kind::Tar(Tar::new(content)),
        };
        Ok(Self {
            kind,
            budget,
            left: limits.max_entries,
        })
    }

    /// Returns the next file, in the archive's order; `None` at the end. The rest of the last one of a tar
    /// archive is skipped.
    ///
    /// # Errors
    /// If the archive's own structure is damaged, or has more files than the limits allow.
    pub fn next_file(&mut self) -> io::Result<Option<ArchiveEntry>> {
        let entry = match &mut self.kind {
            Kind::Tar(tar) => tar.next(&|_| true)?.map(|(name, content)| ArchiveEntry {
                name,
                content: Some(content),
            }),
            Kind::Zip(zip) => zip.next(&|_| true)?.map(|(name, entry)| ArchiveEntry {
                name,
                content: match entry {
                    Entry::Content(content) => Some(Box::new(self.budget.track(content))),
                    Entry::Refused(_) => None,
                },
            }),
        };
        if entry.is_some() {
            let left = self.left.checked_sub(1);
            self.left = left.ok_or_else(|| io::Error::other("has more files than the limit"))?;
        }
        Ok(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compressed_stream_is_read_as_it_was_written() {
        for packing in [Packing::None, Packing::Gzip, Packing::Zstd] {
            let mut to = Compressor::new(Vec::new(), packing).unwrap();
            to.write_all(b"Seen today.").unwrap();
            let bytes = to.finish().unwrap();
            assert_eq!(Packing::of(&bytes), packing);
            let mut text = String::new();
            let mut reader = decompress(io::Cursor::new(bytes), packing).unwrap();
            reader.read_to_string(&mut text).unwrap();
            assert_eq!(text, "Seen today.");
        }
    }

    #[test]
    fn a_packing_is_known_by_the_first_bytes() {
        let mut tar = vec![0; Packing::HEAD];
        tar[257..262].copy_from_slice(b"ustar");
        for (head, packing) in [
            (&b"\x1f\x8b\x08"[..], Packing::Gzip),
            (b"\x28\xb5\x2f\xfd", Packing::Zstd),
            (b"PK\x03\x04", Packing::Zip),
            (&tar, Packing::Tar),
            (b"Seen today.", Packing::None),
            (b"", Packing::None),
        ] {
            assert_eq!(Packing::of(head), packing);
        }
    }
}
