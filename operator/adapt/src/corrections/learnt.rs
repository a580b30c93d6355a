//! What is learnt from the corrections in force: naive Bayes with its weight against a member of the bundle,
//! and phrases.
//!
//! Everything follows from the corrections and the base bundle alone: incremental learning gives the same
//! result as learning all batches from the start.

use std::collections::HashMap;
use std::sync::Arc;

use lethe_core::{NoteBatch, Span};
use lethe_corpus::Document;
use lethe_ensemble::Bundle;
use lethe_linear::Bayes;
use lethe_members::Learned;

use super::evaluate::decided;
use super::history::{History, Place};
use super::phrases::{self, PhrasesError};
use crate::{AdaptError, First, Ground, Incremental, Loss, Over, Soft, Weighing};

/// Batches of corrections are small, and a weight estimated from the latest alone would jump with each. So it
/// is estimated from all batches, each with the predictions from before it was learnt.
const WEIGHING: Weighing = Weighing {
    loss: Loss::Brier,
    over: Over::All,
};

/// The number of notes from which the weight is trusted; below it, the model runs without naive Bayes. A
/// weight below one half, estimated from one unusual note, would let a naive Bayes with hardly any data
/// decide everything.
const ENOUGH: usize = 10;

/// A corrected note to learn from.
pub(super) struct Lesson<'d> {
    pub(super) document: &'d Document,
    /// Gold spans of which the base bundle leaves a letter or digit unredacted.
    pub(super) missed: Vec<Span>,
}

/// The learners after some batches.
pub(super) struct Learnt {
    ground: Ground,
    first: Option<Arc<dyn Learned>>,
    /// The corrections that they have learnt, by batch.
    seen: Vec<Vec<Place>>,
    pair: Option<Incremental>,
    /// The spans that the base bundle missed, for each correction that was scored.
    missed: HashMap<Place, Vec<Span>>,
}

/// The learnt parts of a bundle.
pub(super) struct Lessons {
    /// The model's weight against naive Bayes; `None` without a model, with too little evidence, or at a
    /// weight of 1.
    pub(super) weight: Option<f64>,
    /// The compiled phrases and their number.
    pub(super) phrases: Option<(Vec<u8>, usize)>,
    /// The number of learnt notes.
    pub(super) notes: usize,
    /// Corrected notes in the held-out set.
    pub(super) kept: Vec<Document>,
}

impl Learnt {
    /// Creates learners without data; `first` is the model of the pair.
    pub(super) fn new(first: Option<Arc<dyn Learned>>, ground: Ground) -> Self {
        Self {
            ground,
            first,
            seen: Vec::new(),
            pair: None,
            missed: HashMap::new(),
        }
    }

    /// Returns naive Bayes in its current state.
    pub(super) fn bayes(&self) -> Option<&Bayes> {
        self.pair.as_ref().map(|pair| pair.soft().bayes())
    }

    /// Learns the corrections in force.
    pub(super) fn learn(&mut self, history: &History, base: &Bundle) -> Result<Lessons, LearnError> {
        let corrections = history.corrections();
        let batches: Vec<Vec<Place>> = corrections
            .iter()
            .map(|batch| {
                let learnt = batch.iter().filter(|(_, taken)| !taken.kept);
                learnt.map(|(place, _)| *place).collect()
            })
            .filter(|batch: &Vec<Place>| !batch.is_empty())
            .collect();
        let all: Vec<(Place, &Document)> = corrections
            .iter()
            .flatten()
            .map(|(place, taken)| (*place, &taken.document))
            .collect();
        let documents: HashMap<Place, &Document> = all.iter().copied().collect();
        self.take(&batches, &documents)?;
        let mut order: Vec<Place> = batches.concat();
        order.sort_unstable();
        self.ask(&order, &documents, base)?;
        let lesson = |place: &Place| Lesson {
            document: documents[place],
            missed: self.missed.get(place).cloned().unwrap_or_default(),
        };
        let lessons: Vec<Lesson<'_>> = order.iter().map(lesson).collect();
        let kept = corrections.iter().flatten().filter(|(_, taken)| taken.kept);
        Ok(Lessons {
            weight: self.weight(),
            phrases: phrases::listed(&lessons)?,
            notes: lessons.len(),
            kept: kept.map(|(_, taken)| taken.document.clone()).collect(),
        })
    }

    /// Trains the pair on these batches. It continues from the current state if the batches begin with those
    /// already learnt.
    fn take(
        &mut self,
        batches: &[Vec<Place>],
        documents: &HashMap<Place, &Document>,
    ) -> Result<(), LearnError> {
        let Some(first) = &self.first else { return Ok(()) };
        if self.pair.is_none() || !batches.starts_with(&self.seen) {
            let soft = Soft::new(&self.ground)?;
            let first = Some(First::Still(Arc::clone(first)));
            self.pair = Some(Incremental::new(first, soft, self.ground.clone(), WEIGHING));
            self.seen.clear();
        }
        let Some(pair) = &mut self.pair else { return Ok(()) };
        for batch in &batches[self.seen.len()..] {
            let of = |place: &Place| documents[place].clone();
            let batch_documents: Vec<Document> = batch.iter().map(of).collect();
            pair.take(&batch_documents)?;
            self.seen.push(batch.clone());
        }
        Ok(())
    }

    fn weight(&self) -> Option<f64> {
        // The first batch is no evidence: naive Bayes had learnt nothing before it.
        let told: usize = self.seen.iter().skip(1).map(Vec::len).sum();
        let weight = self.pair.as_ref().filter(|_| told >= ENOUGH)?.weight();
        (weight < 1.0).then_some(weight)
    }

    /// Runs the base bundle on corrections that it has not seen.
    fn ask(
        &mut self,
        order: &[Place],
        documents: &HashMap<Place, &Document>,
        base: &Bundle,
    ) -> Result<(), LearnError> {
        let new: Vec<Place> = order
            .iter()
            .filter(|place| !self.missed.contains_key(place))
            .copied()
            .collect();
        let texts: Vec<&Document> = new.iter().map(|place| documents[place]).collect();
        for (place, predictions) in new.iter().zip(decided(base, &texts)?) {
            let document = documents[place];
            let found: Vec<Span> = predictions
                .unwrap_or_default()
                .iter()
                .map(|mark| mark.span)
                .collect();
            let missed = document.marks.iter().map(|mark| mark.span);
            let missed = missed.filter(|span| leaks(&document.text, *span, &found) > 0);
            self.missed.insert(*place, missed.collect());
        }
        Ok(())
    }
}

/// Counts the letters and digits of a span that none of these spans cover.
pub(super) fn leaks(text: &str, span: Span, found: &[Span]) -> u64 {
    let at = span.start();
    let characters = span.of(text).char_indices();
    let open = characters.filter(|(offset, c)| {
        let byte = at + offset;
        c.is_alphanumeric() && !found.iter().any(|one| one.start() <= byte && byte < one.end())
    });
    open.count() as u64
}

/// Why nothing could be learnt. It holds no text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LearnError {
    /// The pair.
    #[error(transparent)]
    Adapt(#[from] AdaptError),
    /// The phrases.
    #[error(transparent)]
    Phrases(#[from] PhrasesError),
    /// Texts do not form a batch.
    #[error(transparent)]
    Batch(#[from] lethe_core::BatchError),
}

/// Splits notes into batches that members can process.
pub(super) fn batches<'d>(
    documents: &'d [&'d Document],
) -> impl Iterator<Item = Result<NoteBatch, lethe_core::BatchError>> + 'd {
    const CHUNK: usize = 64;
    documents
        .chunks(CHUNK)
        .map(|chunk| NoteBatch::from_texts(chunk.iter().map(|document| document.text.as_str())))
}
