//! Clinical terms that were redacted: what a redaction costs in use.
//!
//! The terms are the entries of the built-in lists of clinical words, abbreviations, drugs, devices and eponyms. They
//! can only be counted where the original text is at hand, while it is redacted. The counts hold no text.

use std::collections::BTreeMap;
use std::sync::Arc;

use lethe_core::{NoteView, Span};
use lethe_dictionaries::{Dictionary, ListSet};
use serde::{Deserialize, Serialize};

/// The lists of clinical terms, each with the languages that it has, by the beginning of its name.
pub(crate) const LISTS: [&str; 5] = [
    "clinical-words",
    "clinical-abbreviations",
    "drugs",
    "device-names",
    "eponyms",
];

/// Finds clinical terms.
pub(crate) struct ClinicalTerms {
    dictionary: Arc<Dictionary>,
    lists: ListSet,
}

/// The number of clinical terms, and of those that a redaction covers, by its label.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TermCounts {
    /// The terms in the notes.
    pub(crate) terms: u64,
    /// The terms of which at least a part was redacted, by the label of the redaction.
    pub(crate) redacted: BTreeMap<String, u64>,
}

impl ClinicalTerms {
    /// Returns the terms of a dictionary; `None` if it has none of the lists.
    pub(crate) fn new(dictionary: &Arc<Dictionary>) -> Option<Self> {
        let is_clinical = |id: &str| {
            let rest = LISTS.iter().find_map(|list| id.strip_prefix(list));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        let lists = dictionary.lists_where(|list| is_clinical(&list.id));
        (!lists.is_empty()).then(|| Self {
            dictionary: Arc::clone(dictionary),
            lists,
        })
    }

    /// Counts the terms of notes, each with its redactions in the order of the text.
    pub(crate) fn count<'n>(
        &self,
        notes: impl IntoIterator<Item = (NoteView<'n>, Vec<(Span, &'n str)>)>,
    ) -> TermCounts {
        let mut counts = TermCounts::default();
        let mut matcher = self.dictionary.matcher();
        for (note, redactions) in notes {
            let mut next = redactions.iter().peekable();
            matcher.longest(&note, self.lists, |term| {
                if term.distance > 0 {
                    return;
                }
                counts.terms += 1;
                while next
                    .next_if(|(span, _)| span.end() <= term.span.start())
                    .is_some()
                {}
                if let Some((_, label)) = next.peek().filter(|(span, _)| span.overlaps(term.span)) {
                    counts.redacted_one(label);
                }
            });
        }
        counts
    }
}

impl TermCounts {
    fn redacted_one(&mut self, label: &str) {
        match self.redacted.get_mut(label) {
            Some(count) => *count += 1,
            None => drop(self.redacted.insert(label.to_owned(), 1)),
        }
    }

    /// Adds other counts.
    pub(crate) fn add(&mut self, other: &Self) {
        self.terms += other.terms;
        for (label, count) in &other.redacted {
            *self.redacted.entry(label.clone()).or_default() += count;
        }
    }

    /// Returns the number of redacted terms.
    pub(crate) fn lost(&self) -> u64 {
        self.redacted.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use lethe_core::NoteBatch;

    use super::*;

    #[test]
    fn terms_under_a_redaction_are_counted_by_its_label() {
        let terms = ClinicalTerms::new(&Dictionary::builtin()).unwrap();
        let text = "Polypharmacy noted by Zorvane; bedaquiline was stopped.";
        let batch = NoteBatch::from_texts([text]).unwrap();
        let (none, drug) = (
            Vec::new(),
            vec![(Span::between(0, 3), "DATE"), (Span::between(31, 42), "PATIENT")],
        );
        let before = terms.count([(batch.note(0), none)]);
        assert!(before.terms >= 2 && before.lost() == 0, "{before:?}");
        let after = terms.count([(batch.note(0), drug)]);
        assert_eq!(after.terms, before.terms);
        assert_eq!((after.redacted["PATIENT"], after.redacted["DATE"]), (1, 1));
        let mut sum = before;
        sum.add(&after);
        assert_eq!((sum.terms, sum.lost()), (2 * after.terms, 2));
    }
}
