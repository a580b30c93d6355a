//! Names of months in every language of [`crate::lang`], by their folded spelling.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::lang::{ALL, Language};

/// The form of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// "September"
    Full,
    /// "Sep"
    Short,
    /// "May", "Mai": the name is its own abbreviation.
    Either,
}

/// A word that names a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MonthName {
    /// 1 to 12.
    pub number: u8,
    /// The language of the word; `None` if several languages share the spelling.
    pub language: Option<Language>,
    /// Whether the word is the name or an abbreviation.
    pub form: Form,
}

static MONTHS: LazyLock<HashMap<String, MonthName>> = LazyLock::new(|| {
    let mut by_word: HashMap<String, MonthName> = HashMap::new();
    let mut add = |word: String, name: MonthName| {
        by_word
            .entry(word)
            .and_modify(|known| {
                if known.language != name.language {
                    known.language = None;
                }
                if known.form != name.form {
                    known.form = Form::Either;
                }
            })
            .or_insert(name);
    };
    for words in ALL {
        let name = |number, form| MonthName {
            number,
            language: Some(words.language),
            form,
        };
        for (number, (full, short)) in (1..).zip(words.months.iter().zip(words.months_short)) {
            add(crate::fold(full), name(number, Form::Full));
            add(crate::fold(short), name(number, Form::Short));
        }
        for &(spelling, number) in words.month_spellings {
            let form = if spelling.len() > 4 {
                Form::Full
            } else {
                Form::Short
            };
            add(spelling.to_owned(), name(number, form));
        }
    }
    by_word
});

/// Returns the month that a folded word names, by its name or an abbreviation.
///
/// ```
/// use lethe_text::calendar::month;
///
/// assert_eq!(month("marzo").map(|name| name.number), Some(3));
/// assert_eq!(month("monday"), None);
/// ```
pub fn month(folded: &str) -> Option<MonthName> {
    MONTHS.get(folded).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spelling_of_several_languages_has_none() {
        let language = |word| month(word).map(|name| name.language);
        assert_eq!(language("enero"), Some(Some(Language::Spanish)));
        assert_eq!(language("okt"), Some(Some(Language::German)));
        assert_eq!(language("march"), Some(Some(Language::English)));
        assert_eq!(language("august"), Some(None));
        assert_eq!(language("sept"), Some(None));
    }

    #[test]
    fn a_name_that_is_its_own_abbreviation_has_either_form() {
        let form = |word| month(word).map(|name| name.form);
        assert_eq!(form("may"), Some(Form::Either));
        assert_eq!(form("mai"), Some(Form::Either));
        assert_eq!(form("mayo"), Some(Form::Full));
        assert_eq!(form("maerz"), Some(Form::Full));
        assert_eq!(form("sep"), Some(Form::Short));
    }

    #[test]
    fn no_word_names_two_months() {
        for words in ALL {
            for (number, (full, short)) in (1..).zip(words.months.iter().zip(words.months_short)) {
                for word in [full, short] {
                    assert_eq!(
                        month(&crate::fold(word)).map(|name| name.number),
                        Some(number),
                        "{word}"
                    );
                }
            }
        }
    }
}
