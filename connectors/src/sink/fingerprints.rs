//! Fingerprints of everything that determines a file's rows in addition to the notes: settings, bundle,
//! policy, program.

use std::collections::HashMap;

use super::is_digest;

/// Everything that determines the content of a file in addition to the notes.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Fingerprints {
    /// The Kafka cluster's id, if the notes came from one.
    pub cluster: Option<String>,
    /// The topic's id, if the broker provides one: a topic that was deleted and recreated has another id.
    pub topic_id: Option<String>,
    /// SHA-256 of the configuration, hex.
    pub config: String,
    /// Digest of the policy.
    pub policy: String,
    /// The rule of 45 CFR 164.514 that applies to the policy, if any: `safe-harbor` and so on.
    pub mode: Option<String>,
    /// Digest of the bundle, if one was used.
    pub bundle: Option<String>,
    /// The voting members.
    pub members: String,
    /// The label set and its version.
    pub labels: String,
    /// Digest of the dictionaries.
    pub dictionaries: String,
    /// Version of the tokenizer.
    pub tokenizer: String,
    /// Version of the program.
    pub program: String,
    /// Acknowledged weaker protection (comma-separated [`Acknowledgement`](super::Acknowledgement) names), if
    /// any.
    pub acknowledged: Option<String>,
    /// The sender's metadata that the policy keeps, with the reasons, if any.
    pub kept: Option<String>,
    /// Version of the derivation of codes, surrogates and shifted dates from keys, if the policy uses any;
    /// `None` in files from before the second version.
    pub derivation: Option<String>,
    /// Version of the digest of settings ([`lethe_core::FINGERPRINT_SCHEME`]): `config`, and `policy` without
    /// a policy file. `None` in files of version 1.
    pub scheme: Option<String>,
}

impl Fingerprints {
    /// The names of the fingerprints.
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

    /// Returns the same fingerprints with a topic's id.
    #[must_use]
    pub fn of_topic(&self, id: Option<&str>) -> Self {
        Self {
            topic_id: id.map(str::to_owned),
            ..self.clone()
        }
    }

    /// Returns name and value of each known fingerprint.
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

    /// Returns whether both digests of settings use the same scheme, so that different digests mean different
    /// settings.
    pub fn is_comparable(&self, other: &Self) -> bool {
        self.scheme == other.scheme
    }

    /// Describes the differences from the fingerprints of an earlier file for a log line; `None` if there are
    /// none.
    ///
    /// Digests are abbreviated to 12 digits. Digests of settings with different schemes are not compared; the
    /// description says so.
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
