//! A network over the predictions of other members: the stacked LSTM of Kim 2020 ("Stacked LSTM").
//!
//! It reads no words: for each member an embedding of the tag that the member gave the token, side by side; two
//! bidirectional LSTM layers, one above the other; a linear layer; a CRF. Trained by RMSProp, with dropout on the
//! recurrent units.

mod bytes;
mod gradient;
mod run;
mod shape;
mod train;

use std::ops::Range;

use lethe_learn::{Observer, TagSet};
use serde::{Deserialize, Serialize};

use crate::crf::Allowed;
use crate::kernel::Isa;
use crate::model::Params;
use run::Runner;
use shape::Shape;

pub use bytes::StackedError;
pub use run::StackedScratch;

/// The network's sizes and how it is fitted. By default those of Kim 2020, and where that is silent those of the system it
/// used (Reimers and Gurevych 2017): batches of 32, gradients held to a norm of 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StackedSettings {
    /// Size of the embedding of a member's tag.
    pub embedding: usize,
    /// Units of each layer, each direction.
    pub hidden: usize,
    /// Passes over the training data.
    pub epochs: u32,
    /// Sequences of a step.
    pub batch: usize,
    /// RMSProp's step.
    pub rate: f32,
    /// Share of the recurrent units that is dropped: variational (Gal and Ghahramani 2016), the same units at every
    /// step of a sequence. The sequences of a batch share a mask, so that it is one with the weights and the fused step
    /// of the LSTM stays as it is.
    pub dropout: f32,
    /// Norm that gradients are held to.
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
    /// Each token's tags, a member's after another's; token after token.
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
    /// Fits a network to `gold`, a tag of `tags` a token, from the predictions of `members` members, each in `heard_tags` tags. Tag
    /// 0 is, there as here, the one outside every span. A tag that a member has never given in training will be read as
    /// tag 0 of that member. The same seed gives the same network.
    ///
    /// # Errors
    /// [`StackedError::Setting`] for settings or sizes without meaning.
    ///
    /// # Panics
    /// If `gold` and `member_tags` are not of the same tokens, or a tag or range lies outside.
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

    /// How many members it hears.
    pub const fn members(&self) -> usize {
        self.shape.members
    }

    /// How many tags a member has.
    pub const fn heard_tags(&self) -> usize {
        self.shape.member_tags
    }

    /// Returns the tags it gives.
    pub const fn tags(&self) -> &TagSet {
        &self.tags
    }

    /// Returns the best tag of each token, taken a sequence at a time, and its score: the CRF's marginal
    /// probability, 0 to 1. What a sequence gets depends on that sequence alone. Tokens of no sequence get
    /// tag 0.
    ///
    /// # Panics
    /// If a tag or range of `member_tags` lies outside.
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
