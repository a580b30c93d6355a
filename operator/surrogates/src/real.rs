//! The real values of a note, for counting surrogates that equal one.

use std::collections::HashSet;
use std::fmt;

use lethe_text::fold;

/// The real values of a note: the text of its spans and structured identifiers before the replacement.
///
/// No surrogate depends on them. If one did, a column and a text with the same name could differ, and the
/// difference would hint at the name. They only let the audit record that a surrogate equals one of them.
#[derive(Clone, Default)]
pub struct Real {
    /// The folded words of names with three letters or more.
    words: HashSet<String>,
    /// The folded letters and digits of whole values.
    values: HashSet<String>,
}

impl Real {
    /// Creates the set from the note's names, and from its other values.
    pub fn new<'v>(
        names: impl IntoIterator<Item = &'v str>,
        others: impl IntoIterator<Item = &'v str>,
    ) -> Self {
        let mut real = Self::default();
        for value in names {
            let folded = fold(value);
            real.words
                .extend(name_words(&folded).into_iter().filter(|word| is_long(word)));
            real.values.insert(solid(&folded));
        }
        real.values
            .extend(others.into_iter().map(|value| solid(&fold(value))));
        real
    }

    /// Returns whether the surrogate of `original` is a real value of the note, or has a word of a name that
    /// is not one of the original's own, such as its title.
    pub fn clashes(&self, original: &str, surrogate: &str) -> bool {
        let folded = fold(surrogate);
        if self.values.contains(&solid(&folded)) {
            return true;
        }
        let own = name_words(&fold(original));
        let mut words = name_words(&folded).into_iter();
        words.any(|word| self.words.contains(&word) && !own.contains(&word))
    }
}

/// It holds patients' words, and prints none.
impl fmt::Debug for Real {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Real({} words, {} values)",
            self.words.len(),
            self.values.len()
        )
    }
}

/// Returns the runs of letters of a folded name. "O'Brien" is one name, which also contains "Brien".
pub(crate) fn name_words(folded: &str) -> Vec<String> {
    let words = |text: &str| -> Vec<String> {
        let runs = text.split(|c: char| !c.is_alphabetic());
        runs.filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let mut all = words(folded);
    let marks = ['\'', '\u{2019}'];
    if folded.contains(marks) {
        let joined = words(&folded.replace(marks, ""));
        all.extend(joined);
    }
    all
}

fn is_long(word: &str) -> bool {
    word.chars().nth(2).is_some()
}

/// Returns the letters and digits of a folded text.
pub(crate) fn solid(folded: &str) -> String {
    folded.chars().filter(|c| c.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_surrogate_that_equals_a_value_or_has_a_word_of_a_name_clashes() {
        let real = Real::new(
            ["Dr. Ann Okafor", "Sean O'Brien"],
            ["02139-4307", "Mercy Hospital"],
        );
        assert!(real.clashes("John Smith", "Ann Hale"));
        assert!(real.clashes("Smith", "OBRIEN") && real.clashes("Smith", "Brien"));
        assert!(real.clashes("55555-1111", "021394307"));
        assert!(!real.clashes("John Smith", "Anna Hale"));
    }

    #[test]
    fn titles_and_words_of_institutions_are_no_clash() {
        let real = Real::new(["Mrs. Okafor"], ["Mercy Hospital"]);
        assert!(!real.clashes("Mrs. Smith", "Mrs. Hale"));
        assert!(!real.clashes("Lakeside Hospital", "Brook Hospital"));
    }

    #[test]
    fn it_prints_no_value() {
        let printed = format!("{:?}", Real::new(["Ann Okafor"], ["02139"]));
        assert!(
            !printed.contains("kafor") && !printed.contains("02139"),
            "{printed}"
        );
    }
}
