//! Word vectors, trained here or read from the files of other tools.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Words and their vectors.
#[derive(Clone, PartialEq)]
pub struct Vectors {
    words: Vec<String>,
    places: HashMap<String, usize>,
    size: usize,
    numbers: Vec<f32>,
}

/// Why a file of vectors was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VectorsError {
    /// It cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The file is invalid.
    #[error("{}, entry {entry}: {problem}", path.display())]
    Entry {
        /// The file.
        path: PathBuf,
        /// The index of the word in the file, from 1.
        entry: usize,
        /// The problem with it.
        problem: &'static str,
    },
}

impl Vectors {
    /// Creates vectors of `size` numbers for these words, one after another. If a word occurs twice, the
    /// first counts.
    ///
    /// # Panics
    /// If there are not `size` numbers per word.
    pub fn new(words: Vec<String>, size: usize, numbers: Vec<f32>) -> Self {
        assert_eq!(words.len() * size, numbers.len(), "a vector a word");
        let mut places = HashMap::with_capacity(words.len());
        for (at, word) in words.iter().enumerate() {
            places.entry(word.clone()).or_insert(at);
        }
        Self {
            words,
            places,
            size,
            numbers,
        }
    }

    /// Returns the words, in the file's order.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Returns the size of a vector.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Returns a word's vector.
    pub fn get(&self, word: &str) -> Option<&[f32]> {
        let at = *self.places.get(word)?;
        Some(&self.numbers[at * self.size..(at + 1) * self.size])
    }

    /// Reads word2vec's text and binary formats, GloVe's and fastText's `.vec`. Only the words for which
    /// `wanted` holds are kept, so that a file with millions of words need not fit in memory.
    ///
    /// # Errors
    /// [`VectorsError`], naming the file and entry.
    pub fn read(path: &Path, wanted: impl Fn(&str) -> bool) -> Result<Self, VectorsError> {
        let bytes = std::fs::read(path).map_err(|source| io(path, source))?;
        let mut reader = Reader {
            path,
            bytes: &bytes,
            entry: 1,
        };
        let first = reader.line().unwrap_or_default();
        let head = header(first);
        if head.is_none() {
            // GloVe has no header: the first line is an entry.
            reader.bytes = &bytes;
        }
        let binary = head.is_some_and(|(_, size)| reader.is_binary(size));
        let (mut words, mut numbers, mut size) = (Vec::new(), Vec::new(), head.map(|(_, size)| size));
        let mut row = Vec::new();
        while let Some(word) = if binary {
            reader.binary(size.unwrap_or(0), &mut row)?
        } else {
            reader.text(&mut row)?
        } {
            if *size.get_or_insert(row.len()) != row.len() || row.is_empty() {
                return Err(
                    reader.fault("the count of its numbers differs from the header or the first word")
                );
            }
            if wanted(&word) {
                words.push(word);
                numbers.extend_from_slice(&row);
            }
            reader.entry += 1;
        }
        if head.is_some_and(|(count, _)| count != reader.entry - 1) {
            return Err(reader.fault("the number of words differs from the header"));
        }
        Ok(Self::new(words, size.unwrap_or(0), numbers))
    }

    /// Writes word2vec's binary format.
    ///
    /// # Errors
    /// [`VectorsError::Io`].
    pub fn write(&self, path: &Path) -> Result<(), VectorsError> {
        let mut out = format!("{} {}\n", self.words.len(), self.size).into_bytes();
        for (word, row) in self.words.iter().zip(self.numbers.chunks_exact(self.size.max(1))) {
            out.extend_from_slice(word.as_bytes());
            out.push(b' ');
            out.extend(row.iter().flat_map(|x| x.to_le_bytes()));
            out.push(b'\n');
        }
        std::fs::write(path, out).map_err(|source| io(path, source))
    }
}

impl std::fmt::Debug for Vectors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Vectors({} words, {} numbers each)",
            self.words.len(),
            self.size
        )
    }
}

fn io(path: &Path, source: std::io::Error) -> VectorsError {
    VectorsError::Io {
        path: path.to_owned(),
        source,
    }
}

/// Returns the numbers of words and of columns, if the line is a header.
fn header(line: &[u8]) -> Option<(usize, usize)> {
    let mut parts = std::str::from_utf8(line).ok()?.split_whitespace();
    let head = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    parts.next().is_none().then_some(head)
}

struct Reader<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    entry: usize,
}

impl<'a> Reader<'a> {
    fn fault(&self, problem: &'static str) -> VectorsError {
        VectorsError::Entry {
            path: self.path.to_owned(),
            entry: self.entry,
            problem,
        }
    }

    /// Returns the bytes up to `end`, which is skipped; everything that is left if `end` does not occur.
    fn until(&mut self, end: u8) -> Option<&'a [u8]> {
        if self.bytes.is_empty() {
            return None;
        }
        let at = self.bytes.iter().position(|&byte| byte == end);
        let at = at.unwrap_or(self.bytes.len());
        let part = &self.bytes[..at];
        self.bytes = &self.bytes[(at + 1).min(self.bytes.len())..];
        Some(part)
    }

    fn line(&mut self) -> Option<&'a [u8]> {
        self.until(b'\n')
    }

    /// Returns whether the entries after the header are binary: as text, the first would be a word and `size`
    /// numbers.
    fn is_binary(&self, size: usize) -> bool {
        let line = self.bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let text = std::str::from_utf8(line).ok().filter(|line| !line.is_empty());
        let numbers = text.map(|line| {
            line.split_whitespace()
                .rev()
                .take(size)
                .filter(|x| x.parse::<f32>().is_ok())
                .count()
        });
        numbers != Some(size)
    }

    fn word(&self, bytes: &[u8]) -> Result<String, VectorsError> {
        let word = std::str::from_utf8(bytes).map_err(|_| self.fault("the word is not UTF-8"))?;
        Ok(word.to_owned())
    }

    fn binary(&mut self, size: usize, row: &mut Vec<f32>) -> Result<Option<String>, VectorsError> {
        // Some writers end an entry with a line break, some do not.
        while let Some((b'\n' | b'\r', rest)) = self.bytes.split_first() {
            self.bytes = rest;
        }
        let Some(word) = self.until(b' ') else {
            return Ok(None);
        };
        let word = self.word(word)?;
        let (numbers, rest) = self
            .bytes
            .split_at_checked(4 * size)
            .ok_or_else(|| self.fault("the file ends within an entry"))?;
        self.bytes = rest;
        row.clear();
        row.extend(numbers.as_chunks::<4>().0.iter().map(|&x| f32::from_le_bytes(x)));
        self.finite(row)?;
        Ok(Some(word))
    }

    fn text(&mut self, row: &mut Vec<f32>) -> Result<Option<String>, VectorsError> {
        let Some(line) = self.line() else {
            return Ok(None);
        };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let mut parts = line.split(|&byte| byte == b' ').filter(|part| !part.is_empty());
        let word = self.word(parts.next().unwrap_or_default())?;
        row.clear();
        for part in parts {
            let number = std::str::from_utf8(part).ok().and_then(|part| part.parse().ok());
            row.push(number.ok_or_else(|| self.fault("the word is not followed by a number"))?);
        }
        self.finite(row)?;
        Ok(Some(word))
    }

    fn finite(&self, row: &[f32]) -> Result<(), VectorsError> {
        if row.iter().all(|x| x.is_finite()) {
            Ok(())
        } else {
            Err(self.fault("a number is not finite"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &[u8]) -> Result<Vectors, VectorsError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("words.vec");
        std::fs::write(&path, content).unwrap();
        Vectors::read(&path, |_| true)
    }

    #[test]
    fn every_format_gives_the_same_vectors() {
        let vectors = Vectors::new(vec!["ana".into(), "niño".into()], 2, vec![0.5, -1.0, 2.0, 0.25]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("words.bin");
        vectors.write(&path).unwrap();
        assert_eq!(Vectors::read(&path, |_| true).unwrap(), vectors);
        assert_eq!(
            read("2 2\nana 0.5 -1\nniño 2 0.25 \n".as_bytes()).unwrap(),
            vectors
        );
        assert_eq!(read("ana 0.5 -1\nniño 2 2.5e-1".as_bytes()).unwrap(), vectors);
        let mut bare = b"2 2\n".to_vec();
        for (word, row) in [("ana", [0.5_f32, -1.0]), ("niño", [2.0, 0.25])] {
            bare.extend_from_slice(word.as_bytes());
            bare.push(b' ');
            row.iter().for_each(|x| bare.extend(x.to_le_bytes()));
        }
        assert_eq!(read(&bare).unwrap(), vectors);
        let only = Vectors::read(&path, |word| word == "ana").unwrap();
        assert_eq!((only.words().len(), only.get("niño")), (1, None));
    }

    #[test]
    fn a_file_that_is_cut_or_wrong_is_refused_by_entry() {
        for (bad, entry, problem) in [
            (&b"2 2\nana 0.5 1\n"[..], 2, "differs from the header"),
            (b"ana 0.5 1\neva 0.5\n", 2, "count of its numbers"),
            (b"ana 0.5 1\neva x 1\n", 2, "not followed by a number"),
            (b"ana 0.5 nan\n", 1, "not finite"),
            (b"1 2\nana \x00\x00", 1, "ends within"),
        ] {
            let message = read(bad).unwrap_err().to_string();
            assert!(
                message.contains(&format!("entry {entry}")) && message.contains(problem),
                "{message}"
            );
        }
    }
}
