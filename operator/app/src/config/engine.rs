//! What is PHI and what is done to it: members, vote, redaction.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lethe_connectors::sink::Acknowledgement;
use lethe_core::{
    Action, Carried, CarriedField, Engine, LabelSet, Merging, NoteTypes, Plain, Propagation, Redactor,
    ReviewRule, Titles, VoteSpec, did_you_mean, fingerprint, hex,
};
use lethe_dictionaries::{Dictionary, LazyDictionary, exemption};
use lethe_ensemble::{NoteLanguage, OperatingPoint};
use lethe_members::registry::{MemberConfig, RuleConfig, default_rules, labels_of};
use lethe_members::union_rules::unite;
use lethe_policy::carried_by_default;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PolicySource;
use super::paths::Written;
use super::union_rules::{refused, rule_identities};
use crate::exit::usage;

/// The members, their combination and the redaction.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EngineConfig {
    // Paths are not a part of the fingerprint: the digests of what lies there are fingerprints of their own.
    /// The bundle, which contains members, their combination and labels: the name of a built-in bundle, or
    /// the path of a bundle or of a folder of versions. Default: `en-clinical`, unless `members` is set.
    #[serde(skip_serializing)]
    #[schemars(extend("examples" = ["en-clinical", "/var/lib/lethe/bundle"]))]
    pub(crate) bundle: Option<PathBuf>,
    /// One bundle a language, instead of `bundle`: each note is decided by the bundle of its language, which is
    /// found in its text. Keys are codes of ISO 639-1; the bundles must have the same label set.
    #[serde(skip_serializing)]
    #[schemars(extend("examples" = [{ "de": "/opt/lethe/de-clinical", "en": "en-clinical" }]))]
    pub(crate) languages: BTreeMap<NoteLanguage, PathBuf>,
    /// The language of notes whose text does not show it, such as very short ones. With `languages` it must be one
    /// of them. Default: `en`, if that is one of them.
    #[serde(skip_serializing)]
    #[schemars(extend("examples" = ["de"]))]
    pub(crate) fallback_language: Option<NoteLanguage>,
    /// How a bundle's vote weighs recall against precision, if the bundle has that operating point: `recall`
    /// (the default) leaves the fewest identifiers, `balanced` and `precision` redact fewer words too many.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["balanced"]))]
    pub(crate) operating_point: Option<OperatingPoint>,
    /// Files of minisign public keys. Lethe loads a bundle only if one of the keys signed it. Built-in
    /// bundles need no signature. By default signatures are not checked.
    #[serde(skip_serializing)]
    #[schemars(extend("examples" = [["/etc/lethe/minisign.pub"]]))]
    pub(crate) signed_by: Option<Vec<PathBuf>>,
    /// The label set of `members`: `i2b2-2014` (the default), `meddocan`, or the path of a file. Bundles have
    /// their own.
    #[schemars(extend("examples" = ["meddocan"]))]
    pub(crate) labels: Option<String>,
    /// A dictionary file, which `lethe dictionary build` compiled. Default: the bundle's own, else the built-in
    /// dictionary. Models, and bundles that carry a dictionary, accept only the one that they were trained with.
    #[serde(skip_serializing)]
    #[schemars(extend("examples" = ["/var/lib/lethe/site.dict"]))]
    pub(crate) dictionary: Option<PathBuf>,
    /// The members without a bundle, best first: between overlapping candidates with equal votes, the member
    /// that comes first wins. By default the bundle decides. Lethe refuses an empty list, unless
    /// `pass_through` allows it.
    #[schemars(extend("examples" = [[{ "kind": "known" }, { "kind": "pattern" }]]))]
    pub(crate) members: Option<Vec<MemberConfig>>,
    /// Rule members that do not vote: their spans are redacted in addition to the decisions of the bundle or of
    /// `members`. By default there are none; a policy that names the label `ORIGIN` adds `{ kind = "origin" }`,
    /// which finds it.
    #[schemars(with = "Option<Vec<MemberConfig>>", extend("examples" = [[{ "kind": "origin" }]]))]
    pub(crate) union_rules: Option<Vec<RuleConfig>>,
    /// Whether to allow an empty list of members, so that notes leave unredacted: for measuring the stream
    /// alone. Also needs `acknowledge = ["not-redacted"]`.
    pub(crate) pass_through: bool,
    /// The weaker protection that you accept. Lethe refuses settings that lower the protection unless they
    /// are listed here, and writes this list to the footer of every file.
    #[schemars(extend("examples" = [["rules-only"]]))]
    pub(crate) acknowledge: Vec<Acknowledgement>,
    /// How `members` vote. Bundles have their own combination. Without `bundle` and `members`, needs
    /// `acknowledge = ["rules-only"]`.
    pub(crate) vote: Option<VoteSpec>,
    /// The replacement of spans without a policy, and the metadata that leaves.
    pub(crate) redaction: RedactionConfig,
    /// When Lethe flags a note for review, with the reasons in the column `review`: `low_margin`, `dropped`
    /// and `uncovered_part`.
    pub(crate) review: ReviewRule,
    /// The policy, which is a table or a file of its own.
    #[serde(skip)]
    pub(crate) policy: Option<PolicySource>,
    /// The relative paths of the whole configuration as they are written.
    #[serde(skip)]
    pub(crate) written: Written,
}

/// The replacement of spans without a policy, and the metadata that leaves.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RedactionConfig {
    /// The replacement of a span. Default: `tag`. Refused with a policy, which has actions of its own.
    pub(crate) action: Option<Action>,
    /// The replacement for some labels, by label. Refused with a policy.
    #[schemars(extend("examples" = [{ "DATE": "mask" }]))]
    pub(crate) labels: BTreeMap<String, Action>,
    /// Metadata that leaves unchanged, in addition to the redacted text. Default: `note_id`, `version` and
    /// `note_type`; under `safe-harbor` and `limited-data-set` `note_id` only with a reason in the policy.
    #[schemars(extend("examples" = [["note_id", "note_type"]]))]
    pub(crate) keep: Option<Vec<CarriedField>>,
    /// Further note types that leave unchanged. Lethe writes types that are neither here nor in its own list
    /// as `OTHER`.
    #[schemars(extend("examples" = [["Tumor board"]]))]
    pub(crate) note_types: Vec<String>,
}

/// What is done to what is found.
pub(super) struct Act {
    pub(super) redactor: Redactor,
    pub(super) propagation: Option<Propagation>,
    pub(super) titles: Option<Titles>,
    pub(super) digest: String,
    pub(super) mode: Option<&'static str>,
    pub(super) kept: Option<String>,
    pub(super) derivation: Option<u32>,
}

/// An engine, and what it was made of, for the output's footers.
pub(crate) struct BuiltEngine {
    /// The engine.
    pub(crate) engine: Arc<Engine>,
    /// The label set's id and version.
    pub(crate) labels: String,
    /// The dictionary's digest.
    pub(crate) dictionary: String,
    /// The policy's digest; without a policy, that of members, vote and redaction as configured.
    pub(crate) policy: String,
    /// The rule of 45 CFR 164.514 that the policy is under, if there is one.
    pub(crate) mode: Option<&'static str>,
    /// Weaker protection that the configuration acknowledges.
    pub(crate) acknowledged: Option<String>,
    /// Metadata that the policy keeps, with its reasons.
    pub(crate) kept: Option<String>,
    /// The version of how the policy's keys make codes, if they make any.
    pub(crate) derivation: Option<u32>,
    /// The dictionary.
    pub(crate) words: Arc<Dictionary>,
    /// The digest of the bundle, if it is one's; of several languages those of each, with what else decides which
    /// bundle a note gets.
    pub(crate) bundle: Option<String>,
    /// What [`EngineConfig::source_fingerprint`] said before it was built.
    pub(crate) source_fingerprint: String,
}

impl BuiltEngine {
    /// Starts and tries what members need outside of the program, such as an external tool.
    ///
    /// # Errors
    /// A usage error that names the member.
    pub(crate) fn prepare(&self) -> anyhow::Result<()> {
        let tried = self.engine.prepare();
        tried
            .map(drop)
            .map_err(|error| usage(format!("key `engine.members`: {error}")))
    }

    /// Logs which members vote and by which policy, in one line.
    pub(crate) fn announce(&self) {
        tracing::info!(
            members = self.engine.members().join(","),
            bundle = self.bundle.as_deref().unwrap_or("none"),
            mode = self.mode.unwrap_or("none"),
            policy = self.policy,
            acknowledged = self.acknowledged.as_deref().unwrap_or("nothing"),
            "notes are redacted by these members and this policy"
        );
    }
}

impl EngineConfig {
    /// The dictionary.
    ///
    /// # Errors
    /// A usage error that names the key.
    pub(crate) fn dictionary(&self) -> anyhow::Result<LazyDictionary> {
        match &self.dictionary {
            Some(path) => Dictionary::load(path)
                .map(|dictionary| LazyDictionary::Loaded(Arc::new(dictionary)))
                .map_err(|error| usage(format!("key `engine.dictionary`: {error}"))),
            None => Ok(LazyDictionary::Builtin),
        }
    }

    /// Builds the engine.
    ///
    /// # Errors
    /// A usage error that names the key.
    pub(crate) fn build(&self) -> anyhow::Result<BuiltEngine> {
        let source_fingerprint = self.source_fingerprint();
        self.check_bundle_alone()?;
        let deciders = self.deciders()?;
        for decider in &deciders {
            lethe_bundles::prepare(&decider.folder);
        }
        let dictionary = self.dictionary()?;
        if !deciders.is_empty() {
            return self.bundled(&deciders, &dictionary, source_fingerprint);
        }
        let dictionary = dictionary.get();
        if self.signed_by.is_some() {
            return Err(usage(
                "key `engine.signed_by`: there is no bundle that somebody could have signed; leave it out",
            ));
        }
        let labels = self.labels.as_deref().unwrap_or("i2b2-2014");
        let labels = label_set(labels, "key `engine.labels`")?;
        let vote = self.vote.clone().unwrap_or_default();
        let configs = self.members.clone().unwrap_or_else(default_rules);
        self.check_acknowledged(configs.is_empty())?;
        let (configs, rules) = self.voters_and_rules(&labels, configs);
        let labels = Arc::new(labels_of(&labels, &rules));
        let (mut members, mut identities) = (Vec::new(), Vec::new());
        let refuse = |error| usage(format!("key `engine.members`: {error}"));
        for config in &configs {
            identities.push(config.identity().map_err(refuse)?);
            members.push(config.build(&labels, &dictionary).map_err(refuse)?);
        }
        let names: Vec<&str> = members.iter().map(|member| member.name()).collect();
        let combiner = vote
            .combiner(&labels, &names)
            .map_err(|error| usage(format!("key `engine.vote.{}`: {}", error.key, error.problem)))?;
        let combiner =
            unite(combiner, &mut members, &rules, &labels, &(&dictionary).into()).map_err(refused)?;
        let never = ["DATE", "AGE", "PHONE", "FAX", "ZIP"]
            .iter()
            .filter_map(|name| labels.resolve(name).ok())
            .collect();
        let merging = Merging {
            never,
            whole: Merging::names(&labels),
            ..Merging::default()
        };
        let rules = rule_identities(&rules)?;
        let plain = || {
            let settings = (&identities, &vote, &self.redaction);
            match rules.is_empty() {
                true => fingerprint(&self.written.form(&settings)),
                false => fingerprint(&self.written.form(&(settings, &rules))),
            }
        };
        let act = self.act(&labels, &dictionary, plain)?;
        let engine = Engine::new(Arc::clone(&labels), members, combiner, merging, act.redactor);
        Ok(BuiltEngine {
            labels: format!("{} v{}", labels.id(), labels.version()),
            dictionary: hex(dictionary.digest()),
            policy: act.digest,
            mode: act.mode,
            acknowledged: Acknowledgement::written(&self.acknowledge),
            kept: act.kept,
            derivation: act.derivation,
            words: Arc::clone(&dictionary),
            bundle: None,
            source_fingerprint,
            engine: Arc::new(
                engine
                    .exempting(Some(exemption(&dictionary)))
                    .propagating(act.propagation)
                    .with_titles(act.titles)
                    .reviewing(self.review),
            ),
        })
    }

    /// Returns how spans are redacted. `plain` makes the digest where there is no policy.
    pub(super) fn act(
        &self,
        labels: &Arc<LabelSet>,
        dictionary: &Arc<Dictionary>,
        plain: impl FnOnce() -> String,
    ) -> anyhow::Result<Act> {
        let Some(source) = &self.policy else {
            return Ok(Act {
                redactor: self.plain(labels)?,
                propagation: None,
                titles: None,
                digest: plain(),
                mode: None,
                kept: None,
                derivation: None,
            });
        };
        if self.redaction.action.is_some() || !self.redaction.labels.is_empty() {
            return Err(usage(
                "keys `engine.redaction.action` and `engine.redaction.labels`: the policy decides this; remove them",
            ));
        }
        let default = || carried_by_default(&source.file);
        let carried = self.redaction.keep.clone().unwrap_or_else(default);
        let policy = source.build(labels, dictionary, &carried)?;
        Ok(Act {
            redactor: Redactor::by(policy.replacer, self.carried(Some(carried))),
            propagation: policy.propagation,
            titles: policy.titles,
            digest: policy.digest,
            mode: Some(policy.mode.name()),
            kept: kept(&policy.kept),
            derivation: policy.derivation,
        })
    }

    /// The metadata that is carried; the default if none is named.
    fn carried(&self, fields: Option<Vec<CarriedField>>) -> Carried {
        let added = self.redaction.note_types.iter().map(String::as_str);
        fields
            .map_or_else(Carried::default, Carried::new)
            .with_note_types(NoteTypes::default().with(added))
    }

    /// Refuses settings that replace the built-in bundle by less, unless that is acknowledged.
    fn check_acknowledged(&self, no_member: bool) -> anyhow::Result<()> {
        let acknowledges = |what| self.acknowledge.contains(&what);
        if no_member {
            return match (self.pass_through, acknowledges(Acknowledgement::NotRedacted)) {
                (true, true) => Ok(()),
                (false, _) => Err(usage(
                    "key `engine.members`: without members notes come out unredacted; leave the key out for the built-in bundle, or say `pass_through = true` and `acknowledge = [\"not-redacted\"]`",
                )),
                (true, false) => Err(usage(
                    "key `engine.pass_through`: notes would come out as they went in; leave it out, or say `acknowledge = [\"not-redacted\"]`",
                )),
            };
        }
        let keys = [
            ("vote", self.vote.is_some()),
            ("labels", self.labels.is_some()),
            ("pass_through", self.pass_through),
        ];
        match keys.iter().find(|(_, given)| *given) {
            Some((key, _)) if self.members.is_none() && !acknowledges(Acknowledgement::RulesOnly) => {
                let bundle = lethe_bundles::DEFAULT;
                Err(usage(format!(
                    "key `engine.{key}`: without `bundle` or `members` it would replace the built-in bundle `{bundle}` by the rule members alone, which miss far more; name a bundle or the members, or say `acknowledge = [\"rules-only\"]`"
                )))
            }
            _ => Ok(()),
        }
    }

    fn plain(&self, labels: &LabelSet) -> anyhow::Result<Redactor> {
        let carried = self.carried(self.redaction.keep.clone());
        let mut plain = Plain::new(labels, self.redaction.action.unwrap_or_default());
        for (name, &action) in &self.redaction.labels {
            let label = labels.by_name(name).ok_or_else(|| {
                usage(format!(
                    "key `engine.redaction.labels.{name}`: label set `{}` has no such label{}",
                    labels.id(),
                    labels.did_you_mean(name)
                ))
            })?;
            plain = plain.with(label, action);
        }
        Ok(Redactor::by(Arc::new(plain), carried))
    }
}

/// A label set that ships, by its name, or a file. `asked` is the key or option that named it, for messages.
///
/// # Errors
/// A usage error.
pub(crate) fn label_set(name: &str, asked: &str) -> anyhow::Result<LabelSet> {
    if let Some(set) = LabelSet::built_in_set(name) {
        return Ok(set);
    }
    let text = std::fs::read_to_string(name).map_err(|error| {
        let built_in = LabelSet::built_in_ids();
        // A configuration's relative path has become an absolute one.
        let written = Path::new(name).file_name().and_then(|file| file.to_str());
        let near = did_you_mean(written.unwrap_or(name), built_in.split(", "));
        usage(format!(
            "{asked}: `{name}` is no built-in label set ({built_in}), and no file: {error}{near}"
        ))
    })?;
    LabelSet::parse(&text, name).map_err(usage)
}

/// The metadata that a policy keeps, with its reasons, as files have it.
fn kept(kept: &[(String, String)]) -> Option<String> {
    let kept: Vec<String> = kept
        .iter()
        .map(|(field, reason)| format!("{field}: {reason}"))
        .collect();
    (!kept.is_empty()).then(|| kept.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_that_no_span_reaches_is_refused() {
        let built = |threshold| {
            let vote = VoteSpec {
                threshold,
                ..VoteSpec::default()
            };
            let config = EngineConfig {
                vote: Some(vote),
                acknowledge: vec![Acknowledgement::RulesOnly],
                ..EngineConfig::default()
            };
            config.build().map(|_| ()).map_err(|error| error.to_string())
        };
        let members = default_rules().len();
        assert_eq!(built(members as u32), Ok(()));
        for threshold in [0, members as u32 + 1] {
            let told =
                format!("key `engine.vote.threshold`: is {threshold}, but a span has 1 to {members} votes");
            assert_eq!(built(threshold), Err(told));
        }
    }

    #[test]
    fn no_setting_replaces_the_built_in_bundle_without_a_word() {
        let built = |toml: &str| {
            let config: EngineConfig = toml::from_str(toml).unwrap();
            config
                .build()
                .map(|built| built.acknowledged)
                .map_err(|error| error.to_string())
        };
        for (setting, key) in [
            ("vote = { threshold = 1 }", "engine.vote"),
            ("pass_through = true", "engine.pass_through"),
            ("labels = \"meddocan\"", "engine.labels"),
            ("members = []\npass_through = true", "engine.pass_through"),
            ("members = []", "engine.members"),
        ] {
            let refused = built(setting).unwrap_err();
            assert!(
                refused.contains(key) && refused.contains("acknowledge"),
                "{refused}"
            );
        }
        for (setting, acknowledged) in [
            (
                "vote = { threshold = 1 }\nacknowledge = [\"rules-only\"]",
                Some("rules-only"),
            ),
            (
                "members = []\npass_through = true\nacknowledge = [\"not-redacted\"]",
                Some("not-redacted"),
            ),
            (
                "members = [{ kind = \"pattern\" }]\nvote = { threshold = 1 }",
                None,
            ),
        ] {
            assert_eq!(built(setting), Ok(acknowledged.map(str::to_owned)), "{setting}");
        }
    }
}
