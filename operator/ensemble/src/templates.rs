//! The decision template method (Kuncheva, Bezdek and Duin 2001; Kim 2020, "Decision Template Method"): a
//! span's profile is the set of members that predicted it; it is kept if that is closer to the mean profile
//! of right spans than to that of wrong ones.
//!
//! The templates are means. Kuncheva's Hamming distance is that between fuzzy sets, the mean absolute
//! difference; a binary template would lose how reliable each member is, and with members that are mostly
//! right both would be all ones and all zeros.

use lethe_core::{Annotations, Combine, DecidingRule, Decision, MemberSet, NoteView, Voting};
use serde::{Deserialize, Serialize};

use crate::PredictionSet;
use crate::candidates::{FitError, candidates, check_members};
use crate::saved::{SavedError, are_ranked, pack, unpack};

const KIND: &str = "decision-templates";

/// Settings of [`Templates`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TemplatesConfig {
    /// Whether the part of an overruled span that no winner covers is redacted: see
    /// [`Voting::redact_uncovered`]. The paper does not redact it.
    pub redact_uncovered: bool,
}

/// The mean profile of a class, as the counts of its quotient.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Template {
    spans: u64,
    #[serde(rename = "said_by")]
    votes: Vec<u64>,
}

impl Template {
    fn new(members: usize) -> Self {
        Self {
            spans: 0,
            votes: vec![0; members],
        }
    }

    fn add(&mut self, members: MemberSet) {
        self.spans += 1;
        for member in members.iter() {
            self.votes[member] += 1;
        }
    }

    /// Returns the Hamming distance of a profile, 0 to 1. A profile's two columns, [1, 0] or [0, 1] for a
    /// member, differ from the template's by the same amount, so that one of them is enough.
    fn distance(&self, members: MemberSet) -> f64 {
        let off = |(member, &votes): (usize, &u64)| {
            let share = votes as f64 / self.spans as f64;
            if members.contains(member) {
                1.0 - share
            } else {
                share
            }
        };
        self.votes.iter().enumerate().map(off).sum::<f64>() / self.votes.len() as f64
    }
}

/// Fitted decision templates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Templates {
    members: Vec<String>,
    ranks: Vec<u32>,
    redact_uncovered: bool,
    right: Template,
    wrong: Template,
}

impl Templates {
    /// Counts each member's right and wrong predictions. Deterministic.
    ///
    /// # Errors
    /// [`FitError::Members`] or [`FitError::OneSided`].
    pub fn fit(predictions: &PredictionSet, config: &TemplatesConfig) -> Result<Self, FitError> {
        check_members(predictions)?;
        let members = predictions.members.len();
        let (mut right, mut wrong) = (Template::new(members), Template::new(members));
        for (row, gold) in predictions.gold.iter().enumerate() {
            for candidate in candidates(&predictions.row(row)) {
                let template = if candidate.is_of(gold) {
                    &mut right
                } else {
                    &mut wrong
                };
                template.add(candidate.members);
            }
        }
        if right.spans == 0 || wrong.spans == 0 {
            return Err(FitError::OneSided {
                right: right.spans as usize,
                all: (right.spans + wrong.spans) as usize,
            });
        }
        Ok(Self {
            members: predictions.members.clone(),
            ranks: predictions.ranks(),
            redact_uncovered: config.redact_uncovered,
            right,
            wrong,
        })
    }

    /// Returns the members that it was fitted on, in the order in which it takes their predictions.
    pub fn members(&self) -> &[String] {
        &self.members
    }

    /// Returns the mean profiles: the shares of right spans, and of wrong ones, that each member predicted.
    pub fn profiles(&self) -> [Vec<f64>; 2] {
        [&self.right, &self.wrong].map(|template| {
            let share = |&votes: &u64| votes as f64 / template.spans as f64;
            template.votes.iter().map(share).collect()
        })
    }

    /// Returns whether a span that these members predicted is kept; on equal distances it is, since a leak is
    /// the greater harm.
    pub fn keeps(&self, members: MemberSet) -> bool {
        self.right.distance(members) <= self.wrong.distance(members)
    }

    /// Returns the bytes that [`Templates::from_bytes`] reads.
    ///
    /// # Errors
    /// [`SavedError::Header`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, SavedError> {
        pack(KIND, self, &[])
    }

    /// Reads saved templates.
    ///
    /// # Errors
    /// [`SavedError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SavedError> {
        let (read, rest): (Self, _) = unpack(KIND, bytes)?;
        let members = read.members.len();
        let sound = |template: &Template| {
            template.spans > 0
                && template.votes.len() == members
                && template.votes.iter().all(|&votes| votes <= template.spans)
        };
        let fits = rest.is_empty() && are_ranked(&read.members, &read.ranks);
        if fits && sound(&read.right) && sound(&read.wrong) {
            Ok(read)
        } else {
            Err(SavedError::Damaged)
        }
    }
}

impl Combine for Templates {
    /// Overlaps between kept spans are resolved as in a vote (the paper's tie-breaks): more members win, then
    /// the better one.
    fn decide(&self, note: NoteView<'_>, predictions: &[&Annotations]) -> Vec<Decision> {
        let kept: Vec<_> = candidates(predictions)
            .into_iter()
            .filter(|candidate| self.keeps(candidate.members))
            .map(|candidate| (candidate.span, candidate.label))
            .collect();
        let filtered: Vec<Annotations> = predictions
            .iter()
            .map(|annotations| {
                // Candidates are sorted.
                let mut annotations = (*annotations).clone();
                annotations.retain(|a| kept.binary_search(&(a.span, a.label)).is_ok());
                annotations
            })
            .collect();
        let voting = Voting {
            ranks: self.ranks.clone(),
            redact_uncovered: self.redact_uncovered,
            ..Voting::default()
        };
        let mut decisions = voting.decide(note.text, &filtered.iter().collect::<Vec<_>>());
        for decision in &mut decisions {
            // Likeness decided, not votes.
            decision.needed = 0;
            if decision.deciding_rule == DecidingRule::Votes {
                decision.deciding_rule = DecidingRule::Combiner;
            }
        }
        decisions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::evaluate;
    use crate::invented::{best_member, invented};
    use crate::prediction_set::tests::document;

    #[test]
    fn templates_are_mean_profiles_and_the_nearer_one_decides() {
        let gold = document("a", "abcdefghijkl", &[(0, 1, "A"), (2, 3, "A")]);
        let one = document("a", "", &[(0, 1, "A"), (2, 3, "A"), (6, 7, "A")]);
        let two = document("a", "", &[(0, 1, "A"), (4, 5, "A"), (6, 7, "A")]);
        let members = vec![("one".to_owned(), vec![one]), ("two".to_owned(), vec![two])];
        let predictions = PredictionSet::new(vec![gold], members, None).unwrap();
        let fitted = Templates::fit(&predictions, &TemplatesConfig::default()).unwrap();
        // Right: predicted by both, and by one alone. Wrong: by two alone, and by both.
        assert_eq!(fitted.profiles(), [vec![1.0, 0.5], vec![0.5, 1.0]]);
        let set = |members: &[usize]| members.iter().fold(MemberSet::default(), |set, &m| set.with(m));
        assert_eq!(fitted.right.distance(set(&[0])), 0.25);
        assert_eq!(fitted.wrong.distance(set(&[0])), 0.75);
        assert!(fitted.keeps(set(&[0])) && !fitted.keeps(set(&[1])));
        // The distances to both are equal.
        assert!(fitted.keeps(set(&[0, 1])));
        let spans: Vec<_> = fitted
            .decide(predictions.batch.note(0), &predictions.row(0))
            .iter()
            .map(|d| (d.span.start(), d.members.len(), d.needed))
            .collect();
        assert_eq!(spans, [(0, 2, 0), (2, 1, 0), (6, 2, 0)]);
    }

    #[test]
    fn where_members_err_apart_it_is_better_than_the_best_of_them() {
        let predictions = invented(3, 120, &[0.10, 0.12, 0.14, 0.16, 0.18]);
        let (fit, test) = (predictions.0, predictions.1);
        let fitted = Templates::fit(&fit, &TemplatesConfig::default()).unwrap();
        let f1 = evaluate(&fitted, &test).f1();
        assert!(
            f1 > best_member(&test) + 0.02,
            "{f1} against {}",
            best_member(&test)
        );
    }

    #[test]
    fn what_is_saved_reads_back_and_damage_is_refused() {
        let (fit, _) = invented(4, 30, &[0.1, 0.2, 0.3]);
        let fitted = Templates::fit(
            &fit,
            &TemplatesConfig {
                redact_uncovered: true,
            },
        )
        .unwrap();
        let bytes = fitted.to_bytes().unwrap();
        let read = Templates::from_bytes(&bytes).unwrap();
        assert_eq!((&read, read.to_bytes().unwrap()), (&fitted, bytes.clone()));
        assert_eq!(
            Templates::from_bytes(&bytes[..bytes.len() - 1]).unwrap_err(),
            SavedError::Damaged
        );
        let mut other = fitted;
        other.wrong.spans = 0;
        let refused = Templates::from_bytes(&other.to_bytes().unwrap());
        assert_eq!(refused.unwrap_err(), SavedError::Damaged);
    }

    #[test]
    fn members_that_are_never_wrong_leave_nothing_to_fit() {
        let gold = document("a", "abc", &[(0, 1, "A")]);
        let predictions =
            PredictionSet::new(vec![gold.clone()], vec![("one".to_owned(), vec![gold])], None).unwrap();
        let refused = Templates::fit(&predictions, &TemplatesConfig::default()).unwrap_err();
        assert!(matches!(refused, FitError::OneSided { right: 1, all: 1 }));
    }
}
