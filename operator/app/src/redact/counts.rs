//! What was done to the notes of a file, in numbers.

use std::collections::BTreeMap;

use lethe_core::{Engine, NoteBatch, Outcome, Redacted, Review};
use serde::{Deserialize, Serialize};

use crate::clinical::{ClinicalTerms, TermCounts};

/// Counts of a file's notes and replacements. They hold no text of a note.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Counts {
    /// Notes, messages or texts of a table's cells.
    pub(crate) notes: u64,
    /// Notes in which nothing was found.
    pub(crate) without_findings: u64,
    /// Notes that a person should check.
    pub(crate) flagged: u64,
    /// Notes of which at least half of the letters and digits were replaced.
    pub(crate) mostly_replaced: u64,
    /// Bytes of text.
    pub(crate) bytes: u64,
    /// Replacements by label and action.
    pub(crate) replaced: BTreeMap<String, BTreeMap<String, u64>>,
    /// Clinical terms, and those that were redacted. An earlier version did not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) clinical: Option<TermCounts>,
    /// Refused messages by code, which were skipped.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) refused: BTreeMap<String, u64>,
}

impl Counts {
    /// Adds a redacted note.
    pub(crate) fn note(
        &mut self,
        (engine, terms): (&Engine, Option<&ClinicalTerms>),
        batch: &NoteBatch,
        row: usize,
        outcome: &Outcome,
        review: Review,
        redacted: &Redacted,
    ) {
        let text = batch.note(row).text;
        let decisions = outcome.as_deref().unwrap_or_default();
        self.notes += 1;
        self.bytes += text.len() as u64;
        self.without_findings += u64::from(decisions.is_empty());
        self.flagged += u64::from(!review.is_empty());
        let replaced: usize = decisions.iter().map(|one| letters(one.span.of(text))).sum();
        self.mostly_replaced += u64::from(replaced > 0 && replaced * 2 >= letters(text));
        for (decision, placed) in decisions.iter().zip(&redacted.placed) {
            let label = &engine.labels().label(decision.label).name;
            self.replacement(label, placed.action, 1);
        }
        if let Some(terms) = terms {
            let spans = decisions
                .iter()
                .map(|one| (one.span, engine.labels().label(one.label).name.as_str()));
            let counts = terms.count([(batch.note(row), spans.collect())]);
            self.clinical.get_or_insert_default().add(&counts);
        }
        if let Some(enclosed) = batch.enclosed(row) {
            for (identifier, done) in enclosed.0.identifiers().iter().zip(&redacted.identifiers) {
                self.replacement(identifier.label, done.action, 1);
            }
        }
    }

    /// Adds replacements of a label.
    pub(crate) fn replacement(&mut self, label: &str, action: &str, count: u64) {
        let by_action = match self.replaced.get_mut(label) {
            Some(by_action) => by_action,
            None => self.replaced.entry(label.to_owned()).or_default(),
        };
        match by_action.get_mut(action) {
            Some(sum) => *sum += count,
            None => {
                by_action.insert(action.to_owned(), count);
            }
        }
    }

    /// Adds the counts of another file.
    pub(crate) fn add(&mut self, other: &Self) {
        self.notes += other.notes;
        self.without_findings += other.without_findings;
        self.flagged += other.flagged;
        self.mostly_replaced += other.mostly_replaced;
        self.bytes += other.bytes;
        for (label, actions) in &other.replaced {
            for (action, count) in actions {
                self.replacement(label, action, *count);
            }
        }
        if let Some(clinical) = &other.clinical {
            self.clinical.get_or_insert_default().add(clinical);
        }
        for (code, count) in &other.refused {
            *self.refused.entry(code.clone()).or_default() += count;
        }
    }

    /// Returns the number of replacements.
    pub(crate) fn replacements(&self) -> u64 {
        self.replaced.values().flat_map(BTreeMap::values).sum()
    }
}

fn letters(text: &str) -> usize {
    text.chars().filter(|c| c.is_alphanumeric()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_files_add_up() {
        let mut all = Counts::default();
        let mut one = Counts {
            notes: 2,
            flagged: 1,
            ..Counts::default()
        };
        one.replacement("DATE", "tag", 2);
        one.replacement("DATE", "shift", 1);
        all.add(&one);
        all.add(&one);
        assert_eq!((all.notes, all.flagged, all.replacements()), (4, 2, 6));
        assert_eq!(all.replaced["DATE"]["tag"], 4);
    }
}
