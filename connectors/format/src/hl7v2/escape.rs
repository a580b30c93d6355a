//! Decodes and encodes escape sequences (HL7 v2.5.1, section 2.7).
//!
//! An invalid escape sequence is text, including its escape character: a note with `and\or` in it loses
//! nothing. A sequence that switches the character set is refused, since the text after it would be read
//! wrongly.

use std::borrow::Cow;

use super::charset::Charset;
use super::message::{Separators, is_null};
use crate::PayloadError;

/// The encoding of a message's leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Codec {
    pub(super) separators: Separators,
    pub(super) charset: Charset,
}

/// The meaning of the text between two escape characters.
enum Sequence {
    /// A character.
    Char(char),
    /// Line breaks or spaces of a formatting command; none if it only moves a margin.
    Format(char, usize),
    /// `\H\`, `\N\`, `\Zxx\`: highlighting, or the sender's own sequences.
    Dropped,
    /// `\Xxx\`: bytes of the character set.
    Hex,
    /// `\Cxxyy\`, `\Mxxyyzz\`: a switch of the character set.
    Switch,
    /// Text.
    None,
}

/// Maximum white space of a command, so that text never outgrows its payload.
const MOST_WHITE_SPACE: usize = 5;

impl Codec {
    /// Decodes the text of a leaf. All line breaks become `\n`.
    ///
    /// # Errors
    /// [`PayloadError::UnsupportedEscape`], or hexadecimal bytes that are none of the character set's.
    pub(super) fn text<'a>(&self, raw: &'a str) -> Result<Cow<'a, str>, PayloadError> {
        let Some(escape) = self.separators.escape.filter(|&escape| raw.contains(escape)) else {
            return Ok(one_line_break(Cow::Borrowed(raw)));
        };
        let mut out = String::with_capacity(raw.len());
        let mut hex = Vec::new();
        let mut rest = raw;
        while let Some((before, after)) = rest.split_once(escape) {
            if !before.is_empty() {
                self.flush(&mut hex, &mut out)?;
                out.push_str(before);
            }
            let Some((code, tail)) = after.split_once(escape) else {
                rest = after;
                self.flush(&mut hex, &mut out)?;
                out.push(escape);
                continue;
            };
            let sequence = self.sequence(code);
            if !matches!(sequence, Sequence::Hex) {
                self.flush(&mut hex, &mut out)?;
            }
            rest = tail;
            match sequence {
                Sequence::Char(c) => out.push(c),
                Sequence::Format(c, count) => {
                    // Formatted text may have a redundant component separator before each command.
                    if before.ends_with(self.separators.component) {
                        out.pop();
                    }
                    out.extend(std::iter::repeat_n(c, count));
                }
                Sequence::Dropped => {}
                Sequence::Hex => hex.extend(unhex(code.bytes().skip(1))),
                Sequence::Switch => return Err(PayloadError::UnsupportedEscape),
                Sequence::None => {
                    out.push(escape);
                    rest = after;
                }
            }
        }
        self.flush(&mut hex, &mut out)?;
        out.push_str(rest);
        Ok(one_line_break(Cow::Owned(out)))
    }

    /// Decodes the text of a one-line leaf: its words, separated by single spaces. Control characters count
    /// as separators.
    ///
    /// # Errors
    /// As [`Codec::text`].
    pub(super) fn line(&self, raw: &str) -> Result<String, PayloadError> {
        if self.is_line(raw) {
            return Ok(raw.to_owned());
        }
        let text = self.text(raw)?;
        let mut out = String::with_capacity(text.len());
        let words = text.split(|c: char| c.is_whitespace() || c.is_control());
        for word in words.filter(|word| !word.is_empty()) {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(word);
        }
        Ok(out)
    }

    /// Returns whether the leaf needs no decoding as a line: ASCII without control characters and escape
    /// sequences, with single spaces between words.
    fn is_line(&self, raw: &str) -> bool {
        let mut after_space = true;
        for byte in raw.bytes() {
            let is_space = byte == b' ';
            let is_plain = matches!(byte, b' '..=b'~') && Some(char::from(byte)) != self.separators.escape;
            if !is_plain || is_space && after_space {
                return false;
            }
            after_space = is_space;
        }
        raw.is_empty() || !after_space
    }

    /// Writes text as a leaf. If the message has no escape character, characters that need one become spaces.
    pub(super) fn escape(&self, text: &str, out: &mut String) {
        if is_null(text) {
            // Two quotes alone would be null.
            self.escape("\"", out);
            match self.separators.escape {
                Some(escape) => out.extend([escape, 'X', '2', '2', escape]),
                None => out.push(' '),
            }
            return;
        }
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            if c == '\r' && chars.peek() == Some(&'\n') {
                continue;
            }
            let Some(code) = self.separators.code(c) else {
                out.push(c);
                continue;
            };
            let Some(escape) = self.separators.escape else {
                out.push(' ');
                continue;
            };
            out.push(escape);
            match code {
                Code::Letter(letter) => out.push(letter),
                Code::Break => out.push_str(".br"),
                Code::Hex(byte) => out.push_str(&format!("X{byte:02X}")),
            }
            out.push(escape);
        }
    }

    fn sequence(&self, code: &str) -> Sequence {
        let bytes = code.as_bytes();
        let hex = |from: usize| bytes.iter().skip(from).all(u8::is_ascii_hexdigit);
        let separators = &self.separators;
        match bytes {
            b"F" => Sequence::Char(separators.field),
            b"S" => Sequence::Char(separators.component),
            // A separator that the message lacks has its default value.
            b"T" => Sequence::Char(separators.sub.unwrap_or('&')),
            b"R" => Sequence::Char(separators.repetition.unwrap_or('~')),
            b"E" => Sequence::Char(separators.escape.unwrap_or('\\')),
            b"H" | b"N" => Sequence::Dropped,
            [b'X', _, _, ..] if bytes.len() % 2 == 1 && hex(1) => Sequence::Hex,
            [b'C', ..] if bytes.len() == 5 && hex(1) => Sequence::Switch,
            [b'M', ..] if matches!(bytes.len(), 5 | 7) && hex(1) => Sequence::Switch,
            [b'Z', rest @ ..] if rest.len() <= 32 && rest.iter().all(u8::is_ascii_alphanumeric) => {
                Sequence::Dropped
            }
            [b'.', a, b, rest @ ..] if rest.len() <= 8 => format(*a, *b, rest),
            _ => Sequence::None,
        }
    }

    fn flush(&self, hex: &mut Vec<u8>, out: &mut String) -> Result<(), PayloadError> {
        if !hex.is_empty() {
            out.push_str(&self.charset.decode(hex).map_err(|(_, problem)| problem)?);
            hex.clear();
        }
        Ok(())
    }
}

/// The encoding of a character that cannot be written literally.
pub(super) enum Code {
    /// A separator, by its letter.
    Letter(char),
    /// A line break.
    Break,
    /// A control character, which could end a segment or the frame around the message.
    Hex(u8),
}

/// Decodes the formatting commands of section 2.7.5, by their two letters and the rest.
fn format(a: u8, b: u8, rest: &[u8]) -> Sequence {
    let number = rest.trim_ascii();
    let digits = match number {
        [b'+' | b'-', digits @ ..] => digits,
        digits => digits,
    };
    if !digits.iter().all(u8::is_ascii_digit) {
        return Sequence::None;
    }
    let count = digits.iter().fold(0_usize, |n, digit| {
        (n * 10 + usize::from(digit - b'0')).min(MOST_WHITE_SPACE)
    });
    match (&[a.to_ascii_lowercase(), b.to_ascii_lowercase()], number) {
        (b"br" | b"ce", []) => Sequence::Format('\n', 1),
        (b"sp", _) => Sequence::Format('\n', count.max(1)),
        (b"sk", _) => Sequence::Format(' ', count.max(1)),
        (b"in" | b"ti", _) | (b"fi" | b"nf", []) => Sequence::Format(' ', 0),
        _ => Sequence::None,
    }
}

/// Decodes pairs of hexadecimal digits. Stops at anything else.
pub(super) fn unhex(digits: impl Iterator<Item = u8>) -> impl Iterator<Item = u8> {
    let mut values = digits.map_while(|digit| char::from(digit).to_digit(16));
    std::iter::from_fn(move || {
        let (high, low) = (values.next()?, values.next()?);
        u8::try_from(high * 16 + low).ok()
    })
}

fn one_line_break(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn codec(encoding: &str) -> Codec {
        let head = format!("MSH|{encoding}|");
        Codec {
            separators: Separators::read(head.as_bytes()).unwrap(),
            charset: Charset::Utf8,
        }
    }

    fn text(raw: &str) -> String {
        codec("^~\\&").text(raw).unwrap().into_owned()
    }

    #[test]
    fn every_escape_of_the_standard_is_undone() {
        assert_eq!(text(r"a\F\b\S\c\T\d\R\e\E\f"), r"a|b^c&d~e\f");
        assert_eq!(text(r"\H\loud\N\ \Zx9\plain"), "loud plain");
        assert_eq!(
            text(r"one\.br\two\.sp\three\.sp2\four\.ce\five"),
            "one\ntwo\nthree\n\nfour\nfive"
        );
        assert_eq!(text(r"\.in+4\\.ti-4\\.fi\1.\.sk3\x^\.sp\2."), "1.   x\n2.");
        assert_eq!(text(r"a\X0D\b\X0A\c\X0D0A\d\X0D\\X0A\e"), "a\nb\nc\nd\ne");
        assert_eq!(text(r"Caf\XC3A9\ \XC3\\XA9\"), "Café é");
    }

    #[test]
    fn what_is_no_escape_is_text() {
        assert_eq!(text(r"and\or, C:\tmp\x, 5\ "), r"and\or, C:\tmp\x, 5\ ");
        assert_eq!(
            text(r"\.zz\ \.brx\ \Xzz\ \X0\ \Clinic\"),
            r"\.zz\ \.brx\ \Xzz\ \X0\ \Clinic\"
        );
        assert_eq!(text(r"\F"), r"\F");
        assert_eq!(codec("^~").text(r"a\F\b").unwrap(), r"a\F\b");
    }

    #[test]
    fn a_switch_of_the_character_set_is_refused() {
        for raw in [r"\C2842\x", r"\M2442\x", r"\M244242\x"] {
            assert_eq!(codec("^~\\&").text(raw), Err(PayloadError::UnsupportedEscape));
        }
        assert_eq!(codec("^~\\&").text(r"\XE9\x"), Err(PayloadError::NotUtf8));
    }

    #[test]
    fn white_space_does_not_outgrow_its_command() {
        assert_eq!(text(r"\.sp99999999\").len(), MOST_WHITE_SPACE);
        assert!(MOST_WHITE_SPACE <= r"\.sp9\".len());
    }

    #[test]
    fn a_message_without_an_escape_character_gets_spaces() {
        let mut out = String::new();
        codec("^~").escape("a|b\nc\\d&e", &mut out);
        assert_eq!(out, "a b c\\d&e");
    }

    #[test]
    fn a_line_is_words_and_spaces() {
        let line = |raw| codec("^~\\&").line(raw).unwrap();
        assert_eq!(line(" de\\X1B\\ la\\.br\\\tCruz "), "de la Cruz");
        assert_eq!(line("\\X00\\"), "");
    }

    #[test]
    fn two_quotes_are_not_written_as_null() {
        let mut out = String::new();
        codec("^~\\&").escape("\"\"", &mut out);
        assert_eq!(out, "\"\\X22\\");
        assert_eq!(text(&out), "\"\"");
    }

    proptest! {
        #[test]
        fn what_was_escaped_is_unescaped(
            text in "[\\PC|^~\\\\&.brXHNZCM0-9\n\t\u{0}\u{b}\u{1c}]{0,40}",
            encoding in prop::sample::select(vec!["^~\\&", "^~\\&#", "$%*!", "^~\\"]),
        ) {
            let codec = codec(encoding);
            let mut escaped = String::new();
            codec.escape(&text, &mut escaped);
            let bare = escaped.contains(['\r', '\n', '\u{b}', '\u{1c}', '|']);
            prop_assert!(!bare);
            prop_assert_eq!(codec.text(&escaped).unwrap(), text);
        }

        #[test]
        fn a_line_is_the_words_of_its_text(raw in "[ a-c\\\\.brX20\t\u{1}é]{0,24}") {
            let codec = codec("^~\\&");
            let text = codec.text(&raw);
            let words = |text: &str| {
                let words = text.split(|c: char| c.is_whitespace() || c.is_control());
                words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
            };
            prop_assert_eq!(codec.line(&raw), text.map(|text| words(&text)));
        }

        #[test]
        fn text_is_never_longer_than_what_it_came_from(raw in "[\\\\.brspkXHN0-9a-f é^]{0,60}") {
            if let Ok(text) = codec("^~\\&").text(&raw) {
                prop_assert!(text.len() <= raw.len());
            }
        }
    }
}
