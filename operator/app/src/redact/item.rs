//! One file to redact, and how it is opened.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lethe_connectors::files::{Packing, decompress};
use serde::{Deserialize, Serialize};

use super::kind::FileKind;
use super::origin::BucketObject;

/// What a file was when it was read: a later run reads it again if this differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    /// Its size in bytes.
    pub(crate) bytes: u64,
    /// When it was changed, in milliseconds since 1970.
    pub(crate) modified: u64,
}

/// Where an item's bytes are.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// Standard input.
    Stdin,
    File(PathBuf),
    Object(BucketObject),
    /// A file of an archive.
    Bytes(Arc<[u8]>),
}

/// One file to redact.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// Its name relative to the path of the command line, with `/`; within an archive, after the archive's
    /// name. Shown, and the name of the output.
    pub(crate) name: String,
    pub(crate) content: Content,
    pub(crate) kind: FileKind,
    /// Gzip or Zstandard, if it is compressed.
    pub(crate) packing: Packing,
    pub(crate) stamp: Stamp,
}

impl Item {
    /// Opens the decompressed content. `read` counts the bytes of a file that are read.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn open(&self, read: &Arc<AtomicU64>) -> io::Result<Box<dyn Read + Send>> {
        match &self.content {
            Content::Stdin => decompress(io::stdin(), self.packing),
            Content::File(path) => decompress(Counted::new(File::open(path)?, read), self.packing),
            Content::Object(object) => decompress(Counted::new(object.open(), read), self.packing),
            Content::Bytes(bytes) => decompress(Cursor::new(Arc::clone(bytes)), self.packing),
        }
    }

    /// Returns the name of the output: that of the input, with `.txt` behind it if only its text is written.
    pub(crate) fn output_name(&self) -> String {
        if !self.kind.becomes_text() {
            return self.name.clone();
        }
        let name = packed_stem(&self.name).unwrap_or(&self.name);
        let packed = self.name.get(name.len()..).unwrap_or_default();
        format!("{name}.txt{packed}")
    }
}

/// Counts the bytes that are read of a file.
struct Counted<R> {
    reader: R,
    read: Arc<AtomicU64>,
}

impl<R> Counted<R> {
    fn new(reader: R, read: &Arc<AtomicU64>) -> Self {
        let read = Arc::clone(read);
        Self { reader, read }
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(into)?;
        self.read.fetch_add(count as u64, Relaxed);
        Ok(count)
    }
}

/// Returns the name without the suffix of its compression.
pub(super) fn packed_stem(name: &str) -> Option<&str> {
    let (stem, suffix) = name.rsplit_once('.')?;
    let known = ["gz", "gzip", "zst", "zstd"];
    known
        .iter()
        .any(|one| suffix.eq_ignore_ascii_case(one))
        .then_some(stem)
}
