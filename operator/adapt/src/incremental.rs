//! Incremental learning: a model and naive Bayes, which keeps learning, mixed with a weight that is estimated
//! from each batch before the batch is learnt (Singh 2020, section III).
//!
//! The order for every batch is: score both learners and their mixture on it, since none of them has seen it;
//! estimate the confidence in naive Bayes, and then the weight; train the learners on it. So the weight after
//! a batch was estimated from that batch, with the learners from before it.

use std::sync::Arc;

use lethe_core::{LabelSet, NoteBatch, Tagger};
use lethe_corpus::{Counts, Document, Mark};
use lethe_learn::TagSet;
use lethe_members::{Learned, Weight, Weighted, Widened, together};

use crate::common::CachedMarginals;
use crate::learner::{AdaptError, First, Ground, MemberPredictions, Soft, marks};
use crate::weight::{Weigher, Weighing};

/// The names of the two in a mixture.
pub(crate) const NAMES: [&str; 2] = ["first", "naive-bayes"];

/// Strict counts of both learners and of their mixture over the same documents. A learner without data has no
/// predictions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scores {
    /// The model's.
    pub first: Counts,
    /// Naive Bayes'.
    pub second: Counts,
    /// The mixture's.
    pub mixture: Counts,
}

/// Measures of a batch before it was learnt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Scores on the unseen batch, with the weight from before it.
    pub scores: Scores,
    /// The model's new weight, for each of [`Weighing::ALL`].
    pub weights: [f64; Weighing::ALL.len()],
}

/// The pair, its weight, and the evidence for later weights.
#[derive(Clone)]
pub struct Incremental {
    ground: Ground,
    weighing: Weighing,
    first: Option<First>,
    second: Soft,
    weigher: Weigher,
    /// For each of [`Weighing::ALL`]; one half without evidence.
    weights: [f64; Weighing::ALL.len()],
}

/// The predictions of both for a batch, under the tags of both; `None` for a learner without data.
pub(crate) struct Pair {
    tags: TagSet,
    first: Option<Arc<MemberPredictions>>,
    second: Option<Arc<MemberPredictions>>,
}

/// A learner's last predictions for a batch.
pub(crate) type Memory = Option<(Arc<dyn Learned>, TagSet, Arc<MemberPredictions>)>;

impl Incremental {
    /// Creates a pair; without `first`, naive Bayes runs alone.
    pub fn new(first: Option<First>, second: Soft, ground: Ground, weighing: Weighing) -> Self {
        Self {
            ground,
            weighing,
            first,
            second,
            weigher: Weigher::default(),
            weights: [0.5; Weighing::ALL.len()],
        }
    }

    /// Returns the model's weight in the mixture: 1 while naive Bayes has no data, 0 without a model.
    pub fn weight(&self) -> f64 {
        self.weight_by(self.weighing)
    }

    /// Returns the weight under any weighing.
    pub fn weight_by(&self, how: Weighing) -> f64 {
        match (self.model(), self.second.member()) {
            (None, _) => 0.0,
            (Some(_), None) => 1.0,
            (Some(_), Some(_)) => {
                let place = Weighing::ALL.iter().position(|one| *one == how);
                place.map_or(0.5, |place| self.weights[place])
            }
        }
    }

    /// Returns the model, if it has any data.
    pub fn model(&self) -> Option<&Arc<dyn Learned>> {
        self.first.as_ref().and_then(First::member)
    }

    /// Returns naive Bayes.
    pub const fn soft(&self) -> &Soft {
        &self.second
    }

    /// Returns the mixture as a member; the only learner if there is one, `None` if neither has any data.
    ///
    /// # Errors
    /// [`AdaptError::Weighted`] or [`AdaptError::Tags`].
    pub fn member(&self, name: &str) -> Result<Option<Arc<dyn Tagger>>, AdaptError> {
        let (first, second) = match (self.model(), self.second.member()) {
            (Some(first), Some(second)) => (first, second),
            (one, other) => return Ok(one.or(other).map(|member| Arc::clone(member) as _)),
        };
        let tags = together(first.tags(), second.tags());
        let wide = |member: &Arc<dyn Learned>, learner: &str| {
            let learner = learner.to_owned();
            Widened::new(Arc::clone(member) as _, &tags).ok_or(AdaptError::Tags { learner })
        };
        let mixture = Weighted::new(
            name,
            Arc::new(wide(first, NAMES[0])?),
            Arc::new(wide(second, NAMES[1])?),
            &mixed_by(self.weight()),
            &self.ground.labels,
        )?;
        Ok(Some(Arc::new(mixture)))
    }

    /// Processes a batch: scores it, estimates the weight from it, learns it.
    ///
    /// # Errors
    /// [`AdaptError`].
    pub fn take(&mut self, documents: &[Document]) -> Result<Step, AdaptError> {
        let step = self.weigh(documents)?;
        self.learn(documents)?;
        Ok(step)
    }

    /// Does the first half of [`Incremental::take`].
    ///
    /// # Errors
    /// [`AdaptError`].
    pub fn weigh(&mut self, documents: &[Document]) -> Result<Step, AdaptError> {
        let batch = batch(documents)?;
        let mut memory = None;
        let pair = self.ask(&batch, &mut memory)?;
        let mixed = pair.mixed(self.weight(), &batch, &self.ground.labels)?;
        let scores = Scores {
            first: strict(documents, pair.first_marks()),
            second: strict(documents, pair.second_marks()),
            mixture: strict(documents, &mixed),
        };
        self.second.tell(documents, &self.ground)?;
        let pair = self.ask(&batch, &mut memory)?;
        self.weigher.next_batch();
        let weigher = &mut self.weigher;
        if pair.tell(&batch, documents, |p, q, gold, tags| {
            weigher.add(p, q, gold, tags)
        }) {
            self.weights = Weighing::ALL.map(|how| self.weigher.weight(how));
        }
        Ok(Step {
            scores,
            weights: Weighing::ALL.map(|how| self.weight_by(how)),
        })
    }

    /// Does the second half of [`Incremental::take`].
    ///
    /// # Errors
    /// [`AdaptError`].
    pub fn learn(&mut self, documents: &[Document]) -> Result<(), AdaptError> {
        if let Some(first) = &mut self.first {
            first.learn(documents, &self.ground)?;
        }
        self.second.learn(documents, &self.ground)
    }

    /// Runs both learners on a batch; takes the model's predictions from `memory` if they are of the same
    /// model. `memory` must be of the same batch.
    pub(crate) fn ask(&self, batch: &NoteBatch, memory: &mut Memory) -> Result<Pair, AdaptError> {
        let members = [self.model(), self.second.member()];
        let tags = match members {
            [Some(first), Some(second)] => together(first.tags(), second.tags()),
            [Some(one), None] | [None, Some(one)] => one.tags().clone(),
            [None, None] => TagSet::new(lethe_learn::Scheme::Bio, Vec::new()),
        };
        let ask = |member: &Arc<dyn Learned>| {
            MemberPredictions::of(member, batch, &tags, &self.ground.labels).map(Arc::new)
        };
        let first = match (members[0], &*memory) {
            (Some(member), Some((old, under, predictions))) if Arc::ptr_eq(member, old) && *under == tags => {
                Some(Arc::clone(predictions))
            }
            (Some(member), _) => {
                let predictions = ask(member)?;
                *memory = Some((Arc::clone(member), tags.clone(), Arc::clone(&predictions)));
                Some(predictions)
            }
            (None, _) => None,
        };
        Ok(Pair {
            first,
            second: members[1].map(ask).transpose()?,
            tags,
        })
    }

    pub(crate) const fn ground(&self) -> &Ground {
        &self.ground
    }
}

impl Pair {
    /// Passes each row's probabilities and gold tags to `add`; returns whether both learners have any.
    pub(crate) fn tell(
        &self,
        batch: &NoteBatch,
        documents: &[Document],
        mut add: impl FnMut(&[f32], &[f32], &[u16], usize),
    ) -> bool {
        let (Some(first), Some(second)) = (&self.first, &self.second) else {
            return false;
        };
        let rows = first.rows.iter().zip(&second.rows);
        for ((note, document), (p, q)) in batch.notes().zip(documents).zip(rows) {
            let gold = self.tags.encode(note.tokens, &document.marks);
            add(p, q, &gold, self.tags.len());
        }
        true
    }

    /// Returns the model's predictions by row; empty for a model without data.
    pub(crate) fn first_marks(&self) -> &[Vec<Mark>] {
        self.first.as_ref().map_or(&[], |predictions| &predictions.marks)
    }

    /// Returns naive Bayes' predictions by row.
    pub(crate) fn second_marks(&self) -> &[Vec<Mark>] {
        self.second.as_ref().map_or(&[], |predictions| &predictions.marks)
    }

    /// Returns whether neither has any data.
    pub(crate) const fn is_empty(&self) -> bool {
        self.first.is_none() && self.second.is_none()
    }

    /// Returns the mixture's predictions by row.
    pub(crate) fn mixed(
        &self,
        weight: f64,
        batch: &NoteBatch,
        labels: &LabelSet,
    ) -> Result<Vec<Vec<Mark>>, AdaptError> {
        let (first, second) = match (&self.first, &self.second) {
            (Some(first), Some(second)) => (first, second),
            (Some(one), None) | (None, Some(one)) => return Ok(one.marks.clone()),
            (None, None) => return Ok(vec![Vec::new(); batch.len()]),
        };
        let told = |predictions: &MemberPredictions| {
            Arc::new(CachedMarginals {
                tags: self.tags.clone(),
                rows: predictions.rows.clone(),
            })
        };
        let mixture = Weighted::new("mixture", told(first), told(second), &mixed_by(weight), labels)?;
        marks(&mixture, batch, labels)
    }
}

fn mixed_by(weight: f64) -> Weight {
    let [first, second] = NAMES.map(str::to_owned);
    Weight {
        first,
        second,
        weight,
    }
}

pub(crate) fn batch(documents: &[Document]) -> Result<NoteBatch, AdaptError> {
    let texts = documents.iter().map(|document| document.text.as_str());
    Ok(NoteBatch::from_texts(texts)?)
}

/// Returns the strict counts of predictions by document; a document without a row has none.
pub(crate) fn strict(documents: &[Document], marks: &[Vec<Mark>]) -> Counts {
    let mut counts = Counts::default();
    for (i, document) in documents.iter().enumerate() {
        let predictions = marks.get(i).map_or(&[][..], Vec::as_slice);
        counts += Counts::strict(&document.marks, predictions);
    }
    counts
}

#[cfg(test)]
mod tests {
    use lethe_core::Span;
    use lethe_dictionaries::Dictionary;
    use lethe_linear::{FeatureConfig, Learner};

    use super::*;
    use crate::Refitted;

    /// Returns form-like notes; `shift` chooses other words, as in another institute.
    fn documents(count: usize, shift: usize) -> Vec<Document> {
        let names = ["Ana", "Luis", "Marta", "Pedro", "Elena", "Jorge"];
        let leads = ["Nombre", "Paciente", "Atendido"];
        let each = |i: usize| {
            let (name, year) = (
                names[(i * 5 + shift) % 6],
                format!("{}", 1940 + (i * 7 + shift) % 60),
            );
            let text = format!(
                "{}: {name}.\nNacido en {year}, sin hallazgos.\n",
                leads[shift % 3]
            );
            let mark = |part: &str, label: &str| {
                let start = text.find(part).unwrap();
                Mark::gold(Span::new(start, start + part.len()).unwrap(), label)
            };
            Document {
                id: format!("n{i}"),
                patient: None,
                marks: vec![mark(name, "NAME"), mark(&year, "DATE")],
                text,
            }
        };
        (0..count).map(each).collect()
    }

    fn ground() -> Ground {
        let names = ["NAME", "DATE"].map(str::to_owned);
        Ground {
            features: FeatureConfig::default(),
            dictionary: Dictionary::builtin(),
            labels: Arc::new(LabelSet::of_names("t", &names).unwrap()),
            seed: 1,
        }
    }

    fn begun(first: Option<First>) -> Incremental {
        let ground = ground();
        let soft = Soft::new(&ground).unwrap();
        Incremental::new(first, soft, ground, Weighing::default())
    }

    #[test]
    fn a_batch_is_scored_and_weighed_before_it_is_learnt() {
        let crf = Learner::of_kind("crf").unwrap();
        let mut pair = begun(Some(First::Refitted(Refitted::new(crf))));
        assert!(pair.member("m").unwrap().is_none());
        let batch = documents(12, 0);
        let step = pair.take(&batch).unwrap();
        // Neither learner had any data.
        assert_eq!(step.scores.mixture.hits, 0);
        assert_eq!(step.scores.mixture.missed, 24);
        // The same notes again, which are now known.
        let step = pair.take(&batch).unwrap();
        assert!(
            step.scores.first.f1() > 0.9 && step.scores.mixture.f1() > 0.9,
            "{step:?}"
        );
        assert_eq!(pair.weight(), step.weights[0]);
        assert!((0.0..=1.0).contains(&pair.weight()));
    }

    #[test]
    fn a_model_that_stays_is_alone_until_something_is_learnt_and_the_weight_goes_to_who_is_right() {
        let ground = ground();
        let crf = Learner::of_kind("crf").unwrap();
        let from = Refitted::begun(crf, &documents(30, 0), &ground).unwrap();
        let model = First::Refitted(from).member().unwrap().clone();
        let mut pair = begun(Some(First::Still(Arc::clone(&model))));
        assert_eq!(pair.weight(), 1.0);
        let own = documents(30, 1);
        for batch in own.chunks(10) {
            pair.take(batch).unwrap();
        }
        assert!(Arc::ptr_eq(pair.model().unwrap(), &model));
        let batch = batch(&own).unwrap();
        let asked = pair.ask(&batch, &mut None).unwrap();
        let f1 = |marks: &[Vec<Mark>]| strict(&own, marks).f1();
        let mixed = asked.mixed(pair.weight(), &batch, &pair.ground().labels).unwrap();
        assert!(f1(&mixed) >= f1(asked.first_marks()).max(f1(asked.second_marks())) - 1e-9);
        // The resulting member makes the same predictions.
        let member = pair.member("m").unwrap().unwrap();
        assert_eq!(
            marks(member.as_ref(), &batch, &pair.ground().labels).unwrap(),
            mixed
        );
    }

    #[test]
    fn predictions_for_a_batch_are_cached_while_the_model_is_the_same() {
        let crf = Learner::of_kind("crf").unwrap();
        let mut pair = begun(Some(First::Refitted(Refitted::new(crf))));
        pair.learn(&documents(6, 0)).unwrap();
        let batch = batch(&documents(3, 1)).unwrap();
        let mut memory = None;
        let before = pair.ask(&batch, &mut memory).unwrap();
        let again = pair.ask(&batch, &mut memory).unwrap();
        assert!(Arc::ptr_eq(
            before.first.as_ref().unwrap(),
            again.first.as_ref().unwrap()
        ));
        pair.learn(&documents(6, 2)).unwrap();
        let after = pair.ask(&batch, &mut memory).unwrap();
        assert!(!Arc::ptr_eq(
            before.first.as_ref().unwrap(),
            after.first.as_ref().unwrap()
        ));
    }

    #[test]
    fn a_batch_without_a_mark_or_a_token_changes_nothing_for_the_worse() {
        let crf = Learner::of_kind("crf").unwrap();
        let mut pair = begun(Some(First::Refitted(Refitted::new(crf))));
        let bare = |text: &str| Document {
            id: "b".to_owned(),
            patient: None,
            text: text.to_owned(),
            marks: Vec::new(),
        };
        pair.take(&[bare("Sin nada."), bare("")]).unwrap();
        // Naive Bayes has learnt that nothing is annotated; a model cannot be fitted.
        assert!(pair.model().is_none() && pair.soft().member().is_some());
        assert_eq!(pair.weight(), 0.0);
        pair.take(&documents(6, 0)).unwrap();
        assert!(pair.model().is_some());
        pair.take(&[]).unwrap();
        assert!((0.0..=1.0).contains(&pair.weight()));
    }
}
