//! Joins a fragmented message (HL7 v2.5.1, section 2.10.2) if all of its fragments are in one payload, and
//! removes batch segments.
//!
//! | piece | joined by |
//! |---|---|
//! | ADD after a segment | its first field continues the last field of that segment, its others follow |
//! | DSC at the end, with a pointer | the next message has that pointer in MSH-14; its segments follow |

use std::borrow::Cow;

use memchr::memmem;

use super::batch::{Messages, hl7v2_messages};
use super::message::{Separators, is_null, lines};
use crate::PayloadError;

/// A message, and its surroundings in the payload.
#[derive(Debug)]
pub(super) struct Whole<'a> {
    pub(super) body: Cow<'a, [u8]>,
    /// Number of bytes of the payload before it.
    pub(super) skipped: usize,
    /// The payload's batch segments.
    pub(super) messages: Messages<'a>,
}

/// Where in the payload, in which field, and why.
type Refused = (usize, Option<&'static str>, PayloadError);

/// Returns the single message of the payload, with its fragments joined.
///
/// # Errors
/// [`PayloadError::Duplicate`] for a second message, [`PayloadError::NotHl7`] for text outside the message, [`PayloadError::Fragmented`] if
/// pieces are missing or in another order. Nothing but blanks is returned as an empty message.
pub(super) fn whole(payload: &[u8]) -> Result<Whole<'_>, Refused> {
    let mut messages = hl7v2_messages(payload);
    let first = messages.next().unwrap_or_default();
    let skipped = messages.position() - first.len();
    let mut body = Cow::Borrowed(first);
    let Ok(separators) = Separators::read(first) else {
        // Returned unchanged, to be refused later.
        return Ok(Whole {
            body,
            skipped,
            messages,
        });
    };
    let mut pointer = continued_at(first);
    loop {
        let before = messages.position();
        let Some(next) = messages.next() else {
            break;
        };
        let Ok(of_next) = Separators::read(next) else {
            return Err((before, None, PayloadError::NotHl7));
        };
        match (pointer, continues(next, &of_next)) {
            (None, None) => return Err((before, Some("MSH"), PayloadError::Duplicate)),
            (Some(pointer), Some(continues)) if pointer == continues && of_next == separators => {}
            _ => return Err((before, Some("MSH-14"), PayloadError::Fragmented)),
        }
        let joined = body.to_mut();
        joined.truncate(last_line(joined));
        joined.extend_from_slice(next.get(head_of(next).len()..).unwrap_or_default());
        pointer = continued_at(next);
    }
    Ok(Whole {
        body,
        skipped,
        messages,
    })
}

/// Returns the text with each ADD segment joined to the previous segment. An ADD after MSH stays, since it
/// continues a segment that is not in the payload.
pub(super) fn joined<'a>(text: Cow<'a, str>, separators: &Separators) -> Cow<'a, str> {
    let field = separators.field;
    let add = |line: &str| {
        line.strip_prefix("ADD")
            .is_some_and(|rest| rest.starts_with(field))
    };
    let starts = memmem::find_iter(text.as_bytes(), b"ADD");
    let ends = |at: usize| matches!(text.as_bytes().get(at), Some(b'\r' | b'\n'));
    if !starts.into_iter().any(|at| at.checked_sub(1).is_some_and(ends)) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut segments = 0;
    for line in lines(&text, separators).filter(|line| !line.is_empty()) {
        if segments > 1 && add(line) {
            // A segment is sent up to the continued field, possibly with the separator after it.
            out.truncate(out.trim_end_matches(['\r', field]).len());
            out.extend(line.get(4..));
        } else {
            segments += 1;
            out.push_str(line);
        }
        out.push('\r');
    }
    Cow::Owned(out)
}

/// Returns the first line.
fn head_of(message: &[u8]) -> &[u8] {
    let head = message.split(|byte| matches!(byte, b'\r' | b'\n')).next();
    head.unwrap_or_default()
}

/// Returns the start of the last line that is not blank.
fn last_line(message: &[u8]) -> usize {
    let ends = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let end = message.trim_ascii_end().len();
    let line = message.get(..end).and_then(|text| text.iter().rposition(ends));
    line.map_or(0, |at| at + 1)
}

/// Returns the pointer of a DSC segment at the end, which means that the message continues elsewhere.
fn continued_at(message: &[u8]) -> Option<&[u8]> {
    let separators = Separators::read(message).ok()?;
    let last = message.get(last_line(message)..)?.strip_prefix(b"DSC")?;
    let mut fields = last.split(|&byte| char::from(byte) == separators.field);
    fields.next().filter(|rest| rest.is_empty())?;
    pointer(fields.next()?)
}

/// Returns the pointer in MSH-14, which means that the message is a continuation.
fn continues<'a>(message: &'a [u8], separators: &Separators) -> Option<&'a [u8]> {
    let mut fields = head_of(message).split(|&byte| char::from(byte) == separators.field);
    pointer(fields.nth(13)?)
}

fn pointer(field: &[u8]) -> Option<&[u8]> {
    let field = field.trim_ascii();
    (!field.is_empty() && !is_null(&String::from_utf8_lossy(field))).then_some(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(text: &str) -> String {
        let separators = Separators::read(text.as_bytes()).unwrap();
        joined(text.into(), &separators).into_owned()
    }

    #[test]
    fn an_addendum_continues_the_last_field() {
        for end in ["", "|"] {
            let text = format!("MSH|^~\\&\rOBX|1|TX|N||one{end}\rADD| and two|mg\rADD|/dL||\rNTE|1");
            assert_eq!(add(&text), "MSH|^~\\&\rOBX|1|TX|N||one and two|mg/dL||\rNTE|1\r");
        }
        for text in [
            "MSH|^~\\&\rADD|two",
            "MSH|^~\\&\rOBX|1|TX|N||ADD|x",
            "MSH|^~\\&\rADDX",
        ] {
            assert_eq!(add(text).trim_end(), text);
        }
    }

    #[test]
    fn pieces_are_joined_by_their_pointers() {
        let first = "MSH|^~\\&|a|||||||C-1|P|2.5\rOBX|1|TX|N||one\rDSC|P-1\r";
        let second = "MSH|^~\\&|a|||||||C-2|P|2.5||P-1\rADD| two\r";
        let both = format!("{first}{second}");
        let whole = whole(both.as_bytes()).unwrap();
        assert_eq!(
            String::from_utf8_lossy(&whole.body),
            "MSH|^~\\&|a|||||||C-1|P|2.5\rOBX|1|TX|N||one\r\rADD| two\r"
        );
    }

    #[test]
    fn pieces_that_do_not_fit_are_refused() {
        let refused = |payload: &str| whole(payload.as_bytes()).unwrap_err().2;
        let first = "MSH|^~\\&|a\rDSC|P-1\r";
        let second = "MSH|^~\\&|a|||||||||||P-2\r";
        assert_eq!(refused(&format!("{first}{second}")), PayloadError::Fragmented);
        assert_eq!(
            refused(&format!("{first}MSH|^~\\&|b\r")),
            PayloadError::Fragmented
        );
        assert_eq!(
            refused(&format!("MSH|^~\\&|b\r{second}")),
            PayloadError::Fragmented
        );
        assert_eq!(refused("MSH|^~\\&|b\rMSH|^~\\&|b\r"), PayloadError::Duplicate);
        assert_eq!(refused("MSH|^~\\&|b\rBTS|1\rmore"), PayloadError::NotHl7);
    }
}
