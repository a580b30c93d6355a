//! The parameters of the stacked network.

use super::StackedError;
use crate::model::{Params, Tensor};
use crate::rng::Rng;

/// The indices of the parameters.
pub(super) mod slot {
    /// The embeddings, grouped by member, then by tag.
    pub(in super::super) const TABLE: usize = 0;
    /// Input, recurrent and bias of the forward, then of the backward direction, of the lower layer and of
    /// the upper one.
    pub(in super::super) const LAYERS: [usize; 2] = [1, 7];
    /// Weights, then biases.
    pub(in super::super) const OUT: usize = 13;
    pub(in super::super) const OUT_BIAS: usize = 14;
    pub(in super::super) const PAIRS: usize = 15;
    pub(in super::super) const STARTS: usize = 16;
    pub(in super::super) const ENDS: usize = 17;
}

/// The network's sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) embedding: usize,
    pub(super) hidden: usize,
    pub(super) members: usize,
    /// The tags of a member.
    pub(super) member_tags: usize,
    /// The tags of the network.
    pub(super) tags: usize,
}

impl Shape {
    /// Checks that every size is valid and within the limits of tags and memory.
    pub(super) fn check(&self) -> Result<(), StackedError> {
        let sizes = [
            (self.embedding, 1024),
            (self.hidden, 4096),
            (self.members, 64),
            (self.member_tags, 1 << 15),
            (self.tags, 1 << 12),
        ];
        if sizes.iter().all(|&(size, most)| (1..=most).contains(&size)) {
            Ok(())
        } else {
            Err(StackedError::Setting(
                "embedding must be 1 to 1024, hidden 1 to 4096, members 1 to 64",
            ))
        }
    }

    /// Returns the size of a token's input.
    pub(super) const fn inputs(&self) -> usize {
        self.members * self.embedding
    }

    /// Returns the table's row of a member's tag.
    ///
    /// # Panics
    /// If the member does not have this tag: a neighbouring row would be read instead.
    pub(super) fn row(&self, member: usize, tag: u16) -> usize {
        assert!(
            usize::from(tag) < self.member_tags,
            "a member's tag is one of its tags"
        );
        member * self.member_tags + usize::from(tag)
    }

    /// Returns the names, rows and columns of the parameters, in the order of [`slot`].
    pub(super) fn shapes(&self) -> [(&'static str, usize, usize); 18] {
        let (gates, both) = (4 * self.hidden, 2 * self.hidden);
        [
            ("said", self.members * self.member_tags, self.embedding),
            ("lower.forward.input", self.inputs(), gates),
            ("lower.forward.recurrent", self.hidden, gates),
            ("lower.forward.bias", 1, gates),
            ("lower.backward.input", self.inputs(), gates),
            ("lower.backward.recurrent", self.hidden, gates),
            ("lower.backward.bias", 1, gates),
            ("upper.forward.input", both, gates),
            ("upper.forward.recurrent", self.hidden, gates),
            ("upper.forward.bias", 1, gates),
            ("upper.backward.input", both, gates),
            ("upper.backward.recurrent", self.hidden, gates),
            ("upper.backward.bias", 1, gates),
            ("out", both, self.tags),
            ("out.bias", 1, self.tags),
            ("crf.pairs", self.tags, self.tags),
            ("crf.starts", 1, self.tags),
            ("crf.ends", 1, self.tags),
        ]
    }

    /// Returns initial parameters.
    pub(super) fn random(&self, seed: u64) -> Params {
        let tensor = |(at, shape): (usize, (&'static str, usize, usize))| {
            Tensor::random(shape, at == slot::TABLE, &mut Rng::new(&[seed, at as u64]))
        };
        Params(self.shapes().into_iter().enumerate().map(tensor).collect())
    }
}
