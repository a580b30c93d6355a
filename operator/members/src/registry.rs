//! The registry of members: the kinds that a configuration may name, and how each is built. The rule members
//! come from the list of [`lethe_taggers`].

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use lethe_core::{LabelSet, Tagger};
use lethe_dictionaries::{Dictionary, LazyDictionary};
use lethe_learn::Manifest;
#[cfg(feature = "transformer")]
use lethe_neural::transformer::{TransformerConfig, TransformerError};
use lethe_taggers::origin::OriginConfig;
use lethe_taggers::registry;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::model::{ModelConfig, OpenError};

pub use lethe_taggers::registry::RuleConfig;

/// One member of the ensemble, as configured: `kind = "known"` and the member's own keys.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum MemberConfig {
    /// A rule member, which is not trained.
    Rule(RuleConfig),
    /// A model that `lethe train` produced.
    Model(ModelConfig),
    /// A BERT or RoBERTa checkpoint.
    #[cfg(feature = "transformer")]
    Transformer(TransformerConfig),
}

const MODEL: &str = "model";
const TRANSFORMER: &str = "transformer";

/// All kinds, as a configuration names them.
static KINDS: LazyLock<Vec<&str>> =
    LazyLock::new(|| [&RuleConfig::KINDS[..], &[MODEL, TRANSFORMER]].concat());

/// A member's settings and the digest of the files that it reads: its serialised form identifies the member.
#[derive(Clone, Debug, Serialize)]
pub struct Identity<'a> {
    settings: &'a MemberConfig,
    digest: Option<String>,
}

/// Why a member could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A rule member lacks a label's equivalent or a file.
    #[error(transparent)]
    Rule(#[from] registry::BuildError),
    /// The model's folder cannot be used.
    #[error(transparent)]
    Model(#[from] OpenError),
    /// The checkpoint cannot be used.
    #[cfg(feature = "transformer")]
    #[error(transparent)]
    Transformer(#[from] TransformerError),
}

impl MemberConfig {
    /// Builds the member.
    ///
    /// # Errors
    /// [`BuildError`], naming the label without an equivalent, or the invalid file.
    pub fn build(
        &self,
        labels: &LabelSet,
        dictionary: &Arc<Dictionary>,
    ) -> Result<Arc<dyn Tagger>, BuildError> {
        self.build_lazily(labels, &dictionary.into())
    }

    /// Builds the member as [`MemberConfig::build`] does, but waits for the dictionary only when it needs it.
    ///
    /// # Errors
    /// [`BuildError`], naming the label without an equivalent, or the invalid file.
    pub fn build_lazily(
        &self,
        labels: &LabelSet,
        dictionary: &LazyDictionary,
    ) -> Result<Arc<dyn Tagger>, BuildError> {
        Ok(match self {
            Self::Rule(config) => config.build(labels, &dictionary.get())?,
            Self::Model(config) => config.build(labels, dictionary)?,
            #[cfg(feature = "transformer")]
            Self::Transformer(config) => Arc::new(config.build(labels)?),
        })
    }

    /// Returns a digest of the files that the member reads: a model's manifest, which holds those of its
    /// files; a checkpoint; another tool's predictions; a list of phrases. `None` for rules, which are part
    /// of the program.
    ///
    /// # Errors
    /// [`BuildError`] if it cannot be read.
    pub fn digest(&self) -> Result<Option<String>, BuildError> {
        Ok(match self {
            // A live tool has no file; its version is among its settings.
            Self::Rule(RuleConfig::External(config)) if config.is_live() => None,
            Self::Rule(RuleConfig::External(config)) => {
                Some(config.fingerprint().map_err(registry::BuildError::from)?)
            }
            Self::Rule(RuleConfig::Phrases(config)) => {
                Some(config.fingerprint().map_err(registry::BuildError::from)?)
            }
            Self::Rule(_) => None,
            Self::Model(config) => {
                let manifest = Manifest::read(&config.path).map_err(OpenError::from)?;
                Some(manifest.digest())
            }
            #[cfg(feature = "transformer")]
            Self::Transformer(config) => Some(config.fingerprint()?),
        })
    }

    /// Returns the member that finds `ORIGIN`, with its default settings.
    pub fn origin() -> Self {
        Self::Rule(RuleConfig::Origin(OriginConfig::default()))
    }

    /// Returns whether the member finds `ORIGIN`, a label that no set has unless a member needs it.
    pub const fn is_origin(&self) -> bool {
        matches!(self, Self::Rule(RuleConfig::Origin(_)))
    }

    /// Returns the folder or file that the member reads, if it reads one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Rule(RuleConfig::Phrases(config)) => Some(&config.path),
            Self::Rule(_) => None,
            Self::Model(config) => Some(&config.path),
            #[cfg(feature = "transformer")]
            Self::Transformer(config) => Some(&config.path),
        }
    }

    /// Returns the member under this name in votes and audit.
    ///
    /// # Errors
    /// The name that it has, if its kind has only one.
    pub fn named(mut self, name: &str) -> Result<Self, String> {
        match &mut self {
            Self::Rule(RuleConfig::External(config)) => config.name = name.to_owned(),
            Self::Rule(RuleConfig::Phrases(config)) => config.name = name.to_owned(),
            Self::Rule(rule) if rule.name() != name => return Err(rule.name().to_owned()),
            Self::Rule(_) => {}
            Self::Model(config) => config.name = Some(name.to_owned()),
            #[cfg(feature = "transformer")]
            Self::Transformer(config) => config.name = name.to_owned(),
        }
        Ok(self)
    }

    /// Returns the member's identity for the fingerprint of a configuration: its settings, and the digest of
    /// the files that it reads, so that another model under the same path is another member.
    ///
    /// # Errors
    /// [`BuildError`] if the model's manifest, the checkpoint or the predictions cannot be read.
    pub fn identity(&self) -> Result<Identity<'_>, BuildError> {
        Ok(Identity {
            settings: self,
            digest: self.digest()?,
        })
    }
}

/// Returns the files of a checkpoint that a `transformer` reads; none in a program without transformers.
pub const fn checkpoint_files() -> &'static [&'static str] {
    #[cfg(feature = "transformer")]
    return &lethe_neural::transformer::FILES;
    #[cfg(not(feature = "transformer"))]
    &[]
}

/// Returns the rule members with their default settings, in the order of their votes: the most precise first.
pub fn default_rules() -> Vec<MemberConfig> {
    let rules = registry::default_rules().into_iter();
    rules.map(MemberConfig::Rule).collect()
}

/// Returns the labels of an engine with these members: the given set, with `ORIGIN` if one of them finds it.
pub fn labels_of<'m>(labels: &LabelSet, members: impl IntoIterator<Item = &'m MemberConfig>) -> LabelSet {
    match members.into_iter().any(MemberConfig::is_origin) {
        true => labels.with_origin(),
        false => labels.clone(),
    }
}

// A derived tagged enum could include another only untagged, and its errors would not name the problem.
impl<'de> Deserialize<'de> for MemberConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Table)
    }
}

/// The kinds that [`RuleConfig`] does not have, for the schema.
#[derive(JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its schema is used")]
enum Learned {
    /// Runs a model that `lethe train` created.
    Model(ModelConfig),
    /// Runs a BERT or RoBERTa checkpoint.
    #[cfg(feature = "transformer")]
    Transformer(TransformerConfig),
}

impl JsonSchema for MemberConfig {
    fn schema_name() -> Cow<'static, str> {
        "MemberConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = RuleConfig::json_schema(generator);
        let mut learned = Learned::json_schema(generator);
        let kinds = |schema: &mut Schema| {
            let kinds = schema.get_mut("oneOf").and_then(|kinds| kinds.as_array_mut());
            kinds.map(std::mem::take).unwrap_or_default()
        };
        let all = [kinds(&mut schema), kinds(&mut learned)].concat();
        schema.insert("oneOf".to_owned(), all.into());
        schema.insert(
            "description".to_owned(),
            "One member of the ensemble: its `kind`, and the keys of that kind.".into(),
        );
        schema
    }
}

struct Table;

impl<'de> Visitor<'de> for Table {
    type Value = MemberConfig;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a member: a table with a `kind`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MemberConfig, A::Error> {
        let (mut kind, mut keys) = (None, toml::Table::new());
        while let Some(key) = map.next_key::<String>()? {
            if key == "kind" {
                kind = Some(map.next_value::<Kind>()?.0);
            } else {
                keys.insert(key, map.next_value()?);
            }
        }
        let config = match kind.ok_or_else(|| A::Error::missing_field("kind"))? {
            MODEL => keys.try_into().map(MemberConfig::Model),
            #[cfg(feature = "transformer")]
            TRANSFORMER => keys.try_into().map(MemberConfig::Transformer),
            #[cfg(not(feature = "transformer"))]
            TRANSFORMER => {
                return Err(A::Error::custom(
                    "this program was built without transformers; use one with the feature `transformer`",
                ));
            }
            rule => {
                keys.insert("kind".to_owned(), rule.into());
                keys.try_into().map(MemberConfig::Rule)
            }
        };
        config.map_err(|error: toml::de::Error| A::Error::custom(error.message()))
    }
}

/// One of [`KINDS`].
struct Kind(&'static str);

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let kind = KINDS.iter().copied().find(|kind| *kind == name);
        kind.map(Self)
            .ok_or_else(|| D::Error::unknown_variant(&name, &KINDS))
    }
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

    #[test]
    fn only_the_member_that_finds_the_origin_adds_its_label() {
        let labels = LabelSet::i2b2_2014();
        assert_eq!(labels_of(&labels, &default_rules()).to_toml(), labels.to_toml());
        let member: MemberConfig = toml::from_str("kind = \"origin\"").unwrap();
        let refused = member.build(&labels, &Dictionary::builtin()).err().unwrap();
        assert!(refused.to_string().contains("no label for `ORIGIN`"), "{refused}");
        let labels = labels_of(&labels, [&member]);
        assert_eq!(
            member.build(&labels, &Dictionary::builtin()).unwrap().name(),
            "origin"
        );
    }

    #[test]
    fn what_is_wrong_with_a_member_is_named() {
        let (quoted, model) = (KINDS.join("`, `"), "kind = \"model\"");
        let unknown = format!("unknown variant `hmm`, expected one of `{quoted}`");
        for (bad, told) in [
            ("kind = \"hmm\"", unknown.as_str()),
            ("typos = true", "missing field `kind`"),
            ("kind = 3", "invalid type: integer `3`, expected a string"),
            (model, "missing field `path`"),
            (
                "kind = \"known\"\nname = \"x\"",
                "unknown field `name`, expected `typos` or `initials`",
            ),
            ("kind = \"transformer\"\ncolour = 3", "unknown field `colour`"),
        ] {
            let error = toml::from_str::<MemberConfig>(bad).unwrap_err();
            assert!(error.message().starts_with(told), "{bad}: {error}");
        }
    }
}
