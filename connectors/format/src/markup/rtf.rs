//! Extracts text from RTF (Rich Text Format Specification 1.9.1), with its code pages.
//!
//! The visible text is read: the body, headers and footers, footnotes, text boxes, results of fields. Hidden
//! and deleted text, comments, pictures, embedded objects and the document's properties are left out.

mod code_pages;

use std::collections::HashMap;

use encoding_rs::{Encoding, WINDOWS_1252};

use code_pages::{charset, code_page};

/// Maximum nesting of groups; a word processor writes some dozens.
const MAX_DEPTH: usize = 1_000;
/// Maximum number of fonts whose character set is kept.
const MAX_FONTS: usize = 4_096;

/// Why there is no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RtfError {
    /// It does not start with `{\rtf`.
    #[error("is not RTF")]
    NotRtf,
    /// Groups are nested more than a thousand deep.
    #[error("nests too deeply")]
    TooDeep,
}

/// Returns the visible text of the document.
///
/// # Errors
/// [`RtfError`]. A truncated document yields its available text.
pub fn rtf_to_text(rtf: &[u8]) -> Result<String, RtfError> {
    let start = rtf
        .iter()
        .position(|byte| !byte.is_ascii_whitespace())
        .unwrap_or(0);
    let body = rtf.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&rtf[start..]);
    if !body.starts_with(b"{\\rtf") {
        return Err(RtfError::NotRtf);
    }
    let mut reader = Reader {
        bytes: body,
        at: 0,
        state: State {
            silent: false,
            hidden: false,
            starred: false,
            fonts: false,
            skip: 1,
            encoding: WINDOWS_1252,
        },
        stack: Vec::new(),
        default: WINDOWS_1252,
        fonts: HashMap::new(),
        font: 0,
        to_skip: 0,
        pending: Vec::new(),
        high: None,
        out: String::with_capacity(body.len() / 2),
    };
    reader.run()?;
    let kept = reader.out.trim_end().len();
    reader.out.truncate(kept);
    let lead = reader.out.len() - reader.out.trim_start_matches(['\n', ' ']).len();
    reader.out.drain(..lead);
    Ok(reader.out)
}

/// The state that the end of a group restores.
#[derive(Clone, Copy)]
struct State {
    /// Whether it is in a destination that is not text.
    silent: bool,
    /// Whether the text is hidden or deleted.
    hidden: bool,
    /// Whether `\*` was read: an unknown destination is skipped.
    starred: bool,
    /// Whether it is in the font table.
    fonts: bool,
    /// Number of fallback characters after each `\u`.
    skip: u8,
    encoding: &'static Encoding,
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    state: State,
    stack: Vec<State>,
    default: &'static Encoding,
    fonts: HashMap<i32, &'static Encoding>,
    /// The current font of the table.
    font: i32,
    to_skip: u8,
    /// Undecoded text in the current encoding.
    pending: Vec<u8>,
    /// The first half of a surrogate pair.
    high: Option<u16>,
    out: String,
}

impl Reader<'_> {
    fn run(&mut self) -> Result<(), RtfError> {
        while let Some(&byte) = self.bytes.get(self.at) {
            self.at += 1;
            match byte {
                b'{' => {
                    self.flush();
                    if self.stack.len() >= MAX_DEPTH {
                        return Err(RtfError::TooDeep);
                    }
                    self.stack.push(self.state);
                    self.state.starred = false;
                    self.to_skip = 0;
                }
                b'}' => {
                    self.flush();
                    self.to_skip = 0;
                    match self.stack.pop() {
                        Some(state) if !self.stack.is_empty() => self.state = state,
                        // Anything after the document is not part of it.
                        _ => break,
                    }
                }
                b'\\' => self.control(),
                b'\r' | b'\n' | 0 => {}
                byte => self.byte(byte),
            }
        }
        self.flush();
        Ok(())
    }

    fn visible(&self) -> bool {
        !self.state.silent && !self.state.hidden
    }

    /// Adds a byte of text.
    fn byte(&mut self, byte: u8) {
        if self.to_skip > 0 {
            self.to_skip -= 1;
        } else if self.visible() {
            self.pending.push(byte);
        }
    }

    /// Adds the character of a control word.
    fn put(&mut self, c: char) {
        if self.to_skip > 0 {
            self.to_skip -= 1;
        } else if self.visible() {
            self.flush();
            self.out.push(c);
        }
    }

    fn flush(&mut self) {
        if self.high.take().is_some() {
            self.out.push(char::REPLACEMENT_CHARACTER);
        }
        if !self.pending.is_empty() {
            let (text, _) = self.state.encoding.decode_without_bom_handling(&self.pending);
            self.out.extend(
                text.chars()
                    .filter(|&c| !c.is_control() && !matches!(c, '\u{ad}' | '\u{200b}')),
            );
            self.pending.clear();
        }
    }

    fn control(&mut self) {
        let Some(&first) = self.bytes.get(self.at) else {
            return;
        };
        if first.is_ascii_alphabetic() {
            return self.word();
        }
        self.at += 1;
        match first {
            b'\'' => {
                let digits = self
                    .bytes
                    .get(self.at..self.at + 2)
                    .and_then(|two| std::str::from_utf8(two).ok());
                if let Some(byte) = digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
                    self.at += 2;
                    self.byte(byte);
                }
            }
            b'*' => self.state.starred = true,
            b'~' => self.put(' '),
            b'_' => self.put('-'),
            b'\r' | b'\n' => self.put('\n'),
            b'\\' | b'{' | b'}' => self.byte(first),
            // `\-` is an optional hyphen; the others mark entries of an index.
            _ => {}
        }
    }

    fn word(&mut self) {
        let rest = &self.bytes[self.at..];
        let len = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let (name, rest) = rest.split_at(len);
        let minus = rest.first() == Some(&b'-') && rest.get(1).is_some_and(u8::is_ascii_digit);
        let digits = rest[usize::from(minus)..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit());
        let (mut count, mut number) = (0, 0i32);
        for digit in digits {
            number = number.saturating_mul(10).saturating_add(i32::from(digit - b'0'));
            count += 1;
        }
        let number = (count > 0).then_some(if minus { -number } else { number });
        let used = len + usize::from(minus) + count;
        self.at += used;
        if self.bytes.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
        self.apply(name, number);
    }

    fn apply(&mut self, name: &[u8], number: Option<i32>) {
        match name {
            b"par" | b"line" | b"row" | b"nestrow" | b"page" | b"sect" | b"column" => self.put('\n'),
            b"tab" | b"cell" | b"nestcell" => self.put('\t'),
            b"emdash" => self.put('—'),
            b"endash" => self.put('–'),
            b"lquote" => self.put('‘'),
            b"rquote" => self.put('’'),
            b"ldblquote" => self.put('“'),
            b"rdblquote" => self.put('”'),
            b"bullet" => self.put('•'),
            b"emspace" | b"enspace" | b"qmspace" => self.put(' '),
            b"u" => self.unicode(number.unwrap_or(0)),
            b"uc" => self.state.skip = u8::try_from(number.unwrap_or(1)).unwrap_or(1),
            b"bin" => self.at += usize::try_from(number.unwrap_or(0)).unwrap_or(0),
            b"v" | b"deleted" => self.hide(number != Some(0)),
            b"plain" => {
                self.hide(false);
                self.encode(self.default);
            }
            b"ansicpg" => {
                self.default = number.and_then(code_page).unwrap_or(WINDOWS_1252);
                self.encode(self.default);
            }
            b"mac" => {
                self.default = encoding_rs::MACINTOSH;
                self.encode(self.default);
            }
            b"f" if self.state.fonts => self.font = number.unwrap_or(0),
            b"f" => {
                let font = number.unwrap_or(0);
                let known = self.fonts.get(&font).copied();
                self.encode(known.unwrap_or(self.default));
            }
            b"fcharset" if self.state.fonts => {
                if let Some(encoding) = number.and_then(charset)
                    && self.fonts.len() < MAX_FONTS
                {
                    self.fonts.entry(self.font).or_insert(encoding);
                }
            }
            b"fonttbl" => (self.state.silent, self.state.fonts) = (true, true),
            b"header" | b"headerl" | b"headerr" | b"headerf" | b"footer" | b"footerl" | b"footerr"
            | b"footerf" | b"footnote" => self.put('\n'),
            // A text box is in a destination that is marked as skippable.
            b"shpinst" | b"shptxt" => self.state.starred = false,
            _ if self.state.starred || SILENT.contains(&name) => self.state.silent = true,
            _ => {}
        }
        if name != b"u" {
            self.state.starred = false;
        }
    }

    fn encode(&mut self, encoding: &'static Encoding) {
        self.flush();
        self.state.encoding = encoding;
    }

    fn hide(&mut self, hidden: bool) {
        self.flush();
        self.state.hidden = hidden;
    }

    /// Handles `\u`: a UTF-16 code unit as a signed number. Its fallback characters are skipped.
    fn unicode(&mut self, number: i32) {
        // From -32768 on, and in some writers up to 65535.
        let unit = (number & 0xffff) as u16;
        if self.visible() {
            match (self.high.take(), char::decode_utf16([unit]).next()) {
                (Some(high), _) if (0xdc00..0xe000).contains(&unit) => {
                    let pair = char::decode_utf16([high, unit]).next().and_then(Result::ok);
                    self.out.extend(pair);
                }
                (before, Some(Ok(c))) => {
                    self.high = before;
                    self.flush();
                    // Zero-width characters would split a name for a search.
                    if !c.is_control() && !matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}') {
                        self.out.push(c);
                    }
                }
                (before, _) => {
                    self.high = before;
                    self.flush();
                    if (0xd800..0xdc00).contains(&unit) {
                        self.high = Some(unit);
                    } else {
                        self.out.push(char::REPLACEMENT_CHARACTER);
                    }
                }
            }
        }
        self.to_skip = self.state.skip;
    }
}

/// Destinations that are not text and not marked by `\*`.
const SILENT: [&[u8]; 21] = [
    b"colortbl",
    b"stylesheet",
    b"info",
    b"pict",
    b"nonshppict",
    b"fldinst",
    b"objdata",
    b"objclass",
    b"sn",
    b"sv",
    b"filetbl",
    b"private",
    b"xe",
    b"tc",
    b"rxe",
    b"listtable",
    b"revtbl",
    b"template",
    b"themedata",
    b"datastore",
    b"bkmkstart",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rtf: &str, text: &str) {
        assert_eq!(rtf_to_text(rtf.as_bytes()).as_deref(), Ok(text), "{rtf}");
    }

    #[test]
    fn paragraphs_escapes_and_code_pages_are_read() {
        check(
            r"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}\pard Jos\'e9 Roth\par\b BP\b0  120/80 \{ok\} \\ 5\'b0C\line next\par}",
            "José Roth\nBP 120/80 {ok} \\ 5°C\nnext",
        );
        check(r"{\rtf1\ansi\ansicpg1250 Dvo\'f8\'e1k}", "Dvořák");
        check(
            r"{\rtf1\ansi{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset204 B;}}\f0 caf\'e9 {\f1 \'c0\'ed\'ed\'e0} \'e9}",
            "café Анна é",
        );
        check(
            r"{\rtf1\ansi{\fonttbl{\f0\fcharset128 A;}}\f0\'8e\'52\'93\'63}",
            "山田",
        );
    }

    #[test]
    fn unicode_replaces_what_stands_for_it() {
        check(r"{\rtf1\uc1 Dvo\u345?\u225\'e1k}", "Dvořák");
        check(
            r"{\rtf1\uc2 a\u8364??b{\uc0\u233 c}\u-3913\'20\'20d}",
            "a€béc\u{f0b7}d",
        );
        check(r"{\rtf1 \u-10179?\u-8704?!\u-10179?x}", "😀!\u{fffd}x");
        check("{\\rtf1 Ok\\u173?af\\-or}", "Okafor");
    }

    #[test]
    fn what_no_reader_sees_is_left_out() {
        check(
            r"{\rtf1{\*\generator Roth;}{\info{\author Roth}{\title Roth}}{\colortbl;\red1;}{\stylesheet{\s0 Roth;}}a{\pict\pngblip 526f7468}{\v Roth}\v Roth\v0 b{\deleted Roth}{\*\annotation Roth}{\*\unknown{Roth}}}",
            "ab",
        );
        check(
            r#"{\rtf1{\field{\*\fldinst HYPERLINK "Roth"}{\fldrslt here}}}"#,
            "here",
        );
        check(r"{\rtf1{\pict\bin7 }}}{{{\}a}", "a");
        check("{\\rtf1 a} Roth", "a");
    }

    #[test]
    fn headers_tables_and_text_boxes_are_read() {
        check(
            r"{\rtf1{\header Ward 3\par}\trowd Na\cell 140\cell\row K\cell 4\cell\row}",
            "Ward 3\nNa\t140\t\nK\t4",
        );
        check(
            r"{\rtf1 a{\shp{\*\shpinst{\sp{\sn x}{\sv y}}{\shptxt box\par}}}b}",
            "abox\nb",
        );
    }

    #[test]
    fn what_is_no_rtf_is_told_and_what_is_cut_short_is_read() {
        assert_eq!(rtf_to_text(b"Dear Dr Roth"), Err(RtfError::NotRtf));
        assert_eq!(rtf_to_text(b""), Err(RtfError::NotRtf));
        check(r"{\rtf1 a\par b\'", "a\nb");
        check("{\\rtf1 a\\", "a");
    }

    #[test]
    fn hostile_documents_are_bounded() {
        let deep = format!("{{\\rtf1{}", "{".repeat(1_000_000));
        assert_eq!(rtf_to_text(deep.as_bytes()), Err(RtfError::TooDeep));
        check(&format!("{{\\rtf1\\bin{} x}}", "9".repeat(100_000)), "");
        check(&format!("{{\\rtf1\\{} x}}", "a".repeat(1_000_000)), "x");
        check(
            &format!("{{\\rtf1{}x}}", r"\uc255\u66".repeat(1000)),
            &"B".repeat(1000),
        );
        let fonts: String = (0..20_000)
            .map(|i| format!("{{\\f{i}\\fcharset204 x;}}"))
            .collect();
        check(&format!("{{\\rtf1{{\\fonttbl{fonts}}}\\f1\\'c0}}"), "А");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_give_a_text_or_an_error(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            let rtf = [b"{\\rtf1".as_slice(), &bytes].concat();
            proptest::prop_assert!(rtf_to_text(&rtf).is_ok());
        }

        #[test]
        fn any_mix_of_controls_gives_a_text(rtf in r"(\{|\}|\\par|\\u-?[0-9]{1,6}|\\'[0-9a-f]{2}|\\uc[0-9]|\\f1|\\\*|\\bin3|x| |\\){0,60}") {
            let rtf = format!("{{\\rtf1{rtf}");
            proptest::prop_assert!(rtf_to_text(rtf.as_bytes()).is_ok());
        }
    }
}
