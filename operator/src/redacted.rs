//! What an engine returns.

use std::ops::Range;

/// An identifier in a note.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Span {
    /// Bytes of the note, on character boundaries.
    pub range: Range<usize>,
    /// The label, a name of the bundle's label set such as `PATIENT`.
    pub label: String,
    /// The ensemble's score, 0 to 1: in a vote the best score among the members.
    pub score: f32,
    /// The members that predicted it; empty for another occurrence of a value that was found elsewhere.
    pub members: Vec<String>,
}

/// A redacted note.
#[derive(Clone, PartialEq)]
pub struct Redacted {
    pub(crate) text: String,
    pub(crate) spans: Vec<Span>,
    pub(crate) replacements: Vec<Range<usize>>,
    pub(crate) review: Vec<&'static str>,
}

impl Redacted {
    /// Returns the redacted text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the redacted text, owned.
    pub fn into_text(self) -> String {
        self.text
    }

    /// Returns what was found, in order and without overlaps. The ranges are those of the original note.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Returns the range of each span's replacement in the redacted text, in the order of [`Redacted::spans`].
    pub fn replacements(&self) -> &[Range<usize>] {
        &self.replacements
    }

    /// Returns why a person should check the note, in words of the column `review` such as `low_margin`; empty
    /// without a reason.
    pub fn review(&self) -> &[&'static str] {
        &self.review
    }
}

/// Shows no text: a redacted note may still contain what was missed.
impl std::fmt::Debug for Redacted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Redacted([{} bytes], {} spans)",
            self.text.len(),
            self.spans.len()
        )
    }
}
