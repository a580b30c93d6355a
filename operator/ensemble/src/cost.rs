//! The members' costs in µs per token, measured elsewhere.
//!
//! Members that read the same features compute them once, so a set of members may cost less than their sum,
//! and dropping one of two that share saves only its own part.

use serde::{Deserialize, Serialize};

use lethe_core::MemberSet;

/// One member's cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// µs per token that only this member takes.
    pub own: f64,
    /// The work that it shares with members of the same key, for instance the settings of features, and its
    /// µs per token, spent once for all of them. If the members give different amounts, the largest counts.
    #[serde(default)]
    pub shared: Option<(String, f64)>,
}

/// The costs of all members, in their order. Members beyond the list cost nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs(pub Vec<Cost>);

impl Costs {
    /// Returns the µs per token of these members together, rounded to a millionth, so that the order of
    /// addition does not matter.
    pub fn of(&self, members: MemberSet) -> f64 {
        let costs = || members.iter().filter_map(|member| self.0.get(member));
        let mut shared: Vec<(&str, f64)> = Vec::new();
        for (name, amount) in costs().filter_map(|cost| cost.shared.as_ref()) {
            match shared.iter_mut().find(|(other, _)| other == name) {
                Some((_, known)) => *known = known.max(*amount),
                None => shared.push((name, *amount)),
            }
        }
        let own: f64 = costs().map(|cost| cost.own).sum();
        rounded(own + shared.into_iter().map(|(_, amount)| amount).sum::<f64>())
    }

    /// Returns the µs per token that these members would save without `member`.
    pub fn saved(&self, members: MemberSet, member: usize) -> f64 {
        rounded(self.of(members) - self.of(MemberSet(members.0 & !(1 << member))))
    }

    /// Returns whether no cost is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn rounded(micros: f64) -> f64 {
    (micros * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_is_spent_once_and_saved_only_with_the_last_who_shares() {
        let cost = |own, shared: Option<(&str, f64)>| Cost {
            own,
            shared: shared.map(|(name, amount)| (name.to_owned(), amount)),
        };
        let costs = Costs(vec![
            cost(1.0, Some(("word", 8.0))),
            cost(2.0, Some(("word", 8.0))),
            cost(30.0, None),
        ]);
        assert_eq!(costs.of(MemberSet(0b111)), 41.0);
        assert_eq!(costs.saved(MemberSet(0b111), 0), 1.0);
        assert_eq!(costs.saved(MemberSet(0b101), 0), 9.0);
        assert_eq!((costs.of(MemberSet(0)), costs.of(MemberSet(0b1000))), (0.0, 0.0));
    }
}
