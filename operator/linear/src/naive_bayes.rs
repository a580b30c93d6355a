//! `naive-bayes`: the soft rules of Singh 2020: counts of features and states, which take up new documents at any time.
//!
//! With a Dirichlet prior that leans on how often each state is, a feature speaks for a state by `ln(1 + n / (a p))`, where `n`
//! counts the tokens that have both, `p` is the state's share of tokens and `a` the prior's strength; what was never seen
//! together weighs nothing, after what is the same for all states is left out. So the weights are as sparse as the counts.
//! The state before is one more feature. Features of one token say much the same thing many times: their sum counts only in
//! part (`trust`).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use lethe_corpus::Document;
use lethe_dictionaries::Dictionary;
use lethe_learn::{Manifest, Scheme, TagSet, Training, Watch};
use serde::{Deserialize, Serialize};

use crate::bytes::{Malformed, Reader, Writer};
use crate::chain::Layout;
use crate::member::features;
use crate::model::{Fitted, Form, Model, ModelError, Weight};
use crate::registry::Learner;
use crate::train::{Run, Task, TrainError, Trained, judge, prepare, settings};
use crate::{Data, Extractor, FeatureConfig, MemberError, States};

/// Settings of `naive-bayes`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How spans are spread over tags (Singh 2020: BILOU).
    pub scheme: Scheme,
    /// Features that fewer tokens have speak for nothing, but are counted.
    pub cut_off: u32,
    /// Strength of the prior, in tokens.
    pub prior: f64,
    /// How much a feature counts, given that others say the same.
    pub trust: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            scheme: Scheme::Bilou,
            cut_off: 2,
            prior: 0.001,
            trust: 0.2,
        }
    }
}

/// The file of a model's folder that holds the counts.
const COUNTS: &str = "counts.bin";
const MAGIC: &[u8; 8] = b"LETHENBC";
const VERSION: u32 = 1;

/// Text that is counted at a time, in bytes: what a kill costs at most, and what bounds the memory of features.
const PART: usize = 1 << 19;

/// What was counted so far.
#[derive(Clone, Debug, PartialEq)]
struct Counts {
    /// By state.
    states: Vec<u64>,
    /// By step, in [`Layout`]'s order.
    steps: Vec<u64>,
    /// By feature: states and how often they were seen with it.
    features: BTreeMap<u64, Vec<(u8, u32)>>,
    /// Most features of one token.
    most: u64,
}

impl Counts {
    fn new(states: &States) -> Self {
        Self {
            states: vec![0; states.width()],
            steps: vec![0; Layout::of(states).len()],
            features: BTreeMap::new(),
            most: 0,
        }
    }

    fn add_documents(
        &mut self,
        documents: &[Document],
        extractor: &Extractor,
        states: &States,
    ) -> Result<(), TrainError> {
        let prepared = prepare(documents, states.tags())?;
        let columns = extractor.columns(&prepared.batch);
        self.add(&Data::new(&columns, &prepared.gold, states, 1), states);
        Ok(())
    }

    fn add(&mut self, data: &Data, states: &States) {
        let layout = Layout::of(states);
        for note in &data.notes {
            let mut before = None;
            for token in note.clone() {
                let state = data.gold[token] as usize;
                self.states[state] += 1;
                if let Some(at) = layout.at(states, before, state) {
                    self.steps[at] += 1;
                }
                before = Some(state);
                self.most = self.most.max(data.features_of(token).count() as u64);
            }
        }
        let by_slot = data.tokens_by_slot();
        let mut own = vec![0u32; states.width()];
        let mut pairs: Vec<(u32, u8, u32)> = Vec::new();
        for slot in 0..data.slot_count() {
            own.fill(0);
            for &token in by_slot.of(slot) {
                own[data.gold[token as usize] as usize] += 1;
            }
            for (state, &count) in own.iter().enumerate().filter(|(_, count)| **count > 0) {
                pairs.extend(data.of(slot).iter().map(|&f| (f, state as u8, count)));
            }
        }
        pairs.sort_unstable();
        for group in pairs.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (feature, state) = (group[0].0, group[0].1);
            let count: u32 = group.iter().map(|&(_, _, count)| count).sum();
            let seen = self.features.entry(data.hashes[feature as usize]).or_default();
            match seen.iter_mut().find(|seen| seen.0 == state) {
                Some(seen) => seen.1 += count,
                None => seen.push((state, count)),
            }
        }
        // Whatever the order of increments, the same counts are the same bytes.
        for seen in self.features.values_mut() {
            seen.sort_unstable();
        }
    }

    fn model(&self, config: &Config, states: &States) -> Model {
        let total: u64 = self.states.iter().sum();
        let share = |state: usize| (self.states[state] as f64 + 0.5) / (total as f64 + 1.0);
        let speaks = |state: u8, count: u32| {
            config.trust * (1.0 + f64::from(count) / (config.prior * share(state.into()))).ln()
        };
        let mut weights = Vec::new();
        let mut strongest = 1.0f64;
        for (&hash, seen) in &self.features {
            let count: u32 = seen.iter().map(|&(_, count)| count).sum();
            if count < config.cut_off {
                continue;
            }
            for &(state, own) in seen {
                let weight = speaks(state, own);
                strongest = strongest.max(weight);
                weights.push(Weight {
                    hash,
                    state,
                    weight: weight as f32,
                    count,
                });
            }
        }
        // What follows a state, a little smoothed by what is frequent.
        let layout = Layout::of(states);
        let mut steps = vec![0.0; layout.len()];
        for before in std::iter::once(None).chain(states.iter().map(Some)) {
            let nexts: Vec<(usize, usize)> = states
                .iter()
                .filter_map(|next| Some((next, layout.at(states, before, next)?)))
                .collect();
            let (seen, shares) = nexts.iter().fold((0, 0.0), |(seen, shares), &(next, at)| {
                (seen + self.steps[at], shares + share(next))
            });
            for (next, at) in nexts {
                let expected = share(next) / shares;
                steps[at] = ((self.steps[at] as f64 + expected) / (seen as f64 + 1.0)).ln() as f32;
            }
        }
        // No token scores more than all its features at their strongest, by far.
        let reach = (strongest * self.most.max(1) as f64 / 2.0) as f32;
        Model::of_weights(states, Form::Chain, weights, reach, steps, Vec::new())
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.bytes(MAGIC);
        out.u32(VERSION);
        for counts in [&self.states, &self.steps] {
            out.u64(counts.len() as u64);
            counts.iter().for_each(|&count| out.u64(count));
        }
        out.u64(self.most);
        out.u64(self.features.len() as u64);
        for (&hash, seen) in &self.features {
            out.u64(hash);
            out.bytes(&[seen.len() as u8]);
            for &(state, count) in seen {
                out.bytes(&[state]);
                out.u32(count);
            }
        }
        out.0
    }

    fn from_bytes(states: &States, bytes: &[u8]) -> Result<Self, ModelError> {
        let mut bytes = Reader(bytes);
        if bytes.bytes(MAGIC.len()).map_err(|_| ModelError::Magic)? != MAGIC {
            return Err(ModelError::Magic);
        }
        let found = bytes.u32()?;
        if found != VERSION {
            return Err(ModelError::Version { found });
        }
        let mut counts = Self::new(states);
        for list in [&mut counts.states, &mut counts.steps] {
            if bytes.length(8)? != list.len() {
                return Err(ModelError::Malformed);
            }
            for count in list {
                *count = bytes.u64()?;
            }
        }
        counts.most = bytes.u64()?;
        for _ in 0..bytes.length(9)? {
            let hash = bytes.u64()?;
            let mut seen = Vec::new();
            for _ in 0..bytes.u8()? {
                let state = bytes.u8()?;
                if usize::from(state) >= states.width() || !states.is_state(state.into()) {
                    return Err(ModelError::Malformed);
                }
                seen.push((state, bytes.u32()?));
            }
            counts.features.insert(hash, seen);
        }
        bytes.end().map_err(|Malformed| ModelError::Malformed)?;
        Ok(counts)
    }
}

/// The first documents that together have [`PART`] bytes of text, or all.
fn first_part(documents: &[Document]) -> &[Document] {
    let mut text = 0;
    let mut short = |document: &&Document| {
        let short = text < PART;
        text += document.text.len();
        short
    };
    let count = documents.iter().take_while(|document| short(document)).count();
    &documents[..count]
}

/// A naive Bayes model that goes on learning: begun on some documents, updated with more, written, opened again.
#[derive(Clone, Debug)]
pub struct Bayes {
    config: Config,
    features: FeatureConfig,
    states: States,
    counts: Counts,
    training: Training,
}

impl Bayes {
    /// Begins with the documents of a task, from the state on disk where there is one. Their labels are the model's labels
    /// for good.
    ///
    /// # Errors
    /// [`TrainError`].
    pub fn begin(config: &Config, task: &Task<'_>, watch: &mut dyn Watch) -> Result<Self, TrainError> {
        let marks = task.documents.iter().flat_map(|document| &document.marks);
        let tags = TagSet::of(config.scheme, marks);
        if tags.is_empty() {
            return Err(TrainError::NothingMarked);
        }
        let states = States::new(tags)?;
        let extractor = task.features.build(task.dictionary)?;
        let digest = lethe_corpus::digest(task.documents);
        let settings = settings(
            &Learner::NaiveBayes(config.clone()),
            task.features,
            task.dictionary,
        )?;
        let mut run = Run::of(task, &settings, &digest, watch);
        let (mut counts, mut done) = (Counts::new(&states), 0);
        run.resume(|bytes| {
            done = bytes.length(0)?;
            let length = bytes.length(1)?;
            counts = Counts::from_bytes(&states, bytes.bytes(length)?).map_err(|_| Malformed)?;
            Ok(())
        })?;
        while let Some(part @ [_, ..]) = task.documents.get(done..).map(first_part) {
            run.step(done, task.documents.len());
            counts.add_documents(part, &extractor, &states)?;
            done += part.len();
            if done < task.documents.len() {
                run.save(|out| {
                    let counts = counts.to_bytes();
                    out.u64(done as u64);
                    out.u64(counts.len() as u64);
                    out.bytes(&counts);
                })?;
            }
        }
        Ok(Self {
            config: config.clone(),
            features: task.features.clone(),
            counts,
            states,
            training: Training {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                seed: task.seed,
                data: digest,
                documents: task.documents.len(),
                held_out_f1: None,
            },
        })
    }

    /// Takes up more documents. Counts only add up: the same documents give the same model in whatever increments. Marks of
    /// labels that the model does not have are left out.
    ///
    /// # Errors
    /// [`TrainError`].
    pub fn update(&mut self, documents: &[Document], dictionary: &Arc<Dictionary>) -> Result<(), TrainError> {
        let extractor = self.features.build(dictionary)?;
        let mut rest = documents;
        while !rest.is_empty() {
            let part = first_part(rest);
            self.counts.add_documents(part, &extractor, &self.states)?;
            rest = &rest[part.len()..];
        }
        self.training.documents += documents.len();
        // Each increment's digest after the one before: what the model has seen, in order.
        let digest = lethe_corpus::digest(documents);
        self.training.data = format!("{}+{digest}", self.training.data);
        Ok(())
    }

    /// The model as the counts stand, its confidence set by held-out documents if there are any.
    ///
    /// # Errors
    /// [`TrainError`].
    pub fn trained(
        &self,
        held_out: Option<&[Document]>,
        dictionary: &Arc<Dictionary>,
    ) -> Result<Trained, TrainError> {
        let mut model = self.counts.model(&self.config, &self.states);
        let mut training = self.training.clone();
        if let Some(held_out) = held_out {
            let extractor = self.features.build(dictionary)?;
            training.held_out_f1 = Some(judge(&mut model, held_out, &extractor)?);
        }
        let learner = Learner::NaiveBayes(self.config.clone());
        let settings = settings(&learner, &self.features, dictionary)?;
        Ok(Trained {
            manifest: Manifest::new(learner.kind(), self.states.tags().clone(), training, settings),
            model,
            files: [self.features.files(), vec![(COUNTS, self.counts.to_bytes())]].concat(),
        })
    }

    /// Opens a model's folder to go on learning.
    ///
    /// # Errors
    /// [`MemberError`], naming folder or file.
    pub fn open(folder: &Path) -> Result<Self, MemberError> {
        let manifest = Manifest::read(folder)?;
        let settings_error = |message: String| MemberError::Settings {
            folder: folder.to_owned(),
            message,
        };
        let mut settings = manifest.settings.clone();
        settings.remove("features");
        let features = features(folder, &manifest, |file| Ok(manifest.file(folder, file)?))?;
        settings.remove("dictionary");
        let learner: Learner = settings
            .try_into()
            .map_err(|error: toml::de::Error| settings_error(error.to_string()))?;
        let Learner::NaiveBayes(config) = learner else {
            return Err(MemberError::Kind {
                folder: folder.to_owned(),
                kind: manifest.kind,
            });
        };
        let states = States::new(manifest.tags.clone()).map_err(|source| MemberError::States {
            folder: folder.to_owned(),
            source,
        })?;
        let bytes = manifest.file(folder, COUNTS)?;
        let counts = Counts::from_bytes(&states, &bytes).map_err(|source| MemberError::Weights {
            folder: folder.to_owned(),
            source,
        })?;
        Ok(Self {
            config,
            features,
            states,
            counts,
            training: Training {
                held_out_f1: None,
                ..manifest.training
            },
        })
    }
}

impl Config {
    /// The model's weights, without what it needs to go on learning.
    pub(crate) fn fit(&self, data: &Data, states: &States, _: &mut Run<'_>) -> Result<Fitted, TrainError> {
        let mut counts = Counts::new(states);
        counts.add(data, states);
        let model = counts.model(self, states);
        let weights = data.hashes.iter().enumerate().flat_map(|(feature, &hash)| {
            let scale = model.scale();
            let own = model.of(hash).iter();
            own.map(move |&(state, weight)| (feature as u32, state, f32::from(weight) * scale))
        });
        Ok(Fitted {
            form: Form::Chain,
            weights: weights.collect(),
            steps: model.steps().to_vec(),
            history: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_hold_every_document_once_and_end_after_enough_text() {
        let document = |size: usize| Document {
            id: String::new(),
            patient: None,
            text: "x".repeat(size),
            marks: Vec::new(),
        };
        let sizes = [PART / 2, PART / 2, 1, 2 * PART, 0, 1];
        let documents: Vec<Document> = sizes.into_iter().map(document).collect();
        let (mut rest, mut parts) = (&documents[..], Vec::new());
        while !rest.is_empty() {
            let part = first_part(rest);
            parts.push(part.len());
            rest = &rest[part.len()..];
        }
        assert_eq!(parts, [2, 2, 2]);
    }
}
