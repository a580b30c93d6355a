//! The spans that only one member finds, and those that all members miss: the leaks that dropping a member
//! would cause, and the leaks that no ensemble of these members can prevent.
//!
//! Computed before the vote, from the members' predictions and not from the decisions. Contains coordinates
//! only, no note text.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use lethe_core::{Annotation, MemberSet};

use crate::PredictionSet;
use crate::candidates::has;

/// The finds of a single member of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UniqueFinds {
    /// Gold spans that only it predicts exactly: label, start and end.
    pub spans: u64,
    /// Gold characters that only it covers, under any label.
    pub characters: u64,
}

/// How the members fail on a gold span that none of them predicts exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missed {
    /// No member predicts anything there.
    Nothing,
    /// Some member predicts exactly this span, under another label.
    OtherLabel,
    /// Members predict other spans there, under any label.
    OtherBoundaries,
}

/// A gold span that no member predicts exactly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedError {
    /// The document.
    pub id: String,
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// Gold's label.
    pub label: String,
    /// How it is missed.
    pub missed: Missed,
    /// The labels that members predict there, by name.
    pub as_labels: Vec<String>,
    /// Whether a letter or digit of it is covered by no member's span: it leaks whatever the vote.
    pub leaks: bool,
}

/// The errors that all members of a set share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedErrors {
    /// Gold spans.
    pub gold: u64,
    /// Gold characters.
    pub characters: u64,
    /// Gold characters that no member covers.
    pub uncovered: u64,
    /// The errors by label, in the order of the label set; labels without such an error are left out.
    pub labels: Vec<SharedByLabel>,
    /// Each error, in the order of documents.
    pub cases: Vec<SharedError>,
}

/// The shared errors of one label.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedByLabel {
    /// Gold's label.
    pub label: String,
    /// Its gold spans.
    pub gold: u64,
    /// Errors with no prediction there.
    pub nothing: u64,
    /// Errors under another label.
    pub other_label: u64,
    /// Errors with other boundaries.
    pub other_boundaries: u64,
    /// The errors that leak.
    pub leaking: u64,
}

impl SharedByLabel {
    /// Returns the sum of the three kinds.
    pub fn missed(&self) -> u64 {
        self.nothing + self.other_label + self.other_boundaries
    }
}

impl SharedErrors {
    /// Returns the number of gold spans that no member predicts exactly.
    pub fn missed(&self) -> u64 {
        self.cases.len() as u64
    }

    /// Returns the number of them that leak.
    pub fn leaking(&self) -> u64 {
        self.cases.iter().filter(|case| case.leaks).count() as u64
    }
}

/// Returns what each member of a set finds alone, in the set's order.
pub fn found_alone(predictions: &PredictionSet, members: MemberSet) -> Vec<UniqueFinds> {
    let mut all = vec![UniqueFinds::default(); predictions.members.len()];
    for (row, document) in predictions.documents.iter().enumerate() {
        for gold in &predictions.gold[row] {
            let found = members
                .iter()
                .filter(|&member| has(&predictions.by_member[member][row], gold.span, gold.label))
                .fold(MemberSet::default(), MemberSet::with);
            if let Some(member) = only(found) {
                all[member].spans += 1;
            }
        }
        let gold = covered(document.text.len(), predictions.gold[row].iter(), 1);
        let under = who(predictions, row, members);
        for (at, _) in document.text.char_indices().filter(|&(at, _)| gold[at] != 0) {
            if let Some(member) = only(MemberSet(under[at])) {
                all[member].characters += 1;
            }
        }
    }
    members.iter().map(|member| all[member]).collect()
}

/// Returns the errors that all members of a set share.
pub fn shared_errors(predictions: &PredictionSet, members: MemberSet) -> SharedErrors {
    let mut errors = SharedErrors::default();
    let mut labels: BTreeMap<_, SharedByLabel> = BTreeMap::new();
    for (row, document) in predictions.documents.iter().enumerate() {
        let text = &document.text;
        let under = who(predictions, row, members);
        let gold = covered(text.len(), predictions.gold[row].iter(), 1);
        for (at, _) in text.char_indices().filter(|&(at, _)| gold[at] != 0) {
            errors.characters += 1;
            errors.uncovered += u64::from(under[at] == 0);
        }
        for gold in &predictions.gold[row] {
            let name = &predictions.labels.label(gold.label).name;
            let counts = labels.entry(gold.label).or_insert_with(|| SharedByLabel {
                label: name.clone(),
                ..SharedByLabel::default()
            });
            counts.gold += 1;
            errors.gold += 1;
            let found = |member: usize| has(&predictions.by_member[member][row], gold.span, gold.label);
            if members.iter().any(found) {
                continue;
            }
            let there = members
                .iter()
                .flat_map(|member| &predictions.by_member[member][row]);
            let there: Vec<&Annotation> = there.filter(|other| other.span.overlaps(gold.span)).collect();
            let missed = if there.is_empty() {
                Missed::Nothing
            } else if there.iter().any(|other| other.span == gold.span) {
                Missed::OtherLabel
            } else {
                Missed::OtherBoundaries
            };
            let mut ids: Vec<_> = there.iter().map(|other| other.label).collect();
            ids.sort_unstable();
            ids.dedup();
            let leaks = gold
                .span
                .of(text)
                .char_indices()
                .any(|(at, character)| character.is_alphanumeric() && under[gold.span.start() + at] == 0);
            match missed {
                Missed::Nothing => counts.nothing += 1,
                Missed::OtherLabel => counts.other_label += 1,
                Missed::OtherBoundaries => counts.other_boundaries += 1,
            }
            counts.leaking += u64::from(leaks);
            errors.cases.push(SharedError {
                id: document.id.clone(),
                start: gold.span.start() as u64,
                end: gold.span.end() as u64,
                label: name.clone(),
                missed,
                as_labels: ids
                    .into_iter()
                    .map(|id| predictions.labels.label(id).name.clone())
                    .collect(),
                leaks,
            });
        }
    }
    errors.labels = labels
        .into_values()
        .filter(|counts| counts.missed() > 0)
        .collect();
    errors
}

/// Returns the set's only member, if it has exactly one.
fn only(members: MemberSet) -> Option<usize> {
    (members.len() == 1).then(|| members.0.trailing_zeros() as usize)
}

/// Returns for each byte the members whose spans cover it.
fn who(predictions: &PredictionSet, row: usize, members: MemberSet) -> Vec<u64> {
    let mut under = vec![0; predictions.documents[row].text.len()];
    for member in members.iter() {
        let own = covered(
            under.len(),
            predictions.by_member[member][row].iter(),
            1 << member,
        );
        for (all, own) in under.iter_mut().zip(own) {
            *all |= own;
        }
    }
    under
}

/// Returns `mark` for each byte that a span covers, else 0.
fn covered<'a>(bytes: usize, spans: impl Iterator<Item = &'a Annotation>, mark: u64) -> Vec<u64> {
    let mut under = vec![0; bytes];
    for annotation in spans {
        under[annotation.span.start()..annotation.span.end()].fill(mark);
    }
    under
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prediction_set::tests::document;

    const TEXT: &str = "Eva Ñuñez, 40, Burgos, 3 Mayo";

    fn predictions() -> PredictionSet {
        // Eva Ñuñez: bytes 0 to 11; 40: 13; Burgos: 17; 3 Mayo: 25.
        let gold = [
            (0, 11, "NAME"),
            (13, 15, "AGE"),
            (17, 23, "CITY"),
            (25, 31, "DATE"),
        ];
        let one = [(0, 11, "NAME"), (17, 23, "NAME"), (25, 26, "DATE")];
        let other = [(0, 3, "NAME"), (17, 23, "DATE"), (25, 26, "DATE")];
        let marked = |marks: &[(u32, u32, &str)]| vec![document("a", TEXT, marks)];
        PredictionSet::new(
            marked(&gold),
            vec![
                ("one".to_owned(), marked(&one)),
                ("other".to_owned(), marked(&other)),
            ],
            None,
        )
        .unwrap()
    }

    #[test]
    fn a_member_is_worth_what_only_it_finds() {
        let alone = |members| found_alone(&predictions(), MemberSet(members));
        // The other member covers three characters of the name; both cover city and day.
        assert_eq!(
            alone(0b11),
            [
                UniqueFinds {
                    spans: 1,
                    characters: 6
                },
                UniqueFinds::default()
            ]
        );
        assert_eq!(
            alone(0b10),
            [UniqueFinds {
                spans: 0,
                characters: 3 + 6 + 1
            }]
        );
    }

    #[test]
    fn a_shared_error_is_nothing_another_label_or_other_boundaries_and_leaks_if_a_letter_is_bare() {
        let errors = shared_errors(&predictions(), MemberSet(0b11));
        let told: Vec<(&str, Missed, bool)> = errors
            .cases
            .iter()
            .map(|case| (case.label.as_str(), case.missed, case.leaks))
            .collect();
        assert_eq!(
            told,
            [
                ("AGE", Missed::Nothing, true),
                ("CITY", Missed::OtherLabel, false),
                ("DATE", Missed::OtherBoundaries, true)
            ]
        );
        assert_eq!(errors.cases[1].as_labels, ["DATE", "NAME"]);
        assert_eq!((errors.gold, errors.missed(), errors.leaking()), (4, 3, 2));
        // `40` and ` Mayo`.
        assert_eq!((errors.characters, errors.uncovered), (9 + 2 + 6 + 6, 2 + 5));
        assert_eq!(errors.labels.len(), 3);
    }
}
