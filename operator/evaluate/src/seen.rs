//! Compares recall on spans that occur in training with recall on others, which separates generalisation from
//! memory.

use std::collections::HashSet;

use lethe_corpus::{Document, surface_form};

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
                marked.insert((mark.label.clone(), surface_form(&document.text, mark.span)));
            }
        }
        Ok(Self(marked))
    }

    /// Returns for each gold span of a document whether training has it.
    pub(crate) fn has(&self, input: &Input<'_>, at: usize) -> Vec<bool> {
        let has = |item: &Item| {
            let text = surface_form(&input.documents[at].text, item.span);
            self.0.contains(&(input.labels[item.label].clone(), text))
        };
        input.gold[at].iter().map(has).collect()
    }
}

#[cfg(test)]
mod tests {
    use lethe_core::Span;
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
        assert_eq!(training.has(&input, 0), [true, false]);
    }
}
