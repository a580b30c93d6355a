//! Stacking by sentences (Kim 2020, "Stacked LSTM"): a recurrent network with a CRF that reads only the
//! members' predictions, as one BIO tag per token and member.
//!
//! The network itself is [`lethe_neural::Stacked`]. Its sequences are the note's sentences, except that none
//! ends inside a member's annotation, since the network could not agree with that annotation then.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use lethe_core::{Annotations, Combine, Decision, LabelId, LabelSet, NoteView};
use lethe_learn::{Observer, TagSet};
use lethe_neural::{MemberTags, Stacked, StackedError, StackedScratch, StackedSettings};

use crate::PredictionSet;
use crate::candidates::{FitError, NoteVotes, check_members};
use crate::saved::{FittedOn, SavedError, pack, unpack};
use crate::tags::{tag_set, token_tags};

const KIND: &str = "stacked-lstm";

/// The most tokens of a sequence; longer ones are split.
const LONGEST: usize = 300;

/// Settings of [`StackedLstm`]: the network's.
pub type StackedLstmConfig = StackedSettings;

/// Why the network could not be fitted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StackedLstmError {
    /// An error common to all combiners.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The network's settings are invalid.
    #[error(transparent)]
    Network(#[from] StackedError),
}

/// A fitted stacked LSTM.
pub struct StackedLstm {
    on: FittedOn,
    network: Stacked,
    /// Buffers that threads reuse between notes.
    pool: Mutex<Vec<StackedScratch>>,
}

/// The members' predictions for notes, as the network's input.
#[derive(Default)]
struct Reading {
    predictions: Vec<u16>,
    sequences: Vec<Range<usize>>,
    tokens: usize,
}

impl StackedLstm {
    /// Learns gold's tags from the members'. The same seed gives the same network. Uses one core; an observer
    /// that ends the training keeps the result so far.
    ///
    /// # Errors
    /// [`StackedLstmError`].
    pub fn fit(
        predictions: &PredictionSet,
        config: &StackedLstmConfig,
        seed: u64,
        observer: &mut dyn Observer,
    ) -> Result<Self, StackedLstmError> {
        check_members(predictions)?;
        let tags = tag_set(&predictions.labels);
        let (mut reading, mut gold) = (Reading::default(), Vec::new());
        for note in predictions.batch.notes() {
            reading.note(note, &predictions.row(note.row), &tags);
            gold.extend(token_tags(note, &predictions.gold[note.row], &tags));
        }
        for sequence in &reading.sequences {
            // A gold span that crosses the end of a sequence becomes two.
            let own = &mut gold[sequence.clone()];
            let spans = tags.decode(own);
            own.fill(TagSet::OUTSIDE);
            spans.into_iter().for_each(|span| tags.write(own, span));
        }
        let network = Stacked::train(
            predictions.members.len(),
            tags.len(),
            &tags,
            reading.member_tags(),
            &gold,
            config,
            seed,
            observer,
        )?;
        Ok(Self {
            on: FittedOn::of(predictions),
            network,
            pool: Mutex::default(),
        })
    }

    /// Returns the members that it was fitted on, in the order in which it takes their predictions.
    pub fn members(&self) -> &[String] {
        &self.on.members
    }

    /// Returns the bytes that [`StackedLstm::from_bytes`] reads.
    ///
    /// # Errors
    /// [`SavedError::Header`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, SavedError> {
        pack(KIND, &self.on, &self.network.to_bytes())
    }

    /// Reads a saved network, to run under the labels that it was fitted with.
    ///
    /// # Errors
    /// [`SavedError`].
    pub fn from_bytes(bytes: &[u8], labels: &LabelSet) -> Result<Self, SavedError> {
        let (on, network): (FittedOn, _) = unpack(KIND, bytes)?;
        on.check(labels)?;
        let network = Stacked::from_bytes(network).map_err(|_| SavedError::Damaged)?;
        let sound = network.members() == on.members.len()
            && *network.tags() == tag_set(labels)
            && network.heard_tags() == network.tags().len();
        if !sound {
            return Err(SavedError::Damaged);
        }
        Ok(Self {
            on,
            network,
            pool: Mutex::default(),
        })
    }

    /// Returns the network's output for a note: tags with their scores.
    fn tag(&self, reading: &Reading) -> (Vec<u16>, Vec<f32>) {
        // Nothing panics while the lock is held.
        let pool = || self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let mut scratch = pool().pop().unwrap_or_default();
        let answer = self.network.tag(reading.member_tags(), &mut scratch);
        pool().push(scratch);
        answer
    }
}

impl Combine for StackedLstm {
    /// The score of a decision is the CRF's marginal probability of its least certain token.
    ///
    /// # Panics
    /// If the number of members differs from that it was fitted on.
    fn decide(&self, note: NoteView<'_>, predictions: &[&Annotations]) -> Vec<Decision> {
        assert_eq!(
            predictions.len(),
            self.on.members.len(),
            "the members that it was fitted on"
        );
        let tags = self.network.tags();
        let mut reading = Reading::default();
        reading.note(note, predictions, tags);
        let (found, token_scores) = self.tag(&reading);
        let votes = NoteVotes::new(predictions);
        let sequences = reading.sequences.iter();
        let spans = sequences.flat_map(|range| {
            let spans = tags.decode(&found[range.clone()]).into_iter();
            spans.map(|span| (range.start + span.first, range.start + span.last, span.label))
        });
        spans
            .map(|(first, last, label)| {
                let score = token_scores[first..=last].iter().copied().fold(1.0, f32::min);
                // The tags are in the order of the label set.
                let label = LabelId(label as u16);
                votes.decision(note.tokens_span(first, last), label, &self.on.ranks, score)
            })
            .collect()
    }

    /// Counts a tag per member, each member's tags once more while they are written, and the result: a tag
    /// and its score.
    fn token_bytes(&self) -> usize {
        (self.on.members.len() + 2) * size_of::<u16>() + size_of::<f32>()
    }
}

impl Reading {
    fn member_tags(&self) -> MemberTags<'_> {
        MemberTags {
            predictions: &self.predictions,
            sequences: &self.sequences,
        }
    }

    /// Appends a note.
    fn note(&mut self, note: NoteView<'_>, predictions: &[&Annotations], tags: &TagSet) {
        let first = self.tokens;
        let (count, members) = (note.tokens.len(), predictions.len());
        self.predictions
            .resize((first + count) * members, TagSet::OUTSIDE);
        self.tokens += count;
        let own = &mut self.predictions[first * members..];
        for (member, annotations) in predictions
            .iter()
            .enumerate()
            .filter(|(_, predictions)| !predictions.is_empty())
        {
            let row = token_tags(note, annotations, tags);
            let to = own[member..].iter_mut().step_by(members);
            to.zip(row).for_each(|(to, tag)| *to = tag);
        }
        let inside = |token: usize| {
            let predictions = &own[token * members..(token + 1) * members];
            predictions
                .iter()
                .any(|&tag| tags.part(tag).is_some_and(|(_, part)| part > 0))
        };
        let mut start = 0;
        for &end in note.sentence_ends {
            let end = end as usize;
            if end < count && inside(end) {
                continue;
            }
            while start < end {
                let stop = end.min(start + LONGEST);
                self.sequences.push(first + start..first + stop);
                start = stop;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lethe_core::{Annotation, NoteBatch, Span};
    use lethe_learn::NoObserver;

    use super::*;
    use crate::candidates::evaluate;
    use crate::invented::{best_member, invented};

    fn small() -> StackedLstmConfig {
        StackedLstmConfig {
            embedding: 4,
            hidden: 12,
            epochs: 15,
            batch: 4,
            rate: 0.01,
            ..StackedLstmConfig::default()
        }
    }

    #[test]
    fn where_members_err_apart_it_is_better_than_the_best_of_them() {
        let (fit, test) = invented(5, 150, &[0.10, 0.12, 0.14, 0.16, 0.18]);
        let fitted = StackedLstm::fit(&fit, &small(), 1, &mut NoObserver).unwrap();
        let (f1, best) = (evaluate(&fitted, &test).f1(), best_member(&test));
        assert!(f1 > best + 0.02, "{f1} against {best}");
        for note in test.batch.notes() {
            let predictions = test.row(note.row);
            let decisions = fitted.decide(note, &predictions);
            assert!(decisions.is_sorted_by(|a, b| a.span.end() <= b.span.start()));
            for decision in decisions {
                assert!((0.0..=1.0).contains(&decision.score));
                let exact = |member: usize| {
                    let mut predictions = predictions[member].iter();
                    predictions.any(|a| (a.span, a.label) == (decision.span, decision.label))
                };
                let all: Vec<usize> = (0..predictions.len()).filter(|&member| exact(member)).collect();
                if !all.is_empty() {
                    assert_eq!(decision.members.iter().collect::<Vec<_>>(), all);
                }
            }
        }
    }

    #[test]
    fn what_is_saved_reads_back_and_decides_alike() {
        let (fit, test) = invented(6, 30, &[0.1, 0.2, 0.3]);
        let fitted = StackedLstm::fit(&fit, &small(), 1, &mut NoObserver).unwrap();
        let again = StackedLstm::fit(&fit, &small(), 1, &mut NoObserver).unwrap();
        let bytes = fitted.to_bytes().unwrap();
        assert_eq!(bytes, again.to_bytes().unwrap());
        let read = StackedLstm::from_bytes(&bytes, &fit.labels).unwrap();
        assert_eq!(read.members(), fitted.members());
        for note in test.batch.notes() {
            let predictions = test.row(note.row);
            assert_eq!(read.decide(note, &predictions), fitted.decide(note, &predictions));
        }
    }

    #[test]
    fn damaged_bytes_and_other_labels_are_refused() {
        let (fit, _) = invented(7, 10, &[0.1, 0.2]);
        let config = StackedLstmConfig { epochs: 1, ..small() };
        let fitted = StackedLstm::fit(&fit, &config, 1, &mut NoObserver).unwrap();
        let bytes = fitted.to_bytes().unwrap();
        for at in (0..bytes.len()).step_by(101) {
            assert!(StackedLstm::from_bytes(&bytes[..at], &fit.labels).is_err());
            let mut altered = bytes.clone();
            altered[at] ^= 4;
            assert!(StackedLstm::from_bytes(&altered, &fit.labels).is_err());
        }
        let refused = StackedLstm::from_bytes(&bytes, &LabelSet::meddocan()).err();
        assert!(matches!(refused, Some(SavedError::Labels { .. })));
        // The bytes are complete, but of other members than the header names.
        let other = StackedLstm {
            on: FittedOn {
                members: vec!["one".to_owned()],
                ranks: vec![0],
                ..fitted.on
            },
            ..fitted
        };
        let refused = StackedLstm::from_bytes(&other.to_bytes().unwrap(), &fit.labels).err();
        assert_eq!(refused, Some(SavedError::Damaged));
    }

    #[test]
    fn a_sequence_ends_with_its_sentence_unless_a_member_reads_on() {
        let text = "Ana Ruiz\nCalle Mayor 3\nMadrid";
        let batch = NoteBatch::from_texts([text]).unwrap();
        let note = batch.note(0);
        let tags = TagSet::new(lethe_learn::Scheme::Bio, vec!["STREET".to_owned()]);
        let says = |start, end| {
            let one = Annotation {
                span: Span::between(start, end),
                label: LabelId(0),
                score: 1.0,
                rule: "",
            };
            Annotations::new(text, vec![one]).unwrap()
        };
        let (street, more) = (says(9, 22), says(9, 29));
        let sequences = |predictions: &[&Annotations]| {
            let mut reading = Reading::default();
            reading.note(note, predictions, &tags);
            reading.sequences
        };
        assert_eq!(sequences(&[&street, &street]), [0..2, 2..5, 5..6]);
        assert_eq!(sequences(&[&street, &more]), [0..2, 2..6]);
    }
}
