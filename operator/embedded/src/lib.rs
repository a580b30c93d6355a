//! Files that the program contains, compressed until they are first read.
//!
//! A build script compresses a file with [`embed`] and writes the expression that it returns into a source
//! file, which the crate includes:
//!
//! ```no_run
//! use lethe_embedded::{Layout, embed};
//!
//! # fn main() -> std::io::Result<()> {
//! // build.rs
//! let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
//! let words = embed(&out.join("words.zst"), &std::fs::read("words.txt")?, Layout::Plain)?;
//! std::fs::write(out.join("words.rs"), format!("static WORDS: lethe_embedded::Embedded = {words};\n"))?;
//! # Ok(())
//! # }
//! ```

use std::borrow::Cow;
use std::path::Path;
use std::sync::OnceLock;
use std::{fs, io};

use zstd::zstd_safe::CParameter;

/// The level of Zstd: files are compressed once, when the program is built.
const LEVEL: i32 = 19;
/// Zstd's shortest match, in bytes. Shorter ones make weights no smaller, and they take longer to decompress.
const SHORTEST_MATCH: u32 = 5;

/// In what order the bytes of a file are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// As they are.
    Plain,
    /// Those at even places, and then those at odd ones. For numbers of half precision: their halves with
    /// sign and exponent resemble each other, and compress once they are side by side.
    Halves,
}

/// Compresses `bytes` into `file` and returns the Rust expression for an [`Embedded`] with them.
///
/// # Errors
/// If the file cannot be written.
pub fn embed(file: &Path, bytes: &[u8], layout: Layout) -> io::Result<String> {
    let content = match layout {
        Layout::Plain => Cow::Borrowed(bytes),
        Layout::Halves => Cow::Owned(halves(bytes)),
    };
    let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
    compressor.set_parameter(CParameter::MinMatch(SHORTEST_MATCH))?;
    fs::write(file, compressor.compress(&content)?)?;
    let len = bytes.len();
    Ok(format!(
        "lethe_embedded::Embedded::new(include_bytes!({file:?}), {len}, lethe_embedded::Layout::{layout:?})"
    ))
}

/// A file that the program contains.
#[derive(Debug)]
pub struct Embedded {
    packed: &'static [u8],
    /// The number of bytes of the file.
    len: usize,
    layout: Layout,
    unpacked: OnceLock<Vec<u8>>,
}

impl Embedded {
    /// Creates a file of `len` bytes from what [`embed`] wrote.
    pub const fn new(packed: &'static [u8], len: usize, layout: Layout) -> Self {
        Self {
            packed,
            len,
            layout,
            unpacked: OnceLock::new(),
        }
    }

    /// Returns the bytes, decompressed on the first call and then kept.
    ///
    /// # Panics
    /// If [`embed`] did not write the compressed bytes.
    pub fn bytes(&'static self) -> &'static [u8] {
        self.unpacked.get_or_init(|| self.unpack())
    }

    /// Returns the bytes as text, decompressed on the first call and then kept.
    ///
    /// # Panics
    /// If [`embed`] did not write the compressed bytes, or if they are not UTF-8.
    pub fn text(&'static self) -> &'static str {
        #[allow(clippy::expect_used)]
        std::str::from_utf8(self.bytes()).expect("the embedded file is UTF-8")
    }

    /// Decompresses the bytes, for a caller that needs them once.
    ///
    /// # Panics
    /// If [`embed`] did not write the compressed bytes.
    pub fn unpack(&self) -> Vec<u8> {
        // A build script wrote them.
        #[allow(clippy::expect_used)]
        let bytes = zstd::bulk::decompress(self.packed, self.len).expect("the embedded file is whole");
        match self.layout {
            Layout::Plain => bytes,
            Layout::Halves => joined(&bytes),
        }
    }
}

/// Returns the bytes at even places, and then those at odd ones.
fn halves(bytes: &[u8]) -> Vec<u8> {
    let odd = bytes.iter().skip(1).step_by(2);
    bytes.iter().step_by(2).chain(odd).copied().collect()
}

/// Returns the bytes of the first half at even places, and those of the second half at odd ones.
fn joined(halves: &[u8]) -> Vec<u8> {
    let (even, odd) = halves.split_at(halves.len().div_ceil(2));
    let mut bytes = vec![0; halves.len()];
    for ((pair, even), odd) in bytes.chunks_exact_mut(2).zip(even).zip(odd) {
        pair.copy_from_slice(&[*even, *odd]);
    }
    if let (Some(last), true) = (bytes.last_mut(), even.len() > odd.len()) {
        *last = even[odd.len()];
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Embeds bytes and returns what a program that contains them would.
    fn embedded(bytes: &[u8], layout: Layout) -> &'static Embedded {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file.zst");
        let expression = embed(&file, bytes, layout).unwrap();
        assert!(
            expression.ends_with(&format!("{}, lethe_embedded::Layout::{layout:?})", bytes.len())),
            "{expression}"
        );
        let packed = fs::read(file).unwrap().leak();
        Box::leak(Box::new(Embedded::new(packed, bytes.len(), layout)))
    }

    #[test]
    fn a_file_has_its_own_bytes_in_each_layout_whether_its_length_is_even_or_odd() {
        for layout in [Layout::Plain, Layout::Halves] {
            for text in ["", "a", "abcd", "abcde", &"a plain text ".repeat(100)] {
                let file = embedded(text.as_bytes(), layout);
                assert_eq!(file.unpack(), text.as_bytes());
                assert_eq!(file.bytes(), text.as_bytes());
                assert_eq!(file.text(), text);
            }
        }
    }

    #[test]
    fn halves_are_the_bytes_at_even_places_and_then_those_at_odd_ones() {
        assert_eq!(halves(b"abcde"), b"acebd");
        assert_eq!(halves(b"abcd"), b"acbd");
    }
}
