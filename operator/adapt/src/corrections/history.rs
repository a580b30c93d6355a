//! The state that follows from the journal: the corrections in force, the batches in which they were learnt,
//! and the version that resulted from each batch.
//!
//! A version has learnt a set of batches. After a roll-back to a version, the batches that only later
//! versions had learnt are set aside. They are learnt again after a roll-forward, or when their corrections
//! are sent again. Corrections that are in no version yet are not affected.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use lethe_core::LabelSet;
use lethe_corpus::Document;
use sha2::{Digest as _, Sha256};

use super::correction::CorrectionError;
use super::journal::{Entry, Positions, Rejected};

/// A correction that arrived.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    pub(crate) document: Document,
    pub(crate) when: Timestamp,
    /// Whether it belongs to the held-out set, from which nothing is learnt.
    pub(crate) kept: bool,
}

/// A correction's index among all that arrived.
pub(crate) type Place = usize;

/// All events that affect what is learnt next.
pub(crate) struct History {
    /// The version that corrections are added to.
    pub(crate) base: String,
    /// The current version according to the journal.
    pub(crate) current: String,
    pub(crate) first: Option<String>,
    pub(crate) keep_share: f64,
    pub(crate) positions: Positions,
    pub(crate) rejected: Vec<Rejected>,
    taken: Vec<Taken>,
    /// The end of each batch, as an index into all corrections.
    ends: Vec<Place>,
    /// Versions in the order of publication, each with the batches that it has learnt.
    published: Vec<(String, BTreeSet<usize>)>,
    /// Batches that are set aside.
    aside: BTreeSet<usize>,
    /// Whether the last batch has an outcome.
    concluded: bool,
}

impl History {
    /// Creates the history of a new state folder.
    pub(crate) fn begun(base: String, first: Option<String>, keep_share: f64) -> Self {
        Self {
            current: base.clone(),
            base,
            first,
            keep_share,
            positions: Positions::default(),
            rejected: Vec::new(),
            taken: Vec::new(),
            ends: Vec::new(),
            published: Vec::new(),
            aside: BTreeSet::new(),
            concluded: true,
        }
    }

    /// Applies the next event.
    ///
    /// # Errors
    /// [`CorrectionError`] of a correction that is invalid under these labels.
    pub(crate) fn apply(&mut self, entry: &Entry, labels: &LabelSet) -> Result<(), CorrectionError> {
        match entry {
            // Only the first line, which created this history.
            Entry::Begun { .. } => {}
            Entry::Correction { at, correction } => {
                let read = correction.check(labels)?;
                self.positions.read(at);
                self.taken.push(Taken {
                    kept: is_kept(&correction.note, self.keep_share),
                    document: read.document,
                    when: read.when,
                });
            }
            Entry::Rejected(rejected) => {
                self.positions.read(&rejected.at);
                self.rejected.push(rejected.clone());
            }
            Entry::Batch => {
                self.ends.push(self.taken.len());
                self.concluded = false;
            }
            Entry::Published { version } => {
                self.published.push((version.clone(), self.in_force()));
                self.current.clone_from(version);
                self.concluded = true;
            }
            Entry::Refused { .. } => self.concluded = true,
            Entry::Current { version } => {
                let learnt = self.learnt(version).cloned().unwrap_or_default();
                let all = self.published.iter().flat_map(|(_, batches)| batches);
                self.aside = all.filter(|batch| !learnt.contains(batch)).copied().collect();
                self.current.clone_from(version);
            }
        }
        Ok(())
    }

    /// Returns whether a version resulted from these corrections or is their base.
    pub(crate) fn knows(&self, version: &str) -> bool {
        version == self.base || self.learnt(version).is_some()
    }

    /// Returns the batches that a version has learnt.
    fn learnt(&self, version: &str) -> Option<&BTreeSet<usize>> {
        let found = self.published.iter().rev().find(|(name, _)| name == version);
        found.map(|(_, batches)| batches)
    }

    /// Returns whether the last batch has no outcome yet.
    pub(crate) const fn is_open(&self) -> bool {
        !self.concluded
    }

    /// Returns the number of corrections that are in no batch yet.
    pub(crate) fn waiting(&self) -> usize {
        self.taken.len() - self.ends.last().copied().unwrap_or(0)
    }

    /// Returns the number of valid corrections.
    pub(crate) fn len(&self) -> usize {
        self.taken.len()
    }

    /// Returns the batches that are set aside.
    pub(crate) const fn aside(&self) -> &BTreeSet<usize> {
        &self.aside
    }

    fn in_force(&self) -> BTreeSet<usize> {
        let all = 0..self.ends.len();
        all.filter(|batch| !self.aside.contains(batch)).collect()
    }

    /// Returns the indices of a batch's corrections.
    fn places(&self, batch: usize) -> std::ops::Range<Place> {
        let start = batch.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[batch]
    }

    /// Returns the corrections in force by batch: for each note the latest, by its time, then by its arrival.
    pub(crate) fn corrections(&self) -> Vec<Vec<(Place, &Taken)>> {
        let mut latest: BTreeMap<&str, Place> = BTreeMap::new();
        for batch in self.in_force() {
            for place in self.places(batch) {
                let taken = &self.taken[place];
                let before = latest.entry(&taken.document.id).or_insert(place);
                if self.taken[*before].when <= taken.when {
                    *before = place;
                }
            }
        }
        let last: BTreeSet<Place> = latest.into_values().collect();
        let batches = self.in_force().into_iter();
        let of = |batch| {
            let places = self.places(batch).filter(|place| last.contains(place));
            places.map(|place| (place, &self.taken[place])).collect()
        };
        batches.map(of).collect()
    }
}

/// Returns whether a note is held out. The note's id decides, so that all its corrections are.
fn is_kept(note: &str, share: f64) -> bool {
    let digest = Sha256::digest(note.as_bytes());
    let first = digest
        .iter()
        .take(8)
        .fold(0u64, |sum, &byte| sum << 8 | u64::from(byte));
    // 2^64 as a float; a share of 1 would hold out everything.
    (first as f64) < share * 18_446_744_073_709_551_616.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corrections::{At, Correction};

    struct Fixture {
        history: History,
        labels: LabelSet,
        next: i64,
    }

    impl Fixture {
        fn new() -> Self {
            Self {
                history: History::begun("base".to_owned(), None, 0.0),
                labels: LabelSet::i2b2_2014(),
                next: 0,
            }
        }

        fn entry(&mut self, entry: &Entry) {
            self.history.apply(entry, &self.labels).unwrap();
        }

        /// Adds a correction of a note with this hour.
        fn corrects(&mut self, note: &str, hour: u8) {
            let correction = Correction {
                note: note.to_owned(),
                text: format!("{note} {hour}"),
                spans: Vec::new(),
                who: "w".to_owned(),
                when: format!("2026-01-01T{hour:02}:00:00Z"),
            };
            let at = At::Record {
                topic: "t".to_owned(),
                partition: 0,
                offset: self.next,
            };
            self.next += 1;
            self.entry(&Entry::Correction { at, correction });
        }

        fn published(&mut self, version: &str) {
            self.entry(&Entry::Batch);
            assert!(self.history.is_open() && self.history.waiting() == 0);
            let version = version.to_owned();
            self.entry(&Entry::Published { version });
            assert!(!self.history.is_open());
        }

        fn goes_to(&mut self, version: &str) {
            assert!(self.history.knows(version));
            let version = version.to_owned();
            self.entry(&Entry::Current { version });
        }

        fn in_force(&self) -> Vec<Vec<&str>> {
            let batches = self.history.corrections().into_iter();
            batches
                .map(|batch| {
                    batch
                        .into_iter()
                        .map(|(_, taken)| taken.document.text.as_str())
                        .collect()
                })
                .collect()
        }
    }

    #[test]
    fn of_corrections_of_a_note_the_latest_counts_whichever_came_last() {
        let mut told = Fixture::new();
        told.corrects("a", 1);
        told.corrects("b", 2);
        told.published("v1");
        told.corrects("a", 3);
        told.corrects("b", 1);
        told.corrects("c", 1);
        told.published("v2");
        assert_eq!(told.in_force(), [vec!["b 2"], vec!["a 3", "c 1"]]);
        assert_eq!(told.history.positions.offset("t", 0), Some(5));
    }

    #[test]
    fn going_back_sets_aside_what_later_versions_had_learnt_and_going_forth_takes_it_up_again() {
        let mut told = Fixture::new();
        told.corrects("a", 1);
        told.published("v1");
        told.corrects("a", 2);
        told.published("v2");
        // Learnt, but in no version, so the roll-back does not affect it.
        told.corrects("b", 1);
        told.entry(&Entry::Batch);
        told.entry(&Entry::Refused {
            version: "worse".to_owned(),
        });
        assert!(!told.history.knows("worse"));
        told.goes_to("v1");
        assert_eq!(told.in_force(), [vec!["a 1"], vec!["b 1"]]);
        told.goes_to("v2");
        assert_eq!(told.in_force(), [vec![], vec!["a 2"], vec!["b 1"]]);
        told.goes_to("base");
        assert_eq!(told.in_force(), [vec!["b 1"]]);
        told.corrects("a", 2);
        told.published("v3");
        assert_eq!(told.in_force(), [vec!["b 1"], vec!["a 2"]]);
        assert_eq!(told.history.current, "v3");
        assert_eq!(told.history.aside().len(), 2);
    }

    #[test]
    fn a_note_is_held_out_by_its_id_and_about_as_many_as_configured() {
        let kept = |share| (0..1000).filter(|i| is_kept(&format!("n{i}"), share)).count();
        assert_eq!(kept(0.0), 0);
        assert!((150..250).contains(&kept(0.2)), "{}", kept(0.2));
        assert!((0..1000).all(|i| !is_kept(&format!("n{i}"), 0.2) || is_kept(&format!("n{i}"), 0.3)));
    }
}
