//! A document under construction: pieces of text, each an identifier or not.

use lethe_core::Span;
use lethe_corpus::{Document, Mark};

/// Labels of names: a given and a family name with a blank between them are one name.
const NAMES: &[&str] = &["PATIENT", "DOCTOR"];

/// A piece that is written at once: either a whole identifier, or text without one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Piece {
    pub(crate) text: String,
    /// The identifier's label.
    pub(crate) label: Option<&'static str>,
}

/// Pieces in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Page {
    pub(crate) pieces: Vec<Piece>,
}

impl Page {
    /// Adds text that identifies nobody.
    pub(crate) fn text(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(Piece {
                text: last,
                label: None,
            }) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => self.pieces.push(Piece {
                text: text.to_owned(),
                label: None,
            }),
        }
    }

    /// Adds an identifier.
    pub(crate) fn value(&mut self, label: &'static str, text: &str) {
        let inner = text.trim();
        // A span of blanks identifies nobody, and blanks at its ends are not part of it.
        if !inner.is_empty() {
            self.pieces.push(Piece {
                text: inner.to_owned(),
                label: Some(label),
            });
        }
    }

    /// Adapts a final "a" to the next word: "an 82-year-old", "an actor".
    pub(crate) fn article(&mut self, next: &str) {
        let next = next.to_lowercase();
        let vowel = next.starts_with(['8', 'a', 'e', 'i', 'o']) || matches!(next.as_str(), "11" | "18");
        if let Some(Piece { text, label: None }) = self.pieces.last_mut()
            && vowel
            && text.to_lowercase().ends_with(" a ")
        {
            text.pop();
            text.push_str("n ");
        }
    }

    /// Converts to capitals what was written since the page had `pieces` pieces, the last of `bytes` bytes.
    pub(crate) fn capitals_from(&mut self, pieces: usize, bytes: usize) {
        if let Some(last) = pieces.checked_sub(1).and_then(|last| self.pieces.get_mut(last)) {
            let new = last.text.split_off(bytes);
            last.text.push_str(&new.to_uppercase());
        }
        for piece in self.pieces.iter_mut().skip(pieces) {
            piece.text = piece.text.to_uppercase();
        }
    }

    /// Appends another page.
    pub(crate) fn append(&mut self, other: Self) {
        for piece in other.pieces {
            match piece.label {
                Some(_) => self.pieces.push(piece),
                None => self.text(&piece.text),
            }
        }
    }

    /// Returns whether the last line has text.
    pub(crate) fn is_within_line(&self) -> bool {
        self.pieces
            .last()
            .is_some_and(|piece| !piece.text.ends_with('\n'))
    }

    /// Returns whether the page ends with one of these.
    pub(crate) fn ends_with(&self, ends: &[&str]) -> bool {
        self.pieces
            .last()
            .is_some_and(|piece| ends.iter().any(|end| piece.text.ends_with(end)))
    }

    /// Returns the document, with its marks.
    pub(crate) fn finish(self, id: String, patient: Option<String>) -> Document {
        let mut text = String::new();
        let mut marks: Vec<Mark> = Vec::new();
        let mut before = None;
        for piece in self.pieces {
            let start = text.len();
            text.push_str(&piece.text);
            let (Some(label), Ok(span)) = (piece.label, Span::new(start, text.len())) else {
                before = before.filter(|_| matches!(piece.text.as_str(), " " | ","));
                continue;
            };
            match marks.last_mut() {
                // "{patient.first} {patient.last}" is one name, and so is "{patient.last},{patient.first}".
                Some(last) if before == Some(label) && NAMES.contains(&label) => {
                    last.span = last.span.union(span)
                }
                _ => marks.push(Mark::gold(span, label)),
            }
            before = Some(label);
        }
        Document {
            id,
            patient,
            text,
            marks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_where_the_values_stand() {
        let mut page = Page::default();
        page.text("Dr. ");
        page.value("DOCTOR", " Ørsted ");
        page.text(", ");
        page.text("MD");
        page.value("DATE", "  ");
        let document = page.finish("1".into(), None);
        assert_eq!(document.text, "Dr. Ørsted, MD");
        assert_eq!(document.marks, [Mark::gold(Span::new(4, 11).unwrap(), "DOCTOR")]);
    }
}
