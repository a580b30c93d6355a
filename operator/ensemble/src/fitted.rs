//! The registry of fitted combiners: by name, from predictions, to and from bytes.

use std::sync::Arc;

use lethe_core::{BatchError, Combine, LabelSet};
use lethe_corpus::FoldError;
use lethe_learn::Observer;

use crate::{
    FitError, PredictionSet, SavedError, StackedLstm, StackedLstmConfig, StackedLstmError, StackedSearn,
    StackedSearnConfig, StackedSvm, StackedSvmConfig, Templates, TemplatesConfig,
};

/// Why a combiner could not be fitted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FittedError {
    /// The predictions are unsuitable.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The stacked network failed.
    #[error(transparent)]
    Network(#[from] StackedLstmError),
    /// The documents cannot be split.
    #[error(transparent)]
    Folds(#[from] FoldError),
    /// A fold's texts do not form a batch.
    #[error(transparent)]
    Batch(#[from] BatchError),
}

/// A fitted combiner.
#[non_exhaustive]
pub enum Fitted {
    /// Kim 2020, "Decision Template Method".
    Templates(Templates),
    /// Kim 2020, "Stacked SVM": span by span.
    StackedSvm(StackedSvm),
    /// Kim 2020, "Stacked SEARN": token by token.
    StackedSearn(StackedSearn),
    /// Kim 2020, "Stacked LSTM": a network over tokens.
    StackedLstm(StackedLstm),
}

impl Fitted {
    /// Their names in bundles and commands.
    pub const KINDS: [&str; 4] = [
        "decision-templates",
        "stacked-svm",
        "stacked-searn",
        "stacked-lstm",
    ];

    /// Fits the combiner of this name; `None` if the name is unknown. The same seed gives the same combiner.
    /// `observer` sees the passes of slow ones.
    ///
    /// # Errors
    /// [`FittedError`].
    pub fn fit(
        kind: &str,
        predictions: &PredictionSet,
        seed: u64,
        observer: &mut dyn Observer,
    ) -> Option<Result<Self, FittedError>> {
        let fitted = match kind {
            "decision-templates" => {
                Templates::fit(predictions, &TemplatesConfig::default()).map(Self::Templates)
            }
            "stacked-svm" => {
                StackedSvm::fit(predictions, &StackedSvmConfig::default(), seed).map(Self::StackedSvm)
            }
            "stacked-searn" => {
                StackedSearn::fit(predictions, &StackedSearnConfig::default(), seed).map(Self::StackedSearn)
            }
            "stacked-lstm" => {
                let network = StackedLstm::fit(predictions, &StackedLstmConfig::default(), seed, observer);
                return Some(network.map(Self::StackedLstm).map_err(FittedError::from));
            }
            _ => return None,
        };
        Some(fitted.map_err(FittedError::from))
    }

    /// Reads a combiner of this name, to run under these labels; `None` if the name is unknown.
    ///
    /// # Errors
    /// [`SavedError`].
    pub fn from_bytes(kind: &str, bytes: &[u8], labels: &LabelSet) -> Option<Result<Self, SavedError>> {
        Some(match kind {
            "decision-templates" => Templates::from_bytes(bytes).map(Self::Templates),
            "stacked-svm" => StackedSvm::from_bytes(bytes, labels).map(Self::StackedSvm),
            "stacked-searn" => StackedSearn::from_bytes(bytes, labels).map(Self::StackedSearn),
            "stacked-lstm" => StackedLstm::from_bytes(bytes, labels).map(Self::StackedLstm),
            _ => return None,
        })
    }

    /// Returns the bytes that [`Fitted::from_bytes`] reads.
    ///
    /// # Errors
    /// [`SavedError::Header`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, SavedError> {
        match self {
            Self::Templates(templates) => templates.to_bytes(),
            Self::StackedSvm(machine) => machine.to_bytes(),
            Self::StackedSearn(searn) => searn.to_bytes(),
            Self::StackedLstm(network) => network.to_bytes(),
        }
    }

    /// Returns the members that it was fitted on, in the order in which it takes their predictions.
    pub fn members(&self) -> &[String] {
        match self {
            Self::Templates(templates) => templates.members(),
            Self::StackedSvm(machine) => machine.members(),
            Self::StackedSearn(searn) => searn.members(),
            Self::StackedLstm(network) => network.members(),
        }
    }

    /// Returns the combiner, to run.
    pub fn combiner(self) -> Arc<dyn Combine> {
        match self {
            Self::Templates(templates) => Arc::new(templates),
            Self::StackedSvm(machine) => Arc::new(machine),
            Self::StackedSearn(searn) => Arc::new(searn),
            Self::StackedLstm(network) => Arc::new(network),
        }
    }
}
