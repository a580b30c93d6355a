//! The one list of learners: what a training may name, each with its settings.

use lethe_learn::Scheme;
use serde::{Deserialize, Serialize};

use crate::model::Fitted;
use crate::train::{Run, TrainError};
use crate::{Data, States, crf, memm, svm};

/// A learner and its settings: `kind = "crf"` and the learner's own keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Learner {
    /// Linear-chain conditional random field.
    Crf(crf::Config),
    /// Markov model of maximum entropy.
    Memm(memm::Config),
    /// Support vector machines, token by token.
    Svm(svm::Config),
}

impl Learner {
    /// Every kind, in the order of Kim 2020's table.
    pub const KINDS: [&str; 3] = ["crf", "memm", "svm"];

    /// The learner of this kind with the settings that cross-validation chose.
    pub fn of_kind(kind: &str) -> Option<Self> {
        Some(match kind {
            "crf" => Self::Crf(crf::Config::default()),
            "memm" => Self::Memm(memm::Config::default()),
            "svm" => Self::Svm(svm::Config::default()),
            _ => return None,
        })
    }

    /// The learner's name in models and in the ensemble.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Crf(_) => "crf",
            Self::Memm(_) => "memm",
            Self::Svm(_) => "svm",
        }
    }

    /// How it spreads spans over tags.
    pub const fn scheme(&self) -> Scheme {
        match self {
            Self::Crf(config) => config.scheme,
            Self::Memm(config) => config.scheme,
            Self::Svm(config) => config.scheme,
        }
    }

    /// How many tokens must have a feature for it to be learned.
    pub(crate) const fn cut_off(&self) -> u32 {
        match self {
            Self::Crf(config) => config.cut_off,
            Self::Memm(config) => config.cut_off,
            Self::Svm(config) => config.cut_off,
        }
    }

    pub(crate) fn fit(&self, data: &Data, states: &States, run: &mut Run<'_>) -> Result<Fitted, TrainError> {
        match self {
            Self::Crf(config) => config.fit(data, states, run),
            Self::Memm(config) => config.fit(data, states, run),
            Self::Svm(config) => config.fit(data, states, run),
        }
    }
}
