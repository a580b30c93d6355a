//! The vote as configuration files and bundles write it, and the only code that checks it.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Agreement, Combine, LabelSet, MemberSet, UnionRules, Voting};

/// How members vote: the table `[engine.vote]` of a configuration, and `[combine]` of a bundle.
///
/// [`VoteSpec::build`] checks it and builds the [`Voting`].
///
/// # Examples
///
/// ```
/// use lethe_core::{LabelSet, VoteSpec};
///
/// let spec = VoteSpec { threshold: 2, ..VoteSpec::default() };
/// let voting = spec.build(&LabelSet::i2b2_2014(), &["known", "pattern"])?;
/// assert_eq!(voting.threshold, 2);
///
/// let error = spec.build(&LabelSet::i2b2_2014(), &["known"]).unwrap_err();
/// assert_eq!(error.to_string(), "`threshold`: is 2, but a span has 1 to 1 votes");
/// # Ok::<(), lethe_core::VoteError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VoteSpec {
    /// The votes that a span needs.
    #[schemars(extend("x-unit" = "votes"))]
    pub threshold: u32,
    /// The votes that spans of some labels need instead, by label.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-unit" = "votes", "examples" = [{ "PATIENT": 1 }]))]
    pub thresholds: BTreeMap<String, u32>,
    /// The score, 0 to 1, from which one member's vote suffices: a number for all labels, or a table of
    /// numbers by label. By default no score suffices.
    #[serde(alias = "sure", skip_serializing_if = "SoloMinScore::is_empty")]
    #[schemars(extend("x-unit" = "score", "examples" = [0.95]))]
    pub solo_min_score: SoloMinScore,
    /// Whether a single vote suffices only in notes that have another span with enough votes.
    #[serde(alias = "company", skip_serializing_if = "is_false")]
    #[schemars(extend("default" = Self::default().require_corroboration))]
    pub require_corroboration: bool,
    /// Members whose spans are redacted whatever the vote.
    #[serde(alias = "always", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("default" = Self::default().always_redact, "examples" = [["known"]]))]
    pub always_redact: Vec<String>,
    /// The minimum score, 0 to 1, for spans of `always_redact` in notes that have no other span with enough
    /// votes. Counts only with `require_corroboration`.
    #[serde(alias = "always_sure", skip_serializing_if = "is_zero")]
    #[schemars(extend("x-unit" = "score", "default" = Self::default().always_min_score))]
    pub always_min_score: f64,
    /// Whether to redact the part of an overruled span that no winner covers.
    #[serde(alias = "cover_beaten")]
    pub redact_uncovered: bool,
    /// Which spans of members count as agreement.
    #[serde(skip_serializing_if = "is_exact")]
    #[schemars(extend("default" = Self::default().agreement))]
    pub agreement: Agreement,
    /// Rule members that do not vote: their spans are redacted in addition to the vote's. They must be the
    /// last of the members.
    #[serde(alias = "beside", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("default" = Self::default().union_rules, "examples" = [["known", "pattern"]]))]
    pub union_rules: Vec<String>,
}

/// The score from which the vote of a single member suffices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SoloMinScore {
    /// One score for all labels.
    All(f64),
    /// A score per label name; for other labels, no score suffices.
    ByLabel(BTreeMap<String, f64>),
}

impl SoloMinScore {
    /// Returns whether no label has a score.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::ByLabel(scores) if scores.is_empty())
    }
}

impl Default for SoloMinScore {
    fn default() -> Self {
        Self::ByLabel(BTreeMap::new())
    }
}

/// Why a [`VoteSpec`] cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {problem}")]
pub struct VoteError {
    /// The key within the table, for instance `thresholds.PATIENT`.
    pub key: String,
    /// The problem with it.
    pub problem: String,
}

impl Default for VoteSpec {
    fn default() -> Self {
        Self {
            threshold: 1,
            thresholds: BTreeMap::new(),
            solo_min_score: SoloMinScore::default(),
            require_corroboration: false,
            always_redact: Vec::new(),
            always_min_score: 0.0,
            redact_uncovered: true,
            agreement: Agreement::Exact,
            union_rules: Vec::new(),
        }
    }
}

/// Returns the number of `members` that vote, which come before the union rules.
///
/// # Errors
/// [`VoteError`] if `rules` are not the last of the members, or all of them.
fn voters(members: &[&str], rules: &[String]) -> Result<usize, VoteError> {
    let voters = members.len().saturating_sub(rules.len());
    if !rules.is_empty() && (voters == 0 || members[voters..].iter().ne(rules)) {
        return Err(VoteError {
            key: "union_rules".to_owned(),
            problem: format!(
                "{} are not the last of the members, or the only ones",
                rules.join(", ")
            ),
        });
    }
    Ok(voters)
}

impl VoteSpec {
    /// Builds the combiner of `members`, which are named in the order of their votes: the vote, and the spans
    /// of [`VoteSpec::union_rules`].
    ///
    /// # Errors
    /// As [`VoteSpec::build`]; and [`VoteError`] if the union rules are not the last of the members.
    pub fn combiner(&self, labels: &LabelSet, members: &[&str]) -> Result<Arc<dyn Combine>, VoteError> {
        let voters = voters(members, &self.union_rules)?;
        let voting = Arc::new(self.build(labels, &members[..voters])?);
        if self.union_rules.is_empty() {
            return Ok(voting);
        }
        Ok(Arc::new(UnionRules::new(voting, voters)))
    }

    /// Builds the vote of `members`, which are named in the order of their votes. Their order is their rank,
    /// too.
    ///
    /// Without members there is nothing to decide, and any threshold is valid.
    ///
    /// # Errors
    /// [`VoteError`] for a vote count that no span can reach, a score outside 0 to 1, or an unknown label or
    /// member.
    pub fn build(&self, labels: &LabelSet, members: &[&str]) -> Result<Voting, VoteError> {
        let wrong = |key: &str, problem: String| VoteError {
            key: key.to_owned(),
            problem,
        };
        // A threshold that no span reaches would leak everything unnoticed.
        let most = members.len() as u32;
        let reachable = |needed: u32, key: &str| match needed {
            1.. if needed <= most => Ok(()),
            _ if most == 0 => Ok(()),
            _ => Err(wrong(
                key,
                format!("is {needed}, but a span has 1 to {most} votes"),
            )),
        };
        let score = |score: f64, key: &str| match score {
            0.0..=1.0 => Ok(score as f32),
            _ => Err(wrong(key, format!("is {score}, but a score is 0 to 1"))),
        };
        let place = |label: &str, key: &str| {
            let id = labels.by_name(label);
            id.map(|id| usize::from(id.0))
                .ok_or_else(|| wrong(key, format!("label set `{}` has no label `{label}`", labels.id())))
        };
        reachable(self.threshold, "threshold")?;
        let mut thresholds = vec![self.threshold; labels.labels().len()];
        for (label, &needed) in &self.thresholds {
            let key = format!("thresholds.{label}");
            reachable(needed, &key)?;
            thresholds[place(label, &key)?] = needed;
        }
        let mut solo_min_scores = vec![f32::INFINITY; labels.labels().len()];
        match &self.solo_min_score {
            SoloMinScore::All(min) => solo_min_scores.fill(score(*min, "solo_min_score")?),
            SoloMinScore::ByLabel(scores) => {
                for (label, &min) in scores {
                    let key = format!("solo_min_score.{label}");
                    solo_min_scores[place(label, &key)?] = score(min, &key)?;
                }
            }
        }
        let mut always_redact = MemberSet::default();
        for name in &self.always_redact {
            let member = members.iter().position(|member| member == name);
            always_redact = always_redact
                .with(member.ok_or_else(|| wrong("always_redact", format!("there is no member `{name}`")))?);
        }
        Ok(Voting {
            threshold: self.threshold,
            thresholds,
            solo_min_scores,
            require_corroboration: self.require_corroboration,
            always_redact,
            always_min_score: score(self.always_min_score, "always_min_score")?,
            ranks: (0..most).collect(),
            redact_uncovered: self.redact_uncovered,
            agreement: self.agreement,
        })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(score: &f64) -> bool {
    *score == 0.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_exact(agreement: &Agreement) -> bool {
    *agreement == Agreement::Exact
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMBERS: &[&str] = &["known", "pattern"];

    fn build(toml: &str) -> Voting {
        let spec: VoteSpec = toml::from_str(toml).unwrap();
        spec.build(&LabelSet::i2b2_2014(), MEMBERS).unwrap()
    }

    #[test]
    fn what_no_span_can_have_is_refused_by_its_key() {
        for (toml, told) in [
            ("threshold = 0", "`threshold`: is 0, but a span has 1 to 2 votes"),
            ("threshold = 3", "`threshold`: is 3, but a span has 1 to 2 votes"),
            (
                "thresholds = { DATE = 3 }",
                "`thresholds.DATE`: is 3, but a span has 1 to 2 votes",
            ),
            (
                "thresholds = { NONE = 1 }",
                "`thresholds.NONE`: label set `i2b2-2014` has no label `NONE`",
            ),
            (
                "solo_min_score = 1.5",
                "`solo_min_score`: is 1.5, but a score is 0 to 1",
            ),
            (
                "solo_min_score = { DATE = -1.0 }",
                "`solo_min_score.DATE`: is -1, but a score is 0 to 1",
            ),
            (
                "always_redact = [\"gazetteer\"]",
                "`always_redact`: there is no member `gazetteer`",
            ),
            (
                "always_min_score = 2.0",
                "`always_min_score`: is 2, but a score is 0 to 1",
            ),
            (
                "union_rules = [\"known\"]",
                "`union_rules`: known are not the last of the members, or the only ones",
            ),
            (
                "always_redact = [\"pattern\"]\nunion_rules = [\"pattern\"]",
                "`always_redact`: there is no member `pattern`",
            ),
        ] {
            let spec: VoteSpec = toml::from_str(toml).unwrap();
            let refused = spec.combiner(&LabelSet::i2b2_2014(), MEMBERS).map(|_| ());
            assert_eq!(refused.unwrap_err().to_string(), told, "{toml}");
        }
    }

    #[test]
    fn names_of_earlier_versions_mean_the_same() {
        let old = "threshold = 2\nsure = 0.9\ncompany = true\nalways = [\"known\"]\nalways_sure = 0.5\ncover_beaten = false";
        let new = "threshold = 2\nsolo_min_score = 0.9\nrequire_corroboration = true\nalways_redact = [\"known\"]\n\
                   always_min_score = 0.5\nredact_uncovered = false";
        let [old, new] = [old, new].map(|toml| toml::from_str::<VoteSpec>(toml).unwrap());
        assert_eq!(old, new);
    }

    #[test]
    fn a_score_may_be_given_for_all_labels_or_for_some() {
        let labels = LabelSet::i2b2_2014();
        let date = labels.by_name("DATE").unwrap();
        let all = build("solo_min_score = 0.9");
        assert!(all.solo_min_scores.iter().all(|&score| score == 0.9));
        let some = build("solo_min_score = { DATE = 0.9 }");
        assert!(some.is_solo(date, 0.9) && !some.is_solo(date, 0.8));
        let suffices = |score: &&f32| score.is_finite();
        assert_eq!(some.solo_min_scores.iter().filter(suffices).count(), 1);
    }
}
