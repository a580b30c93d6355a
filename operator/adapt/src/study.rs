//! The study of Singh 2020: one stream in many orders, with the scores of both learners and their mixture on
//! a held-out set after every increment.
//!
//! A point of a curve is the state after a number of increments: the learners that have learnt them, and the
//! weight that the next batch gives for these learners before it is learnt (section IV C). After the last
//! increment no batch is left, and the weight stays.

mod page;
mod plots;
mod report;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use lethe_core::NoteBatch;
use lethe_corpus::{Counts, Document, Mark};
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;

pub use report::{
    Against, Below, Crossing, Increment, Landscape, LandscapePoint, Report, Setup, Spread, Stationary,
    Unseen, WeighingSummary,
};

use crate::incremental::{Incremental, Memory, batch, strict};
use crate::learner::{AdaptError, First, Ground, Soft};
use crate::units::{Cut, sentences};
use crate::weight::{Evidence, Loss, Weighing};

/// The number of weighings.
const WAYS: usize = Weighing::ALL.len();

/// The share of the stream that is learnt in the stationary setup; the weight is estimated from the rest (the
/// paper: 60 and 20 % of a corpus whose last 20 % is the test).
const LEARNT: f64 = 0.75;

/// The number of steps between weight 0 and 1 in the landscape.
const STEPS: u32 = 20;

/// The plan of the stream.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Units per batch.
    pub batch: usize,
    /// The maximum number of increments; by default the whole stream.
    pub increments: Option<usize>,
    /// The number of orders.
    pub repeats: usize,
    /// The seed of the orders.
    pub seed: u64,
    /// Repeats that run in parallel.
    pub jobs: usize,
}

/// The held-out documents, in the form that learners read.
pub struct Test {
    documents: Vec<Document>,
    /// Each piece, and the index of its document.
    pieces: Vec<(usize, Cut)>,
    batch: NoteBatch,
}

impl Test {
    /// Creates a test of whole documents.
    ///
    /// # Errors
    /// [`AdaptError::Batch`].
    pub fn documents(documents: Vec<Document>) -> Result<Self, AdaptError> {
        let pieces = documents.iter().cloned().map(Cut::whole).enumerate().collect();
        Self::of(documents, pieces)
    }

    /// Creates a test of documents that are read sentence by sentence, and scored as a whole.
    ///
    /// # Errors
    /// [`AdaptError::Batch`].
    pub fn sentences(documents: Vec<Document>) -> Result<Self, AdaptError> {
        let mut pieces = Vec::new();
        for (i, document) in documents.iter().enumerate() {
            pieces.extend(sentences(document, false)?.into_iter().map(|cut| (i, cut)));
        }
        Self::of(documents, pieces)
    }

    fn of(documents: Vec<Document>, pieces: Vec<(usize, Cut)>) -> Result<Self, AdaptError> {
        let texts = pieces.iter().map(|(_, piece)| piece.document.text.as_str());
        Ok(Self {
            batch: NoteBatch::from_texts(texts)?,
            documents,
            pieces,
        })
    }

    /// Returns the strict micro-F1 of predictions by piece; without rows, there are none.
    fn f1(&self, marks: &[Vec<Mark>]) -> f64 {
        let mut whole = vec![Vec::new(); self.documents.len()];
        for ((document, piece), marks) in self.pieces.iter().zip(marks) {
            whole[*document].extend(piece.back(marks));
        }
        strict(&self.documents, &whole).f1()
    }
}

/// The inputs of a study.
pub struct Study<'a> {
    /// The stream: sentences or documents, in any order.
    pub units: &'a [Document],
    /// The held-out documents.
    pub test: &'a Test,
    /// The model at the start of every repeat.
    pub first: First,
    /// The inputs that learners share.
    pub ground: Ground,
    /// The plan of the stream.
    pub plan: Plan,
}

impl Study<'_> {
    /// Returns the number of increments per repeat.
    pub fn increments(&self) -> usize {
        let all = self.units.len().div_ceil(self.plan.batch);
        self.plan.increments.map_or(all, |most| most.min(all))
    }

    /// Runs every repeat; calls `step` after each increment.
    ///
    /// # Errors
    /// [`AdaptError`] of the first repeat that fails.
    pub fn run(&self, setup: Setup, step: &(dyn Fn() + Sync)) -> Result<Report, AdaptError> {
        if self.increments() < 2 {
            return Err(AdaptError::Short {
                units: self.units.len(),
                batch: self.plan.batch,
            });
        }
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..self.plan.jobs.clamp(1, self.plan.repeats) {
                scope.spawn(|| {
                    loop {
                        let repeat = next.fetch_add(1, Ordering::Relaxed);
                        if repeat >= self.plan.repeats {
                            break;
                        }
                        let result = self.repeat(repeat, step);
                        if result.is_err() {
                            next.store(self.plan.repeats, Ordering::Relaxed);
                        }
                        if let Ok(mut done) = done.lock() {
                            done.push((repeat, result));
                        }
                    }
                });
            }
        });
        let mut done = done
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        done.sort_by_key(|(repeat, _)| *repeat);
        let repeats: Result<Vec<Repeat>, AdaptError> = done.into_iter().map(|(_, result)| result).collect();
        Ok(report::of(self, setup, &repeats?))
    }

    /// Runs the stream in one order.
    fn repeat(&self, repeat: usize, step: &(dyn Fn() + Sync)) -> Result<Repeat, AdaptError> {
        let mut order: Vec<usize> = (0..self.units.len()).collect();
        let mut random = ChaCha8Rng::seed_from_u64(self.plan.seed);
        // One generator with a stream per repeat, so that the orders of one seed differ.
        random.set_stream(repeat as u64);
        order.shuffle(&mut random);
        let increments = self.increments();
        let batches: Vec<Vec<Document>> = order
            .chunks(self.plan.batch)
            .take(increments)
            .map(|chunk| chunk.iter().map(|&i| self.units[i].clone()).collect())
            .collect();
        let turn = ((increments as f64 * LEARNT).round() as usize).clamp(1, increments - 1);

        let soft = Soft::new(&self.ground)?;
        let how = Weighing::default();
        let mut pair = Incremental::new(Some(self.first.clone()), soft, self.ground.clone(), how);
        let mut memory = None;
        let (mut points, mut told) = (Vec::with_capacity(increments + 1), None);
        for at in 0..=increments {
            let unseen = match batches.get(at) {
                Some(batch) => Some(pair.weigh(batch)?.scores),
                None => None,
            };
            let (point, known) = self.point(&pair, &mut memory)?;
            points.push(Point {
                unseen: unseen.filter(|_| known).map(|scores| {
                    let f1: fn(Counts) -> f64 = Counts::f1;
                    [f1(scores.first), f1(scores.second), f1(scores.mixture)]
                }),
                known,
                ..point
            });
            if at == turn {
                let rest: Vec<Document> = batches[turn..].concat();
                told = Some(self.stationary(&pair, &mut memory, &rest, repeat == 0)?);
            }
            if let Some(batch) = batches.get(at) {
                pair.learn(batch)?;
            }
            step();
        }
        Ok(Repeat {
            points,
            // The turn is always one of the points.
            stationary: told.unwrap_or_default(),
            turn,
        })
    }

    /// Scores the pair's current state on the test, and returns whether it has any data.
    fn point(&self, pair: &Incremental, memory: &mut Memory) -> Result<(Point, bool), AdaptError> {
        let asked = pair.ask(&self.test.batch, memory)?;
        let mut point = Point {
            first: self.test.f1(asked.first_marks()),
            second: self.test.f1(asked.second_marks()),
            ..Point::default()
        };
        for (i, how) in Weighing::ALL.into_iter().enumerate() {
            let weight = pair.weight_by(how);
            let mixed = asked.mixed(weight, &self.test.batch, &self.ground.labels)?;
            point.weights[i] = weight;
            point.mixed[i] = self.test.f1(&mixed);
        }
        Ok((point, !asked.is_empty()))
    }

    /// Scores the pair's current state with the weight that the rest of the stream gives (figure 2); with
    /// `landscape`, also with other weights (figure 7).
    fn stationary(
        &self,
        pair: &Incremental,
        memory: &mut Memory,
        rest: &[Document],
        landscape: bool,
    ) -> Result<Settled, AdaptError> {
        let held = batch(rest)?;
        let of_rest = pair.ask(&held, &mut None)?;
        let mut evidence = Evidence::default();
        of_rest.tell(&held, rest, |p, q, gold, tags| evidence.add(p, q, gold, tags));
        let asked = pair.ask(&self.test.batch, memory)?;
        let labels = &pair.ground().labels;
        let mixture = |weight: f64| -> Result<f64, AdaptError> {
            Ok(self.test.f1(&asked.mixed(weight, &self.test.batch, labels)?))
        };
        let weights = [Loss::Brier, Loss::Log].map(|loss| evidence.weight(loss));
        let mut settled = Settled {
            first: self.test.f1(asked.first_marks()),
            second: self.test.f1(asked.second_marks()),
            mixed: [mixture(weights[0])?, mixture(weights[1])?],
            weights,
            landscape: Vec::new(),
        };
        let steps = if landscape { STEPS + 1 } else { 0 };
        for i in 0..steps {
            let weight = f64::from(i) / f64::from(STEPS);
            let (mut loss, mut tokens) = (0.0, 0);
            of_rest.tell(&held, rest, |p, q, gold, tags| {
                loss += brier(p, q, gold, tags, weight);
                tokens += gold.len();
            });
            settled.landscape.push(LandscapePoint {
                weight,
                loss: loss / tokens.max(1) as f64,
                f1: mixture(weight)?,
            });
        }
        Ok(settled)
    }
}

/// Computes equation 5 over one note.
fn brier(first: &[f32], second: &[f32], gold: &[u16], tags: usize, weight: f64) -> f64 {
    let rows = first.chunks_exact(tags).zip(second.chunks_exact(tags)).zip(gold);
    rows.map(|((p, q), &gold)| {
        let pairs = p.iter().zip(q).enumerate();
        pairs
            .map(|(tag, (&p, &q))| {
                let y = if tag == usize::from(gold) { 1.0 } else { 0.0 };
                (weight * f64::from(p) + (1.0 - weight) * f64::from(q) - y).powi(2)
            })
            .sum::<f64>()
    })
    .sum()
}

/// One order's curves.
struct Repeat {
    points: Vec<Point>,
    stationary: Settled,
    /// The number of increments learnt in the stationary setup.
    turn: usize,
}

/// F1 and weights after an increment.
#[derive(Default)]
struct Point {
    first: f64,
    second: f64,
    mixed: [f64; WAYS],
    weights: [f64; WAYS],
    /// F1 of the next batch before it is learnt, with the weight from before it.
    unseen: Option<[f64; 3]>,
    known: bool,
}

/// The stationary setup in one order.
#[derive(Default)]
struct Settled {
    first: f64,
    second: f64,
    /// With the weight of the Brier loss, and of the logarithmic loss.
    mixed: [f64; 2],
    weights: [f64; 2],
    landscape: Vec<LandscapePoint>,
}

#[cfg(test)]
mod tests;
