//! Rule members next to the bundle or the members that vote: those of the configuration, and the one that finds
//! `ORIGIN` if the policy names that label.

use lethe_core::LabelSet;
use lethe_members::registry::{Identity, MemberConfig};
use lethe_members::union_rules::UnionError;

use super::EngineConfig;
use crate::exit::usage;

impl EngineConfig {
    /// Returns those of `members` that vote, and the rule members next to them or to a bundle with these labels.
    /// `origin` never votes: a policy may keep what it finds, and must not keep a part of what another found.
    pub(super) fn voters_and_rules(
        &self,
        labels: &LabelSet,
        members: Vec<MemberConfig>,
    ) -> (Vec<MemberConfig>, Vec<MemberConfig>) {
        let (mut rules, voters): (Vec<_>, Vec<_>) = members.into_iter().partition(MemberConfig::is_origin);
        let configured = self.union_rules.iter().flatten().cloned();
        rules.extend(configured.map(MemberConfig::Rule));
        // A set that has the label has members that find it.
        let names_origin = self
            .policy
            .as_ref()
            .is_some_and(|policy| policy.file.names_origin());
        if names_origin && labels.origin().is_none() && !rules.iter().any(MemberConfig::is_origin) {
            rules.push(MemberConfig::origin());
        }
        (voters, rules)
    }
}

/// Returns the error of a rule member.
pub(super) fn refused(error: UnionError) -> anyhow::Error {
    usage(format!("key `engine.union_rules`: {error}"))
}

/// Returns the identities of rule members, for the fingerprint.
///
/// # Errors
/// A usage error that names the key.
pub(super) fn rule_identities(rules: &[MemberConfig]) -> anyhow::Result<Vec<Identity<'_>>> {
    let identities = rules.iter().map(MemberConfig::identity);
    identities
        .collect::<Result<_, _>>()
        .map_err(|error| usage(format!("key `engine.union_rules`: {error}")))
}

#[cfg(test)]
mod tests {
    use lethe_core::NoteBatch;

    use super::*;
    use crate::config::BuiltEngine;

    const NOTE: &str =
        "Mr. Abdi Warsame, a 45-year-old Somali man, seen 03/05/2021. Ethnicity: Black African.";

    fn built(config: &str, policy: &str) -> anyhow::Result<BuiltEngine> {
        let mut config: EngineConfig = toml::from_str(config).unwrap();
        if !policy.is_empty() {
            let text = format!("[policy]\n{policy}\n");
            config.policy = crate::config::load::parse(&text, "lethe.toml")?.engine.policy;
        }
        config.build()
    }

    /// Returns the redacted note.
    fn redacted(built: &BuiltEngine) -> String {
        let batch = NoteBatch::from_texts([NOTE]).unwrap();
        let outcome = built.engine.decide(&batch).remove(0);
        built.engine.redact(&batch, 0, &outcome).unwrap().text
    }

    const RULES: &str = "members = [{ kind = \"pattern\" }, { kind = \"context\" }]";

    #[test]
    fn a_policy_that_names_the_label_runs_the_member_and_another_does_not() {
        let tags = "mode = \"custom\"\nlabels = { ORIGIN = { action = \"mask\" } }";
        for config in [RULES, "bundle = \"en-fast\""] {
            let built = built(config, tags).unwrap();
            assert!(
                built.engine.members().iter().any(|name| name == "origin"),
                "{config}"
            );
            assert_eq!(built.labels, "i2b2-2014+origin v1");
            let text = redacted(&built);
            assert!(!text.contains("Somali") && !text.contains("African"), "{text}");
        }
        for mode in ["safe-harbor", "limited-data-set", "custom"] {
            let built = built(RULES, &format!("mode = \"{mode}\"")).unwrap();
            assert_eq!(built.engine.members(), ["pattern", "context"]);
            assert_eq!(built.labels, "i2b2-2014 v1");
            assert!(redacted(&built).contains("Somali"));
        }
    }

    #[test]
    fn policies_under_hipaa_keep_the_words_of_a_configured_member() {
        let config = format!("{RULES}\nunion_rules = [{{ kind = \"origin\" }}]");
        for (mode, kept) in [
            ("safe-harbor", true),
            ("limited-data-set", true),
            ("custom", false),
        ] {
            let text = redacted(&built(&config, &format!("mode = \"{mode}\"")).unwrap());
            assert_eq!(
                text.contains("a [AGE]-year-old Somali man"),
                kept,
                "{mode}: {text}"
            );
            assert_eq!(text.contains("Ethnicity: Black African."), kept, "{mode}: {text}");
            assert!(!text.contains("Warsame"), "{mode}: {text}");
        }
        let without = redacted(&built(&config, "").unwrap());
        assert!(without.contains("Ethnicity: [ORIGIN]."), "{without}");
    }

    #[test]
    fn the_member_never_votes() {
        let voting = format!("{}, {{ kind = \"origin\" }}]", RULES.trim_end_matches(']'));
        let voting = built(&format!("{voting}\nvote = {{ threshold = 2 }}"), "").unwrap();
        assert_eq!(voting.engine.members(), ["pattern", "context", "origin"]);
        assert!(redacted(&voting).contains("[ORIGIN] man"));
    }

    #[test]
    fn the_key_changes_the_digest_and_its_absence_does_not() {
        let digest = |config: &str| built(config, "").unwrap().policy;
        let with = format!("{RULES}\nunion_rules = [{{ kind = \"origin\" }}]");
        assert_eq!(digest(RULES), digest(&format!("{RULES}\nunion_rules = []")));
        assert_ne!(digest(RULES), digest(&with));
        let bundle = "bundle = \"en-fast\"";
        let with = format!("{bundle}\nunion_rules = [{{ kind = \"origin\" }}]");
        assert_ne!(digest(bundle), digest(&with));
    }

    #[test]
    fn a_member_that_votes_is_refused_as_a_rule_next_to_it() {
        for config in [RULES, "bundle = \"en-clinical\""] {
            let config = format!("{config}\nunion_rules = [{{ kind = \"pattern\" }}]");
            let refused = built(&config, "").err().unwrap().to_string();
            assert!(
                refused.contains("key `engine.union_rules`") && refused.contains("`pattern` already"),
                "{refused}"
            );
        }
    }
}
