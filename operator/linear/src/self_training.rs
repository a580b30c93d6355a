//! Self-training (Liao 2021) of a random field: it continues training from its weights with gold and with what it says itself, or
//! another says, of notes without any.
//!
//! The paper trains by mini-batches, one half with gold, one half with pseudo-labels, under noise that is drawn again in every
//! pass. Here every step of the search sees all notes, and the halves weigh the same: the pseudo-labelled notes together what
//! those with gold do. Without noise a field differs in nothing from labels that it gave itself. After each round the labels and
//! the noise are given again.
//!
//! The objective is convex and has all of the source's gold in it, so that the old weights are but where the search begins:
//! the prior stays where it was in the first training, at 0. Held to the old weights instead, as in fine-tuning, the field
//! would fit the gold a second time and more closely than is good for it.

mod soft;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use lethe_core::{NoteBatch, NoteView};
use lethe_corpus::Document;
use lethe_dictionaries::Dictionary;
use lethe_learn::{Epoch, Manifest, Marginals, Observer, Pool, SwitchOut, Training};
use rand::{RngCore as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::batch::{self, Config};
use crate::chain::{Chain, Layout, Scratch};
use crate::decode::Decoder;
use crate::member::{MemberError, Opened, opened};
use crate::model::{Form, Model};
use crate::registry::Learner;
use crate::train::{Run, TrainError, Trained, evaluate, prepare, settings};
use crate::warm_start::{self, Start, WarmStartError};
use crate::{Data, Extractor, States};
use soft::{Expected, SoftLikelihood};

/// How a field trains itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SelfTraining {
    /// Noise, on all notes.
    pub noise: SwitchOut,
    /// What all pseudo-labelled notes together weigh against all with gold. The paper's mini-batches: 1.
    pub weight: f64,
    /// How often each note without gold is read, with other noise each time.
    pub copies: u32,
    /// Rounds at most: each fits the weights to labels of its own.
    pub rounds: u32,
    /// Rounds without a better score on the held-out set after which training ends.
    pub patience: u32,
    /// The learner's settings where they are to be others than the model's.
    pub learner: toml::Table,
}

impl Default for SelfTraining {
    /// Chosen on wikigold going on to short messages (btc), which no study scores, with the way back (btc to wikigold) in
    /// sight, which one does. There F1 of names goes from 27.6 to 29.3, and on the whole held-out set from 67.7 to 66.1. With a
    /// fifth of the words switched names win 0.4 points and the held-out set loses 3.9, or 0.2 if the gold has no noise.
    /// Gold once as it is and once under noise wins 2.3 and loses 1.3 there, but loses 1 of names on the way back.
    fn default() -> Self {
        Self {
            noise: SwitchOut::default(),
            weight: 1.0,
            copies: 1,
            rounds: 3,
            patience: 2,
            learner: toml::Table::new(),
        }
    }
}

impl SelfTraining {
    /// Returns the defaults, and what `given` names instead.
    ///
    /// # Errors
    /// What the parser says, with the key.
    pub fn new(given: toml::Table) -> Result<Self, String> {
        let read: Result<Self, toml::de::Error> = toml::Value::Table(given).try_into();
        let read = read.map_err(|error| error.message().to_owned())?;
        read.noise.check()?;
        if read.rounds == 0 || read.copies == 0 || !(read.weight > 0.0 && read.weight.is_finite()) {
            return Err("rounds and copies must be at least 1, weight above 0".to_owned());
        }
        Ok(read)
    }
}

/// What trains itself, on what.
#[derive(Clone, Copy)]
pub struct SelfTask<'a> {
    /// The folder of the model to continue from.
    pub model: &'a Path,
    /// How.
    pub settings: &'a SelfTraining,
    /// Documents with gold, whose labels the model has.
    pub labelled: &'a [Document],
    /// Documents whose marks, if they have any, are not looked at.
    pub unlabelled: &'a [Document],
    /// Documents with gold that are never fitted to: the round that scores best on them is kept.
    pub held_out: &'a [Document],
    /// The teacher, with the model's own tags; the model itself if there is no teacher.
    pub teacher: Option<&'a (dyn Marginals + Sync)>,
    /// The lists behind the features.
    pub dictionary: &'a Arc<Dictionary>,
    /// Where chance comes from.
    pub seed: u64,
}

/// A self-trained CRF, and the strict micro-F1 of the original on the held-out set.
pub struct SelfTrained {
    /// What it is now.
    pub trained: Trained,
    /// What it scored.
    pub before: f64,
    /// What it scores.
    pub after: f64,
}

/// The members of this crate that soft labels can be fitted to.
pub const SOFT: [&str; 1] = ["crf"];

/// Trains a field on. The same model, documents, settings, teacher and seed give the same bytes.
///
/// # Errors
/// [`WarmStartError`].
pub fn self_train(task: &SelfTask<'_>, observer: &mut dyn Observer) -> Result<SelfTrained, WarmStartError> {
    let Opened {
        manifest,
        features,
        model,
    } = opened(task.model)?;
    let (learner, config) = task.learner(&manifest)?;
    let extractor = features.build(task.dictionary).map_err(TrainError::from)?;
    let clean = Clean::new(task, &model, &extractor)?;
    let mut current = model;
    let before = evaluate(&mut current.clone(), task.held_out, &extractor)?;
    let states = current.states().clone();
    let mut best: Option<(f64, Model)> = None;
    let (mut labels, mut since) = (Vec::new(), 0);
    for round in 0..task.settings.rounds {
        if task.teacher.is_none() || round == 0 {
            labels = task.labels(&current, &clean, &states);
        }
        let (data, loss) = clean.noised(task, round, &labels, &current, &extractor)?;
        let mut fit = Fit {
            observer,
            loss: f64::INFINITY,
        };
        let mut run = Run::passing(task.seed, &mut fit);
        run.held = false;
        run.start = Some(Start::new(&current, &states, &data));
        let fitted = batch::fit(&config, loss, Form::Chain, &data, &states, &mut run)?;
        let loss = fit.loss;
        current = Model::joined(&current, &states, fitted, &data);
        let score = evaluate(&mut current, task.held_out, &extractor)?;
        // Of equals the later one: it has seen more of the notes without gold.
        since = if best.as_ref().is_none_or(|(best, _)| score > *best) {
            0
        } else {
            since + 1
        };
        if best.as_ref().is_none_or(|(best, _)| score >= *best) {
            best = Some((score, current.clone()));
        }
        let epoch = Epoch {
            done: round + 1,
            of: task.settings.rounds,
            loss,
            held_out: Some(score),
        };
        if observer.epoch(epoch) == ControlFlow::Break(()) || since >= task.settings.patience {
            break;
        }
    }
    let (after, model) = best.unwrap_or((before, current));
    let training = Training {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: task.seed,
        data: lethe_corpus::digest(task.labelled),
        documents: task.labelled.len(),
        held_out_f1: Some(after),
        goes_on_from: Some(manifest.digest()),
    };
    let settings = settings(&learner, &features, task.dictionary)?;
    let manifest = Manifest::new(learner.kind(), states.tags().clone(), training, settings);
    let trained = Trained {
        manifest,
        model,
        files: features.files(),
    };
    Ok(SelfTrained {
        trained,
        before,
        after,
    })
}

/// Documents before there is any noise.
struct Clean {
    /// Those with gold.
    own: NoteBatch,
    gold: Vec<Vec<u16>>,
    unlabelled: NoteBatch,
    /// Features of those without.
    columns: crate::Columns,
    pool: Pool,
}

impl Clean {
    fn new(task: &SelfTask<'_>, model: &Model, extractor: &Extractor) -> Result<Self, TrainError> {
        let prepared = prepare(task.labelled, model.states().tags())?;
        let texts = task.unlabelled.iter().map(|document| document.text.as_str());
        let unlabelled = NoteBatch::from_texts(texts)?;
        Ok(Self {
            columns: extractor.columns(&unlabelled),
            pool: Pool::of([&prepared.batch, &unlabelled]),
            own: prepared.batch,
            gold: prepared.gold,
            unlabelled,
        })
    }

    /// Returns the notes with gold, then those without, under noise of this round's own; and what is expected
    /// of those without.
    fn noised(
        &self,
        task: &SelfTask<'_>,
        round: u32,
        labels: &[Option<Expected>],
        model: &Model,
        extractor: &Extractor,
    ) -> Result<(Data, SoftLikelihood), TrainError> {
        let (states, settings) = (model.states(), task.settings);
        let noisy = |note: &NoteView<'_>, copy: u64| {
            let mut random = ChaCha8Rng::seed_from_u64(task.seed);
            random.set_stream(copy << 48 | u64::from(round) << 32 | note.row as u64);
            settings.noise.text(note, &self.pool, &mut || random.next_u64())
        };
        let mut texts: Vec<String> = self.own.notes().map(|note| noisy(&note, 0)).collect();
        let (mut gold, mut soft) = (self.gold.clone(), Vec::new());
        for copy in 0..settings.copies {
            for (note, expected) in self.unlabelled.notes().zip(labels) {
                let Some(expected) = expected.as_ref().filter(|_| !note.tokens.is_empty()) else {
                    continue;
                };
                texts.push(noisy(&note, u64::from(copy) + 1));
                gold.push(expected.tags(states));
                soft.push(expected.clone());
            }
        }
        let batch = NoteBatch::from_texts(texts.iter().map(String::as_str))?;
        let columns = extractor.columns(&batch);
        let data = Data::keeping(&columns, &gold, states, |_, _| true);
        let tokens = |notes: &[std::ops::Range<usize>]| notes.iter().map(std::ops::Range::len).sum::<usize>();
        let first = data.notes.len() - soft.len();
        let share = tokens(&data.notes[..first]) as f64 / tokens(&data.notes[first..]).max(1) as f64;
        let loss = SoftLikelihood {
            gold: first,
            soft,
            weight: settings.weight * share,
        };
        Ok((data, loss))
    }
}

impl SelfTask<'_> {
    /// Returns the model's learner, with what the settings have other than its own.
    fn learner(&self, manifest: &Manifest) -> Result<(Learner, Config), WarmStartError> {
        match warm_start::learner(manifest, &self.settings.learner)? {
            Learner::Crf(config) => Ok((Learner::Crf(config.clone()), config)),
            other => Err(WarmStartError::Kind {
                folder: self.model.to_owned(),
                kind: other.kind().to_owned(),
            }),
        }
    }

    /// Returns whether the model can train itself with these settings: before anything is read that takes
    /// longer.
    ///
    /// # Errors
    /// Those of [`self_train`] that are about the model's manifest and the settings.
    pub fn check(&self) -> Result<(), WarmStartError> {
        let manifest = Manifest::read(self.model).map_err(MemberError::from)?;
        self.learner(&manifest).map(|_| ())
    }

    /// What is expected of each note without gold, without noise: by the teacher, or by the field as it is.
    fn labels(&self, model: &Model, clean: &Clean, states: &States) -> Vec<Option<Expected>> {
        let mut scratch = Scratch::default();
        if let Some(teacher) = self.teacher {
            let free = Chain::new(states, &vec![0.0; Layout::of(states).len()]);
            let rows = teacher.marginals(&clean.unlabelled);
            let one = |shares: Vec<f32>| Expected::of_shares(&free, &shares, &mut scratch);
            return rows.into_iter().map(one).collect();
        }
        let chain = model.chain(1.0);
        let mut labels = vec![None; clean.unlabelled.len()];
        Decoder::new(model.clone()).scores(&clean.columns, |row, scores| {
            labels[row] = Expected::of(&chain, scores, &mut scratch);
        });
        labels
    }
}

/// Watches one round's search: its passes are steps of the round.
struct Fit<'a> {
    observer: &'a mut dyn Observer,
    loss: f64,
}

impl Observer for Fit<'_> {
    fn epoch(&mut self, epoch: Epoch) -> ControlFlow<()> {
        self.loss = epoch.loss;
        self.observer.step(epoch.done as usize, epoch.of as usize);
        ControlFlow::Continue(())
    }
}

impl std::fmt::Debug for SelfTask<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (labelled, unlabelled) = (self.labelled.len(), self.unlabelled.len());
        write!(
            f,
            "SelfTask({}, {labelled} and {unlabelled} documents)",
            self.model.display()
        )
    }
}
