//! Groups of labels that are scored together: single labels, categories, HIPAA identifiers.

use std::collections::BTreeSet;

use lethe_core::{LabelSet, Span};
use lethe_corpus::{Counts, Grouping as By, covered_tokens};

use crate::input::Item;
use crate::measure::{relaxed, sets};
use crate::report::Ratios;

/// Groups of labels, sorted by name.
pub(crate) struct Grouping {
    pub(crate) names: Vec<String>,
    /// A label's group.
    of: Vec<usize>,
}

impl Grouping {
    /// Groups every label alone.
    pub(crate) fn labels(labels: &[String]) -> Self {
        Self::new(labels.to_vec())
    }

    /// Groups as a label set does.
    pub(crate) fn by(by: By, labels: &[String], set: &LabelSet) -> Self {
        Self::new(labels.iter().map(|label| by.group_of(label, set)).collect())
    }

    /// Counts spans by group: a hit is one without the mark, a miss one with it.
    pub(crate) fn marked(&self, items: &[Item], marks: &[bool]) -> Vec<Counts> {
        let mut counts = vec![Counts::default(); self.names.len()];
        for (item, &marked) in items.iter().zip(marks) {
            counts[self.of[item.label]] += of_marked(marked);
        }
        counts
    }

    fn new(names_by_label: Vec<String>) -> Self {
        let names: Vec<String> = names_by_label
            .iter()
            .cloned()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let of = names_by_label
            .iter()
            .map(|name| names.partition_point(|other| other < name))
            .collect();
        Self { names, of }
    }

    /// Replaces labels by groups; the result is a sorted set again.
    fn map(&self, items: &[Item]) -> Vec<Item> {
        let mut mapped: Vec<Item> = items
            .iter()
            .map(|item| Item {
                label: self.of[item.label],
                span: item.span,
            })
            .collect();
        mapped.sort_unstable();
        mapped.dedup();
        mapped
    }

    /// Counts one document by group.
    pub(crate) fn count(&self, tokens: &[Span], gold: &[Item], predicted: &[Item]) -> Vec<Grouped> {
        let (gold, predicted) = (self.map(gold), self.map(predicted));
        let tokens_of = |items: &[Item]| covered_tokens(tokens, items.iter().map(|item| item.span));
        let (all_gold, all_predicted) = (tokens_of(&gold), tokens_of(&predicted));
        (0..self.names.len())
            .map(|group| {
                let (gold, predicted) = (run(&gold, group), run(&predicted, group));
                let (gold_tokens, predicted_tokens) = (tokens_of(gold), tokens_of(predicted));
                Grouped {
                    strict: sets(gold, predicted),
                    relaxed: relaxed(gold, predicted),
                    found: sets(&gold_tokens, &all_predicted),
                    right: sets(&all_gold, &predicted_tokens),
                }
            })
            .collect()
    }
}

/// Returns one group's part of sorted annotations.
fn run(items: &[Item], group: usize) -> &[Item] {
    let start = items.partition_point(|item| item.label < group);
    let end = items.partition_point(|item| item.label <= group);
    &items[start..end]
}

/// Returns the count of one span: a hit without the mark, a miss with it.
pub(crate) fn of_marked(marked: bool) -> Counts {
    Counts {
        hits: u64::from(!marked),
        spurious: 0,
        missed: u64::from(marked),
    }
}

/// One group's counts.
#[derive(Clone, Copy, Default)]
pub(crate) struct Grouped {
    pub(crate) strict: Counts,
    pub(crate) relaxed: Counts,
    /// The group's gold tokens against all predicted tokens, for its recall.
    found: Counts,
    /// All gold tokens against the group's predicted tokens, for its precision.
    right: Counts,
}

impl Grouped {
    /// Returns the measures of Kim 2020, table 6, right half.
    pub(crate) fn token(&self) -> Ratios {
        let (precision, recall) = (self.right.precision(), self.found.recall());
        let sum = precision + recall;
        Ratios {
            precision,
            recall,
            f1: if sum == 0.0 {
                0.0
            } else {
                2.0 * precision * recall / sum
            },
        }
    }
}

impl std::ops::AddAssign for Grouped {
    fn add_assign(&mut self, other: Self) {
        self.strict += other.strict;
        self.relaxed += other.relaxed;
        self.found += other.found;
        self.right += other.right;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> Vec<String> {
        ["DOCTOR", "PATIENT", "SHOESIZE"].map(str::to_owned).to_vec()
    }

    fn item(label: usize, start: u32, end: u32) -> Item {
        Item {
            label,
            span: Span::between(start, end),
        }
    }

    #[test]
    fn a_doctor_taken_for_a_patient_is_right_as_a_name_and_as_hipaa_a() {
        let set = LabelSet::i2b2_2014();
        let tokens = [Span::between(0, 4)];
        for grouping in [
            Grouping::by(By::Category, &labels(), &set),
            Grouping::by(By::Hipaa, &labels(), &set),
        ] {
            let counts = grouping.count(&tokens, &[item(0, 0, 4)], &[item(1, 0, 4)]);
            let hit = grouping
                .names
                .iter()
                .position(|name| name == "NAME" || name == "A")
                .unwrap();
            assert_eq!((counts[hit].strict.hits, counts[hit].strict.missed), (1, 0));
        }
        let counts = Grouping::labels(&labels()).count(&tokens, &[item(0, 0, 4)], &[item(1, 0, 4)]);
        assert_eq!((counts[0].strict.missed, counts[1].strict.spurious), (1, 1));
    }

    #[test]
    fn a_label_that_the_set_lacks_is_its_own_category_and_no_letters() {
        let set = LabelSet::i2b2_2014();
        assert_eq!(
            Grouping::by(By::Category, &labels(), &set).names,
            ["NAME", "SHOESIZE"]
        );
        assert_eq!(Grouping::by(By::Hipaa, &labels(), &set).names, ["-", "A"]);
    }

    #[test]
    fn token_recall_of_a_label_looks_at_any_prediction_and_its_precision_at_any_gold() {
        // Gold: a doctor of two tokens. Predicted: a patient on the first, a doctor on a third that is not
        // PHI.
        let tokens = [Span::between(0, 3), Span::between(4, 8), Span::between(9, 12)];
        let counts =
            Grouping::labels(&labels()).count(&tokens, &[item(0, 0, 8)], &[item(0, 9, 12), item(1, 0, 3)]);
        let (doctor, patient) = (counts[0].token(), counts[1].token());
        assert_eq!((doctor.precision, doctor.recall), (0.0, 0.5));
        assert_eq!((patient.precision, patient.recall), (1.0, 0.0));
    }
}
