//! The weights of features in the bytes of a model's file, where they stay: a model that is opened to tag
//! needs them only once.

use std::borrow::Cow;

use crate::bytes::{Malformed, Reader, Writer};
use crate::states::States;

/// The bytes of a feature's hash: its upper 40 bits.
const HASH: usize = 5;

/// Features in the ascending order of their hashes, and their weights in the same order.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    bytes: Cow<'static, [u8]>,
    /// Where the hashes begin; counts, states and weights follow.
    start: usize,
    features: usize,
    weights: usize,
}

/// The weights of one feature.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FeatureWeights<'m> {
    states: &'m [u8],
    weights: &'m [[u8; 2]],
}

impl<'m> FeatureWeights<'m> {
    pub(super) const fn len(self) -> usize {
        self.states.len()
    }

    /// Returns each state with its weight.
    pub(crate) fn iter(self) -> impl Iterator<Item = (u8, i16)> + use<'m> {
        let weights = self.weights.iter().map(|&bytes| i16::from_le_bytes(bytes));
        self.states.iter().copied().zip(weights)
    }
}

impl Packed {
    /// Packs features by the upper 40 bits of their hashes, each with the number of its weights.
    pub(super) fn new(hashes: &[u64], counts: &[u8], entries: &[(u8, i16)]) -> Self {
        let mut out = Writer::default();
        out.u64(hashes.len() as u64);
        let start = out.0.len();
        for hash in hashes {
            out.bytes(&hash.to_le_bytes()[..HASH]);
        }
        out.bytes(counts);
        out.u64(entries.len() as u64);
        for &(state, _) in entries {
            out.bytes(&[state]);
        }
        for &(_, weight) in entries {
            out.bytes(&weight.to_le_bytes());
        }
        Self {
            bytes: Cow::Owned(out.0),
            start,
            features: hashes.len(),
            weights: entries.len(),
        }
    }

    /// Reads what [`Packed::as_bytes`] returned, from the last `left` bytes.
    ///
    /// # Errors
    /// [`Malformed`] if they are cut short or too long, or if they contain values that `states` do not have.
    pub(super) fn read(bytes: Cow<'static, [u8]>, left: usize, states: &States) -> Result<Self, Malformed> {
        let begin = bytes.len().checked_sub(left).ok_or(Malformed)?;
        let mut reader = Reader(&bytes[begin..]);
        let features = reader.length(HASH + 1)?;
        let start = bytes.len() - reader.0.len();
        reader.bytes(features * (HASH + 1))?;
        let weights = reader.length(3)?;
        reader.bytes(weights * 3)?;
        reader.end()?;
        let packed = Self {
            bytes,
            start,
            features,
            weights,
        };
        let is_state = |&state: &u8| usize::from(state) < states.width() && states.is_state(state.into());
        let counts = packed.counts();
        let sound = features < 1 << 21
            && weights < 1 << 24
            && packed.hashes().is_sorted_by(|a, b| a < b)
            && counts.iter().map(|&count| usize::from(count)).sum::<usize>() == weights
            && counts.iter().all(|&count| count > 0)
            && packed.states().iter().all(is_state);
        if sound { Ok(packed) } else { Err(Malformed) }
    }

    /// Returns the bytes for a file: the number of features, their hashes and counts, the number of weights,
    /// their states, and the weights.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.start - size_of::<u64>()..]
    }

    /// Returns the number of features and of their weights.
    pub(super) const fn size(&self) -> (usize, usize) {
        (self.features, self.weights)
    }

    /// Returns each feature's hash and its weights.
    pub(super) fn features(&self) -> impl Iterator<Item = (u64, FeatureWeights<'_>)> {
        let (mut states, mut weights) = (self.states(), self.weights());
        self.hashes().zip(self.counts()).map(move |(hash, &count)| {
            let own = FeatureWeights {
                states: states.split_off(..usize::from(count)).unwrap_or_default(),
                weights: weights.split_off(..usize::from(count)).unwrap_or_default(),
            };
            (hash, own)
        })
    }

    /// Returns the number of weights of each feature.
    pub(super) fn counts(&self) -> &[u8] {
        &self.bytes[self.start + self.features * HASH..][..self.features]
    }

    /// Returns whether a feature is among them, by the upper 40 bits of its hash.
    pub(super) fn knows(&self, hash: u64) -> bool {
        let (hashes, _) = self.bytes[self.start..][..self.features * HASH].as_chunks();
        hashes.binary_search_by_key(&hash, hash_of).is_ok()
    }

    fn hashes(&self) -> impl Iterator<Item = u64> {
        let (hashes, _) = self.bytes[self.start..][..self.features * HASH].as_chunks();
        hashes.iter().map(hash_of)
    }

    fn states(&self) -> &[u8] {
        let start = self.start + self.features * (HASH + 1) + size_of::<u64>();
        &self.bytes[start..][..self.weights]
    }

    fn weights(&self) -> &[[u8; 2]] {
        let (weights, _) = self.bytes[self.bytes.len() - self.weights * 2..].as_chunks();
        weights
    }
}

fn hash_of(&[a, b, c, d, e]: &[u8; HASH]) -> u64 {
    u64::from_le_bytes([a, b, c, d, e, 0, 0, 0])
}
