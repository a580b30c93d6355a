//! The spans that one member predicts in one note.

use crate::{LabelId, NoteView, Span, SpanError};

/// A member's prediction that a span is PHI.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Annotation {
    /// Bytes of the original note.
    pub span: Span,
    /// The label.
    pub label: LabelId,
    /// The probability that this span is PHI, 0 to 1, whatever its label. A rule gives 1 if the text proves
    /// itself (a check digit) and less for weaker evidence; a model gives the probability that the least
    /// certain token is in some span.
    pub score: f32,
    /// The rule that matched, for the audit; empty for members without rules. Never text of a note.
    pub rule: &'static str,
}

/// The number of annotations from which their list frees the memory that it reserved for more.
const MANY: usize = 1 << 12;

/// Why a member's annotations were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnnotationError {
    /// A span lies outside the note, or off a character boundary.
    #[error(transparent)]
    Span(#[from] SpanError),
    /// A span is empty.
    #[error("span {0} is empty")]
    Empty(Span),
}

/// One member's annotations of one note: every span is in bounds and on character boundaries, sorted by
/// start, then by descending length, then by label; no triple occurs twice.
///
/// Spans of one member may overlap: the vote decides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotations(Vec<Annotation>);

impl Annotations {
    /// Checks and sorts the annotations, and keeps the best score of equal triples.
    ///
    /// # Errors
    /// [`AnnotationError`] for the first span that is not valid in `text`.
    pub fn new(text: &str, mut annotations: Vec<Annotation>) -> Result<Self, AnnotationError> {
        for annotation in &annotations {
            annotation.span.check(text)?;
            if annotation.span.is_empty() {
                return Err(AnnotationError::Empty(annotation.span));
            }
        }
        let key = |a: &Annotation| (a.span.start(), std::cmp::Reverse(a.span.end()), a.label);
        annotations.sort_by(|a, b| key(a).cmp(&key(b)).then(b.score.total_cmp(&a.score)));
        annotations.dedup_by_key(|a| key(a));
        if annotations.len() > MANY {
            annotations.shrink_to_fit();
        }
        Ok(Self(annotations))
    }

    /// Returns the annotations in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Annotation> {
        self.0.iter()
    }

    /// Returns the annotations that start at or after this byte, in order.
    pub fn starting_from(&self, start: usize) -> std::slice::Iter<'_, Annotation> {
        self.0[self.0.partition_point(|a| a.span.start() < start)..].iter()
    }

    /// Removes the annotations for which `keep` returns false.
    pub fn retain(&mut self, keep: impl FnMut(&Annotation) -> bool) {
        self.0.retain(keep);
    }

    /// Returns the number of annotations.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no annotations.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> IntoIterator for &'a Annotations {
    type Item = &'a Annotation;
    type IntoIter = std::slice::Iter<'a, Annotation>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Collects a member's annotations of one note by token.
pub struct Collector<'a> {
    note: NoteView<'a>,
    found: Vec<Annotation>,
}

impl<'a> Collector<'a> {
    /// Creates an empty collector for a note.
    pub fn new(note: NoteView<'a>) -> Self {
        Self {
            note,
            found: Vec::new(),
        }
    }

    /// Adds tokens `first` to `last`, both included, as [`Self::span`] does.
    ///
    /// # Panics
    /// If they are not tokens of the note.
    pub fn tokens(&mut self, first: usize, last: usize, label: LabelId, score: f32, rule: &'static str) {
        self.span(self.note.tokens_span(first, last), label, score, rule);
    }

    /// Adds a span if it has a letter or a digit: nothing else identifies a person.
    pub fn span(&mut self, span: Span, label: LabelId, score: f32, rule: &'static str) {
        // An invalid span is kept here; `finish` refuses it.
        let text = self.note.text.get(span.start()..span.end());
        if text.is_some_and(|text| !text.chars().any(char::is_alphanumeric)) {
            return;
        }
        self.found.push(Annotation {
            span,
            label,
            score,
            rule,
        });
    }

    /// Returns the annotations so far, in the order in which they were added.
    pub fn found(&self) -> &[Annotation] {
        &self.found
    }

    /// Checks and sorts the annotations.
    ///
    /// # Errors
    /// As [`Annotations::new`].
    pub fn finish(self) -> Result<Annotations, AnnotationError> {
        Annotations::new(self.note.text, self.found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotation(start: u32, end: u32, score: f32) -> Annotation {
        Annotation {
            span: Span::between(start, end),
            label: LabelId(0),
            score,
            rule: "",
        }
    }

    #[test]
    fn annotations_are_sorted_and_equal_triples_keep_the_best_score() {
        let found = vec![
            annotation(3, 5, 0.2),
            annotation(0, 2, 0.5),
            annotation(3, 5, 0.9),
            annotation(0, 4, 0.1),
        ];
        let sorted = Annotations::new("abcdef", found).unwrap();
        let spans: Vec<_> = sorted
            .iter()
            .map(|a| (a.span.start(), a.span.end(), a.score))
            .collect();
        assert_eq!(spans, [(0, 4, 0.1), (0, 2, 0.5), (3, 5, 0.9)]);
    }

    #[test]
    fn a_collector_passes_over_what_has_neither_letter_nor_digit() {
        let batch = crate::NoteBatch::from_texts(["her sister 🙂 Ana — 7"]).unwrap();
        let note = batch.note(0);
        let mut collector = Collector::new(note);
        for token in 0..note.tokens.len() {
            collector.tokens(token, token, LabelId(0), 1.0, "");
        }
        let kept = collector.finish().unwrap();
        let texts: Vec<_> = kept.iter().map(|a| a.span.of(note.text)).collect();
        assert_eq!(texts, ["her", "sister", "Ana", "7"]);
    }

    #[test]
    fn a_span_outside_the_note_or_inside_a_character_or_empty_is_refused() {
        for (start, end) in [(0, 9), (2, 3), (1, 1)] {
            assert!(Annotations::new("aéb", vec![annotation(start, end, 1.0)]).is_err());
        }
    }
}
