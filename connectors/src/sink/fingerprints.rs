//! What the rows of a file follow from, besides the notes: settings, bundle, policy, program.

use std::collections::HashMap;

use super::is_digest;

/// What the content of a file follows from, besides the notes.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Fingerprints {
    /// The Kafka cluster's id, if the notes came from one.
    pub cluster: Option<String>,
    /// The topic's id, if the broker tells: a topic that was deleted and recreated has another.
    pub topic_id: Option<String>,
    /// SHA-256 of the configuration, hex.
    pub config: String,
    /// Which policy redacted: its digest.
    pub policy: String,
    /// The rule of 45 CFR 164.514 that the policy is under, if it is under one: `safe-harbor` and so on.
    pub mode: Option<String>,
    /// The bundle that decided, by its digest, if one did.
    pub bundle: Option<String>,
    /// The members that voted.
    pub members: String,
    /// The label set and its version.
    pub labels: String,
    /// Digest of the dictionaries.
    pub dictionaries: String,
    /// Version of the tokenizer.
    pub tokenizer: String,
    /// Version of the program.
    pub program: String,
    /// Weaker protection that the configuration acknowledges ([`Acknowledgement`](super::Acknowledgement) names, with commas
    /// between), if any.
    pub acknowledged: Option<String>,
    /// Metadata of the sender's that the policy keeps, with its reasons, if any.
    pub kept: Option<String>,
    /// The version of how keys make codes, surrogates and shifted dates, if the policy makes any; none in files from before
    /// there was a second version.
    pub derivation: Option<String>,
    /// The version of how settings are digested ([`lethe_core::FINGERPRINT_SCHEME`]): `config`, and `policy` where there is no policy
    /// file. None in files of version 1.
    pub scheme: Option<String>,
}

impl Fingerprints {
    /// What each is called.
    pub const NAMES: [&'static str; 15] = [
        "cluster",
        "topic_id",
        "config",
        "policy",
        "mode",
        "bundle",
        "members",
        "labels",
        "dictionaries",
        "tokenizer",
        "program",
        "acknowledged",
        "kept",
        "derivation",
        "scheme",
    ];

    /// The same with the id of a topic.
    #[must_use]
    pub fn of_topic(&self, id: Option<&str>) -> Self {
        Self {
            topic_id: id.map(str::to_owned),
            ..self.clone()
        }
    }

    /// Name and value of each that is known.
    pub fn entries(&self) -> Vec<(&'static str, &str)> {
        let values: [&str; Self::NAMES.len()] = [
            self.cluster.as_deref().unwrap_or_default(),
            self.topic_id.as_deref().unwrap_or_default(),
            &self.config,
            &self.policy,
            self.mode.as_deref().unwrap_or_default(),
            self.bundle.as_deref().unwrap_or_default(),
            &self.members,
            &self.labels,
            &self.dictionaries,
            &self.tokenizer,
            &self.program,
            self.acknowledged.as_deref().unwrap_or_default(),
            self.kept.as_deref().unwrap_or_default(),
            self.derivation.as_deref().unwrap_or_default(),
            self.scheme.as_deref().unwrap_or_default(),
        ];
        Self::NAMES
            .into_iter()
            .zip(values)
            .filter(|(_, value)| !value.is_empty())
            .collect()
    }

    /// Whether the settings of both were digested in the same way, so that different digests mean different settings.
    pub fn is_comparable(&self, other: &Self) -> bool {
        self.scheme == other.scheme
    }

    /// Describes what differs from the fingerprints of an earlier file, for a log line; `None` if nothing does.
    ///
    /// Digests are cut to 12 digits. Digests of settings that were made in another way are not compared; the description says so
    /// instead.
    pub fn changes_since(&self, then: &Self) -> Option<String> {
        let comparable = self.is_comparable(then);
        let (now, then): (HashMap<_, _>, HashMap<_, _>) = (
            self.entries().into_iter().collect(),
            then.entries().into_iter().collect(),
        );
        // A policy file's digest does not depend on the scheme.
        let settings: &[&str] = match self.mode {
            Some(_) => &["config"],
            None => &["config", "policy"],
        };
        let shown = |value: Option<&&str>| match value {
            None => "none".to_owned(),
            Some(value) if is_digest(value) => value.chars().take(12).collect(),
            Some(value) => (*value).to_owned(),
        };
        let mut changes: Vec<String> = Self::NAMES
            .into_iter()
            .filter(|name| *name != "scheme" && (comparable || !settings.contains(name)))
            .filter(|name| now.get(name) != then.get(name))
            .map(|name| format!("{name} {} -> {}", shown(then.get(name)), shown(now.get(name))))
            .collect();
        if !comparable {
            let of = |scheme: Option<&&str>| scheme.copied().unwrap_or("1").to_owned();
            changes.push(format!(
                "{} cannot be compared: digests were made by scheme {}, now {}",
                settings.join(" and "),
                of(then.get("scheme")),
                of(now.get("scheme"))
            ));
        }
        (!changes.is_empty()).then(|| changes.join("; "))
    }

    pub(crate) fn read(mut get: impl FnMut(&str) -> Option<String>) -> Self {
        let mut of = |name: &str| get(&format!("fingerprint.{name}"));
        Self {
            cluster: of("cluster"),
            topic_id: of("topic_id"),
            config: of("config").unwrap_or_default(),
            policy: of("policy").unwrap_or_default(),
            mode: of("mode"),
            bundle: of("bundle"),
            members: of("members").unwrap_or_default(),
            labels: of("labels").unwrap_or_default(),
            dictionaries: of("dictionaries").unwrap_or_default(),
            tokenizer: of("tokenizer").unwrap_or_default(),
            program: of("program").unwrap_or_default(),
            acknowledged: of("acknowledged"),
            kept: of("kept"),
            derivation: of("derivation"),
            scheme: of("scheme"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(scheme: Option<&str>, config: &str, bundle: &str) -> Fingerprints {
        Fingerprints {
            config: config.into(),
            bundle: Some(bundle.into()),
            program: "0.1.0".into(),
            scheme: scheme.map(str::to_owned),
            ..Fingerprints::default()
        }
    }

    #[test]
    fn changes_are_named_with_both_values_and_digests_are_cut() {
        let (old, new) = ("a".repeat(64), "b".repeat(64));
        let (then, now) = (of(Some("2"), "c", &old), of(Some("2"), "d", &new));
        let changes = now.changes_since(&then).unwrap();
        assert_eq!(changes, "config c -> d; bundle aaaaaaaaaaaa -> bbbbbbbbbbbb");
        assert_eq!(now.changes_since(&now), None);
    }

    #[test]
    fn digests_of_an_earlier_scheme_are_recognised_and_not_compared() {
        let (then, now) = (of(None, "c", "same"), of(Some("2"), "d", "same"));
        assert!(!now.is_comparable(&then));
        let changes = now.changes_since(&then).unwrap();
        assert!(
            changes.contains("scheme 1, now 2") && !changes.contains("c -> d"),
            "{changes}"
        );
        assert!(!changes.contains("bundle"), "{changes}");
    }
}
