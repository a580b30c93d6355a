//! Deciding rules in words.

use std::borrow::Cow;

/// Returns why a span is redacted, to follow "redacted because": from the name of its deciding rule in the audit,
/// the votes that it needed, and the score from which one vote sufficed.
pub fn in_words(rule: &str, needed: u32, solo_min_score: Option<f32>) -> Cow<'static, str> {
    match (rule, solo_min_score) {
        ("votes", _) if needed <= 1 => "one vote suffices for its label".into(),
        ("votes", _) => format!("it has the {needed} votes that its label needs").into(),
        ("solo_score", Some(min)) => format!("one vote with a score of at least {min} suffices").into(),
        ("solo_score", None) => "the score of one vote suffices".into(),
        ("always_redact", _) => "a member whose spans are always redacted predicted it".into(),
        ("union_rules", _) => "a rule that needs no vote predicted it".into(),
        ("combiner", _) => "the fitted combiner of the bundle decided it".into(),
        ("uncovered", _) => "it is the part of an overruled span that no other redaction covers".into(),
        ("propagation", _) => "the same value is redacted elsewhere in the note".into(),
        ("column", _) => "it is a value of an identifier column".into(),
        (newer, _) => format!("the rule `{newer}` decided it").into(),
    }
}

#[cfg(test)]
mod tests {
    use lethe_core::DecidingRule;

    use super::*;

    #[test]
    fn every_rule_of_a_span_has_words_and_a_score_or_votes_where_they_decided() {
        let of = |rule: DecidingRule, needed| in_words(rule.name(), needed, rule.solo_min_score());
        assert_eq!(of(DecidingRule::Votes, 1), "one vote suffices for its label");
        assert_eq!(
            of(DecidingRule::Votes, 3),
            "it has the 3 votes that its label needs"
        );
        assert_eq!(
            of(DecidingRule::SoloScore(0.95), 2),
            "one vote with a score of at least 0.95 suffices"
        );
        for rule in [
            DecidingRule::AlwaysRedact,
            DecidingRule::Combiner,
            DecidingRule::UnionRules,
            DecidingRule::Uncovered,
            DecidingRule::Propagation,
            DecidingRule::Column,
        ] {
            assert!(!of(rule, 1).starts_with("the rule `"), "{rule:?}");
        }
        assert_eq!(in_words("later", 0, None), "the rule `later` decided it");
    }
}
