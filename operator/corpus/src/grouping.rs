//! The groups of labels that reports count together.

use lethe_core::LabelSet;

/// The HIPAA identifier of labels that the label set lacks.
const UNKNOWN: &str = "-";

/// What a label set groups labels by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// The set's categories; a label that the set lacks is a group of its own.
    Category,
    /// The letter of the HIPAA identifier; `-` for labels that the set lacks.
    Hipaa,
    /// `direct` identifiers and `quasi`-identifiers; labels that the set lacks count as direct.
    Identifier,
}

impl Grouping {
    /// Returns the name of a label's group.
    pub fn group_of(self, label: &str, set: &LabelSet) -> String {
        let known = set.by_name(label).map(|id| set.label(id));
        match self {
            Self::Category => known.map_or(label, |label| &label.category).to_owned(),
            Self::Hipaa => known.map_or_else(|| UNKNOWN.to_owned(), |label| label.hipaa.letter().to_string()),
            Self::Identifier => match known {
                Some(label) if !label.hipaa.is_direct() => "quasi".to_owned(),
                _ => "direct".to_owned(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_that_the_set_lacks_is_a_category_of_its_own_and_direct() {
        let set = LabelSet::i2b2_2014();
        let groups = |label| {
            [Grouping::Category, Grouping::Hipaa, Grouping::Identifier].map(|by| by.group_of(label, &set))
        };
        assert_eq!(groups("DOCTOR"), ["NAME", "A", "direct"]);
        assert_eq!(groups("DATE"), ["DATE", "C", "quasi"]);
        assert_eq!(groups("BADGE"), ["BADGE", "-", "direct"]);
    }
}
