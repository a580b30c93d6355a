//! The label `ORIGIN`, which a set gets only when a configuration asks for it: a stream that does not ask keeps
//! its set, so that an update changes nothing for it.

use super::{File, Label, LabelSet};
use crate::LabelId;

/// The label of nationality, ethnicity, religion and language.
pub const ORIGIN: &str = "ORIGIN";

/// The labels of `labels/origin.toml`.
const ADDED: &str = include_str!("../../labels/origin.toml");

impl Label {
    /// Returns whether it stands for [`ORIGIN`] and nothing else.
    pub(super) fn is_origin(&self) -> bool {
        match self.equivalent.as_slice() {
            [] => self.name == ORIGIN,
            names => names == [ORIGIN],
        }
    }
}

impl LabelSet {
    /// Returns the set with the label [`ORIGIN`] at its end; the same set if one of its labels stands for it, by
    /// name or as equivalent. The other labels keep their ids, so that members and combiners of the set work with
    /// it.
    ///
    /// # Examples
    ///
    /// ```
    /// use lethe_core::{LabelSet, ORIGIN};
    ///
    /// let labels = LabelSet::i2b2_2014();
    /// assert_eq!(labels.origin(), None);
    /// let labels = labels.with_origin();
    /// assert_eq!((labels.id(), labels.origin()), ("i2b2-2014+origin", labels.by_name(ORIGIN)));
    /// ```
    #[must_use]
    pub fn with_origin(&self) -> Self {
        if self.origin().is_some() {
            return self.clone();
        }
        let added =
            Self::parse(ADDED, "labels/origin.toml").expect("the built-in labels are tested to parse");
        let file = File {
            id: format!("{}+{}", self.id, added.id),
            version: self.version,
            fallback: self.fallback.map(|id| self.label(id).name.clone()),
            label: self.labels.iter().chain(&added.labels).cloned().collect(),
        };
        Self::of(file, &self.id).expect("no label of the set has the added name")
    }

    /// Returns the label that stands for [`ORIGIN`], by name or as equivalent. Unlike [`LabelSet::resolve`], it
    /// never returns the fallback.
    pub fn origin(&self) -> Option<LabelId> {
        let declared = self.by_equivalent.get(ORIGIN).copied();
        declared.or_else(|| self.by_name(ORIGIN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hipaa;

    #[test]
    fn a_built_in_set_has_the_label_only_when_it_is_asked_for() {
        for set in LabelSet::built_in() {
            assert_eq!(set.origin(), None, "{set:?}");
            let asked = set.with_origin();
            let (added, rest) = asked.labels().split_last().unwrap();
            assert_eq!(rest, set.labels(), "the ids of the other labels stay");
            assert_eq!((added.name.as_str(), added.hipaa), (ORIGIN, Hipaa::Unlisted));
            assert_eq!(asked.resolve(ORIGIN).unwrap(), asked.origin().unwrap());
            let resolve = |set: &LabelSet, name: &str| set.resolve(name).ok();
            assert_eq!(resolve(&asked, "IDNUM"), resolve(&set, "IDNUM"));
            assert_eq!(asked.with_origin().to_toml(), asked.to_toml());
            assert_eq!(
                LabelSet::parse(&asked.to_toml(), "again").unwrap().to_toml(),
                asked.to_toml()
            );
        }
    }

    #[test]
    fn a_set_of_your_own_that_has_the_label_stays_as_it_is() {
        for label in ["name = 'ORIGIN'", "name = 'HERKUNFT'\nequivalent = ['ORIGIN']"] {
            let toml = format!("id = 'mine'\nversion = 3\n[[label]]\n{label}\ncategory = 'X'\nhipaa = 'R'\n");
            let set = LabelSet::parse(&toml, "mine.toml").unwrap();
            assert_eq!(set.with_origin().to_toml(), set.to_toml());
        }
    }

    #[test]
    fn no_other_label_is_exempt_from_the_rules_of_a_policy() {
        let parse = |label: &str| {
            let toml =
                format!("id = 'mine'\nversion = 3\n[[label]]\n{label}\ncategory = 'X'\nhipaa = 'none'\n");
            LabelSet::parse(&toml, "mine.toml").map_err(|error| error.to_string())
        };
        assert!(parse("name = 'HERKUNFT'\nequivalent = ['ORIGIN']").is_ok());
        for label in [
            "name = 'PATIENT'",
            "name = 'ORIGIN'\nequivalent = ['PATIENT']",
            "name = 'OTHER'\nequivalent = ['ORIGIN', 'PATIENT']",
        ] {
            let refused = parse(label).unwrap_err();
            assert!(refused.contains("cannot have `hipaa = \"none\"`"), "{refused}");
        }
    }
}
