//! The engine of a bundle, or of one bundle a language.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lethe_connectors::sink::Acknowledgement;
use lethe_core::{Engine, Redactor, fingerprint, hex};
use lethe_dictionaries::{Dictionary, LazyDictionary};
use lethe_ensemble::{Bundle, ByLanguage, DETECTION_VERSION, NoteLanguage, SIGNATURE, Signers, Versions};

use super::engine::{BuiltEngine, EngineConfig};
use super::union_rules::{refused, rule_identities};
use crate::bundle_argument::bundle;
use crate::exit::usage;

/// A bundle that decides.
pub(super) struct Decider {
    /// The language of its notes; `None` if it decides about all.
    language: Option<NoteLanguage>,
    pub(super) folder: PathBuf,
}

impl Decider {
    /// Returns the key that names the bundle.
    fn key(&self) -> String {
        match self.language {
            Some(language) => format!("engine.languages.{language}"),
            None => "engine.bundle".to_owned(),
        }
    }
}

impl EngineConfig {
    /// Changes whenever the files that the engine is built from do: the current version of a bundle, a dictionary.
    pub(crate) fn source_fingerprint(&self) -> String {
        let look = |path: &Path| {
            let file = std::fs::metadata(path).ok();
            file.map(|file| (file.len(), file.modified().ok()))
        };
        let of = |bundle: &PathBuf| {
            let versions = Versions::of(bundle);
            let version = versions.as_ref().and_then(|versions| versions.current().ok());
            // A version that was not trusted may be signed later.
            let signature = match (&self.signed_by, &versions, &version) {
                (Some(_), Some(versions), Some(version)) => look(&versions.path(version).join(SIGNATURE)),
                _ => None,
            };
            (version, signature)
        };
        let bundles: Vec<_> = self
            .bundle
            .iter()
            .chain(self.languages.values())
            .map(of)
            .collect();
        let dictionary = self.dictionary.as_deref().and_then(look);
        format!("{bundles:?} {dictionary:?}")
    }

    /// Whether the built-in bundle decides because nothing else is named.
    pub(super) fn runs_default_bundle(&self) -> bool {
        self.bundle.is_none() && self.languages.is_empty() && matches!(self.deciders().as_deref(), Ok([_]))
    }

    /// The bundles that decide, if any do: one, or one for each language.
    pub(super) fn deciders(&self) -> anyhow::Result<Vec<Decider>> {
        let labels = self.labels.as_deref().unwrap_or("i2b2-2014");
        let own = labels != "i2b2-2014" || self.members.is_some() || self.pass_through || self.vote.is_some();
        let named = |language: Option<NoteLanguage>, named: &Path| {
            let decider = Decider {
                language,
                folder: PathBuf::new(),
            };
            let folder = bundle(named).map_err(|error| usage(format!("key `{}`: {error}", decider.key())))?;
            Ok(Decider { folder, ..decider })
        };
        if !self.languages.is_empty() {
            let languages = self.languages.iter();
            return languages
                .map(|(language, folder)| named(Some(*language), folder))
                .collect();
        }
        match &self.bundle {
            Some(folder) => Ok(vec![named(None, folder)?]),
            None if own => Ok(Vec::new()),
            None => Ok(lethe_bundles::folder(lethe_bundles::DEFAULT)
                .map(|folder| Decider {
                    language: None,
                    folder,
                })
                .into_iter()
                .collect()),
        }
    }

    /// Refuses a bundle with settings that it has itself, and languages that contradict each other.
    pub(super) fn check_bundle_alone(&self) -> anyhow::Result<()> {
        let others = [
            ("labels", self.labels.is_some()),
            ("members", self.members.is_some()),
            ("pass_through", self.pass_through),
            ("vote", self.vote.is_some()),
        ];
        let without_bundle = others.iter().find(|(_, given)| *given);
        if let (Some((key, _)), Some(_)) = (without_bundle, self.operating_point) {
            return Err(usage(format!(
                "keys `engine.operating_point` and `engine.{key}`: only a bundle has operating points; leave one of the two out"
            )));
        }
        let named = match (&self.bundle, self.languages.is_empty()) {
            (Some(_), false) => {
                return Err(usage(
                    "keys `engine.bundle` and `engine.languages`: write the bundle into `languages`, with its language, or leave one of the two out",
                ));
            }
            (Some(_), true) => Some("bundle"),
            (None, false) => Some("languages"),
            (None, true) => None,
        };
        if let (Some(named), Some((key, _))) = (named, without_bundle) {
            return Err(usage(format!(
                "keys `engine.{named}` and `engine.{key}`: a bundle has labels, members and vote of its own; leave one of the two out"
            )));
        }
        self.fallback_language().map(drop)
    }

    /// Returns the language of notes that do not show theirs; `None` if there are no languages.
    fn fallback_language(&self) -> anyhow::Result<Option<NoteLanguage>> {
        let codes: Vec<&str> = self.languages.keys().map(|language| language.code()).collect();
        let codes = codes.join(", ");
        match self.fallback_language {
            Some(_) if self.languages.is_empty() => Err(usage(
                "key `engine.fallback_language`: there are no `engine.languages` to choose from; leave it out",
            )),
            Some(language) if !self.languages.contains_key(&language) => Err(usage(format!(
                "key `engine.fallback_language`: `engine.languages` has no bundle for `{language}`; name one of {codes}"
            ))),
            Some(language) => Ok(Some(language)),
            None if self.languages.is_empty() => Ok(None),
            None if self.languages.contains_key(&NoteLanguage::En) => Ok(Some(NoteLanguage::En)),
            None => Err(usage(format!(
                "key `engine.fallback_language`: is missing; say in which language notes are decided whose text does not show it: one of {codes}"
            ))),
        }
    }

    /// Opens a bundle, if a trusted key signed it, at the operating point.
    fn open(&self, decider: &Decider, dictionary: &LazyDictionary) -> anyhow::Result<Bundle> {
        let key = decider.key();
        let folder = &decider.folder;
        let signers = self
            .signers()
            .map_err(|error| usage(format!("key `engine.signed_by`: {error}")))?;
        let signers = signers.as_ref().filter(|_| !lethe_bundles::is_shipped(folder));
        let bundle = Bundle::open_signed(folder, dictionary, signers)
            .map_err(|error| usage(format!("key `{key}`: {error}")))?
            .at(self.operating_point.unwrap_or_default(), folder)
            .map_err(|error| usage(format!("key `engine.operating_point`: {error}")))?;
        if self.dictionary.is_some() {
            let given = dictionary.get();
            bundle
                .manifest
                .check_dictionary(&folder.join("bundle.toml"), &given)
                .map_err(|error| usage(format!("key `engine.dictionary`: {error}")))?;
        }
        Ok(bundle)
    }

    /// The engine of a bundle, or of one bundle for each language.
    pub(super) fn bundled(
        &self,
        deciders: &[Decider],
        dictionary: &LazyDictionary,
        source_fingerprint: String,
    ) -> anyhow::Result<BuiltEngine> {
        let fallback = self.fallback_language()?;
        // The redactor of the first engine is that of all.
        let mut order: Vec<&Decider> = deciders.iter().collect();
        order.sort_by_key(|decider| decider.language != fallback);
        let mut bundles = Vec::with_capacity(order.len());
        for decider in order {
            let bundle = self.open(decider, dictionary)?;
            let (_, rules) = self.voters_and_rules(&bundle.labels, Vec::new());
            bundles.push((decider, bundle.with_union_rules(&rules).map_err(refused)?, rules));
        }
        let point = self.operating_point.unwrap_or_default();
        let digests: Vec<(Option<NoteLanguage>, String)> = bundles
            .iter()
            .map(|(decider, bundle, _)| (decider.language, bundle.manifest.digest_at(point)))
            .collect();
        let digest = digest(&digests, fallback);
        let (_, first, rules) = &bundles[0];
        let labels = Arc::clone(&first.labels);
        let words = words_of(bundles.iter().map(|(_, bundle, _)| bundle.dictionary.get()));
        let rules = rule_identities(rules)?;
        let plain = || match rules.is_empty() {
            true => fingerprint(&(&digest, &self.redaction)),
            false => fingerprint(&self.written.form(&(&digest, &self.redaction, &rules))),
        };
        let act = self.act(&labels, &words, plain)?;
        let dictionaries: Vec<(Option<NoteLanguage>, String)> = bundles
            .iter()
            .map(|(decider, bundle, _)| (decider.language, hex(bundle.dictionary.get().digest())))
            .collect();
        let dictionary = joined(&dictionaries);
        let parts = bundles.into_iter();
        let parts = parts.map(|(decider, bundle, _)| (decider.language, bundle));
        let engine = one_engine(parts.collect(), fallback, &act.redactor)?;
        Ok(BuiltEngine {
            labels: format!("{} v{}", labels.id(), labels.version()),
            dictionary,
            policy: act.digest,
            mode: act.mode,
            acknowledged: Acknowledgement::written(&self.acknowledge),
            kept: act.kept,
            derivation: act.derivation,
            words,
            bundle: Some(digest),
            source_fingerprint,
            engine: Arc::new(
                engine
                    .propagating(act.propagation)
                    .with_titles(act.titles)
                    .reviewing(self.review),
            ),
        })
    }

    /// The keys that may have signed the bundle.
    fn signers(&self) -> anyhow::Result<Option<Signers>> {
        match &self.signed_by {
            Some(keys) if keys.is_empty() => {
                anyhow::bail!("names no key; leave it out to use bundles that nobody signed")
            }
            Some(keys) => Ok(Some(Signers::read(keys)?)),
            None => Ok(None),
        }
    }
}

/// Returns the dictionary of what happens after the vote, such as the titles before names: the one with the most lists,
/// since the dictionary of another language than English has the English lists too.
fn words_of(dictionaries: impl Iterator<Item = Arc<Dictionary>>) -> Arc<Dictionary> {
    let most = dictionaries.reduce(|most, other| match other.lists().len() > most.lists().len() {
        true => other,
        false => most,
    });
    most.expect("there is a bundle")
}

/// Makes one engine of the bundles, of which the first is that of the fallback language.
fn one_engine(
    mut bundles: Vec<(Option<NoteLanguage>, Bundle)>,
    fallback: Option<NoteLanguage>,
    redactor: &Redactor,
) -> anyhow::Result<Engine> {
    let Some(fallback) = fallback else {
        let (_, bundle) = bundles.remove(0);
        return Ok(bundle.into_engine(redactor.clone()));
    };
    let languages: Vec<NoteLanguage> = bundles.iter().filter_map(|(language, _)| *language).collect();
    let engines = bundles.into_iter().map(|(language, bundle)| {
        let name = language.map(|language| language.to_string());
        (name.unwrap_or_default(), bundle.into_engine(redactor.clone()))
    });
    let by_language = Arc::new(ByLanguage::new(&languages, fallback));
    Engine::of_languages(engines.collect(), by_language).map_err(|error| {
        let key = match error.language() {
            Some(language) => format!("engine.languages.{language}"),
            None => "engine.languages".to_owned(),
        };
        usage(format!("key `{key}`: {error}"))
    })
}

/// Returns the digest of what decides: a bundle's own, or those of all with their languages, the language of notes
/// that do not show theirs, and the version of the detection.
fn digest(bundles: &[(Option<NoteLanguage>, String)], fallback: Option<NoteLanguage>) -> String {
    match fallback {
        None => joined(bundles),
        Some(fallback) => format!(
            "{},fallback={fallback},detection={DETECTION_VERSION}",
            joined(bundles)
        ),
    }
}

/// Returns a single digest, or those of each language as in `de=...,en=...`.
fn joined(digests: &[(Option<NoteLanguage>, String)]) -> String {
    let mut digests: Vec<_> = digests.iter().collect();
    digests.sort();
    let one = |(language, digest): &&(Option<NoteLanguage>, String)| match language {
        Some(language) => format!("{language}={digest}"),
        None => digest.clone(),
    };
    digests.iter().map(one).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use lethe_core::NoteBatch;

    use super::*;

    const MODELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models");

    fn config(toml: &str) -> EngineConfig {
        toml::from_str(&toml.replace("MODELS", MODELS)).unwrap()
    }

    fn refusal(toml: &str) -> String {
        config(toml).build().map(|_| ()).unwrap_err().to_string()
    }

    const MIXED: &str = "languages = { de = \"MODELS/de-clinical\", en = \"en-fast\" }";

    #[test]
    fn a_mixed_feed_is_decided_note_by_note() {
        let built = config(MIXED).build().unwrap();
        let members = built.engine.members();
        assert!(members.contains(&"en/ssvm".to_owned()) && members.contains(&"de/lstm-crf-l".to_owned()));
        let texts = [
            "Frau Hannelore Quellmann wurde am 03.05.2021 von Herrn Dr. Seidlbacher aus der Klinik entlassen.",
            "Mrs. Harriet Quellman was discharged on 03/05/2021 by Dr. Sidebotham and will be seen again.",
        ];
        let batch = NoteBatch::from_texts(texts).unwrap();
        for (row, (language, names)) in [
            ("de/", ["Quellmann", "Seidlbacher"]),
            ("en/", ["Quellman", "Sidebotham"]),
        ]
        .into_iter()
        .enumerate()
        {
            let outcome = &built.engine.decide(&batch)[row];
            let decided = outcome.as_ref().unwrap();
            let mut by = decided.iter().flat_map(|one| one.members.iter());
            assert!(
                by.all(|member| members[member].starts_with(language)),
                "{language}"
            );
            let text = built.engine.redact(&batch, row, outcome).unwrap().text;
            assert!(names.iter().all(|name| !text.contains(name)), "{text}");
        }
    }

    #[test]
    fn the_digest_names_every_language_and_what_decides_between_them() {
        let english = config(MIXED).build().unwrap();
        let digest = english.bundle.unwrap();
        let only = config("bundle = \"en-fast\"").build().unwrap();
        assert!(digest.starts_with("de=") && digest.contains(&format!(",en={}", only.bundle.unwrap())));
        assert!(
            digest.ends_with(&format!(",fallback=en,detection={DETECTION_VERSION}")),
            "{digest}"
        );
        let german = config(&format!("{MIXED}\nfallback_language = \"de\""))
            .build()
            .unwrap();
        assert_ne!(german.policy, english.policy);
        assert!(english.dictionary.starts_with("de=") && english.dictionary.contains(",en="));
    }

    #[test]
    fn languages_that_contradict_other_keys_are_refused() {
        for (more, key) in [
            ("bundle = \"en-fast\"", "engine.bundle"),
            ("vote = { threshold = 1 }", "engine.vote"),
            ("fallback_language = \"fr\"", "engine.fallback_language"),
        ] {
            let why = refusal(&format!("{MIXED}\n{more}"));
            assert!(why.contains(key) && why.contains("languages"), "{why}");
        }
        let why = refusal("fallback_language = \"en\"");
        assert!(why.contains("engine.fallback_language"), "{why}");
        let why = refusal("languages = { de = \"MODELS/de-clinical\" }");
        assert!(
            why.contains("engine.fallback_language") && why.contains("de"),
            "{why}"
        );
        let why = refusal("languages = { de = \"nowhere\", en = \"en-fast\" }");
        assert!(why.starts_with("key `engine.languages.de`"), "{why}");
        let why = refusal("languages = { es = \"MODELS/es-meddocan\", en = \"en-fast\" }");
        assert!(
            why.starts_with("key `engine.languages.es`") && why.contains("meddocan"),
            "{why}"
        );
    }
}
