//! The registry of learners that a training may name, each with its settings.

use lethe_learn::Scheme;
use serde::{Deserialize, Serialize};

use crate::model::Fitted;
use crate::train::{Run, TrainError};
use crate::{Data, States, batch, crf, margin, memm, mira, naive_bayes, ogd, searn, ssvm, svm};

/// A learner and its settings: `kind = "crf"` and the learner's own keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Learner {
    /// Linear-chain conditional random field.
    Crf(batch::Config),
    /// Markov model of maximum entropy.
    Memm(batch::Config),
    /// Margin infused relaxed algorithm.
    Mira(margin::Config),
    /// Search-based structured prediction.
    Searn(searn::Config),
    /// Support vector machines, token by token.
    Svm(svm::Config),
    /// Online gradient descent, token by token.
    Ogd(ogd::Config),
    /// Structural support vector machine.
    Ssvm(margin::Config),
    /// Naive Bayes, which learns incrementally.
    NaiveBayes(naive_bayes::Config),
}

/// Applies an expression to the settings of any learner.
macro_rules! each {
    ($learner:expr, $config:ident => $do:expr) => {
        match $learner {
            Learner::Crf($config) => $do,
            Learner::Memm($config) => $do,
            Learner::Mira($config) => $do,
            Learner::Searn($config) => $do,
            Learner::Svm($config) => $do,
            Learner::Ogd($config) => $do,
            Learner::Ssvm($config) => $do,
            Learner::NaiveBayes($config) => $do,
        }
    };
}

impl Learner {
    /// All kinds: those of Kim 2020's table 3 in its order, then Singh 2020's.
    pub const KINDS: [&str; 8] = [
        "crf",
        "memm",
        "mira",
        "searn",
        "svm",
        "ogd",
        "ssvm",
        "naive-bayes",
    ];

    /// Returns the learner of this kind with the settings that cross-validation chose.
    pub fn of_kind(kind: &str) -> Option<Self> {
        Some(match kind {
            "crf" => Self::Crf(batch::Config::default()),
            "memm" => Self::Memm(batch::Config::default()),
            "mira" => Self::Mira(margin::Config::default()),
            "searn" => Self::Searn(searn::Config::default()),
            "svm" => Self::Svm(svm::Config::default()),
            "ogd" => Self::Ogd(ogd::Config::default()),
            "ssvm" => Self::Ssvm(margin::Config::default()),
            "naive-bayes" => Self::NaiveBayes(naive_bayes::Config::default()),
            _ => return None,
        })
    }

    /// Returns the learner's name in models and in the ensemble.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Crf(_) => "crf",
            Self::Memm(_) => "memm",
            Self::Mira(_) => "mira",
            Self::Searn(_) => "searn",
            Self::Svm(_) => "svm",
            Self::Ogd(_) => "ogd",
            Self::Ssvm(_) => "ssvm",
            Self::NaiveBayes(_) => "naive-bayes",
        }
    }

    /// Returns how it encodes spans as tags.
    pub const fn scheme(&self) -> Scheme {
        each!(self, config => config.scheme)
    }

    /// Returns the number of tokens that a feature needs to be learned.
    pub(crate) const fn cut_off(&self) -> u32 {
        each!(self, config => config.cut_off)
    }

    pub(crate) fn fit(&self, data: &Data, states: &States, run: &mut Run<'_>) -> Result<Fitted, TrainError> {
        match self {
            Self::Crf(config) => crf::fit(config, data, states, run),
            Self::Memm(config) => memm::fit(config, data, states, run),
            Self::Mira(config) => mira::fit(config, data, states, run),
            Self::Searn(config) => config.fit(data, states, run),
            Self::Svm(config) => config.fit(data, states, run),
            Self::Ogd(config) => config.fit(data, states, run),
            Self::Ssvm(config) => ssvm::fit(config, data, states, run),
            Self::NaiveBayes(config) => config.fit(data, states, run),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_listed_once_and_reads_from_its_name_alone() {
        for kind in Learner::KINDS {
            let learner = Learner::of_kind(kind).unwrap();
            assert_eq!(learner.kind(), kind);
            let read: Learner = toml::from_str(&format!("kind = \"{kind}\"")).unwrap();
            assert_eq!(read, learner);
        }
        assert!(Learner::of_kind("lstm").is_none());
    }

    #[test]
    fn an_unknown_key_is_refused() {
        let refused = toml::from_str::<Learner>("kind = \"crf\"\nlambda = 1").unwrap_err();
        assert!(refused.to_string().contains("lambda"), "{refused}");
    }
}
