//! The kinds of notes that may leave unchanged.
//!
//! A sender can write anything into the field for the kind of a note, even a name. So a kind passes only if
//! it is on a list; every other becomes [`NoteTypes::OTHER`].

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

/// The built-in kinds of notes.
const SHIPPED: &str = include_str!("../data/note-types.tsv");

static NAMES: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let lines = SHIPPED.lines().filter(|line| !line.starts_with('#'));
    lines
        .flat_map(|line| line.split('\t'))
        .map(str::to_lowercase)
        .filter(|name| !name.is_empty())
        .collect()
});

/// The list of kinds of notes that may leave: names and codes of the LOINC document ontology and of HL7 v2
/// table 0270, and those that the configuration adds.
///
/// ```
/// use lethe_core::NoteTypes;
///
/// let types = NoteTypes::default().with(["Huddle note"]);
/// assert_eq!(types.pass("DISCHARGE SUMMARY"), "DISCHARGE SUMMARY");
/// assert_eq!(types.pass("18842-5"), "18842-5");
/// assert_eq!(types.pass("huddle note"), "huddle note");
/// assert_eq!(types.pass("Letter to Mrs Okafor"), NoteTypes::OTHER);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoteTypes {
    added: Arc<HashSet<String>>,
}

impl NoteTypes {
    /// The replacement of a kind that is not on the list.
    pub const OTHER: &str = "OTHER";

    /// Returns the list with these kinds added.
    #[must_use]
    pub fn with<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let names = names.into_iter().map(|name| name.trim().to_lowercase());
        Self {
            added: Arc::new(self.added.iter().cloned().chain(names).collect()),
        }
    }

    /// Returns the kind unchanged if it is on the list, else [`NoteTypes::OTHER`].
    pub fn pass<'a>(&self, kind: &'a str) -> &'a str {
        let plain = kind.trim().to_lowercase();
        if NAMES.contains(&plain) || self.added.contains(&plain) {
            kind
        } else {
            Self::OTHER
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_a_name_and_no_name_is_there_twice() {
        let mut seen = HashSet::new();
        for line in SHIPPED.lines().filter(|line| !line.starts_with('#')) {
            for name in line.split('\t') {
                assert!(!name.trim().is_empty(), "{line}");
                assert!(seen.insert(name.to_lowercase()), "{name} is listed twice");
            }
        }
    }
}
