//! The `hl7v2` format: HL7 v2.x messages with narrative, above all MDM and ORU.
//!
//! | field | from |
//! |---|---|
//! | text | OBX-5 of TX, FT, ST, coded elements and text attachments, and NTE-3 (joined by `narrative.rs`) |
//! | `note_id` | TXA-12, else OBR-3, ORC-3, MSH-10 |
//! | `patient_id` | the first of PID-3 whose type is `patient_id_type` (else the first without a type) |
//! | `encounter_id` | PV1-19 |
//! | `note_type` | TXA-2, else OBR-4: its text, else its code |
//! | `author_id` | TXA-9, else OBR-32 |
//! | `authored_at` | TXA-4, else TXA-6, OBR-7, OBR-22, with its own offset from UTC, else `utc_offset`; absent if there is neither |
//! | `event` | of MDM by its trigger event, else by OBR-25 and OBX-11 (`event.rs`) |
//! | `version` | absent: HL7 has no versions |
//! | `known` | names, ids, addresses, telephones of PID, NK1, GT1, IN1; PID-7; PV1-19 and its like; names of clinicians everywhere |
//!
//! Withdrawn observations (OBX-11 D, X or W, OBR-25 X) are not part of the text. With `keep_message` the
//! event carries the message to return: an allowlist (`table.rs`) decides what is returned, and only that is
//! kept.
//!
//! Attachments in RTF, HTML and PDF are returned as plain text. Content other than text (images, references
//! to external documents) is returned empty. A message with only such content is refused. A fragmented
//! message is joined (`fragments.rs`), or refused if fragments are missing in the payload, since its note
//! would be incomplete.
//!
//! Hostile messages take time and memory linear in their size: nothing recurses, escape sequences never grow,
//! and segments, fields, parts and identifiers are limited.

mod batch;
mod charset;
pub(crate) mod codes;
mod envelope;
mod escape;
mod event;
mod fragments;
mod links;
mod message;
mod narrative;
mod people;
mod table;
pub(crate) mod time;
mod typed;
mod utf16;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::tz::Offset;
use lethe_core::{Enclosed, EventKind, KnownKind, NoteEvent, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Diagnosis, Format, FormatError, MAX_NOTE_BYTES, PayloadError};
pub use batch::{Messages, hl7v2_messages};
pub use charset::Charset;
use charset::Declared;
use codes::Codes;
use envelope::{Hole, Skeleton, Written};
use escape::Codec;
use message::{Segment, Separators};
use narrative::Narrative;
pub use table::allowlist;
use table::{Row, Rule};
use time::Stamp;
use typed::Draft;
use utf16::Utf16;

/// Settings of the `hl7v2` format.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Hl7v2Config {
    /// Messages whose narrative is over this size are quarantined.
    pub max_note_bytes: usize,
    /// Whether to keep the message with the row in redacted form, so that `lethe emit` can publish it.
    pub keep_message: bool,
    /// The type (HL7 table 0203) of the identifier in PID-3 that becomes `patient_id`.
    #[schemars(extend("examples" = ["PI"]))]
    pub patient_id_type: String,
    /// The offset from UTC of times that have none. By default a note whose time has no offset has no
    /// `authored_at`.
    #[schemars(extend("examples" = ["-05:00"]))]
    pub utc_offset: Option<String>,
    /// The character set of messages whose MSH-18 is empty.
    #[schemars(extend("examples" = ["8859/1"]))]
    pub charset: Charset,
    /// Whether numeric observations (OBX-5 of types NM and SN) leave unchanged in kept messages. Lethe cannot
    /// distinguish ages over 89 and record numbers from laboratory values.
    pub keep_numbers: bool,
    /// Further codes that leave unchanged in kept messages, by HL7 table or code system.
    #[schemars(extend("examples" = [{ "0069": ["CAR"], "99LOCAL": ["W1", "W2"] }]))]
    pub codes: BTreeMap<String, Vec<String>>,
}

impl Default for Hl7v2Config {
    fn default() -> Self {
        Self {
            max_note_bytes: MAX_NOTE_BYTES,
            keep_message: false,
            patient_id_type: "MR".to_owned(),
            utc_offset: None,
            charset: Charset::Utf8,
            keep_numbers: false,
            codes: BTreeMap::new(),
        }
    }
}

impl Hl7v2Config {
    /// Returns the decoder.
    ///
    /// # Errors
    /// [`FormatError::UtcOffset`].
    pub fn build(&self) -> Result<Hl7v2Format, FormatError> {
        let utc_offset = self.utc_offset.as_deref().map(|value| {
            time::read_offset(value).ok_or_else(|| FormatError::UtcOffset {
                value: value.to_owned(),
            })
        });
        Ok(Hl7v2Format {
            utc_offset: utc_offset.transpose()?,
            codes: Codes::new(&self.codes),
            config: self.clone(),
        })
    }
}

/// Decodes HL7 v2 messages.
#[derive(Clone, Debug)]
pub struct Hl7v2Format {
    config: Hl7v2Config,
    utc_offset: Option<Offset>,
    codes: Codes,
}

impl Format for Hl7v2Format {
    fn read(&self, payload: &[u8]) -> Result<NoteEvent, Diagnosis> {
        if u32::try_from(payload.len()).is_err() {
            return Err(Diagnosis {
                field: None,
                byte: 0,
                problem: PayloadError::TooLarge,
            });
        }
        let Some((utf16, start)) = Utf16::of(payload) else {
            return self.decoded(payload, None);
        };
        let place = |field, byte, problem| Diagnosis { field, byte, problem };
        let text = utf16
            .decode(payload.get(start..).unwrap_or_default())
            .map_err(|read| place(None, start + read, PayloadError::NotInCharset))?;
        let of_payload = |byte| {
            let before = text.get(..byte).unwrap_or_default();
            start + before.encode_utf16().count() * 2
        };
        self.decoded(text.as_bytes(), Some(utf16))
            .map_err(|one| place(one.field, of_payload(one.byte), one.problem))
    }
}

/// Where in the text, in which field, and why.
type Refused = (usize, &'static str, PayloadError);

impl Hl7v2Format {
    /// Returns the event of a payload; `utf16` is set if it was converted from UTF-16 to UTF-8.
    fn decoded(&self, payload: &[u8], utf16: Option<Utf16>) -> Result<NoteEvent, Diagnosis> {
        let whole =
            fragments::whole(payload).map_err(|(byte, field, problem)| Diagnosis { field, byte, problem })?;
        let fail = |field, byte: usize, problem| Diagnosis {
            field,
            byte: whole.skipped + byte,
            problem,
        };
        let body = &*whole.body;
        let separators = Separators::read(body).map_err(|one| fail(one.field, one.byte, one.problem))?;
        let names = message::declared_charsets(body, &separators);
        let refused = |problem| fail(Some("MSH-18"), 0, problem);
        let first = names.first().map_or("", String::as_str);
        let fits = match utf16 {
            Some(_) => first.is_empty() || charset::is_unicode(first),
            None => !charset::is_utf16(first),
        };
        if !fits {
            return Err(refused(PayloadError::NotInCharset));
        }
        let declared = match utf16 {
            Some(_) => Some(Declared::UNICODE),
            None => Charset::declared(&names, self.config.charset),
        };
        let Declared { charset, switches } =
            declared.ok_or_else(|| refused(PayloadError::UnsupportedCharset))?;
        if switches && memchr::memchr3(0x1b, 0x0e, 0x0f, body).is_some() {
            return Err(refused(PayloadError::UnsupportedEscape));
        }
        let codec = Codec { separators, charset };
        let text = charset
            .decode(body)
            .map_err(|(byte, problem)| fail(None, byte, problem))?;
        let text = fragments::joined(text, &separators);
        // A position in the text is one in the payload only if both have the same encoding.
        let at = |byte: usize| {
            let before = text.get(..byte).unwrap_or_default();
            charset
                .encode(before.to_owned())
                .map_or(byte, |bytes| bytes.len())
        };
        let segments = message::segments(&text, &separators)
            .map_err(|(byte, field, problem)| fail(field, at(byte), problem))?;
        let mut draft = Draft::new(codec, self.codes.clone(), self.config.keep_message);
        for segment in whole.messages.envelope() {
            draft.removed_from(segment, 0, "segment not on the list");
        }
        let written = Written {
            charsets: Charset::known(names),
            utf16,
        };
        self.event(draft, written, &segments)
            .map_err(|(byte, field, problem)| fail(Some(field), at(byte), problem))
    }

    fn event(
        &self,
        mut draft: Draft,
        written: Written,
        segments: &[Segment<'_>],
    ) -> Result<NoteEvent, Refused> {
        let codec = &draft.codec.clone();
        let start = |(field, problem)| (0, field, problem);
        event::supported(codec, &self.codes, segments).map_err(start)?;
        check_patient(codec, segments)?;
        let kind = event::kind(codec, segments).map_err(start)?;
        let facts = event::facts(codec, segments, &self.config, self.utc_offset).map_err(start)?;
        let mut narrative = Narrative::new(self.config.max_note_bytes, self.config.keep_numbers);
        // Whether the next segments are part of the note: of the order, and of the observation within it.
        let (mut ordered, mut observed) = (true, true);
        for segment in segments {
            match segment.name {
                "OBR" => (ordered, observed) = (!event::is_void(segment), true),
                "OBX" => observed = !event::is_withdrawn(segment),
                // A piece whose other pieces did not arrive with it.
                "ADD" => return Err((segment.at, "ADD", PayloadError::Fragmented)),
                "DSC" if !segment.field(1).is_empty() => {
                    return Err((segment.at, "DSC-1", PayloadError::Fragmented));
                }
                "MSH" if !matches!(segment.field(14).trim(), "" | "\"\"") => {
                    return Err((segment.at, "MSH-14", PayloadError::Fragmented));
                }
                _ => {}
            }
            let Some(rows) = table::of(segment.name) else {
                draft.removed_from(table::standard_name(segment.name), 0, "segment not on the list");
                continue;
            };
            let live = ordered && observed && kind != EventKind::Delete;
            write(segment, rows, live, &mut draft, &mut narrative)
                .map_err(|(field, problem)| (segment.at, field, problem))?;
        }
        let structured = kind != EventKind::Delete && narrative.text.trim().is_empty();
        if structured && narrative.left_out {
            let last = segments.last().map_or(0, |segment| segment.at);
            return Err((last, "OBX-5", PayloadError::NotText));
        }
        if structured {
            // Blank comments separate nothing: a structured row has no text that they could be parts of.
            narrative.text.clear();
            narrative.parts.fill(Span::between(0, 0));
        }
        let enclosed = self.config.keep_message.then(|| {
            Enclosed(Arc::new(Skeleton {
                codec: *codec,
                written,
                text: draft.text,
                holes: draft.holes,
                parts: narrative.parts,
                identifiers: draft.identifiers,
                changes: draft.changes,
            }))
        });
        Ok(NoteEvent {
            kind,
            structured,
            text: narrative.text.into(),
            known: draft.known,
            enclosed,
            ..facts
        })
    }
}

/// Writes the returned part of a segment.
fn write<'a>(
    segment: &Segment<'a>,
    rows: &[Row],
    live: bool,
    draft: &mut Draft,
    narrative: &mut Narrative<'a>,
) -> Result<(), (&'static str, PayloadError)> {
    draft.text.push_str(segment.name);
    let mut field = 0;
    for row in rows {
        let raw = segment.field(row.field);
        // Empty fields are not written. Most fields of a segment are empty, and most segments end early; but
        // the text of a comment or of a value is a part even if it is empty.
        if raw.is_empty() && !matches!(row.rule, Rule::Charset | Rule::Narrative | Rule::Value) {
            continue;
        }
        // The type of a value is read in any case and written as in the table.
        let upper = (row.name == "OBX-2").then(|| raw.to_ascii_uppercase());
        let raw = upper.as_deref().unwrap_or(raw);
        if row.rule == Rule::Separators {
            draft.text.push_str(raw);
            field = row.field;
            continue;
        }
        let separators = row.field - field;
        draft
            .text
            .extend(std::iter::repeat_n(draft.codec.separators.field, separators));
        field = row.field;
        draft.enter(row.name, rule_name(row.rule));
        let done = match row.rule {
            Rule::Charset => {
                draft.hole(Hole::Charset);
                Ok(())
            }
            Rule::Narrative | Rule::Value if !live => Ok(()),
            Rule::Narrative => narrative.comment(segment, draft),
            Rule::Value => narrative.value(segment, draft),
            rule => draft.field(raw, rule),
        };
        done.map_err(|problem| (row.name, problem))?;
        match row.name {
            "PID-7" => know_date(draft, raw),
            "PID-23" => know_place(draft, raw),
            "MSH-4" | "MSH-6" | "EVN-7" | "PV1-39" => know_facility(draft, raw, 1),
            "PV1-3" | "PV1-6" | "PV1-42" => know_facility(draft, raw, 4),
            _ => {}
        }
    }
    let mut listed = rows.iter().map(|row| row.field).peekable();
    let mut unlisted = segment
        .numbers()
        .filter(|number| {
            // Both are sorted.
            while listed.next_if(|field| field < number).is_some() {}
            listed.peek() != Some(number)
        })
        .peekable();
    if unlisted.peek().is_some() {
        let name = table::standard_name(segment.name);
        unlisted.for_each(|number| draft.removed_from(name, number, "field not on the list"));
    }
    draft.hole(Hole::End);
    Ok(())
}

/// Returns a rule's name in the audit.
const fn rule_name(rule: Rule) -> &'static str {
    match rule {
        Rule::Date => "date",
        Rule::Name(_) => "name",
        Rule::Person => "person",
        Rule::Address(_) => "address",
        Rule::Id(..) => "id",
        Rule::Phone(_) => "phone",
        Rule::Organization(_) => "organization",
        Rule::Location => "location",
        Rule::Text(_) => "text",
        Rule::Narrative | Rule::Value => "narrative",
        _ => "shape",
    }
}

/// Checks the fields that identify the patient. Interfaces shift fields; a shifted value belongs to somebody,
/// and the rule of the field does not fit it.
fn check_patient(codec: &Codec, segments: &[Segment<'_>]) -> Result<(), Refused> {
    let separators = codec.separators;
    // What of a repetition is replaced as one text. An escape sequence that cannot be undone is refused as such when the field
    // is written.
    let all = |field: &str,
               components: fn(&Codec, &str) -> Result<String, PayloadError>,
               fits: fn(&str) -> bool| {
        separators.repetitions(field).all(|repetition| {
            let value = components(codec, repetition).unwrap_or_default();
            value.trim().is_empty() || fits(value.trim())
        })
    };
    let is_a_date = |date: &str| Stamp::read(date).is_some_and(|stamp| stamp.is_of_a_person());
    for pid in segments.iter().filter(|segment| segment.name == "PID") {
        let checks = [
            ("PID-3", all(pid.field(3), first_component, is_an_id)),
            ("PID-5", all(pid.field(5), name_of, is_a_name)),
            ("PID-7", all(pid.field(7), first_component, is_a_date)),
        ];
        if let Some((name, _)) = checks.into_iter().find(|(_, fits)| !fits) {
            return Err((pid.at, name, PayloadError::NotItsType));
        }
    }
    Ok(())
}

/// The first component as text.
fn first_component(codec: &Codec, repetition: &str) -> Result<String, PayloadError> {
    let first = codec.separators.components(repetition).next().unwrap_or_default();
    codec.line(if message::is_null(first) { "" } else { first })
}

/// A person's name as text: the first part of the family name, and the three components after it.
fn name_of(codec: &Codec, repetition: &str) -> Result<String, PayloadError> {
    let components = codec.separators.components(repetition).take(4).enumerate();
    let words = components.map(|(at, one)| match at {
        0 => codec.separators.subs(one).next().unwrap_or_default(),
        _ => one,
    });
    let words = words
        .filter(|one| !message::is_null(one))
        .map(|one| codec.line(one));
    Ok(words.collect::<Result<Vec<_>, _>>()?.join(" "))
}

/// Returns whether it may be an id: a word with a digit, or a tag in place of one.
fn is_an_id(raw: &str) -> bool {
    if raw.starts_with('[') && raw.ends_with(']') {
        return true;
    }
    raw.bytes().any(|byte| byte.is_ascii_digit())
        && raw.len() <= 64
        && !raw.contains(|c: char| c.is_whitespace() || matches!(c, '@' | ','))
}

/// Returns whether it may be a name: letters, and fewer digits than a number would have.
fn is_a_name(raw: &str) -> bool {
    let digits = raw.bytes().filter(u8::is_ascii_digit).count();
    raw.chars().any(char::is_alphabetic) && digits < 4 && !raw.contains('@')
}

/// Adds a facility in the message header to the known identifiers, since the narrative may name it. Short
/// codes are left out, since they are also words.
fn know_facility(draft: &mut Draft, raw: &str, component: usize) {
    let separators = draft.codec.separators;
    let named = separators.component(raw, component);
    let named = separators.subs(named).next().unwrap_or_default();
    if let Ok(text) = draft.codec.line(named)
        && text.chars().filter(|c| c.is_alphabetic()).count() > 3
    {
        draft.know(KnownKind::Organization, &text);
    }
}

/// Adds the birth date to the known identifiers, since the narrative may have it in any form.
fn know_date(draft: &mut Draft, raw: &str) {
    let raw = draft.codec.separators.component(raw, 1);
    if let Some(stamp) = Stamp::read(raw) {
        let iso = stamp.iso();
        if iso.len() == 10 {
            draft.know(KnownKind::BirthDate, &iso);
        }
    }
}

/// Adds the place of birth to the known identifiers, unless it is a code.
fn know_place(draft: &mut Draft, raw: &str) {
    // Invalid escape sequences were refused when the field was written.
    if let Ok(text) = draft.codec.line(draft.codec.separators.component(raw, 1))
        && text.chars().filter(|c| c.is_alphabetic()).count() > 3
    {
        draft.know(KnownKind::Address, &text);
    }
}
