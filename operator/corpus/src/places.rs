//! Converts annotation offsets to bytes of the text, and verifies how they were counted.
//!
//! Every format here counts Unicode code points. Whether a CR LF counts as one or two is less certain: an XML
//! parser returns it as one LF (XML 1.0, 2.11), but a file may have been annotated as bytes, or have got its
//! CRs later; and tools written in Java count UTF-16 units. So annotations that quote their text decide: the
//! reader tries the counting that the format prescribes first, then the others, and refuses the file if all
//! fail.

use std::path::Path;

use lethe_core::Span;

use crate::error::{CorpusError, LineError};
use crate::{Document, Mark};

/// The byte at which each code point begins, as an annotator counted them; then the end.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    starts: Vec<usize>,
    /// What was counted, for messages.
    unit: OffsetUnit,
}

/// What offsets count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OffsetUnit {
    /// Unicode code points.
    #[default]
    CodePoint,
    /// Bytes of UTF-8.
    Byte,
    /// UTF-16 code units.
    Utf16,
}

impl std::fmt::Display for OffsetUnit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::CodePoint => "code points",
            Self::Byte => "bytes",
            Self::Utf16 => "UTF-16 units",
        })
    }
}

impl PartialEq for Places {
    /// Two ways of counting are equal if they give the same positions.
    fn eq(&self, other: &Self) -> bool {
        self.starts == other.starts
    }
}

/// Stands for a position inside a character, in units that are smaller than one.
const INSIDE: usize = usize::MAX;

impl Places {
    /// Counts every code point.
    pub(crate) fn of(text: &str) -> Self {
        let starts = text.char_indices().map(|(at, _)| at);
        Self::from_starts(starts.chain([text.len()]).collect())
    }

    /// Counts a CR LF once.
    pub(crate) fn line_ends_once(text: &str) -> Self {
        let bytes = text.as_bytes();
        let second = |at: usize| bytes[at] == b'\n' && at > 0 && bytes[at - 1] == b'\r';
        let starts = text.char_indices().map(|(at, _)| at).filter(|&at| !second(at));
        Self::from_starts(starts.chain([text.len()]).collect())
    }

    /// Counts characters beyond the basic plane twice, as in Java and JavaScript.
    pub(crate) fn utf16(text: &str) -> Self {
        Self::units(text, OffsetUnit::Utf16, char::len_utf16)
    }

    /// Counts bytes of UTF-8.
    pub(crate) fn bytes(text: &str) -> Self {
        Self::units(text, OffsetUnit::Byte, char::len_utf8)
    }

    fn units(text: &str, unit: OffsetUnit, len: fn(char) -> usize) -> Self {
        let starts = text
            .char_indices()
            .flat_map(|(at, c)| std::iter::once(at).chain(std::iter::repeat_n(INSIDE, len(c) - 1)));
        Self {
            starts: starts.chain([text.len()]).collect(),
            unit,
        }
    }

    /// Uses starts that the caller counted.
    pub(crate) const fn from_starts(starts_and_end: Vec<usize>) -> Self {
        Self {
            starts: starts_and_end,
            unit: OffsetUnit::CodePoint,
        }
    }

    fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Returns whether a position lies inside a character.
    fn inside(&self, at: usize) -> bool {
        self.starts.get(at) == Some(&INSIDE)
    }

    /// Returns the span between two code points; `None` if it is empty or out of range.
    fn span(&self, start: usize, end: usize) -> Option<Span> {
        let span = Span::new(*self.starts.get(start)?, *self.starts.get(end)?).ok()?;
        (!span.is_empty()).then_some(span)
    }
}

/// Returns the start and end of each annotation in code points; `None` if one does not lie on character
/// boundaries.
pub(crate) fn counted(document: &Document) -> Option<Vec<(usize, usize)>> {
    let places = Places::of(&document.text);
    let place = |byte: usize| places.starts.binary_search(&byte).ok();
    let marks = document.marks.iter();
    marks
        .map(|mark| Some((place(mark.span.start())?, place(mark.span.end())?)))
        .collect()
}

/// An annotation as the file has it.
pub(crate) struct Claim {
    /// Its name, for messages.
    pub(crate) which: String,
    /// Its line, from 1.
    pub(crate) line: usize,
    /// Start and end of each part, in code points.
    pub(crate) parts: Vec<(usize, usize)>,
    /// Its label.
    pub(crate) label: String,
    /// The text that it quotes, its parts joined by a space.
    pub(crate) text: Option<String>,
    /// A prediction's score.
    pub(crate) score: Option<f32>,
}

/// Converts annotations to spans of `text`, by the first way of counting under which every annotation matches
/// the text that it quotes.
///
/// Parts with only white space between them become one span (brat cuts at line ends); others become a span
/// each.
///
/// # Errors
/// [`CorpusError::Place`] for the first annotation that fails under the first way of counting.
pub(crate) fn settle(
    path: &Path,
    text: &str,
    readings: &[Places],
    claims: &[Claim],
) -> Result<Vec<Mark>, CorpusError> {
    let mut first_error = None;
    for places in readings {
        match marks(path, text, places, claims) {
            Ok(marks) => return Ok(marks),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    first_error.map_or_else(|| Ok(Vec::new()), Err)
}

fn marks(path: &Path, text: &str, places: &Places, claims: &[Claim]) -> Result<Vec<Mark>, CorpusError> {
    let mut marks = Vec::with_capacity(claims.len());
    for claim in claims {
        let fault = |fault| CorpusError::at(path, claim.line, fault);
        let mut spans: Vec<Span> = Vec::with_capacity(claim.parts.len());
        let mut found = String::new();
        for &(start, end) in &claim.parts {
            let span = places.span(start, end).ok_or_else(|| {
                let (which, unit) = (claim.which.clone(), places.unit);
                fault(match places.inside(start) || places.inside(end) {
                    true => LineError::Cut {
                        which,
                        start,
                        end,
                        unit,
                    },
                    false => LineError::Span {
                        which,
                        start,
                        end,
                        unit,
                        len: places.len(),
                    },
                })
            })?;
            if !spans.is_empty() {
                found.push(' ');
            }
            found.push_str(span.of(text));
            spans.push(span);
        }
        if claim.text.as_ref().is_some_and(|claimed| !same(claimed, &found)) {
            let (start, end) = claim.parts.first().copied().unwrap_or_default();
            return Err(fault(LineError::Text {
                which: claim.which.clone(),
                start,
                unit: places.unit,
                end: claim.parts.last().map_or(end, |part| part.1),
            }));
        }
        marks.extend(joined(text, spans).into_iter().map(|span| Mark {
            span,
            label: claim.label.clone(),
            score: claim.score,
        }));
    }
    Ok(marks)
}

/// Sorts parts, and joins those with only white space between them.
fn joined(text: &str, mut parts: Vec<Span>) -> Vec<Span> {
    parts.sort();
    let mut out: Vec<Span> = Vec::with_capacity(parts.len());
    for part in parts {
        match out.last_mut() {
            Some(last) if blank_between(text, *last, part) => *last = last.union(part),
            _ => out.push(part),
        }
    }
    out
}

fn blank_between(text: &str, before: Span, after: Span) -> bool {
    let gap = Span::new(before.end(), after.start().max(before.end()));
    gap.is_ok_and(|gap| gap.get(text).is_some_and(|gap| gap.trim().is_empty()))
}

/// Compares texts after XML's normalisation of attribute values (XML 1.0, 2.11 and 3.3.3): a line end is one
/// character, and line ends and tabs are spaces. brat writes its text column in the same way.
pub(crate) fn same(claimed: &str, found: &str) -> bool {
    claimed == found || flat(claimed).eq(flat(found))
}

fn flat(text: &str) -> impl Iterator<Item = char> {
    let mut after_cr = false;
    text.chars().filter_map(move |c| {
        let second = after_cr && c == '\n';
        after_cr = c == '\r';
        (!second).then_some(if matches!(c, '\r' | '\n' | '\t') { ' ' } else { c })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(parts: &[(usize, usize)], text: &str) -> Claim {
        Claim {
            which: "tag 1".to_owned(),
            line: 7,
            parts: parts.to_vec(),
            label: "NAME".to_owned(),
            text: Some(text.to_owned()),
            score: None,
        }
    }

    fn found(text: &str, readings: &[Places], claims: &[Claim]) -> Result<Vec<String>, CorpusError> {
        let marks = settle(Path::new("a"), text, readings, claims)?;
        Ok(marks.iter().map(|mark| mark.span.of(text).to_owned()).collect())
    }

    #[test]
    fn offsets_are_code_points_and_a_byte_order_mark_is_one() {
        let text = "\u{feff}👩🏽 é Ruiz";
        let spans = found(text, &[Places::of(text)], &[claim(&[(6, 10)], "Ruiz")]).unwrap();
        assert_eq!(spans, ["Ruiz"]);
    }

    #[test]
    fn the_text_an_annotation_gives_decides_what_a_line_end_counts() {
        let text = "a\r\nb\r\nRuiz";
        let readings = [Places::of(text), Places::line_ends_once(text)];
        for start in [4, 6] {
            let spans = found(text, &readings, &[claim(&[(start, start + 4)], "Ruiz")]);
            assert_eq!(spans.unwrap(), ["Ruiz"]);
        }
        let refused = found(text, &readings, &[claim(&[(5, 9)], "Ruiz")]);
        assert_eq!(
            refused.unwrap_err().to_string(),
            "a, line 7: tag 1 (5..9 in code points): its text does not match the text at these offsets"
        );
    }

    #[test]
    fn a_line_end_or_a_tab_within_a_mark_may_be_written_as_a_blank() {
        let text = "Ana\r\nMaria\tRuiz";
        let claimed = claim(&[(0, 15)], "Ana Maria Ruiz");
        assert_eq!(found(text, &[Places::of(text)], &[claimed]).unwrap(), [text]);
    }

    #[test]
    fn parts_are_a_mark_each_unless_only_white_space_divides_them() {
        let text = "Ana\n Ruiz and Gil";
        let spans = found(
            text,
            &[Places::of(text)],
            &[claim(&[(0, 3), (5, 9), (14, 17)], "Ana Ruiz Gil")],
        );
        assert_eq!(spans.unwrap(), ["Ana\n Ruiz", "Gil"]);
    }

    #[test]
    fn a_position_inside_a_character_is_refused_in_bytes_and_utf16_units() {
        let text = "👩 é Ruiz";
        for (places, start, inside) in [
            (Places::bytes(text), 8, 6),
            (Places::utf16(text), 5, 1),
            (Places::of(text), 4, usize::MAX),
        ] {
            let spans = found(
                text,
                std::slice::from_ref(&places),
                &[claim(&[(start, start + 4)], "Ruiz")],
            );
            assert_eq!(spans.unwrap(), ["Ruiz"]);
            if inside < text.len() {
                let error = found(text, &[places], &[claim(&[(inside, start + 4)], "Ruiz")]).unwrap_err();
                assert!(error.to_string().ends_with("cuts a character"), "{error}");
            }
        }
    }

    #[test]
    fn an_empty_reversed_or_outside_span_is_refused() {
        let text = "Ana";
        for part in [(1, 1), (2, 1), (0, 9)] {
            let error = found(text, &[Places::of(text)], &[claim(&[part], "Ana")]).unwrap_err();
            let message = error.to_string();
            assert!(
                message.contains("not a span of the text, which has 3 code points"),
                "{message}"
            );
        }
    }
}
