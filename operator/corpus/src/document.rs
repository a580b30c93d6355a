//! A document and its annotated spans.

use lethe_core::Span;

/// A span and its label, in the corpus' own names.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Bytes of the document's text.
    pub span: Span,
    /// The label's name.
    pub label: String,
    /// A prediction's score, 0 to 1; gold has none.
    pub score: Option<f32>,
}

impl Mark {
    /// Creates a gold annotation.
    pub fn gold(span: Span, label: impl Into<String>) -> Self {
        Self {
            span,
            label: label.into(),
            score: None,
        }
    }
}

/// A document with its annotations.
#[derive(Clone, PartialEq)]
pub struct Document {
    /// Its id in the corpus.
    pub id: String,
    /// The patient, if the corpus names one. Folds and leaks are counted by patient.
    pub patient: Option<String>,
    /// The text, exactly as in the file.
    pub text: String,
    /// Annotations by start, longer first. In most corpora those of gold do not overlap, but they may.
    pub marks: Vec<Mark>,
}

impl Document {
    /// Sorts annotations by start, longer first, then by label, which is the order that readers return.
    pub fn sort(&mut self) {
        sort(&mut self.marks);
    }
}

pub(crate) fn sort(marks: &mut [Mark]) {
    let key = |mark: &Mark| (mark.span.start(), std::cmp::Reverse(mark.span.end()));
    marks.sort_by(|a, b| key(a).cmp(&key(b)).then_with(|| a.label.cmp(&b.label)));
}

impl std::fmt::Debug for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Document({} bytes, {} marks)",
            self.text.len(),
            self.marks.len()
        )
    }
}
