//! Reads lines of any length in bounded memory.

use std::io::{self, BufRead};

/// Reads lines without a byte order mark at the start and without line ends (LF, CRLF).
pub(crate) struct Lines<R> {
    reader: R,
    limit: usize,
    /// Lines read so far.
    number: u64,
    buffer: Vec<u8>,
}

/// One line.
pub(crate) struct Line<'a> {
    /// Its number, from 1. Blank lines count.
    pub(crate) number: u64,
    /// Its bytes; `None` if it exceeds the limit.
    pub(crate) bytes: Option<&'a [u8]>,
}

impl<R: BufRead> Lines<R> {
    pub(crate) const fn new(reader: R, limit: usize) -> Self {
        Self {
            reader,
            limit,
            number: 0,
            buffer: Vec::new(),
        }
    }

    /// Returns the reader, positioned after the lines that were read.
    pub(crate) fn into_inner(self) -> R {
        self.reader
    }

    /// Returns the next line that is not blank. The rest of a line over the limit is discarded.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            let Some(fits) = self.fill()? else { return Ok(None) };
            self.number += 1;
            let first = self.number == 1;
            let blank = fits && trimmed(&self.buffer, first).iter().all(u8::is_ascii_whitespace);
            if !blank {
                let bytes = fits.then(|| trimmed(&self.buffer, first));
                return Ok(Some(Line {
                    number: self.number,
                    bytes,
                }));
            }
        }
    }

    /// Reads through the next newline. Returns whether the line was within the limit; `None` at the end of
    /// the stream.
    fn fill(&mut self) -> io::Result<Option<bool>> {
        self.buffer.clear();
        let (mut fits, mut any) = (true, false);
        loop {
            let chunk = match self.reader.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                return Ok(any.then_some(fits));
            }
            any = true;
            let newline = memchr::memchr(b'\n', chunk);
            let content = &chunk[..newline.unwrap_or(chunk.len())];
            fits = fits && self.buffer.len() + content.len() <= self.limit;
            if fits {
                self.buffer.extend_from_slice(content);
            }
            let used = newline.map_or(chunk.len(), |i| i + 1);
            self.reader.consume(used);
            if newline.is_some() {
                return Ok(Some(fits));
            }
        }
    }
}

fn trimmed(line: &[u8], first: bool) -> &[u8] {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mark = if first {
        line.strip_prefix(b"\xef\xbb\xbf")
    } else {
        None
    };
    mark.unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], limit: usize) -> Vec<(u64, Option<Vec<u8>>)> {
        // A tiny buffer makes lines span several reads.
        let mut lines = Lines::new(io::BufReader::with_capacity(3, text), limit);
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push((line.number, line.bytes.map(<[u8]>::to_vec)));
        }
        all
    }

    #[test]
    fn blank_lines_are_skipped_and_counted() {
        assert_eq!(
            lines(b"a\n\n \t\r\nb", 9),
            [(1, Some(b"a".to_vec())), (4, Some(b"b".to_vec()))]
        );
    }

    #[test]
    fn a_byte_order_mark_is_dropped_at_the_start_only() {
        assert_eq!(
            lines(b"\xef\xbb\xbfa\r\n\xef\xbb\xbfb\n", 9),
            [(1, Some(b"a".to_vec())), (2, Some(b"\xef\xbb\xbfb".to_vec()))]
        );
        assert_eq!(lines(b"\xef\xbb\xbf\n", 9), []);
    }

    #[test]
    fn a_line_over_the_limit_is_reported_and_the_next_one_is_whole() {
        assert_eq!(
            lines(b"12345678\n1234\n123456789\nx", 8),
            [
                (1, Some(b"12345678".to_vec())),
                (2, Some(b"1234".to_vec())),
                (3, None),
                (4, Some(b"x".to_vec()))
            ]
        );
    }

    #[test]
    fn an_empty_stream_has_no_line() {
        assert_eq!(lines(b"", 8), []);
    }
}
