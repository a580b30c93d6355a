//! A trained member's weights, compact on disk and quick in memory.
//!
//! A feature is known by 40 bits of its hash; it has a few weights, each of a state, in 16-bit steps of one size for the
//! whole model. Sums of such weights are whole numbers: they saturate, but no order of summing changes them.

#[cfg(test)]
mod tests;

use crate::bytes::{Malformed, Reader, Writer};
use crate::chain::{Chain, Layout};
use crate::{Data, States, kernel};

/// Weights a model keeps at most: about 3 bytes each, and 5 a feature.
pub const MOST_WEIGHTS: usize = 600_000;

/// Most weights of one feature; the count shares a word with their place.
const MOST_OF_ONE: usize = 255;

/// Parts of a place of the table of features, as a power of 2.
const FILTER: u32 = 3;

const MAGIC: &[u8; 8] = b"LETHELIN";
const VERSION: u32 = 1;

/// How a model decodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The best path by the sum of its scores and steps.
    Chain,
    /// The most likely path, where each state's probability is given the one before.
    Local,
    /// From left to right, each state chosen by its score and what was chosen before.
    Greedy,
}

impl Form {
    const ALL: [Self; 3] = [Self::Chain, Self::Local, Self::Greedy];
}

/// What a learner hands over: weights of features by their index in the training data.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// How the model decodes.
    pub form: Form,
    /// Feature, state and weight, in the order of the features.
    pub weights: Vec<(u32, u8, f32)>,
    /// Weights of steps, in [`Layout`]'s order.
    pub steps: Vec<f32>,
    /// Weights of what was chosen two tokens before, and of what the word was last time, for [`Form::Greedy`]: a row of
    /// [`States::width`] for each state.
    pub history: Vec<f32>,
}

/// Why bytes are no model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// They do not begin as a model's do.
    #[error("not a file of linear weights")]
    Magic,
    /// Another version of the program wrote them.
    #[error("weights of version {found}, but this program reads version {VERSION}; train the model again")]
    Version {
        /// Theirs.
        found: u32,
    },
    /// They end too early, go on too long, or hold what no model holds.
    #[error("damaged weights: cut short or altered; copy the file again or train the model again")]
    Malformed,
}

impl From<Malformed> for ModelError {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

/// A weight before it is quantised: of a feature by its salted hash, which so many tokens have.
pub(crate) struct Weight {
    pub(crate) hash: u64,
    pub(crate) state: u8,
    pub(crate) weight: f32,
    pub(crate) count: u32,
}

/// Weights of features and steps.
#[derive(Clone, Debug)]
pub struct Model {
    states: States,
    form: Form,
    /// Size of a step of the 16-bit weights.
    scale: f32,
    /// Factor by which scores become log-probabilities.
    warmth: f32,
    steps: Vec<f32>,
    history: Vec<f32>,
    hashes: Vec<u64>,
    counts: Vec<u8>,
    entries: Vec<(u8, i16)>,
    /// The table of features, by hash: a part of the hash, 0 where the place is free; and where the weights lie (24 bits)
    /// and how many there are (8).
    table: Vec<(u32, u32)>,
    /// A bit for each of [`FILTER`] parts of a place: whether a feature's hash falls there. Small enough to lie close to the
    /// processor, it answers for most of the features that the model does not have.
    filter: Vec<u64>,
    shift: u32,
}

impl Model {
    /// Quantises and prunes what a learner found: weights that matter least, by size and how many tokens have the feature,
    /// go first.
    pub fn new(states: &States, fitted: Fitted, data: &Data) -> Self {
        let reach = reach(states, &fitted.weights, data);
        let hashed = |&(feature, state, weight): &(u32, u8, f32)| Weight {
            hash: data.hashes[feature as usize],
            state,
            weight,
            count: data.counts[feature as usize],
        };
        let weights = fitted.weights.iter().map(hashed).collect();
        Self::of_weights(states, fitted.form, weights, reach, fitted.steps, fitted.history)
    }

    /// The same from weights by hash; `reach` is the largest score that a token is thought to have.
    pub(crate) fn of_weights(
        states: &States,
        form: Form,
        mut weights: Vec<Weight>,
        reach: f32,
        steps: Vec<f32>,
        history: Vec<f32>,
    ) -> Self {
        weights.retain(|weight| weight.weight != 0.0);
        if weights.len() > MOST_WEIGHTS {
            let matter = |weight: &Weight| weight.weight.abs() * (weight.count as f32).sqrt();
            let place = |weight: &Weight| (weight.hash, weight.state);
            weights.sort_by(|a, b| matter(b).total_cmp(&matter(a)).then(place(a).cmp(&place(b))));
            weights.truncate(MOST_WEIGHTS);
        }
        weights.sort_by_key(|weight| (weight.hash, weight.state));
        // Room for tokens that score twice what any has so far.
        let scale = reach * 2.0 / f32::from(i16::MAX);
        let (mut hashes, mut counts, mut entries) = (Vec::new(), Vec::new(), Vec::new());
        let mut last = None;
        for group in weights.chunk_by(|a, b| a.hash == b.hash) {
            let hash = group[0].hash >> 24;
            let first = entries.len();
            entries.extend(
                group
                    .iter()
                    .map(|weight| (weight.state, (weight.weight / scale).round() as i16))
                    .filter(|&(_, weight)| weight != 0)
                    .take(MOST_OF_ONE),
            );
            // Two hashes of equal upper bits: the second feature is given up.
            if entries.len() == first || last == Some(hash) {
                entries.truncate(first);
                continue;
            }
            last = Some(hash);
            hashes.push(hash);
            counts.push((entries.len() - first) as u8);
        }
        Self::assemble(
            states.clone(),
            form,
            scale,
            1.0,
            steps,
            history,
            hashes,
            counts,
            entries,
        )
    }

    #[allow(clippy::too_many_arguments)] // The one place where all parts meet, from training and from a file.
    fn assemble(
        states: States,
        form: Form,
        scale: f32,
        warmth: f32,
        steps: Vec<f32>,
        history: Vec<f32>,
        hashes: Vec<u64>,
        counts: Vec<u8>,
        entries: Vec<(u8, i16)>,
    ) -> Self {
        // At most half full; between 8 and 22 bits, all of which the 40 known bits hold beside a mark of 32.
        let bits = (hashes.len() * 2)
            .next_power_of_two()
            .trailing_zeros()
            .clamp(8, 22);
        let mut model = Self {
            states,
            form,
            scale,
            warmth,
            steps,
            history,
            table: vec![(0, 0); 1 << bits],
            filter: vec![0; (1 << (bits + FILTER)) / 64],
            shift: 64 - bits,
            hashes,
            counts,
            entries,
        };
        let mut start = 0u32;
        for (&hash, &count) in model.hashes.iter().zip(&model.counts) {
            let hash = hash << 24;
            let part = (hash >> (model.shift - FILTER)) as usize;
            model.filter[part / 64] |= 1 << (part % 64);
            let mut at = (hash >> model.shift) as usize;
            while model.table[at].0 != 0 {
                at = (at + 1) & (model.table.len() - 1);
            }
            model.table[at] = (mark(hash), start << 8 | u32::from(count));
            start += u32::from(count);
        }
        model
    }

    /// Its states.
    pub const fn states(&self) -> &States {
        &self.states
    }

    /// How it decodes.
    pub const fn form(&self) -> Form {
        self.form
    }

    /// Size of a step of the 16-bit weights: what whole-number scores are multiplied with.
    pub const fn scale(&self) -> f32 {
        self.scale
    }

    /// Factor by which scores become log-probabilities.
    pub const fn warmth(&self) -> f32 {
        self.warmth
    }

    /// Sets [`Model::warmth`].
    pub(crate) fn set_warmth(&mut self, warmth: f32) {
        self.warmth = warmth;
    }

    /// The chain to decode with; its steps times `by`.
    pub fn chain(&self, by: f32) -> Chain {
        let steps: Vec<f32> = self.steps.iter().map(|step| step * by).collect();
        let chain = Chain::new(&self.states, &steps);
        if self.form == Form::Local {
            chain.local()
        } else {
            chain
        }
    }

    /// Weights of steps, in [`Layout`]'s order.
    pub(crate) fn steps(&self) -> &[f32] {
        &self.steps
    }

    /// Weights of what was chosen before, for [`Form::Greedy`].
    pub(crate) fn history(&self) -> &[f32] {
        &self.history
    }

    /// How many features and how many weights of features it has.
    pub fn size(&self) -> (usize, usize) {
        (self.hashes.len(), self.entries.len())
    }

    /// The weights of a feature, by its salted hash.
    pub fn of(&self, hash: u64) -> &[(u8, i16)] {
        self.at(self.locate(hash))
    }

    /// Where a feature's weights lie (24 bits) and how many there are (8); 0 if there are none.
    #[inline]
    pub(crate) fn locate(&self, hash: u64) -> u32 {
        let wanted = mark(hash);
        let mut at = (hash >> self.shift) as usize;
        loop {
            let (found, place) = self.table[at];
            if found == wanted {
                return place;
            }
            if found == 0 {
                return 0;
            }
            at = (at + 1) & (self.table.len() - 1);
        }
    }

    /// The weights of a place that [`Model::locate`] gave.
    #[inline]
    fn at(&self, place: u32) -> &[(u8, i16)] {
        let start = (place >> 8) as usize;
        &self.entries[start..start + (place & 255) as usize]
    }

    /// Whether the model may have a feature; if it may not, it has none.
    #[inline]
    pub(crate) fn may_have(&self, hash: u64) -> bool {
        let part = (hash >> (self.shift - FILTER)) as usize;
        self.filter[part / 64] >> (part % 64) & 1 != 0
    }

    /// Asks for where a feature would be, so that it is at hand when it is located a little later.
    #[inline]
    pub(crate) fn fetch(&self, hash: u64) {
        let at = (hash >> self.shift) as usize;
        kernel::fetch(&self.table[at..=at]);
    }

    /// Asks for the weights of a place, so that they are at hand when they are added a little later.
    #[inline]
    pub(crate) fn fetch_place(&self, place: u32) {
        kernel::fetch(self.at(place));
    }

    /// Adds the weights of a place to a row over the states.
    #[inline]
    pub(crate) fn add(&self, place: u32, row: &mut [i32]) {
        for &(state, weight) in self.at(place) {
            row[state as usize] += i32::from(weight);
        }
    }

    /// The bytes of the model. The same weights give the same bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.bytes(MAGIC);
        out.u32(VERSION);
        out.bytes(&[Form::ALL.iter().position(|&form| form == self.form).unwrap_or(0) as u8]);
        out.f32(self.scale);
        out.f32(self.warmth);
        out.f32s(&self.steps);
        out.f32s(&self.history);
        out.u64(self.hashes.len() as u64);
        for hash in &self.hashes {
            out.bytes(&hash.to_le_bytes()[..5]);
        }
        out.bytes(&self.counts);
        out.u64(self.entries.len() as u64);
        for &(state, _) in &self.entries {
            out.bytes(&[state]);
        }
        for &(_, weight) in &self.entries {
            out.bytes(&weight.to_le_bytes());
        }
        out.0
    }

    /// Reads what [`Model::to_bytes`] wrote, for these states.
    ///
    /// # Errors
    /// [`ModelError`]: nothing of a damaged model is used.
    pub fn from_bytes(states: States, bytes: &[u8]) -> Result<Self, ModelError> {
        let mut bytes = Reader(bytes);
        if bytes.bytes(MAGIC.len()).map_err(|_| ModelError::Magic)? != MAGIC {
            return Err(ModelError::Magic);
        }
        let found = bytes.u32()?;
        if found != VERSION {
            return Err(ModelError::Version { found });
        }
        let form = *Form::ALL
            .get(usize::from(bytes.u8()?))
            .ok_or(ModelError::Malformed)?;
        let (scale, warmth) = (bytes.f32()?, bytes.f32()?);
        let (steps, history) = (bytes.f32s()?, bytes.f32s()?);
        let n = bytes.length(6)?;
        let hashes: Vec<u64> = bytes
            .bytes(n * 5)?
            .chunks_exact(5)
            .map(|five| {
                five.iter()
                    .rev()
                    .fold(0, |hash, &byte| hash << 8 | u64::from(byte))
            })
            .collect();
        let counts = bytes.bytes(n)?.to_vec();
        let total = bytes.length(3)?;
        let tags = bytes.bytes(total)?;
        let (weights, _) = bytes.bytes(total * 2)?.as_chunks::<2>();
        bytes.end()?;
        let entries: Vec<(u8, i16)> = tags
            .iter()
            .zip(weights)
            .map(|(&state, &weight)| (state, i16::from_le_bytes(weight)))
            .collect();
        let sound = scale.is_finite()
            && warmth.is_finite()
            && steps.iter().chain(&history).all(|weight| weight.is_finite())
            && steps.len() == Layout::of(&states).len()
            && (history.is_empty() || history.len() == 2 * states.width() * states.width())
            && hashes.is_sorted_by(|a, b| a < b)
            && n < 1 << 21
            && total < 1 << 24
            && counts.iter().map(|&count| usize::from(count)).sum::<usize>() == total
            && counts.iter().all(|&count| count > 0)
            && entries
                .iter()
                .all(|&(state, _)| usize::from(state) < states.width() && states.is_state(state.into()));
        if !sound {
            return Err(ModelError::Malformed);
        }
        Ok(Self::assemble(
            states, form, scale, warmth, steps, history, hashes, counts, entries,
        ))
    }
}

/// The part of a hash that tells features of neighbouring places apart: bits 24 to 55, and never 0.
#[inline]
const fn mark(hash: u64) -> u32 {
    (hash >> 24) as u32 | 1
}

/// The largest score, up or down, of a training token. Weights are in the order of their features.
fn reach(states: &States, weights: &[(u32, u8, f32)], data: &Data) -> f32 {
    debug_assert!(weights.is_sorted_by_key(|weight| weight.0));
    let mut starts = vec![0usize; data.hashes.len() + 1];
    for &(feature, _, _) in weights {
        starts[feature as usize + 1] += 1;
    }
    for i in 1..starts.len() {
        starts[i] += starts[i - 1];
    }
    let width = states.width();
    let mut rows = vec![0.0f32; data.slot_count() * width];
    for (slot, row) in rows.chunks_exact_mut(width).enumerate() {
        for &feature in data.of(slot) {
            for &(_, state, weight) in &weights[starts[feature as usize]..starts[feature as usize + 1]] {
                row[state as usize] += weight;
            }
        }
    }
    let mut most = 1e-3f32;
    let mut row = vec![0.0f32; width];
    for token in 0..data.tokens() {
        row.fill(0.0);
        for &slot in data.slots_of(token) {
            kernel::add(&mut row, &rows[slot as usize * width..][..width]);
        }
        most = row.iter().fold(most, |most, score| most.max(score.abs()));
    }
    most
}
