//! Cuts a stream of HL7 v2 into messages. Memory is bounded by the largest accepted message.

use std::io::{self, Read};

use super::framing::Piece;
use crate::format::hl7v2_messages;
use crate::source::Payload;

/// Minimum bytes per read.
const CHUNK: usize = 256 << 10;
/// Bytes after a position that decide whether a message ends there: the head of the next segment, its frame
/// and byte order mark.
const LOOKAHEAD: usize = 32;
const START_BLOCK: u8 = 0x0b;
const END_BLOCK: u8 = 0x1c;

/// A segment of a batch (HL7 v2.5.1, section 2.10.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchSegment {
    /// A file begins.
    Fhs,
    /// A batch begins.
    Bhs,
    /// A batch ends.
    Bts,
    /// A file ends.
    Fts,
}

/// The framing before a message, or at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gap {
    /// Batch segments, in order.
    pub segments: Vec<BatchSegment>,
    /// Whether an MLLP frame begins.
    pub framed: bool,
}

impl Gap {
    fn note(&mut self, bytes: &[u8]) {
        self.framed |= bytes.contains(&START_BLOCK);
        let ends = |byte: &u8| matches!(byte, b'\r' | b'\n' | &END_BLOCK);
        for line in bytes.split(ends) {
            let blanks = line.iter().take_while(|byte| is_blank(byte)).count();
            let line = line.get(blanks..).unwrap_or_default();
            let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
            self.segments.extend(match line.get(..3) {
                Some(b"FHS") => Some(BatchSegment::Fhs),
                Some(b"BHS") => Some(BatchSegment::Bhs),
                Some(b"BTS") => Some(BatchSegment::Bts),
                Some(b"FTS") => Some(BatchSegment::Fts),
                _ => None,
            });
        }
    }
}

const fn is_blank(byte: &u8) -> bool {
    byte.is_ascii_whitespace() || matches!(*byte, START_BLOCK | END_BLOCK)
}

/// The messages of a stream.
pub(super) struct Messages<R> {
    reader: R,
    buffer: Vec<u8>,
    /// Start of the unread rest in the buffer.
    start: usize,
    /// Whether the reader has ended.
    ended: bool,
    /// A read error, to report after the bytes read before it.
    failed: Option<io::Error>,
    limit: usize,
    /// Whether the current message exceeds the limit and is no longer kept.
    over: bool,
    gap: Gap,
}

impl<R: Read> Messages<R> {
    pub(super) fn new(reader: R, limit: usize) -> Self {
        Self {
            reader,
            buffer: Vec::new(),
            start: 0,
            ended: false,
            failed: None,
            limit,
            over: false,
            gap: Gap::default(),
        }
    }

    /// Returns the next message with the framing before it; `None` at the end. [`Messages::rest`] returns the
    /// framing at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Piece>> {
        loop {
            let rest = self.buffer.get(self.start..).unwrap_or_default();
            let mut messages = hl7v2_messages(rest);
            let length = messages.next().map_or(0, <[u8]>::len);
            let end = messages.position();
            let begin = end - length;
            if length == 0 {
                let ends = |byte: &u8| matches!(byte, b'\r' | b'\n' | &END_BLOCK);
                let line = rest.iter().rposition(ends).map_or(0, |at| at + 1);
                let last = rest.get(line..).unwrap_or_default();
                let line = match self.ended {
                    true => rest.len(),
                    false => line + last.iter().take_while(|byte| is_blank(byte)).count(),
                };
                self.gap.note(rest.get(..line).unwrap_or_default());
                self.start += line;
                if self.ended {
                    return Ok(None);
                }
                self.shorten(4, b"");
            } else if self.ended || end + LOOKAHEAD <= rest.len() {
                self.gap.note(rest.get(..begin).unwrap_or_default());
                let over = std::mem::take(&mut self.over) || length > self.limit;
                let payload = self.cut(begin, end, over);
                return Ok(Some(Piece {
                    payload,
                    before: std::mem::take(&mut self.gap),
                }));
            } else if rest.len() - begin > self.limit.saturating_add(LOOKAHEAD) {
                self.gap.note(rest.get(..begin).unwrap_or_default());
                self.start += begin;
                self.over = true;
                // Puts a letter first, so that the rest still looks like text of a message.
                self.shorten(0, b"x");
            }
            self.fill()?;
        }
    }

    /// Returns the framing after the last message.
    pub(super) fn rest(&mut self) -> Gap {
        std::mem::take(&mut self.gap)
    }

    /// Takes the message between two positions of the rest.
    fn cut(&mut self, begin: usize, end: usize, over: bool) -> Option<Payload> {
        let (begin, end) = (self.start + begin, self.start + end);
        self.start = end;
        if over {
            return None;
        }
        if end - begin < CHUNK {
            return self
                .buffer
                .get(begin..end)
                .map(|message| Payload(message.to_vec()));
        }
        // A large message takes over the buffer, to avoid a copy.
        let after = self.buffer.split_off(end);
        let mut message = std::mem::replace(&mut self.buffer, after);
        self.start = 0;
        message.drain(..begin);
        Some(Payload(message))
    }

    /// Shortens a rest over the limit to its first `head` bytes, `mark`, and its last bytes.
    fn shorten(&mut self, head: usize, mark: &[u8]) {
        let rest = self.buffer.get(self.start..).unwrap_or_default();
        let limit = self.limit.max(4 * LOOKAHEAD);
        if rest.len() <= limit && !self.over {
            return;
        }
        let tail = rest.len().saturating_sub(LOOKAHEAD).max(head);
        let parts = [rest.get(..head), Some(mark), rest.get(tail..)];
        self.buffer = parts.into_iter().flatten().flatten().copied().collect();
        self.start = 0;
    }

    /// Reads at least as many bytes as are buffered, so that repeated scans take linear time in all.
    fn fill(&mut self) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        let before = self.buffer.len();
        let most = self.limit.saturating_add(CHUNK);
        let wanted = before.min(most.saturating_sub(before)).max(CHUNK);
        let read = self
            .reader
            .by_ref()
            .take(wanted as u64)
            .read_to_end(&mut self.buffer);
        let got = self.buffer.len() - before;
        match read {
            Err(error) if got == 0 => return Err(error),
            Err(error) => self.failed = Some(error),
            Ok(_) => self.ended = got < wanted,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads in pieces of `step` bytes.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(into.len()).min(self.0.len());
            let (now, later) = self.0.split_at(count);
            into[..count].copy_from_slice(now);
            self.0 = later;
            Ok(count)
        }
    }

    fn cut(text: &[u8], limit: usize) -> (Vec<Option<Vec<u8>>>, Vec<Gap>) {
        let mut messages = Messages::new(Slow(text, 7), limit);
        let (mut all, mut gaps) = (Vec::new(), Vec::new());
        while let Some(piece) = messages.next().unwrap() {
            all.push(piece.payload.map(|payload| payload.0));
            gaps.push(piece.before);
        }
        gaps.push(messages.rest());
        (all, gaps)
    }

    fn message(n: usize, size: usize) -> String {
        format!("MSH|^~\\&|A|||||||C-{n}\rNTE|1||{}\r", "x".repeat(size))
    }

    #[test]
    fn a_stream_longer_than_the_buffer_is_cut_as_one_payload_would_be() {
        let text: String = (0..400).map(|n| message(n, (n * 37) % 9000)).collect();
        let (all, _) = cut(text.as_bytes(), 1 << 20);
        let whole: Vec<_> = hl7v2_messages(text.as_bytes())
            .map(|piece| Some(piece.to_vec()))
            .collect();
        assert!(text.len() > 4 * CHUNK);
        assert_eq!(all, whole);
    }

    #[test]
    fn a_message_over_the_limit_is_dropped_and_the_next_one_is_whole() {
        let text = [message(0, 10), message(1, 3 * CHUNK), message(2, 10)].concat();
        let (all, _) = cut(text.as_bytes(), 1000);
        assert_eq!(all.len(), 3);
        assert!(all[1].is_none());
        for (at, n) in [(0, 0), (2, 2)] {
            let kept = all[at].as_ref().unwrap();
            assert_eq!(kept.trim_ascii_end(), message(n, 10).trim_end().as_bytes());
        }
    }

    #[test]
    fn a_large_message_between_small_ones_is_whole() {
        let parts = [message(0, 10), message(1, 3 * CHUNK), message(2, 10)];
        let (all, _) = cut(parts.concat().as_bytes(), 1 << 24);
        let expected: Vec<_> = parts
            .iter()
            .map(|part| part.trim_end().as_bytes().to_vec())
            .collect();
        let all: Vec<_> = all
            .into_iter()
            .map(|one| one.unwrap().trim_ascii_end().to_vec())
            .collect();
        assert_eq!(all, expected);
    }

    #[test]
    fn what_stands_around_messages_is_told() {
        use BatchSegment::{Bhs, Bts, Fhs, Fts};
        let text = format!(
            "FHS|^~\\&|x\rBHS|^~\\&|y\r\u{b}{}\u{1c}\r{}BTS|2\rFTS|1\r",
            message(0, 1),
            message(1, 1)
        );
        let (all, gaps) = cut(text.as_bytes(), 1000);
        assert_eq!(all.len(), 2);
        assert_eq!(
            (gaps[0].segments.as_slice(), gaps[0].framed),
            (&[Fhs, Bhs][..], true)
        );
        assert_eq!((gaps[1].segments.as_slice(), gaps[1].framed), (&[][..], false));
        assert_eq!(gaps[2].segments, [Bts, Fts]);
    }

    #[test]
    fn a_batch_segment_or_blanks_without_end_are_held_in_part() {
        for filler in ["x", " "] {
            let text = format!("BHS|^~\\&|{}\r{}", filler.repeat(2 << 20), message(0, 1));
            let mut messages = Messages::new(Slow(text.as_bytes(), 1 << 16), 1000);
            let piece = messages.next().unwrap().unwrap();
            assert_eq!(piece.before.segments, [BatchSegment::Bhs]);
            assert!(piece.payload.unwrap().0.starts_with(b"MSH"));
            assert!(messages.buffer.capacity() < 1 << 20);
        }
    }

    #[test]
    fn what_came_before_a_failing_read_is_not_lost() {
        struct Fails<'a>(Slow<'a>);
        impl Read for Fails<'_> {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                match self.0.read(into)? {
                    0 => Err(io::ErrorKind::InvalidData.into()),
                    count => Ok(count),
                }
            }
        }
        let text = [message(0, 10), message(1, 10), message(2, 100)].concat();
        let mut messages = Messages::new(Fails(Slow(text.as_bytes(), 7)), 1000);
        assert!(messages.next().unwrap().is_some() && messages.next().unwrap().is_some());
        assert!(messages.next().is_err());
    }

    proptest! {
        #[test]
        fn any_stream_is_cut_as_one_payload_would_be(text in "(MSH\\|\\^~\\\\&\\|a?|BHS|BTS\\||FHS1|[\r\n\u{b}\u{1c} a]|\u{feff}|MSH){0,40}", pad in 0usize..3) {
            // Pads the message so that read boundaries fall onto its own.
            let text = format!("{}{text}", message(0, CHUNK - 60 + 20 * pad));
            let (all, _) = cut(text.as_bytes(), 1 << 24);
            let whole: Vec<_> = hl7v2_messages(text.as_bytes()).map(|piece| Some(piece.to_vec())).collect();
            prop_assert_eq!(all, whole);
        }
    }
}
