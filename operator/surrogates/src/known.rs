//! The names that the event gives of the patient.

use std::collections::BTreeSet;
use std::fmt;

use lethe_dictionaries::fold;

use crate::real::name_words;

/// The words of the names that the event gives of the patient: they say which name a misspelling stands for, and where the
/// names of "tobiaswrenfield@" end.
///
/// They come with the event and not from the note, so that a column and a text of one event are always read alike.
#[derive(Clone, Default)]
pub struct KnownNames(BTreeSet<String>);

impl KnownNames {
    /// From names as the event writes them.
    pub fn new<'v>(names: impl IntoIterator<Item = &'v str>) -> Self {
        Self(
            names
                .into_iter()
                .flat_map(|name| name_words(&fold(name)))
                .collect(),
        )
    }

    /// Whether the folded word belongs to one of the names.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.0.contains(word)
    }

    /// The folded words, in alphabetical order.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// Prints no name.
impl fmt::Debug for KnownNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KnownNames({} words)", self.0.len())
    }
}
