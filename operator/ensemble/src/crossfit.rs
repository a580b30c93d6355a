//! Evaluates a combiner when its fitting documents are the only ones: fits it to all folds but one, for each
//! fold (Wolpert 1992), on predictions that are cross-validated themselves.

use std::collections::BTreeSet;

use lethe_core::Decision;
use lethe_corpus::{FoldError, Folds, Group, folds};
use lethe_learn::Observer;

use crate::{Fitted, FittedError, PredictionSet};

/// The number of folds.
const FOLDS: usize = 5;

impl Fitted {
    /// Returns the decisions of the combiner of this name for each document when it is fitted to the
    /// documents of other folds; `None` if the name is unknown. A combiner fitted to all documents is at
    /// least as good.
    ///
    /// # Errors
    /// [`FittedError`].
    pub fn crossfit(
        kind: &str,
        predictions: &PredictionSet,
        seed: u64,
        observer: &mut dyn Observer,
    ) -> Option<Result<Vec<Vec<Decision>>, FittedError>> {
        let mut decided = vec![Vec::new(); predictions.documents.len()];
        let parts = match parts(predictions, FOLDS, seed) {
            Ok(parts) => parts,
            Err(error) => return Some(Err(error.into())),
        };
        for fold in 0..parts.count() {
            let split = parts.split(fold);
            let others = match predictions.pick(&split.train) {
                Ok(others) => others,
                Err(error) => return Some(Err(error.into())),
            };
            let combiner = match Self::fit(kind, &others, seed, observer)? {
                Ok(fitted) => fitted.combiner(),
                Err(error) => return Some(Err(error)),
            };
            for row in split.held {
                decided[row] = combiner.decide(predictions.batch.note(row), &predictions.row(row));
            }
        }
        Some(Ok(decided))
    }
}

/// Splits the documents into parts, with each patient's documents in one part if all documents name their
/// patient. Returns `most` parts, or as many as there are patients or documents.
pub(crate) fn parts(predictions: &PredictionSet, most: usize, seed: u64) -> Result<Folds, FoldError> {
    let patients = predictions
        .documents
        .iter()
        .map(|document| document.patient.as_deref());
    let patients: BTreeSet<Option<&str>> = patients.collect();
    let (by, groups) = if patients.contains(&None) {
        (Group::Document, predictions.documents.len())
    } else {
        (Group::Patient, patients.len())
    };
    folds(&predictions.documents, most.min(groups), by, seed)
}

#[cfg(test)]
mod tests {
    use lethe_learn::NoObserver;

    use super::*;
    use crate::invented::invented;

    #[test]
    fn every_document_is_decided_by_a_combiner_that_has_not_seen_it() {
        let (predictions, _) = invented(3, 40, &[0.1, 0.2, 0.3]);
        let crossfit = |predictions: &PredictionSet| {
            let decided = Fitted::crossfit("decision-templates", predictions, 1, &mut NoObserver);
            decided.unwrap().unwrap()
        };
        let whole = crossfit(&predictions);
        assert!(whole.iter().filter(|decisions| !decisions.is_empty()).count() > 30);
        // Changing one document's gold does not change its decisions.
        let mut other = predictions.clone();
        other.gold[7] = lethe_core::Annotations::default();
        assert_eq!(crossfit(&other)[7], whole[7]);
        assert!(Fitted::crossfit("no such", &predictions, 1, &mut NoObserver).is_none());
    }
}
