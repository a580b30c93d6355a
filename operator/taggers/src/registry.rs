//! The registry of rule members: the kinds that a configuration may name, and how each is built.

use std::sync::Arc;

use lethe_core::{LabelError, LabelSet, Tagger, fingerprint};
use lethe_dictionaries::Dictionary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::ContextConfig;
use crate::external::{ExternalConfig, ExternalError};
use crate::gazetteer::GazetteerConfig;
use crate::known::KnownConfig;
use crate::once::OncePerBatch;
use crate::origin::OriginConfig;
use crate::pattern;
use crate::phrases::{PhrasesConfig, PhrasesError};

/// A member that nobody trains, as configured: `kind = "known"` and the member's own keys.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RuleConfig {
    /// Finds the patient's own identifiers, which the event contains.
    Known(KnownConfig),
    /// Finds identifiers by their shape and the words around them.
    Pattern(pattern::Config),
    /// Finds names and places by the words around them.
    Context(ContextConfig),
    /// Finds entries of the dictionary.
    Gazetteer(GazetteerConfig),
    /// Finds nationality, ethnicity, religion and language where they are about a person. Not among the rules
    /// that run by default.
    Origin(OriginConfig),
    /// Returns the predictions of another tool.
    External(ExternalConfig),
    /// Finds entries of a dictionary of your own.
    Phrases(PhrasesConfig),
}

/// Why a member could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The label set lacks a label that the member finds.
    #[error(transparent)]
    Label(#[from] LabelError),
    /// The predictions of another tool cannot be used.
    #[error(transparent)]
    External(#[from] ExternalError),
    /// The site's own list cannot be used.
    #[error(transparent)]
    Phrases(#[from] PhrasesError),
}

impl RuleConfig {
    /// All kinds, as a configuration names them.
    pub const KINDS: [&str; 7] = [
        "known",
        "pattern",
        "context",
        "gazetteer",
        "origin",
        "external",
        "phrases",
    ];

    /// Returns the member's name in votes and audit.
    pub fn name(&self) -> &str {
        match self {
            Self::Known(_) => "known",
            Self::Pattern(_) => "pattern",
            Self::Context(_) => "context",
            Self::Gazetteer(_) => "gazetteer",
            Self::Origin(_) => "origin",
            Self::External(config) => &config.name,
            Self::Phrases(config) => &config.name,
        }
    }

    /// Builds the member.
    ///
    /// # Errors
    /// [`BuildError::Label`] if the label set lacks a label that the member finds; [`BuildError::External`],
    /// [`BuildError::Phrases`].
    pub fn build(
        &self,
        labels: &LabelSet,
        dictionary: &Arc<Dictionary>,
    ) -> Result<Arc<dyn Tagger>, BuildError> {
        let key = || self.key(labels, dictionary);
        Ok(match self {
            Self::Known(config) => Arc::new(config.build(labels, dictionary)?),
            Self::Pattern(config) => Arc::new(OncePerBatch::new(config.build(labels)?, key())),
            Self::Context(config) => Arc::new(OncePerBatch::new(config.build(labels, dictionary)?, key())),
            Self::Gazetteer(config) => Arc::new(OncePerBatch::new(config.build(labels, dictionary)?, key())),
            Self::Origin(config) => Arc::new(config.build(labels)?),
            Self::External(config) => config.member(labels)?,
            Self::Phrases(config) => Arc::new(config.build(labels)?),
        })
    }

    /// Returns a key for everything that the member depends on besides a note's text.
    fn key(&self, labels: &LabelSet, dictionary: &Dictionary) -> u64 {
        let all = fingerprint(&(self, labels.to_toml(), dictionary.digest()));
        u64::from_str_radix(all.get(..16).unwrap_or_default(), 16).unwrap_or_default()
    }
}

/// Returns the rule members with their default settings, in the order of their votes: the most precise first.
pub fn default_rules() -> Vec<RuleConfig> {
    vec![
        RuleConfig::Known(KnownConfig::default()),
        RuleConfig::Pattern(pattern::Config::default()),
        RuleConfig::Context(ContextConfig::default()),
        RuleConfig::Gazetteer(GazetteerConfig::default()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_member_builds_for_every_shipped_label_set_and_bears_its_name() {
        let dictionary = Dictionary::builtin();
        for labels in LabelSet::built_in() {
            for config in default_rules() {
                assert_eq!(config.build(&labels, &dictionary).unwrap().name(), config.name());
            }
        }
    }

    #[test]
    fn every_kind_is_read_by_its_name() {
        for kind in RuleConfig::KINDS {
            let read = toml::from_str::<RuleConfig>(&format!("kind = {kind:?}\nname = \"it\"\npath = \"x\""));
            let known = match read {
                Ok(config) => config.name() == "it",
                // The kind is known, so that the only possible error is an unknown key.
                Err(error) => error.to_string().contains("unknown field"),
            };
            assert!(known, "{kind}");
        }
        let refused = toml::from_str::<RuleConfig>("kind = \"\"")
            .unwrap_err()
            .to_string();
        let listed = RuleConfig::KINDS.map(|kind| format!("`{kind}`")).join(", ");
        assert!(refused.contains(&listed), "{refused}");
    }

    #[test]
    fn a_configuration_names_an_external_member_and_what_it_lacks_is_told() {
        let config = "kind = \"external\"\nname = \"mist\"\npath = \"nowhere\"\nformat = \"brat\"\n";
        let member: RuleConfig = toml::from_str(config).unwrap();
        assert_eq!(member.name(), "mist");
        let refused = member.build(&LabelSet::meddocan(), &Dictionary::builtin());
        let message = refused.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(message.starts_with("member `mist`: nowhere"), "{message}");
        for (keys, told) in [
            ("", "key `path`: missing; set one of"),
            (
                "path = \"a\"\nprocess = { command = [\"a\"] }",
                "key `process`: set only one of",
            ),
            ("path = \"a\"\noffsets = \"bytes\"", "key `offsets`: is for"),
            ("process = { command = [\"a\"] }", "key `version`: missing"),
            (
                "version = \"1\"\nmissing = \"nothing\"\nprocess = { command = [\"a\"] }",
                "key `missing`: is for",
            ),
            (
                "version = \"1\"\nprocess = { command = [] }",
                "key `process.command`: names no program",
            ),
            (
                "version = \"1\"\nprocess = { command = [\"./a\"] }",
                "key `process.command`: names its program by",
            ),
            (
                "version = \"1\"\nprocess = { command = [\"a\"], timeout_seconds = 0 }",
                "key `process`: a time limit",
            ),
            (
                "version = \"1\"\nlabels = { A = \"PATIEN\" }\nprocess = { command = [\"a\"] }",
                "did you mean `PATIENT`",
            ),
        ] {
            let member = format!("kind = \"external\"\nname = \"mist\"\n{keys}");
            let member: RuleConfig = toml::from_str(&member).unwrap();
            let refused = member.build(&LabelSet::i2b2_2014(), &Dictionary::builtin());
            let message = refused.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(
                message.starts_with("member `mist`: ") && message.contains(told),
                "{keys}: {message}"
            );
        }
        for (bad, told) in [
            (
                "kind = \"external\"\nname = \"a\"\npath = \"b\"\nformat = \"conll\"",
                "conll",
            ),
            (
                "kind = \"external\"\nname = \"a\"\npath = \"b\"\nlabel = \"c\"",
                "label",
            ),
        ] {
            let message = toml::from_str::<RuleConfig>(bad).unwrap_err().to_string();
            assert!(message.contains(told), "{message}");
        }
    }
}
