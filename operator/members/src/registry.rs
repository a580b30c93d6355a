//! The one list of members: what a configuration may name, and how each is built.

use std::sync::Arc;

use lethe_core::{LabelError, LabelSet, Tagger};
use lethe_dictionaries::Dictionary;
use lethe_learn::Manifest;
use lethe_neural::transformer::{TransformerConfig, TransformerError};
use lethe_taggers::context::ContextConfig;
use lethe_taggers::external::{ExternalConfig, ExternalError};
use lethe_taggers::gazetteer::GazetteerConfig;
use lethe_taggers::known::KnownConfig;
use lethe_taggers::pattern;
use serde::Deserialize;

use crate::model::{ModelConfig, OpenError};

/// One member of the ensemble, as configured: `kind = "known"` and the member's own keys.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum MemberConfig {
    /// The patient's own identifiers, as the event carries them.
    Known(KnownConfig),
    /// What its shape and the words around it prove.
    Pattern(pattern::Config),
    /// What the words around it announce.
    Context(ContextConfig),
    /// What the dictionary lists.
    Gazetteer(GazetteerConfig),
    /// What another tool has found, read from its predictions.
    External(ExternalConfig),
    /// What `lethe train` made.
    Model(ModelConfig),
    /// A BERT or RoBERTa checkpoint.
    Transformer(TransformerConfig),
}

/// Why a member could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The label set has no place for a label that the member finds.
    #[error(transparent)]
    Label(#[from] LabelError),
    /// The predictions of another tool cannot be used.
    #[error(transparent)]
    External(#[from] ExternalError),
    /// The model's folder cannot be used.
    #[error(transparent)]
    Model(#[from] OpenError),
    /// The checkpoint cannot be used.
    #[error(transparent)]
    Transformer(#[from] TransformerError),
}

impl MemberConfig {
    /// Builds the member.
    ///
    /// # Errors
    /// [`BuildError`], naming the label that has no place, or the file that is at fault.
    pub fn build(
        &self,
        labels: &LabelSet,
        dictionary: &Arc<Dictionary>,
    ) -> Result<Arc<dyn Tagger>, BuildError> {
        Ok(match self {
            Self::Known(config) => Arc::new(config.build(labels, dictionary)?),
            Self::Pattern(config) => Arc::new(config.build(labels)?),
            Self::Context(config) => Arc::new(config.build(labels, dictionary)?),
            Self::Gazetteer(config) => Arc::new(config.build(labels, dictionary)?),
            Self::External(config) => Arc::new(config.build(labels)?),
            Self::Model(config) => config.build(labels, dictionary)?,
            Self::Transformer(config) => Arc::new(config.build(labels)?),
        })
    }
}

impl MemberConfig {
    /// What tells this member from any other, for the fingerprint of a configuration: its settings, and a digest of
    /// what it reads, so that another model under the same path is another member.
    ///
    /// # Errors
    /// [`BuildError`] if the model's page, the checkpoint or the predictions cannot be read.
    pub fn identity(&self) -> Result<String, BuildError> {
        let settings = format!("{self:?}");
        match self {
            Self::Model(config) => {
                let manifest = Manifest::read(&config.path).map_err(OpenError::from)?;
                Ok(format!("{settings} {}", manifest.digest()))
            }
            Self::External(config) => Ok(format!("{settings} {}", config.fingerprint()?)),
            Self::Transformer(config) => Ok(format!("{settings} {}", config.fingerprint()?)),
            _ => Ok(settings),
        }
    }
}

/// The rule members with their default settings, in the order of their votes: the surest first.
pub fn default_rules() -> Vec<MemberConfig> {
    vec![
        MemberConfig::Known(KnownConfig::default()),
        MemberConfig::Pattern(pattern::Config::default()),
        MemberConfig::Context(ContextConfig::default()),
        MemberConfig::Gazetteer(GazetteerConfig::default()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_without_its_folder_is_told_by_its_page() {
        let config: MemberConfig = toml::from_str("kind = \"model\"\npath = \"nowhere\"").unwrap();
        let refused = config.build(&LabelSet::i2b2_2014(), &Dictionary::builtin());
        let message = refused.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(message.contains("nowhere/member.toml"), "{message}");
        assert!(config.identity().is_err());
    }

    #[test]
    fn every_default_rule_builds_and_keys_of_another_kind_are_refused() {
        for config in default_rules() {
            config
                .build(&LabelSet::meddocan(), &Dictionary::builtin())
                .unwrap();
            config.identity().unwrap();
        }
        let wrong = toml::from_str::<MemberConfig>("kind = \"model\"\npath = \"m\"\nrepeats = true");
        assert!(wrong.unwrap_err().to_string().contains("repeats"));
    }
}
