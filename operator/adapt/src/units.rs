//! Units of a stream: sentences as documents of their own, with the way back to the original.
//!
//! Sentences of a stream must not cut annotations: sentences that an annotation joins become one unit. Text
//! to predict on must not be cut according to its gold, so there only the text decides.

use lethe_core::{BatchError, NoteBatch, Span};
use lethe_corpus::{Document, Mark};

/// A piece of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// The piece, with annotations relative to its start.
    pub document: Document,
    /// Its start in the original document, in bytes.
    pub start: usize,
}

/// Splits a document into sentences with the boundaries that members see. With `whole_marks`, sentences that
/// an annotation joins stay together; without, an annotation across sentences is in no piece. Text between
/// sentences is in no piece.
///
/// # Errors
/// [`BatchError`] if the text does not form a batch.
pub fn sentences(document: &Document, whole_marks: bool) -> Result<Vec<Cut>, BatchError> {
    let batch = NoteBatch::from_texts([document.text.as_str()])?;
    let mut spans: Vec<Span> = Vec::new();
    for note in batch.notes() {
        let mut first = 0;
        for &end in note.sentence_ends {
            let span = note.tokens_span(first, end as usize - 1);
            first = end as usize;
            let joined = |before: &Span| {
                let over = |mark: &Mark| mark.span.start() < before.end() && mark.span.end() > span.start();
                whole_marks && document.marks.iter().any(over)
            };
            match spans.last_mut() {
                Some(before) if joined(before) => *before = before.union(span),
                _ => spans.push(span),
            }
        }
    }
    let cut = |(i, span): (usize, Span)| {
        let inside = document.marks.iter().filter(|mark| span.contains(mark.span));
        Cut {
            document: Document {
                id: format!("{}#{}", document.id, i + 1),
                patient: document.patient.clone(),
                text: span.of(&document.text).to_owned(),
                marks: inside.map(|mark| moved(mark, span.start(), false)).collect(),
            },
            start: span.start(),
        }
    };
    Ok(spans.into_iter().enumerate().map(cut).collect())
}

impl Cut {
    /// Wraps a document as one piece.
    pub fn whole(document: Document) -> Self {
        Self { document, start: 0 }
    }

    /// Converts annotations of the piece to those of the original document.
    pub fn back(&self, marks: &[Mark]) -> impl Iterator<Item = Mark> {
        marks.iter().map(|mark| moved(mark, self.start, true))
    }
}

/// Moves an annotation forward or back. It lies within its text before and after, whose length fits.
fn moved(mark: &Mark, by: usize, forth: bool) -> Mark {
    let at = |byte: usize| (if forth { byte + by } else { byte - by }) as u32;
    Mark {
        span: Span::between(at(mark.span.start()), at(mark.span.end())),
        ..mark.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str, parts: &[&str]) -> Document {
        let mark = |part: &&str| {
            let start = text.find(part).unwrap();
            Mark::gold(Span::new(start, start + part.len()).unwrap(), "NAME")
        };
        Document {
            id: "a".to_owned(),
            patient: None,
            text: text.to_owned(),
            marks: parts.iter().map(mark).collect(),
        }
    }

    #[test]
    fn sentences_hold_their_marks_and_lead_back_to_the_document() {
        let text = "Vista por Ana Peña.\nVive en Olmo.  Vuelve con Luis.";
        let gold = document(text, &["Ana Peña", "Luis"]);
        let cuts = sentences(&gold, true).unwrap();
        let texts: Vec<&str> = cuts.iter().map(|cut| cut.document.text.as_str()).collect();
        assert_eq!(
            texts,
            ["Vista por Ana Peña.", "Vive en Olmo.", "Vuelve con Luis."]
        );
        let back: Vec<Mark> = cuts
            .iter()
            .flat_map(|cut| cut.back(&cut.document.marks))
            .collect();
        assert_eq!(back, gold.marks);
    }

    #[test]
    fn a_mark_over_a_sentences_end_joins_both_unless_what_is_cut_is_predicted_on() {
        let gold = document("En Olmo\nAlto. Nada.", &["Olmo\nAlto"]);
        let texts = |whole| -> Vec<(String, usize)> {
            let cuts = sentences(&gold, whole).unwrap().into_iter();
            cuts.map(|cut| (cut.document.text, cut.document.marks.len()))
                .collect()
        };
        assert_eq!(
            texts(true),
            [("En Olmo\nAlto.".to_owned(), 1), ("Nada.".to_owned(), 0)]
        );
        assert_eq!(
            texts(false),
            [
                ("En Olmo".to_owned(), 0),
                ("Alto.".to_owned(), 0),
                ("Nada.".to_owned(), 0)
            ]
        );
    }

    #[test]
    fn a_text_without_a_word_has_no_sentence() {
        assert!(sentences(&document(" \n ", &[]), true).unwrap().is_empty());
    }
}
