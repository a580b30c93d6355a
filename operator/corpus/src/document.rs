//! A document and the spans marked in it.

use lethe_core::Span;

/// A span and what it is, in the corpus' own words.
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
    /// A gold mark.
    pub fn gold(span: Span, label: impl Into<String>) -> Self {
        Self {
            span,
            label: label.into(),
            score: None,
        }
    }
}

/// A document with its marks.
#[derive(Clone, PartialEq)]
pub struct Document {
    /// Its id in its corpus.
    pub id: String,
    /// Whose document it is, where the corpus tells: folds and leaks are counted by it.
    pub patient: Option<String>,
    /// The text, as the file has it.
    pub text: String,
    /// Marks, by start, longer first; those of gold do not overlap in most corpora, but may.
    pub marks: Vec<Mark>,
}

impl Document {
    /// Marks by start, longer first, then by label: the order that readers give them in.
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
