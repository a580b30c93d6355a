//! What a thread keeps between batches, and what it returns.

use lethe_core::Cache;
use lethe_kernel::Buffer;
use lethe_learn::TagSet;

use crate::bilstm::Trace;
use crate::crf::Scratch;
use crate::reader::Memory;
use crate::rounded;
use crate::rows::{Rows, ShortRows};

/// The most cached rows of word types and of contexts; beyond it, all are removed before the next batch.
pub(super) const KEPT: usize = 1 << 14;

/// The cache of one thread between batches.
#[derive(Clone, Default)]
pub(crate) struct Kept {
    pub(crate) memory: Memory,
    pub(super) types: Rows,
    pub(super) contexts: Rows,
    /// The same for a network that runs with bytes, whose other two are empty.
    pub(super) short_types: ShortRows,
    pub(super) short_contexts: ShortRows,
    pub(super) inputs: Buffer,
    pub(super) trace: Trace,
    pub(super) layer: Buffer,
    pub(super) scores: Buffer,
    pub(super) probabilities: Buffer,
    pub(super) scratch: Scratch,
    pub(super) bytes: rounded::Scratch,
    pub(super) path: Vec<u16>,
}

impl Cache for Kept {
    fn bytes(&self) -> usize {
        let buffers = [&self.inputs, &self.layer, &self.scores, &self.probabilities];
        let rows = self.types.bytes() + self.contexts.bytes();
        let short = self.short_types.bytes() + self.short_contexts.bytes();
        let buffers: usize = buffers.into_iter().map(Buffer::bytes).sum();
        self.memory.bytes() + rows + short + buffers + self.trace.bytes()
    }
}

impl Kept {
    /// Must be called before each batch: resets caches that have grown too large.
    pub(crate) fn tidy(&mut self) {
        self.forget(KEPT);
    }

    /// Removes word types and contexts if there are more than `most`.
    pub(super) fn forget(&mut self, most: usize) {
        self.forget_types(most);
        if self.memory.contexts.len() > most {
            self.memory.contexts.clear();
            self.contexts.clear();
            self.short_contexts.clear();
        }
    }

    /// Does the same before a part of a batch whose contexts were read already.
    pub(super) fn forget_types(&mut self, most: usize) {
        if self.memory.types.len() > most {
            self.memory.types.clear();
            self.types.clear();
            self.short_types.clear();
        }
    }
}

/// The tags of tokens, and the probability of each token to be in any span.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tagged {
    pub(crate) tags: Vec<u16>,
    pub(crate) token_scores: Vec<f32>,
    /// The number of word types and contexts that were not cached.
    pub(crate) computed: usize,
}

impl Tagged {
    /// Returns this many tokens outside every span.
    pub(super) fn outside(tokens: usize, scored: bool) -> Self {
        Self {
            tags: vec![TagSet::OUTSIDE; tokens],
            token_scores: vec![0.0; if scored { tokens } else { 0 }],
            computed: 0,
        }
    }
}
