//! Stacking by spans (Kim 2020, "Stacked SVM"): a linear support vector machine separates right spans from
//! wrong ones by how far the members agree on them. Of two that overlap, the one with the higher score stays.

mod features;

use lethe_core::{Annotations, Combine, Decision, LabelSet, NoteView};
use lethe_corpus::Counts;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::PredictionSet;
use crate::candidates::{Candidate, FitError, NoteVotes, by_score, check_members, resolve_by_score};
use crate::crossfit::parts;
use crate::dual::{Platt, Row, dot, separate};
use crate::saved::{SavedError, are_ranked, names, pack, same_labels, unpack};
use features::Features;

const KIND: &str = "stacked-svm";

/// Settings of [`StackedSvm`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StackedSvmConfig {
    /// The values of LIBLINEAR's C, the penalty for a span within the margin, from which cross-validation
    /// takes the best by strict micro-F1.
    pub c: Vec<f64>,
    /// The folds of that cross-validation, over patients if every document has one, else over documents; at
    /// most as many as there are.
    pub folds: usize,
}

impl Default for StackedSvmConfig {
    fn default() -> Self {
        Self {
            c: vec![0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0],
            folds: 10,
        }
    }
}

/// The step between the minimum scores that are tried around 0; the score is chosen with C.
const CUT_STEP: f64 = 0.1;

/// A fitted stacked support vector machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StackedSvm {
    members: Vec<String>,
    ranks: Vec<u32>,
    labels: Vec<String>,
    c: f64,
    cut: f64,
    platt: Platt,
    weights: Vec<f64>,
}

/// The candidates of one document as examples.
struct Examples {
    candidates: Vec<Candidate>,
    rows: Vec<Row>,
    right: Vec<bool>,
    gold: u64,
}

impl StackedSvm {
    /// Fits C, the minimum score and the probabilities by cross-validation, then the machine on all
    /// documents. The same seed gives the same machine.
    ///
    /// # Errors
    /// [`FitError`].
    pub fn fit(predictions: &PredictionSet, config: &StackedSvmConfig, seed: u64) -> Result<Self, FitError> {
        check_members(predictions)?;
        let ranks = predictions.ranks();
        let features = Features::new(&ranks, predictions.labels.labels().len());
        let documents: Vec<Examples> = predictions
            .batch
            .notes()
            .zip(&predictions.gold)
            .map(|(note, gold)| Examples::new(&features, note, &predictions.row(note.row), gold))
            .collect();
        let right: usize = documents
            .iter()
            .flat_map(|d| &d.right)
            .filter(|right| **right)
            .count();
        let all = documents.iter().map(|d| d.right.len()).sum();
        if right == 0 || right == all {
            return Err(FitError::OneSided { right, all });
        }
        let dimension = features.dimension();
        let parts = parts(predictions, config.folds, seed)?;
        // Without given values of C, LIBLINEAR's default is used.
        let mut best = (1.0, 0.0, Platt::fit(&[]));
        let mut best_f1 = -1.0;
        for &c in &config.c {
            let mut scores = vec![Vec::new(); documents.len()];
            for fold in 0..parts.count() {
                let split = parts.split(fold);
                let weights = machine(split.train.iter().map(|&i| &documents[i]), dimension, c, seed);
                for i in split.held {
                    scores[i] = documents[i].rows.iter().map(|row| dot(&weights, row)).collect();
                }
            }
            for step in [0i32, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6, 7, -7, 8, -8] {
                let cut = f64::from(step) * CUT_STEP;
                let f1 = counts(&documents, &scores, cut).f1();
                // On ties, the smaller C and the cut nearer to 0 win.
                if f1 > best_f1 {
                    best_f1 = f1;
                    let right = documents.iter().flat_map(|d| &d.right);
                    let scored: Vec<_> = scores.iter().flatten().copied().zip(right.copied()).collect();
                    best = (c, cut, Platt::fit(&scored));
                }
            }
        }
        let (c, cut, platt) = best;
        Ok(Self {
            members: predictions.members.clone(),
            labels: names(&predictions.labels),
            weights: machine(documents.iter(), dimension, c, seed),
            ranks,
            c,
            cut,
            platt,
        })
    }

    /// Returns the members that it was fitted on, in the order in which it takes their predictions.
    pub fn members(&self) -> &[String] {
        &self.members
    }

    /// Returns the C that cross-validation chose, and the minimum score of a span.
    pub const fn chosen(&self) -> (f64, f64) {
        (self.c, self.cut)
    }

    /// Returns the bytes that [`StackedSvm::from_bytes`] reads.
    ///
    /// # Errors
    /// [`SavedError::Header`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, SavedError> {
        pack(KIND, self, &[])
    }

    /// Reads a saved machine, to run under the labels that it was fitted with.
    ///
    /// # Errors
    /// [`SavedError`].
    pub fn from_bytes(bytes: &[u8], labels: &LabelSet) -> Result<Self, SavedError> {
        let (read, rest): (Self, _) = unpack(KIND, bytes)?;
        let fits = rest.is_empty()
            && are_ranked(&read.members, &read.ranks)
            && read.weights.len() == Features::new(&read.ranks, read.labels.len()).dimension()
            && read
                .weights
                .iter()
                .chain([&read.cut])
                .all(|value| value.is_finite())
            && read.platt.is_sound();
        if !fits {
            return Err(SavedError::Damaged);
        }
        same_labels(&read.labels, labels)?;
        Ok(read)
    }
}

impl Combine for StackedSvm {
    fn decide(&self, note: NoteView<'_>, predictions: &[&Annotations]) -> Vec<Decision> {
        let features = Features::new(&self.ranks, self.labels.len());
        let votes = NoteVotes::new(predictions);
        // Features are computed row by row: those of all candidates would take more memory than everything
        // else.
        let decided = features.rows(note, predictions).filter_map(|(candidate, row)| {
            let score = dot(&self.weights, &row);
            let decision = || {
                let probability = self.platt.of(score) as f32;
                votes.decision(candidate.span, candidate.label, &self.ranks, probability)
            };
            (score > self.cut).then(|| (score, decision()))
        });
        resolve_by_score(decided.collect())
    }
}

impl Examples {
    fn new(
        features: &Features<'_>,
        note: NoteView<'_>,
        predictions: &[&Annotations],
        gold: &Annotations,
    ) -> Self {
        let (candidates, rows) = features.of_note(note, predictions);
        Self {
            right: candidates.iter().map(|candidate| candidate.is_of(gold)).collect(),
            candidates,
            rows,
            gold: gold.len() as u64,
        }
    }
}

fn machine<'a>(
    documents: impl Iterator<Item = &'a Examples>,
    dimension: usize,
    c: f64,
    seed: u64,
) -> Vec<f64> {
    let rows: Vec<(&Row, bool)> = documents
        .flat_map(|document| document.rows.iter().zip(document.right.iter().copied()))
        .collect();
    separate(&rows, dimension, c, &mut ChaCha8Rng::seed_from_u64(seed))
}

/// Returns the strict counts of the candidates that score above the cut, with overlaps resolved.
fn counts(documents: &[Examples], scores: &[Vec<f64>], cut: f64) -> Counts {
    let mut counts = Counts::default();
    for (document, scores) in documents.iter().zip(scores) {
        let mut order: Vec<usize> = (0..scores.len()).filter(|&i| scores[i] > cut).collect();
        let of = |i: usize| {
            let candidate = &document.candidates[i];
            (scores[i], candidate.span, candidate.label)
        };
        order.sort_by(|&a, &b| by_score(of(a), of(b)));
        let mut kept: Vec<usize> = Vec::new();
        for i in order {
            let span = document.candidates[i].span;
            if !kept
                .iter()
                .any(|&other| document.candidates[other].span.overlaps(span))
            {
                kept.push(i);
            }
        }
        let hits = kept.iter().filter(|&&i| document.right[i]).count() as u64;
        counts += Counts {
            hits,
            spurious: kept.len() as u64 - hits,
            missed: document.gold - hits,
        };
    }
    counts
}

#[cfg(test)]
mod tests {
    use lethe_corpus::Document;

    use super::*;
    use crate::candidates::evaluate;
    use crate::invented::{best_member, invented};
    use crate::prediction_set::tests::document;

    #[test]
    fn where_members_err_apart_it_is_better_than_the_best_of_them_and_the_seed_decides_its_bytes() {
        let (fit, test) = invented(5, 120, &[0.10, 0.12, 0.14, 0.16, 0.18]);
        let config = StackedSvmConfig {
            c: vec![0.1, 1.0],
            folds: 5,
        };
        let fitted = StackedSvm::fit(&fit, &config, 1).unwrap();
        let f1 = evaluate(&fitted, &test).f1();
        assert!(
            f1 > best_member(&test) + 0.03,
            "{f1} against {}",
            best_member(&test)
        );

        let bytes = fitted.to_bytes().unwrap();
        let again = StackedSvm::fit(&fit, &config, 1).unwrap().to_bytes().unwrap();
        assert_eq!(bytes, again);
        let read = StackedSvm::from_bytes(&bytes, &test.labels).unwrap();
        assert_eq!(read, fitted);
        for note in test.batch.notes() {
            let predictions = test.row(note.row);
            assert_eq!(read.decide(note, &predictions), fitted.decide(note, &predictions));
        }
        let other = LabelSet::meddocan();
        assert!(matches!(
            StackedSvm::from_bytes(&bytes, &other),
            Err(SavedError::Labels { .. })
        ));
        assert!(StackedSvm::from_bytes(&bytes[..bytes.len() - 9], &test.labels).is_err());
        let mut less = fitted;
        less.weights.pop();
        let refused = StackedSvm::from_bytes(&less.to_bytes().unwrap(), &test.labels);
        assert_eq!(refused.unwrap_err(), SavedError::Damaged);
    }

    /// Returns six documents with one member that is always right and one that is always wrong.
    fn opposed(patient: impl Fn(usize) -> Option<String>) -> PredictionSet {
        let gold = |i: usize| Document {
            patient: patient(i),
            ..document(&format!("d{i}"), "ab cd ef gh", &[(0, 2, "A"), (6, 8, "A")])
        };
        let gold: Vec<_> = (0..6).map(gold).collect();
        let wrong: Vec<_> = (0..6)
            .map(|i| document(&format!("d{i}"), "", &[(3, 8, "A")]))
            .collect();
        let members = vec![("right".to_owned(), gold.clone()), ("wrong".to_owned(), wrong)];
        PredictionSet::new(gold, members, None).unwrap()
    }

    #[test]
    fn a_member_that_is_always_wrong_has_no_weight_and_of_two_overlapping_spans_the_higher_score_wins() {
        let predictions = opposed(|_| None);
        let config = StackedSvmConfig {
            folds: 3,
            ..StackedSvmConfig::default()
        };
        let fitted = StackedSvm::fit(&predictions, &config, 1).unwrap();
        let decided = fitted.decide(predictions.batch.note(0), &predictions.row(0));
        let spans: Vec<_> = decided.iter().map(|d| (d.span.start(), d.members.0)).collect();
        assert_eq!(spans, [(0, 0b01), (6, 0b01)]);
        assert!(decided.iter().all(|d| d.score > 0.5 && d.scores.len() == 1));
    }

    #[test]
    fn there_are_no_more_folds_than_patients() {
        let predictions = opposed(|i| Some(format!("p{}", i % 3)));
        assert!(StackedSvm::fit(&predictions, &StackedSvmConfig::default(), 1).is_ok());
    }
}
