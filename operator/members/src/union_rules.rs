//! Rule members next to those that vote: their spans are redacted in addition to the decisions.

use std::sync::Arc;

use lethe_core::{Combine, LabelSet, MemberSet, Tagger, UnionRules};
use lethe_dictionaries::LazyDictionary;

use crate::registry::{BuildError, MemberConfig};

/// Why a rule member cannot be added.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnionError {
    /// The member cannot be built.
    #[error(transparent)]
    Build(Box<BuildError>),
    /// There is a member of this name.
    #[error("there is a member `{0}` already; leave it out")]
    Twice(String),
    /// There are too many members.
    #[error("an ensemble has at most {} members", MemberSet::CAPACITY)]
    TooMany,
}

/// Adds `rules` to `members`, and returns the combiner of all: that of the members, united with the spans of each
/// rule in turn. A decision stays whatever a later rule finds. The rule that finds `ORIGIN` comes last, because a
/// policy may keep what it finds, and must not keep a part of what another found.
///
/// # Errors
/// [`UnionError`].
pub fn unite(
    mut combiner: Arc<dyn Combine>,
    members: &mut Vec<Arc<dyn Tagger>>,
    rules: &[MemberConfig],
    labels: &LabelSet,
    dictionary: &LazyDictionary,
) -> Result<Arc<dyn Combine>, UnionError> {
    let (last, first): (Vec<_>, Vec<_>) = rules.iter().partition(|rule| rule.is_origin());
    for rule in first.into_iter().chain(last) {
        let member = rule
            .build_lazily(labels, dictionary)
            .map_err(|error| UnionError::Build(Box::new(error)))?;
        if members.iter().any(|other| other.name() == member.name()) {
            return Err(UnionError::Twice(member.name().to_owned()));
        }
        if members.len() == MemberSet::CAPACITY {
            return Err(UnionError::TooMany);
        }
        combiner = Arc::new(UnionRules::new(combiner, members.len()));
        members.push(member);
    }
    Ok(combiner)
}

#[cfg(test)]
mod tests {
    use lethe_core::{Annotations, NoteBatch, VoteSpec};
    use lethe_dictionaries::Dictionary;

    use super::*;
    use crate::registry::labels_of;

    fn configs(list: &str) -> Vec<MemberConfig> {
        let table: toml::Table = toml::from_str(&format!("members = {list}")).unwrap();
        table["members"].clone().try_into().unwrap()
    }

    #[test]
    fn the_origin_comes_last_and_never_wins_over_another_rule() {
        let (voters, rules) = (
            configs("[{ kind = \"pattern\" }]"),
            configs("[{ kind = \"origin\" }, { kind = \"context\" }]"),
        );
        let labels = labels_of(&LabelSet::i2b2_2014(), &rules);
        let dictionary = LazyDictionary::from(&Dictionary::builtin());
        let build = |config: &MemberConfig| config.build_lazily(&labels, &dictionary).unwrap();
        let mut members: Vec<_> = voters.iter().map(build).collect();
        let voting = VoteSpec::default().combiner(&labels, &["pattern"]).unwrap();
        let combiner = unite(voting, &mut members, &rules, &labels, &dictionary).unwrap();
        let names: Vec<_> = members.iter().map(|member| member.name()).collect();
        assert_eq!(names, ["pattern", "context", "origin"]);

        // The repeated name looks like a nationality.
        let text = "Mr. Thai is 45. A Thai man with a Somali wife.";
        let batch = NoteBatch::from_texts([text]).unwrap();
        let tagged = members.iter().map(|member| member.tag(&batch).remove(0));
        let rows: Vec<Annotations> = tagged.collect::<Result<_, _>>().unwrap();
        let origin = labels.origin().unwrap();
        let predicted: Vec<_> = rows[2].iter().map(|found| found.span.of(text)).collect();
        assert_eq!(predicted, ["Thai", "Somali"]);
        let predictions: Vec<_> = rows.iter().collect();
        let decisions = combiner.decide(batch.note(0), &predictions);
        let found = decisions.iter().filter(|decision| decision.label == origin);
        let found: Vec<_> = found.map(|decision| decision.span.of(text)).collect();
        assert_eq!(found, ["Somali"]);
    }

    #[test]
    fn a_member_that_is_there_already_is_refused() {
        let rules = configs("[{ kind = \"pattern\" }]");
        let labels = LabelSet::i2b2_2014();
        let dictionary = LazyDictionary::from(&Dictionary::builtin());
        let mut members = vec![rules[0].build_lazily(&labels, &dictionary).unwrap()];
        let voting = VoteSpec::default().combiner(&labels, &["pattern"]).unwrap();
        let refused = unite(voting, &mut members, &rules, &labels, &dictionary)
            .err()
            .unwrap();
        assert_eq!(
            refused.to_string(),
            "there is a member `pattern` already; leave it out"
        );
    }
}
