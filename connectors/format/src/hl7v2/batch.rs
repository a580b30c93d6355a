//! Splits a payload into messages: batch files (HL7 v2.5.1, section 2.10.3), dumps of MLLP, concatenated
//! messages.

use std::iter::FusedIterator;

use memchr::memchr3;

use super::message::Separators;

/// The segments around the messages of a batch file.
const ENVELOPE: [&str; 4] = ["FHS", "BHS", "BTS", "FTS"];
const BOM: &[u8] = b"\xef\xbb\xbf";
const START_BLOCK: u8 = 0x0b;
const END_BLOCK: u8 = 0x1c;

/// Returns the messages of a batch file, of a dump of MLLP, or of concatenated messages.
///
/// A message starts at a line with the head of an MSH segment. The batch segments (FHS, BHS, BTS, FTS), the
/// bytes of MLLP frames and blank lines are left out. Other text outside of a message is returned as a
/// separate piece, so that it is quarantined and not lost. A payload of only blanks and batch segments has no
/// messages.
///
/// Takes time linear in the payload, and no memory.
///
/// ```
/// let file = b"FHS|^~\\&\rBHS|^~\\&\rMSH|^~\\&|A\rPID|1\rMSH|^~\\&|B\rBTS|2\rFTS|1\r";
/// let messages: Vec<&[u8]> = lethe_format::hl7v2_messages(file).collect();
/// assert_eq!(messages, [&b"MSH|^~\\&|A\rPID|1"[..], b"MSH|^~\\&|B"]);
/// ```
pub const fn hl7v2_messages(payload: &[u8]) -> Messages<'_> {
    Messages {
        payload,
        at: 0,
        envelope: [false; ENVELOPE.len()],
    }
}

/// The messages of a payload: see [`hl7v2_messages`].
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    payload: &'a [u8],
    /// Start of the rest, in bytes.
    at: usize,
    /// Which batch segments have been left out.
    envelope: [bool; ENVELOPE.len()],
}

impl<'a> Messages<'a> {
    /// Returns how many bytes of the payload have been read.
    pub const fn position(&self) -> usize {
        self.at
    }

    /// Returns the names of the batch segments that have been left out.
    pub(super) fn envelope(&self) -> impl Iterator<Item = &'static str> + use<> {
        let seen = self.envelope;
        ENVELOPE
            .into_iter()
            .zip(seen)
            .filter_map(|(name, seen)| seen.then_some(name))
    }

    fn rest(&self, from: usize) -> &'a [u8] {
        self.payload.get(from..).unwrap_or_default()
    }

    /// Skips blanks, frames and batch segments.
    fn skip(&mut self) {
        loop {
            let rest = self.rest(self.at);
            if rest.starts_with(BOM) {
                self.at += BOM.len();
                continue;
            }
            let blank = |byte: &&u8| byte.is_ascii_whitespace() || matches!(**byte, START_BLOCK | END_BLOCK);
            let blanks = rest.iter().take_while(blank).count();
            let rest = rest.get(blanks..).unwrap_or_default();
            self.at += blanks;
            if let Some(segment) = envelope_segment(rest) {
                if let Some(seen) = self.envelope.get_mut(segment) {
                    *seen = true;
                }
                let end = memchr3(b'\r', b'\n', END_BLOCK, rest).unwrap_or(rest.len());
                self.at += end;
            } else if blanks == 0 || rest.is_empty() {
                return;
            }
        }
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.skip();
        let start = self.at;
        loop {
            let rest = self.rest(self.at);
            let Some(found) = memchr3(b'\r', b'\n', END_BLOCK, rest) else {
                self.at = self.payload.len();
                break;
            };
            let end = self.at + found;
            let after = self.rest(end + 1);
            let framed = rest.get(found) == Some(&END_BLOCK)
                && matches!(after.first(), None | Some(b'\r' | b'\n' | &START_BLOCK));
            if framed || starts_message(after) || envelope_segment(after).is_some() {
                self.at = end;
                break;
            }
            self.at = end + 1;
        }
        let piece = self.payload.get(start..self.at).unwrap_or_default();
        (!piece.is_empty()).then_some(piece)
    }
}

impl FusedIterator for Messages<'_> {}

/// Returns whether a message starts here: the head of an MSH segment, optionally after a frame or a byte
/// order mark.
fn starts_message(text: &[u8]) -> bool {
    let text = text.strip_prefix(&[START_BLOCK]).unwrap_or(text);
    let text = text.strip_prefix(BOM).unwrap_or(text);
    text.starts_with(b"MSH") && Separators::read(text).is_ok()
}

/// Returns the index in [`ENVELOPE`] of the batch segment that starts here.
fn envelope_segment(text: &[u8]) -> Option<usize> {
    let (name, after) = text.split_at_checked(3).unwrap_or((text, &[]));
    let found = ENVELOPE.iter().position(|segment| segment.as_bytes() == name)?;
    let ends = |byte: &u8| byte.is_ascii_punctuation() || byte.is_ascii_whitespace() || *byte == END_BLOCK;
    after.first().is_none_or(ends).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(payload: &str) -> Vec<&str> {
        let pieces = hl7v2_messages(payload.as_bytes());
        pieces.map(|piece| std::str::from_utf8(piece).unwrap()).collect()
    }

    const A: &str = "MSH|^~\\&|A\rPID|1||7";
    const B: &str = "MSH|^~\\&|B\rNTE|1||Seen.";

    #[test]
    fn a_batch_file_is_its_messages() {
        let file = format!("FHS|^~\\&|x\rBHS|^~\\&\r{A}\r{B}\rBTS|2\rBHS|^~\\&\r{A}\rBTS|1\rFTS|2");
        assert_eq!(split(&file), [A, B, A]);
        let mut messages = hl7v2_messages(file.as_bytes());
        messages.by_ref().for_each(drop);
        assert_eq!(
            messages.envelope().collect::<Vec<_>>(),
            ["FHS", "BHS", "BTS", "FTS"]
        );
        assert_eq!(messages.position(), file.len());
    }

    #[test]
    fn a_dump_of_frames_is_its_messages() {
        assert_eq!(
            split(&format!("\u{b}{A}\r\u{1c}\r\u{b}{B}\r\u{1c}\r")),
            [format!("{A}\r"), format!("{B}\r")]
        );
        assert_eq!(split(&format!("\u{b}{A}\u{1c}\u{b}{B}\u{1c}")), [A, B]);
    }

    #[test]
    fn messages_one_after_the_other_are_split_whatever_ends_their_lines() {
        for end in ["\r", "\n", "\r\n"] {
            let (a, b) = (A.replace('\r', end), B.replace('\r', end));
            let all = split(&format!("\u{feff}{a}{end}{end}\u{feff}{b}{end}"))
                .iter()
                .map(|piece| piece.trim().to_owned())
                .collect::<Vec<_>>();
            assert_eq!(all, [a, b], "{end:?}");
        }
    }

    #[test]
    fn text_outside_a_message_is_a_piece_of_its_own() {
        assert_eq!(
            split(&format!("Dear colleague,\r{A}\rBTS|1\rand more")),
            ["Dear colleague,", A, "and more"]
        );
        assert_eq!(split("no message"), ["no message"]);
        assert_eq!(split("MSHA is no head\rMSH|"), ["MSHA is no head\rMSH|"]);
    }

    #[test]
    fn blanks_and_an_empty_batch_hold_no_message() {
        for nothing in ["", " \r\n\u{b}\u{1c}\r", "FHS|^~\\&\rFTS", "\u{feff}"] {
            assert_eq!(split(nothing), Vec::<&str>::new(), "{nothing:?}");
        }
    }

    #[test]
    fn a_word_that_starts_like_a_batch_segment_is_text() {
        assert_eq!(split("BTSX\rFHS1"), ["BTSX\rFHS1"]);
    }

    proptest! {
        #[test]
        fn no_byte_of_a_message_is_lost(text in "[MSHFBT|^~\\\\&a\r\n\u{b}\u{1c} ]{0,60}") {
            let pieces = split(&text);
            let letters = |text: &str| text.matches('a').count();
            // A batch segment is left out with its line; everything else is in a piece.
            let left_out = text
                .split(['\r', '\n', '\u{1c}'])
                .map(|line| line.trim_start_matches([' ', '\u{b}']))
                .filter(|line| envelope_segment(line.as_bytes()).is_some())
                .map(letters)
                .sum::<usize>();
            let kept = pieces.iter().map(|piece| letters(piece)).sum::<usize>();
            prop_assert!(kept + left_out >= letters(&text));
            prop_assert!(kept <= letters(&text));
        }
    }
}
