//! A network over the predictions of other members: the stacked LSTM of Kim 2020 ("Stacked LSTM").
//!
//! It reads no words. Its layers are, for each member, an embedding of the member's tag of the token,
//! concatenated; two bidirectional LSTM layers; a linear layer; a CRF. It is trained by RMSProp, with dropout
//! on the recurrent units.

mod bytes;
mod gradient;
mod run;
mod shape;
mod train;

use std::ops::Range;

use lethe_kernel::Isa;
use lethe_learn::{Observer, TagSet};
use serde::{Deserialize, Serialize};

use crate::crf::Allowed;
use crate::model::Params;
use run::Runner;
use shape::Shape;

pub use bytes::StackedError;
pub use run::StackedScratch;

/// The network's sizes and its training. The defaults are those of Kim 2020, and where the paper gives none
/// those of the system it used (Reimers and Gurevych 2017): batches of 32, gradients clipped to a norm of 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StackedSettings {
    /// The size of the embedding of a member's tag.
    pub embedding: usize,
    /// The units of each layer, per direction.
    pub hidden: usize,
    /// The passes over the training data.
    pub epochs: u32,
    /// The sequences of a step.
    pub batch: usize,
    /// RMSProp's learning rate.
    pub rate: f32,
    /// The share of recurrent units that is dropped: variational (Gal and Ghahramani 2016), the same units at
    /// every step of a sequence. The sequences of a batch share a mask, which can then be multiplied into the
    /// weights, so that the fused step of the LSTM stays unchanged.
    pub dropout: f32,
    /// The norm to which gradients are clipped.
    pub clip: f32,
}

impl Default for StackedSettings {
    fn default() -> Self {
        Self {
            embedding: 10,
            hidden: 100,
            epochs: 25,
            batch: 32,
            rate: 0.001,
            dropout: 0.25,
            clip: 1.0,
        }
    }
}

/// The members' tags for some tokens.
#[derive(Clone, Copy, Debug)]
pub struct MemberTags<'a> {
    /// Each token's tags, one per member, token by token.
    pub predictions: &'a [u16],
    /// The sequences, as ranges of tokens; none is empty.
    pub sequences: &'a [Range<usize>],
}

/// A trained stacked network.
#[derive(Clone)]
pub struct Stacked {
    shape: Shape,
    tags: TagSet,
    params: Params,
    runner: Runner,
}

impl Stacked {
    /// Fits a network to `gold`, one tag of `tags` per token, from the predictions of `members` members, each
    /// with `heard_tags` tags. Tag 0 is outside every span in both. A tag that a member never predicted in
    /// training is read as that member's tag 0. The same seed gives the same network.
    ///
    /// # Errors
    /// [`StackedError::Setting`] for invalid settings or sizes.
    ///
    /// # Panics
    /// If `gold` and `member_tags` do not have the same tokens, or a tag or range is out of bounds.
    #[expect(clippy::too_many_arguments, reason = "what is learnt from, and how")]
    pub fn train(
        members: usize,
        heard_tags: usize,
        tags: &TagSet,
        member_tags: MemberTags<'_>,
        gold: &[u16],
        settings: &StackedSettings,
        seed: u64,
        observer: &mut dyn Observer,
    ) -> Result<Self, StackedError> {
        let shape = Shape {
            embedding: settings.embedding,
            hidden: settings.hidden,
            members,
            member_tags: heard_tags,
            tags: tags.len(),
        };
        shape.check()?;
        train::check(settings)?;
        let params = train::train(&shape, tags, member_tags, gold, settings, seed, observer);
        Ok(Self::pack(Isa::best(), shape, tags.clone(), params))
    }

    fn pack(isa: Isa, shape: Shape, tags: TagSet, params: Params) -> Self {
        let runner = Runner::new(isa, &shape, &Allowed::new(&tags), &params);
        Self {
            shape,
            tags,
            params,
            runner,
        }
    }

    /// Returns the number of members that it reads.
    pub const fn members(&self) -> usize {
        self.shape.members
    }

    /// Returns the number of tags of a member.
    pub const fn heard_tags(&self) -> usize {
        self.shape.member_tags
    }

    /// Returns the tags that it predicts.
    pub const fn tags(&self) -> &TagSet {
        &self.tags
    }

    /// Returns the best tag of each token, sequence by sequence, and its score: the CRF's marginal
    /// probability, 0 to 1. The result for a sequence depends on that sequence alone. Tokens in no sequence
    /// get tag 0.
    ///
    /// # Panics
    /// If a tag or range of `member_tags` is out of bounds.
    pub fn tag(&self, member_tags: MemberTags<'_>, scratch: &mut StackedScratch) -> (Vec<u16>, Vec<f32>) {
        self.runner.tag(member_tags, scratch)
    }
}

impl std::fmt::Debug for Stacked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Stacked({:?})", self.shape)
    }
}

#[cfg(test)]
mod tests;
