//! How an engine is built.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lethe_core::{Action, Carried, LabelSet, Plain, Propagation, Redactor, Titles};
use lethe_dictionaries::{Dictionary, LazyDictionary};
use lethe_ensemble::{Bundle, OperatingPoint, Signers};
use lethe_members::registry::MemberConfig;
use lethe_policy::{Keys, Policy, PolicyFile, carried_by_default};

use crate::{Engine, Error};

/// Builds an [`Engine`]. The default is the bundle `en-clinical`, with labels as replacements.
#[derive(Clone, Debug)]
#[must_use]
pub struct EngineBuilder {
    bundle: PathBuf,
    dictionary: Option<PathBuf>,
    policy: Option<PolicyText>,
    keys: Option<PathBuf>,
    signed_by: Option<Vec<PathBuf>>,
    operating_point: OperatingPoint,
}

/// A policy, and where it is from.
#[derive(Clone, Debug)]
enum PolicyText {
    Text(String),
    File(PathBuf),
}

impl Default for EngineBuilder {
    fn default() -> Self {
        Self {
            bundle: lethe_bundles::DEFAULT.into(),
            dictionary: None,
            policy: None,
            keys: None,
            signed_by: None,
            operating_point: OperatingPoint::default(),
        }
    }
}

impl EngineBuilder {
    /// Sets the bundle: the name of a built-in one, or the path of a bundle or of a folder of versions.
    pub fn bundle(mut self, bundle: impl Into<PathBuf>) -> Self {
        self.bundle = bundle.into();
        self
    }

    /// Sets how the bundle's vote weighs recall against precision, for bundles that have other operating points than
    /// [`OperatingPoint::Recall`].
    pub fn operating_point(mut self, point: OperatingPoint) -> Self {
        self.operating_point = point;
        self
    }

    /// Sets a dictionary that `lethe dictionary build` compiled, instead of the built-in one.
    pub fn dictionary(mut self, file: impl Into<PathBuf>) -> Self {
        self.dictionary = Some(file.into());
        self
    }

    /// Sets a policy, as the text of a policy file. Relative paths in it start at the working folder.
    pub fn policy(mut self, toml: impl Into<String>) -> Self {
        self.policy = Some(PolicyText::Text(toml.into()));
        self
    }

    /// Sets a policy file. Relative paths in it start at its folder.
    pub fn policy_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.policy = Some(PolicyText::File(file.into()));
        self
    }

    /// Sets the file of the policy's keys, which `lethe new-key` wrote, instead of the one that the policy names.
    pub fn keys(mut self, file: impl Into<PathBuf>) -> Self {
        self.keys = Some(file.into());
        self
    }

    /// Sets files of minisign public keys: a bundle is then loaded only if one of them signed it. Built-in bundles
    /// need no signature.
    pub fn signed_by(mut self, keys: impl IntoIterator<Item = PathBuf>) -> Self {
        self.signed_by = Some(keys.into_iter().collect());
        self
    }

    /// Builds the engine.
    ///
    /// # Errors
    /// [`Error::Bundle`], [`Error::Dictionary`] or [`Error::Policy`].
    pub fn build(self) -> Result<Engine, Error> {
        let dictionary = match &self.dictionary {
            Some(file) => LazyDictionary::Loaded(Arc::new(
                Dictionary::load(file)
                    .map_err(|error| Error::Dictionary(format!("{}: {error}", file.display())))?,
            )),
            None => LazyDictionary::Builtin,
        };
        let policy = self
            .policy
            .as_ref()
            .map(|policy| policy.parse(self.keys.as_deref()));
        let policy = policy.transpose()?;
        let bundle = self.open(&dictionary)?;
        if let Some(file) = &self.dictionary {
            bundle
                .manifest
                .check_dictionary(file, &dictionary.get())
                .map_err(|error| Error::Dictionary(error.to_string()))?;
        }
        // A label set that has `ORIGIN` has members that find it.
        let names_origin = policy.as_ref().is_some_and(|policy| policy.file.names_origin());
        let rules = match names_origin && bundle.labels.origin().is_none() {
            true => vec![MemberConfig::origin()],
            false => Vec::new(),
        };
        let bundle = bundle
            .with_union_rules(&rules)
            .map_err(|error| Error::Bundle(error.to_string()))?;
        let dictionary = bundle.dictionary.get();
        let digest = bundle.manifest.digest_at(self.operating_point);
        let labels = Arc::clone(&bundle.labels);
        let (redactor, propagation, titles) = match &policy {
            None if self.keys.is_some() => {
                return Err(Error::Policy(
                    "`keys` is set without a policy, which would use them".to_owned(),
                ));
            }
            None => (
                Redactor::by(
                    Arc::new(Plain::new(&labels, Action::default())),
                    Carried::default(),
                ),
                None,
                None,
            ),
            Some(policy) => policy.build(&labels, &dictionary)?,
        };
        let engine = (bundle.into_engine(redactor))
            .propagating(propagation)
            .with_titles(titles);
        Ok(Engine::new(engine, digest))
    }

    fn open(&self, dictionary: &LazyDictionary) -> Result<Bundle, Error> {
        let refuse = |why: String| Error::Bundle(why);
        let built_in = self.bundle.to_str().and_then(lethe_bundles::folder);
        if built_in.is_none() && !self.bundle.is_dir() {
            return Err(refuse(format!(
                "`{}` is neither a folder nor one of the built-in bundles {}",
                self.bundle.display(),
                lethe_bundles::names().collect::<Vec<_>>().join(", ")
            )));
        }
        let signers = match &self.signed_by {
            Some(keys) if keys.is_empty() => return Err(refuse("`signed_by` names no key".to_owned())),
            Some(keys) if built_in.is_none() => {
                Some(Signers::read(keys).map_err(|error| refuse(error.to_string()))?)
            }
            _ => None,
        };
        let folder = built_in.unwrap_or_else(|| self.bundle.clone());
        Bundle::open_signed(&folder, dictionary, signers.as_ref())
            .and_then(|bundle| bundle.at(self.operating_point, &folder))
            .map_err(|error| refuse(error.to_string()))
    }
}

impl PolicyText {
    /// Reads the policy, with the file of its keys if another is given.
    fn parse(&self, keys: Option<&Path>) -> Result<ParsedPolicy, Error> {
        let refuse = |why: String| Error::Policy(why);
        let (text, origin, folder) = match self {
            Self::Text(text) => (text.clone(), "the policy".to_owned(), Path::new("")),
            Self::File(file) => {
                let text = std::fs::read_to_string(file)
                    .map_err(|error| refuse(format!("{}: {error}", file.display())))?;
                (
                    text,
                    file.display().to_string(),
                    file.parent().unwrap_or(Path::new("")),
                )
            }
        };
        let mut file = PolicyFile::parse(&text, &origin)
            .and_then(|file| file.with_paths(|_, path| Ok(folder.join(path))))
            .map_err(|error| refuse(error.to_string()))?;
        if let Some(keys) = keys {
            file.keys = Some(Keys::File(keys.to_owned()));
        }
        Ok(ParsedPolicy { file, origin })
    }
}

/// A policy that was read, and what to call it in messages.
struct ParsedPolicy {
    file: PolicyFile,
    origin: String,
}

impl ParsedPolicy {
    fn build(
        &self,
        labels: &Arc<LabelSet>,
        dictionary: &Arc<Dictionary>,
    ) -> Result<(Redactor, Option<Propagation>, Option<Titles>), Error> {
        let carried = carried_by_default(&self.file);
        let policy = Policy::build(&self.file, &self.origin, labels, dictionary, &carried)
            .map_err(|error| Error::Policy(error.to_string()))?;
        Ok((
            Redactor::by(policy.replacer, Carried::new(carried)),
            policy.propagation,
            policy.titles,
        ))
    }
}
