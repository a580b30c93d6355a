//! Parts of a corpus: folds for cross-validation, and a held-out set.
//!
//! The parts depend on the seed, the ids and the patients, not on the order of the documents. Ids are ordered
//! by a hash of seed and id instead of a random number generator, whose next version might draw differently.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use crate::Document;

/// Which documents stay together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Every document is its own group.
    Document,
    /// The documents of one patient: a name learnt from one of them must not help with another.
    Patient,
}

/// Indices of documents, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Documents to fit to.
    pub train: Vec<usize>,
    /// Documents to evaluate on.
    pub held: Vec<usize>,
}

impl Split {
    /// Returns clones of the documents at these indices.
    ///
    /// # Panics
    /// If an index is out of range.
    pub fn pick(indices: &[usize], documents: &[Document]) -> Vec<Document> {
        indices.iter().map(|&i| documents[i].clone()).collect()
    }
}

/// The fold of each document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folds {
    count: usize,
    of: Vec<usize>,
}

/// Why documents cannot be split into folds.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FoldError {
    /// There are fewer than two folds, or more than groups.
    #[error("cannot split {groups} {} into {folds} folds; use at least 2 and at most as many", if *.by_patient { "patients" } else { "documents" })]
    Count {
        /// Requested folds.
        folds: usize,
        /// Documents or patients.
        groups: usize,
        /// Whether patients stay together.
        by_patient: bool,
    },
    /// A document names no patient.
    #[error("document {} (counted from 1) names no patient; folds by patient need one in every document", document + 1)]
    NoPatient {
        /// Its index.
        document: usize,
    },
}

impl Folds {
    /// Returns the number of folds.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Returns the fold of document `i`.
    ///
    /// # Panics
    /// If there is no such document.
    pub fn of(&self, i: usize) -> usize {
        self.of[i]
    }

    /// Returns the split that evaluates on `fold` and fits to all other folds.
    pub fn split(&self, fold: usize) -> Split {
        let (held, train) = (0..self.of.len()).partition(|&i| self.of[i] == fold);
        Split { train, held }
    }
}

/// Splits documents into `count` folds of about equal numbers of documents and, among equals, of about equal
/// length.
///
/// # Errors
/// Any [`FoldError`].
pub fn folds(documents: &[Document], count: usize, by: Group, seed: u64) -> Result<Folds, FoldError> {
    if by == Group::Patient
        && let Some(document) = documents.iter().position(|document| document.patient.is_none())
    {
        return Err(FoldError::NoPatient { document });
    }
    let mut groups = groups(documents, by, seed);
    if count < 2 || count > groups.len() {
        return Err(FoldError::Count {
            folds: count,
            groups: groups.len(),
            by_patient: by == Group::Patient,
        });
    }
    // Large groups first, so that small ones even out; the sort is stable, so equal groups stay shuffled.
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    let mut of = vec![0; documents.len()];
    let mut held = vec![(0_usize, 0_usize); count];
    for group in groups {
        let (fold, _) = held
            .iter()
            .enumerate()
            .min_by_key(|&(i, load)| (load, i))
            .unwrap_or((0, &(0, 0)));
        for &i in &group {
            of[i] = fold;
            held[fold].0 += 1;
            held[fold].1 += documents[i].text.len();
        }
    }
    Ok(Folds { count, of })
}

/// Splits off about `share` (0 to 1) of the documents as the held-out set: at least one, and not all if there
/// are two. Documents of one patient stay together; one that names no patient is a group of its own.
pub fn hold_out(documents: &[Document], share: f64, seed: u64) -> Split {
    let mut groups = groups(documents, Group::Patient, seed);
    let wanted = (share.clamp(0.0, 1.0) * documents.len() as f64).round() as usize;
    let (mut train, mut held) = (groups.split_off(groups.len().min(1)), groups);
    let mut count: usize = held.iter().map(Vec::len).sum();
    // The first patient is held out already. Further ones join while they fit, but one stays to learn from.
    let mut rest = Vec::new();
    for (i, group) in std::mem::take(&mut train).into_iter().enumerate() {
        if i > 0 && count + group.len() <= wanted {
            count += group.len();
            held.push(group);
        } else {
            rest.push(group);
        }
    }
    let flat = |groups: Vec<Vec<usize>>| {
        let mut indices: Vec<usize> = groups.into_iter().flatten().collect();
        indices.sort_unstable();
        indices
    };
    Split {
        train: flat(rest),
        held: flat(held),
    }
}

/// Groups documents by patient or singly, shuffled by the seed.
fn groups(documents: &[Document], by: Group, seed: u64) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<(u64, &str, Option<usize>), Vec<usize>> = BTreeMap::new();
    for (i, document) in documents.iter().enumerate() {
        let patient = document.patient.as_deref().filter(|_| by == Group::Patient);
        let (name, alone) = patient.map_or((document.id.as_str(), Some(i)), |patient| (patient, None));
        groups.entry((rank(seed, name), name, alone)).or_default().push(i);
    }
    groups.into_values().collect()
}

fn rank(seed: u64, name: &str) -> u64 {
    let hash = Sha256::new()
        .chain_update(seed.to_le_bytes())
        .chain_update(name)
        .finalize();
    hash.iter()
        .take(8)
        .fold(0, |rank, &byte| rank << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn documents(patients: &[Option<u8>]) -> Vec<Document> {
        let document = |(i, patient): (usize, &Option<u8>)| Document {
            id: format!("d{i}"),
            patient: patient.map(|patient| patient.to_string()),
            text: "x".repeat(i * 7 % 50),
            marks: Vec::new(),
        };
        patients.iter().enumerate().map(document).collect()
    }

    #[test]
    fn folds_by_document_differ_by_one_document_at_most_and_by_seed() {
        let documents = documents(&[None; 53]);
        let parted = folds(&documents, 5, Group::Document, 1).unwrap();
        let mut sizes: Vec<_> = (0..5).map(|fold| parted.split(fold).held.len()).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [10, 10, 11, 11, 11]);
        assert_eq!(parted, folds(&documents, 5, Group::Document, 1).unwrap());
        assert_ne!(parted, folds(&documents, 5, Group::Document, 2).unwrap());
    }

    #[test]
    fn a_document_stays_in_its_part_when_the_others_change_places() {
        let documents = documents(&[None; 30]);
        let reversed: Vec<Document> = documents.iter().rev().cloned().collect();
        let held = |documents: &[Document]| -> std::collections::BTreeSet<String> {
            let split = hold_out(documents, 0.2, 9);
            Split::pick(&split.held, documents)
                .into_iter()
                .map(|document| document.id)
                .collect()
        };
        assert_eq!(held(&documents), held(&reversed));
        assert_eq!(held(&documents).len(), 6);
    }

    #[test]
    fn what_cannot_be_parted_is_refused() {
        let some = documents(&[Some(1), Some(1), None]);
        assert_eq!(
            folds(&some, 2, Group::Patient, 0),
            Err(FoldError::NoPatient { document: 2 })
        );
        let message = folds(&some[..2], 2, Group::Patient, 0).unwrap_err().to_string();
        assert_eq!(
            message,
            "cannot split 1 patients into 2 folds; use at least 2 and at most as many"
        );
        assert!(folds(&some, 1, Group::Document, 0).is_err());
        assert!(folds(&some, 4, Group::Document, 0).is_err());
    }

    #[test]
    fn a_share_of_nearly_nothing_or_all_leaves_a_document_on_both_sides() {
        let documents = documents(&[None; 3]);
        assert_eq!(hold_out(&documents, 0.0, 0).held.len(), 1);
        assert_eq!(hold_out(&documents, 1.0, 0).train.len(), 1);
        assert!(hold_out(&[], 0.5, 0).held.is_empty());
    }

    proptest! {
        #[test]
        fn every_document_is_held_once_and_no_patient_is_on_both_sides(patients in proptest::collection::vec(0_u8..12, 2..60), count in 2_usize..6, seed in any::<u64>(), share in 0.0..1.0_f64) {
            let documents = documents(&patients.iter().map(|&patient| Some(patient)).collect::<Vec<_>>());
            let mut splits = vec![hold_out(&documents, share, seed)];
            if let Ok(folds) = folds(&documents, count, Group::Patient, seed) {
                let folds: Vec<_> = (0..count).map(|fold| folds.split(fold)).collect();
                let mut held: Vec<_> = folds.iter().flat_map(|split| split.held.clone()).collect();
                held.sort_unstable();
                prop_assert_eq!(held, (0..documents.len()).collect::<Vec<_>>());
                splits.extend(folds);
            }
            for split in splits {
                prop_assert_eq!(split.train.len() + split.held.len(), documents.len());
                prop_assert!(!split.held.is_empty());
                for i in split.held {
                    prop_assert!(split.train.iter().all(|&j| patients[i] != patients[j]));
                }
            }
        }
    }
}
