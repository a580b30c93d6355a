//! The words of each language: one file per language, listed in [`ALL`].

mod de;
mod en;
mod es;

/// A language that Lethe has words of.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
pub enum Language {
    /// English.
    #[serde(rename = "en")]
    English,
    /// Spanish.
    #[serde(rename = "es")]
    Spanish,
    /// German, for dates only.
    #[serde(rename = "de")]
    German,
}

/// The calendar and number words of a language, written as in running text.
#[derive(Debug)]
pub struct Words {
    /// The language of these words.
    pub language: Language,
    /// January to December.
    pub months: [&'static str; 12],
    /// The common abbreviations, without a full stop.
    pub months_short: [&'static str; 12],
    /// Further spellings of months, folded, with their numbers from 1. Those of six letters or more are full
    /// names, the others abbreviations.
    pub month_spellings: &'static [(&'static str, u8)],
    /// Monday to Sunday.
    pub weekdays: [&'static str; 7],
    /// The common abbreviations, without a full stop.
    pub weekdays_short: [&'static str; 7],
    /// Spring to winter.
    pub seasons: [&'static str; 4],
    /// Zero and up, one word each.
    pub numbers: &'static [&'static str],
    /// 20, 30, ... 90; empty where [`Words::numbers`] is.
    pub tens: &'static [&'static str],
    /// Further forms of numbers, folded: genders, and forms before a noun.
    pub number_forms: &'static [(&'static str, u8)],
}

/// All languages, in order of preference for a shared spelling.
pub static ALL: [&Words; 3] = [&en::WORDS, &es::WORDS, &de::WORDS];

impl Language {
    /// Returns the words of the language.
    pub const fn words(self) -> &'static Words {
        match self {
            Self::English => &en::WORDS,
            Self::Spanish => &es::WORDS,
            Self::German => &de::WORDS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_language_is_listed_once_under_its_own_name() {
        for words in ALL {
            assert!(std::ptr::eq(words, words.language.words()));
        }
    }

    #[test]
    fn further_spellings_are_folded() {
        for words in ALL {
            let spellings = words.month_spellings.iter().chain(words.number_forms);
            for (word, _) in spellings {
                assert_eq!(crate::fold(word), *word);
            }
        }
    }
}
