//! Follows a growing file of lines from an earlier position.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use super::FileError;

/// A followed file. It may not exist yet.
pub struct Follow {
    path: PathBuf,
    /// Maximum bytes of a line.
    limit: usize,
    file: Option<BufReader<File>>,
    /// Number of complete lines read.
    line: u64,
    /// Bytes read from the file: complete lines, and the part of the next line in `buffer`.
    taken: u64,
    buffer: Vec<u8>,
    /// Whether the current line exceeds the limit.
    over: bool,
}

/// A complete line.
#[derive(Clone, PartialEq, Eq)]
pub struct Followed {
    /// Its number, from 1. Blank lines count.
    pub line: u64,
    /// The byte position after the line and its line end.
    pub next: u64,
    /// Its bytes; `None` if it exceeds the limit.
    pub bytes: Option<Vec<u8>>,
}

impl std::fmt::Debug for Followed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let size = self.bytes.as_ref().map_or(0, Vec::len);
        write!(f, "Followed(line {}, [{size} bytes])", self.line)
    }
}

impl Follow {
    /// Follows a file from the byte position `next`, which `line` lines precede.
    pub fn new(path: &Path, line: u64, next: u64, limit: usize) -> Self {
        Self {
            path: path.to_owned(),
            limit,
            file: None,
            line,
            taken: next,
            buffer: Vec::new(),
            over: false,
        }
    }

    /// Returns the next complete line that is not blank; `None` if there is no such line yet. With `last`, the last
    /// line needs no line end.
    ///
    /// # Errors
    /// [`FileError::Io`] if the file cannot be read; [`FileError::Shorter`] if it is shorter than the part
    /// that was read.
    pub fn line(&mut self, last: bool) -> Result<Option<Followed>, FileError> {
        loop {
            let Some(whole) = self.fill(last)? else {
                return Ok(None);
            };
            if !whole {
                return Ok(None);
            }
            self.line += 1;
            let bytes = std::mem::take(&mut self.buffer);
            let over = std::mem::take(&mut self.over);
            let line = bytes.strip_suffix(b"\r").unwrap_or(&bytes);
            let mark = if self.line == 1 {
                line.strip_prefix(b"\xef\xbb\xbf")
            } else {
                None
            };
            let line = mark.unwrap_or(line);
            if over || !line.iter().all(u8::is_ascii_whitespace) {
                return Ok(Some(Followed {
                    line: self.line,
                    next: self.taken,
                    bytes: (!over).then(|| line.to_vec()),
                }));
            }
        }
    }

    /// Reads up to the end of a line. Returns whether it reached one; `None` if the file does not exist.
    fn fill(&mut self, last: bool) -> Result<Option<bool>, FileError> {
        let Some(file) = &mut self.file else {
            match File::open(&self.path) {
                Ok(mut file) => {
                    file.seek(SeekFrom::Start(self.taken))
                        .map_err(FileError::io(&self.path, "read it"))?;
                    self.file = Some(BufReader::new(file));
                    return self.fill(last);
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound && self.taken == 0 && !last => {
                    return Ok(None);
                }
                Err(error) => return Err(FileError::io(&self.path, "open it")(error)),
            }
        };
        loop {
            let chunk = match file.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(FileError::io(&self.path, "read it")(error)),
            };
            if chunk.is_empty() {
                let length = file.get_ref().metadata();
                let length = length.map_err(FileError::io(&self.path, "read it"))?.len();
                if length < self.taken {
                    return Err(FileError::Shorter {
                        path: self.path.clone(),
                        length,
                        read: self.taken,
                    });
                }
                return Ok(Some(last && (self.over || !self.buffer.is_empty())));
            }
            let newline = memchr::memchr(b'\n', chunk);
            let content = &chunk[..newline.unwrap_or(chunk.len())];
            self.over |= self.buffer.len() + content.len() > self.limit;
            if self.over {
                self.buffer.clear();
            } else {
                self.buffer.extend_from_slice(content);
            }
            let used = newline.map_or(chunk.len(), |at| at + 1);
            file.consume(used);
            self.taken += used as u64;
            if newline.is_some() {
                return Ok(Some(true));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn lines(follow: &mut Follow, last: bool) -> Vec<(u64, u64, Option<String>)> {
        let mut all = Vec::new();
        while let Some(line) = follow.line(last).unwrap() {
            let text = line.bytes.map(|bytes| String::from_utf8(bytes).unwrap());
            all.push((line.line, line.next, text));
        }
        all
    }

    fn some(line: u64, next: u64, text: &str) -> (u64, u64, Option<String>) {
        (line, next, Some(text.to_owned()))
    }

    #[test]
    fn lines_come_as_they_become_whole_and_reading_goes_on_where_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.jsonl");
        let mut follow = Follow::new(&path, 0, 0, 9);
        assert_eq!(lines(&mut follow, false), [], "the file does not exist yet");
        let mut file = File::create(&path).unwrap();
        file.write_all(b"\xef\xbb\xbfa\r\n\nbb\nc").unwrap();
        assert_eq!(lines(&mut follow, false), [some(1, 6, "a"), some(3, 10, "bb")]);
        file.write_all(b"cc\n1234567890\nd").unwrap();
        assert_eq!(lines(&mut follow, false), [some(4, 14, "ccc"), (5, 25, None)]);
        assert_eq!(lines(&mut follow, true), [some(6, 26, "d")]);
        assert_eq!(lines(&mut follow, true), []);
        let mut again = Follow::new(&path, 3, 10, 9);
        assert_eq!(lines(&mut again, true)[0], some(4, 14, "ccc"));
    }

    #[test]
    fn a_file_that_lost_what_was_read_of_it_or_is_not_there_is_told_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.jsonl");
        let told = |follow: &mut Follow, last| follow.line(last).unwrap_err().to_string();
        let mut absent = Follow::new(&path, 0, 0, 9);
        assert!(told(&mut absent, true).contains("f.jsonl: cannot open it"));
        std::fs::write(&path, "a\n").unwrap();
        let message = told(&mut Follow::new(&path, 3, 10, 9), false);
        assert!(
            message.contains("f.jsonl") && message.contains("2 bytes"),
            "{message}"
        );
    }
}
