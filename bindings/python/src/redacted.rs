//! What an engine returns, with places in characters as Python counts them.

use pyo3::prelude::*;

/// An identifier in a note.
#[pyclass(frozen, eq, module = "lethe")]
#[derive(Clone, PartialEq)]
pub(crate) struct Span {
    /// The first character.
    #[pyo3(get)]
    pub(crate) start: usize,
    /// The character after the last one.
    #[pyo3(get)]
    pub(crate) end: usize,
    /// The label, such as `PATIENT`.
    #[pyo3(get)]
    pub(crate) label: String,
    /// The ensemble's score, 0 to 1.
    #[pyo3(get)]
    pub(crate) score: f32,
    /// The members that predicted it; empty for another occurrence of a value that was found elsewhere.
    #[pyo3(get)]
    pub(crate) members: Vec<String>,
}

#[pymethods]
impl Span {
    fn __repr__(&self) -> String {
        let Self {
            start,
            end,
            label,
            score,
            ..
        } = self;
        format!("Span(start={start}, end={end}, label='{label}', score={score:.2})")
    }
}

/// A redacted note.
#[pyclass(frozen, module = "lethe")]
pub(crate) struct Redacted {
    /// The redacted text.
    #[pyo3(get)]
    pub(crate) text: String,
    /// What was found, in order and without overlaps, with places in the original note.
    #[pyo3(get)]
    pub(crate) spans: Vec<Span>,
    /// The start and end of each replacement in the redacted text, in the order of `spans`.
    #[pyo3(get)]
    pub(crate) replacements: Vec<(usize, usize)>,
    /// Why a person should check the note, such as `low_margin`; empty without a reason.
    #[pyo3(get)]
    review: Vec<&'static str>,
}

#[pymethods]
impl Redacted {
    fn __str__(&self) -> &str {
        &self.text
    }

    /// Without text: a redacted note may still contain what was missed.
    fn __repr__(&self) -> String {
        format!(
            "Redacted({} characters, {} spans)",
            self.text.chars().count(),
            self.spans.len()
        )
    }
}

impl Redacted {
    /// Converts a result for the note `original`.
    pub(crate) fn new(original: &str, redacted: lethe::Redacted) -> Self {
        let replacements = characters(
            redacted.text(),
            redacted
                .replacements()
                .iter()
                .map(|range| (range.start, range.end)),
        );
        Self {
            spans: spans(original, redacted.spans()),
            replacements,
            review: redacted.review().to_vec(),
            text: redacted.into_text(),
        }
    }
}

/// Converts the spans of the note `original`.
pub(crate) fn spans(original: &str, spans: &[lethe::Span]) -> Vec<Span> {
    let places = characters(
        original,
        spans.iter().map(|span| (span.range.start, span.range.end)),
    );
    let spans = spans.iter().zip(places);
    spans
        .map(|(span, (start, end))| Span {
            start,
            end,
            label: span.label.clone(),
            score: span.score,
            members: span.members.clone(),
        })
        .collect()
}

/// Converts ranges of bytes, in order and without overlaps, into ranges of characters.
fn characters(text: &str, ranges: impl Iterator<Item = (usize, usize)>) -> Vec<(usize, usize)> {
    if text.is_ascii() {
        return ranges.collect();
    }
    let mut counted = (0, 0);
    let mut place = |byte: usize| {
        let (from, before) = counted;
        let between = text.get(from..byte).map_or(0, |text| text.chars().count());
        counted = (byte, before + between);
        counted.1
    };
    ranges.map(|(start, end)| (place(start), place(end))).collect()
}
