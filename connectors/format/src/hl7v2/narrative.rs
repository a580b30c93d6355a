//! Joins the narrative, OBX-5 and NTE-3, into one text; each repetition is a part of it.
//!
//! | between | separator |
//! |---|---|
//! | two repetitions, two lines of one value | a line break |
//! | two OBX in a row with the same OBX-3 and OBX-4, two NTE in a row | a line break |
//! | any other two | a blank line |

use base64::Engine;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use lethe_core::Span;

use super::charset::Charset;
use super::codes::is_amount;
use super::envelope::Encoding;
use super::escape::{Codec, unhex};
use super::message::{Segment, is_null};
use super::table::{Rule, Whose};
use super::typed::{Draft, Parts, is_code};
use crate::markup::{html_to_text, pdf_to_text, rtf_to_text};
use crate::{MAX_NOTE_BYTES, PayloadError};

/// Maximum number of parts of narrative in a message.
pub(super) const MAX_PARTS: usize = 1 << 18;

/// Senders omit padding, and leave stray bits at the end.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The narrative so far.
#[derive(Debug)]
pub(super) struct Narrative<'a> {
    pub(super) text: String,
    pub(super) parts: Vec<Span>,
    /// Whether content was left out that is not text and cannot be converted.
    pub(super) left_out: bool,
    max_bytes: usize,
    keep_numbers: bool,
    /// The source of the last part: OBX-3 and OBX-4, or `None` for an NTE.
    last: Option<Option<(&'a str, &'a str)>>,
    /// The separator before the next part.
    between: &'static str,
}

impl<'a> Narrative<'a> {
    pub(super) const fn new(max_bytes: usize, keep_numbers: bool) -> Self {
        Self {
            text: String::new(),
            parts: Vec::new(),
            left_out: false,
            max_bytes,
            keep_numbers,
            last: None,
            between: "",
        }
    }

    /// Reads NTE-3.
    ///
    /// # Errors
    /// As [`Narrative::value`].
    pub(super) fn comment(&mut self, segment: &Segment<'a>, draft: &mut Draft) -> Result<(), PayloadError> {
        self.lines(segment.field(3), None, draft)
    }

    /// Reads OBX-5 and writes its returned part.
    ///
    /// # Errors
    /// An escape sequence or an encoding that cannot be undone, an attachment that cannot be read, a text over the limit.
    pub(super) fn value(&mut self, segment: &Segment<'a>, draft: &mut Draft) -> Result<(), PayloadError> {
        let (kind, raw) = (segment.field(2), segment.field(5));
        let group = Some((segment.field(3), segment.field(4)));
        let kind = kind.to_ascii_uppercase();
        match kind.as_str() {
            // Without a type it counts as text, which is searched for identifiers.
            "" if raw.is_empty() => Ok(()),
            "TX" | "FT" | "ST" | "" => self.lines(raw, group, draft),
            _ if is_null(raw) => draft.field(raw, Rule::Value),
            "CF" | "CE" | "CWE" | "CNE" => {
                self.each(raw, draft, |this, one, draft| this.coded(one, group, draft))
            }
            "ED" => self.each(raw, draft, |this, one, draft| this.attachment(one, group, draft)),
            "NM" | "SN" if self.keep_numbers => self.each(raw, draft, |_, one, draft| {
                number(one, draft);
                Ok(())
            }),
            "DT" | "TS" | "DTM" => draft.field(raw, Rule::Date),
            "XPN" | "PN" => draft.field(raw, Rule::Name(Whose::Patient)),
            "XCN" | "CN" => draft.field(raw, Rule::Person),
            "XAD" | "AD" => draft.field(raw, Rule::Address(false)),
            "XTN" | "TN" => draft.field(raw, Rule::Phone(false)),
            "CX" | "CK" | "EI" => draft.field(raw, Rule::Id("IDNUM", false)),
            "XON" => draft.field(raw, Rule::Organization("ORGANIZATION")),
            "NM" | "SN" | "TM" => {
                if !raw.is_empty() {
                    draft.removed("number");
                }
                Ok(())
            }
            // A reference to an external document, and any other type.
            _ => {
                if !raw.is_empty() {
                    self.left_out = true;
                    draft.removed("no text");
                }
                Ok(())
            }
        }
    }

    fn each(
        &mut self,
        raw: &str,
        draft: &mut Draft,
        mut one: impl FnMut(&mut Self, &str, &mut Draft) -> Result<(), PayloadError>,
    ) -> Result<(), PayloadError> {
        let separators = draft.codec.separators;
        for (i, repetition) in separators.repetitions(raw).enumerate() {
            if i > 0 {
                draft.text.extend(separators.repetition);
            }
            draft.start(separators.component);
            one(self, repetition, draft)?;
        }
        Ok(())
    }

    fn lines(
        &mut self,
        raw: &str,
        group: Option<(&'a str, &'a str)>,
        draft: &mut Draft,
    ) -> Result<(), PayloadError> {
        if is_null(raw) {
            return draft.field(raw, Rule::Value);
        }
        self.begin(group);
        self.each(raw, draft, |this, one, draft| {
            // Text has no components; unescaped separators are text.
            let part = this.add(&draft.codec.text(one)?)?;
            draft.part(1, part, Encoding::Text);
            Ok(())
        })
    }

    /// Handles a code and its text, twice, and the original text: the three texts are narrative.
    fn coded(
        &mut self,
        raw: &str,
        group: Option<(&'a str, &'a str)>,
        draft: &mut Draft,
    ) -> Result<(), PayloadError> {
        let separators = draft.codec.separators;
        let components: Vec<&str> = separators.components(raw).take(9).collect();
        let components = Parts(&components);
        let mut begun = false;
        for n in 1..=9 {
            let component = components.at(n);
            match n {
                2 | 5 | 9 => {
                    let text = draft.codec.text(component)?;
                    // The note has no white space at its ends, so that a line break alone would come back as nothing.
                    if !text.trim().is_empty() {
                        if !std::mem::replace(&mut begun, true) {
                            self.begin(group);
                        }
                        let part = self.add(&text)?;
                        draft.part(n, part, Encoding::Text);
                    }
                }
                1 | 4 => draft.code(n, &components, ""),
                3 | 6 => draft.system(n, &components, ""),
                _ => {}
            }
        }
        Ok(())
    }

    /// Handles source, type, subtype, encoding and data (ED).
    fn attachment(
        &mut self,
        raw: &str,
        group: Option<(&'a str, &'a str)>,
        draft: &mut Draft,
    ) -> Result<(), PayloadError> {
        let components: Vec<&str> = raw.splitn(5, draft.codec.separators.component).collect();
        let ed = Parts(&components);
        let Some(media) = Media::of(ed.at(2), ed.at(3)) else {
            self.left_out |= !raw.is_empty();
            return Ok(());
        };
        let (text, encoding) = media.read(&draft.codec, ed.at(4), ed.at(5))?;
        let (kind, subtype) = match media {
            Media::Plain if draft.codes.in_table("0191", ed.at(2)) && is_plain(draft, ed.at(3)) => {
                (ed.at(2), ed.at(3))
            }
            // Its text is returned, but not its formatting.
            _ => ("TEXT", "plain"),
        };
        let written = match encoding {
            Encoding::Base64(_) => "Base64",
            Encoding::Hex(_) => "Hex",
            Encoding::Text => ed.at(4),
        };
        self.begin(group);
        let part = self.add(&text)?;
        draft.table(2, kind, "0191");
        draft.table(3, subtype, "0291");
        draft.table(4, written, "0299");
        draft.part(5, part, encoding);
        Ok(())
    }

    fn begin(&mut self, group: Option<(&'a str, &'a str)>) {
        if let Some(last) = self.last.replace(group) {
            self.between = if last == group { "\n" } else { "\n\n" };
        }
    }

    /// Adds a part. Gives its number.
    fn add(&mut self, part: &str) -> Result<usize, PayloadError> {
        if self.parts.len() == MAX_PARTS {
            return Err(PayloadError::TooComplex);
        }
        self.text.push_str(self.between);
        self.between = "\n";
        let start = self.text.len();
        let end = start.saturating_add(part.len());
        if end > self.max_bytes {
            return Err(PayloadError::TooLarge);
        }
        self.text.push_str(part);
        self.parts
            .push(Span::new(start, end).map_err(|_| PayloadError::TooLarge)?);
        Ok(self.parts.len() - 1)
    }
}

/// Returns whether the subtype is empty or one of table 0291.
fn is_plain(draft: &Draft, subtype: &str) -> bool {
    subtype.is_empty() || draft.codes.in_table("0291", subtype)
}

/// The media type of a textual attachment.
enum Media {
    Plain,
    Html,
    Rtf,
    Pdf,
}

impl Media {
    /// Returns it by type and subtype (tables 0191 and 0291), or by a media type in either. `None` if it is
    /// not text.
    fn of(kind: &str, subtype: &str) -> Option<Self> {
        // If these were not returned, nothing would mark the content as text.
        if !(is_code(kind) && is_code(subtype)) {
            return None;
        }
        let media = if subtype.is_empty() { kind } else { subtype };
        let media = media.to_ascii_uppercase();
        let media = media.rsplit('/').next().unwrap_or_default();
        Some(match media {
            "TEXT" | "TX" | "FT" | "PLAIN" | "TXT" => Self::Plain,
            "HTML" | "HTM" | "XHTML" | "XHTML+XML" => Self::Html,
            "RTF" | "RICHTEXT" => Self::Rtf,
            "PDF" | "X-PDF" => Self::Pdf,
            _ => return None,
        })
    }

    /// Returns the visible text of data in an encoding of table 0299, and how to encode it again.
    ///
    /// # Errors
    /// [`PayloadError::NotBase64`]; invalid Base64 letters; [`PayloadError::Unsupported`] for another encoding, or invalid RTF; what
    /// [`pdf_to_text`] refuses.
    fn read(&self, codec: &Codec, encoding: &str, data: &str) -> Result<(String, Encoding), PayloadError> {
        let written = codec.text(data)?;
        let digits = || written.bytes().filter(|byte| !byte.is_ascii_whitespace());
        let (bytes, encoding): (Vec<u8>, fn(Charset) -> Encoding) =
            match encoding.to_ascii_uppercase().as_str() {
                "A" | "" => (written.into_owned().into_bytes(), |_| Encoding::Text),
                "BASE64" => {
                    let bytes = BASE64.decode(digits().collect::<Vec<u8>>());
                    (bytes.map_err(|_| PayloadError::NotBase64)?, Encoding::Base64)
                }
                "HEX" => {
                    let bytes: Vec<u8> = unhex(digits()).collect();
                    if bytes.len() * 2 != digits().count() {
                        return Err(PayloadError::NotBase64);
                    }
                    (bytes, Encoding::Hex)
                }
                _ => return Err(PayloadError::Unsupported),
            };
        let (text, charset) = match self {
            Self::Plain => letters(codec, &bytes)?,
            Self::Html => (html_to_text(&letters(codec, &bytes)?.0), Charset::Utf8),
            Self::Rtf => (
                rtf_to_text(&bytes).map_err(|_| PayloadError::Unsupported)?,
                Charset::Utf8,
            ),
            Self::Pdf => (pdf_to_text(&bytes, MAX_NOTE_BYTES)?, Charset::Utf8),
        };
        Ok((text, encoding(charset)))
    }
}

/// An attachment may be in UTF-8 whatever the message is in; bytes of another set are hardly ever valid UTF-8.
fn letters(codec: &Codec, bytes: &[u8]) -> Result<(String, Charset), PayloadError> {
    let charset = match std::str::from_utf8(bytes) {
        Ok(_) => Charset::Utf8,
        Err(_) => codec.charset,
    };
    let text = charset.decode(bytes).map_err(|(_, problem)| problem)?;
    Ok((text.into_owned(), charset))
}

/// Writes a number (NM), or a comparison of two (SN), unchanged.
fn number(raw: &str, draft: &mut Draft) {
    let components: Vec<&str> = draft.codec.separators.components(raw).take(4).collect();
    // SN is a comparator, a number, a separator and a number.
    let fits = |text: &str| {
        matches!(
            text,
            "<" | ">" | "<=" | ">=" | "=" | "<>" | "-" | "+" | "/" | ":" | "."
        ) || is_amount(text)
    };
    let components = Parts(&components);
    for n in 1..=4 {
        draft.shaped(n, components.at(n), fits, "not a short number");
    }
}
