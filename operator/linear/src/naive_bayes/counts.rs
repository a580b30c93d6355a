//! The counts, and the weights computed from them.

use std::collections::BTreeMap;

use lethe_corpus::Document;

use super::Config;
use crate::bytes::{Malformed, Reader, Writer};
use crate::chain::Layout;
use crate::model::{Form, Model, ModelError, Weight};
use crate::train::{TrainError, prepare};
use crate::{Data, Extractor, States};

/// The file of the counts in a model's folder.
pub(super) const COUNTS: &str = "counts.bin";
const MAGIC: &[u8; 8] = b"LETHENBC";
const VERSION: u32 = 1;

/// The counts so far.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Counts {
    /// By state.
    states: Vec<u64>,
    /// By step, in [`Layout`]'s order.
    steps: Vec<u64>,
    /// By feature: states, and how often they occurred with it.
    features: BTreeMap<u64, Vec<(u8, u32)>>,
    /// The most features of one token.
    most: u64,
}

impl Counts {
    pub(super) fn new(states: &States) -> Self {
        Self {
            states: vec![0; states.width()],
            steps: vec![0; Layout::of(states).len()],
            features: BTreeMap::new(),
            most: 0,
        }
    }

    pub(super) fn add_documents(
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

    pub(super) fn add(&mut self, data: &Data, states: &States) {
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
        // The same counts give the same bytes, whatever the order of increments.
        for seen in self.features.values_mut() {
            seen.sort_unstable();
        }
    }

    pub(super) fn model(&self, config: &Config, states: &States) -> Model {
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
        // The probability of the next state is smoothed slightly by the frequency of states.
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
        // No token reaches the score of all its features at their strongest, by far.
        let reach = (strongest * self.most.max(1) as f64 / 2.0) as f32;
        Model::of_weights(states, Form::Chain, weights, reach, steps, Vec::new())
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
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

    pub(super) fn from_bytes(states: &States, bytes: &[u8]) -> Result<Self, ModelError> {
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
