//! Compares recall on spans that occur in training with recall on others, which separates generalisation from
//! memory.

use std::collections::HashSet;

use lethe_core::Span;
use lethe_corpus::{Counts, Document};

use crate::EvaluateError;
use crate::input::{Input, Item, check};

/// The annotations of the training documents, by label and text.
pub(crate) struct Training(HashSet<(String, String)>);

impl Training {
    pub(crate) fn new(documents: &[Document]) -> Result<Self, EvaluateError> {
        let mut marked = HashSet::new();
        for document in documents {
            check("training", &document.id, &document.marks, &document.text)?;
            for mark in &document.marks {
                marked.insert((mark.label.clone(), words(&document.text, mark.span)));
            }
        }
        Ok(Self(marked))
    }

    /// Returns one document's recall counts of seen and of unseen spans.
    pub(crate) fn count(&self, input: &Input<'_>, at: usize, predicted: &[Item]) -> (Counts, Counts) {
        let (mut seen, mut unseen) = (Counts::default(), Counts::default());
        for item in &input.gold[at] {
            let key = (
                input.labels[item.label].clone(),
                words(&input.documents[at].text, item.span),
            );
            let counts = if self.0.contains(&key) {
                &mut seen
            } else {
                &mut unseen
            };
            match predicted.binary_search(item) {
                Ok(_) => counts.hits += 1,
                Err(_) => counts.missed += 1,
            }
        }
        (seen, unseen)
    }
}

/// Returns the text of a span in lower case, with white space as single spaces.
fn words(text: &str, span: Span) -> String {
    let mut words = String::with_capacity(span.len());
    for word in span.of(text).split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.extend(word.chars().flat_map(char::to_lowercase));
    }
    words
}

#[cfg(test)]
mod tests {
    use lethe_corpus::Mark;

    use super::*;

    fn document(text: &str, marks: &[(u32, u32, &str)]) -> Document {
        Document {
            id: "n1".to_owned(),
            patient: None,
            text: text.to_owned(),
            marks: marks
                .iter()
                .map(|&(a, b, label)| Mark::gold(Span::between(a, b), label))
                .collect(),
        }
    }

    #[test]
    fn a_name_is_seen_in_other_case_and_across_a_line_but_not_under_another_label() {
        let training =
            Training::new(&[document("EVA RÍOS, Lugo", &[(0, 9, "NAME"), (11, 15, "CITY")])]).unwrap();
        let gold = [document("Eva\nRíos Lugo", &[(0, 9, "NAME"), (10, 14, "NAME")])];
        let systems = [("rules".to_owned(), vec![document("", &[(0, 9, "NAME")])])];
        let input = Input::new(&gold, &systems).unwrap();
        let (seen, unseen) = training.count(&input, 0, &input.systems[0].marks[0]);
        assert_eq!((seen.hits, seen.missed), (1, 0));
        assert_eq!((unseen.hits, unseen.missed), (0, 1));
    }
}
