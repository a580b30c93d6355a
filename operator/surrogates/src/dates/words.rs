//! The words of the calendar in English, Spanish and German: their meaning and their forms.

use std::collections::HashMap;
use std::sync::LazyLock;

use lethe_text::calendar::{self, MonthName};
use lethe_text::{fold, lang};

use crate::Language;

/// The meaning of a folded word in a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sense {
    /// 1 to 12.
    Month(i8, Name),
    /// Monday is 0.
    Weekday(i8, Name),
    /// Spring is 0, winter 3.
    Season(i8, Name),
    /// "from", "del", "early": kept before a date.
    Filler,
    /// "of", "de": joins day, month and year.
    Of,
    /// "to", "hasta": joins the two ends of a range. `a` and `to` can be either.
    Join,
    /// "st", "nd", "rd", "th".
    Ordinal,
    /// "o", "er", "ero" after a Spanish day, and "º" itself.
    SpanishOrdinal,
    /// "at", "las": before a time.
    At,
    /// "am", "pm", "h", "hrs", "horas": after a time.
    Hour,
    /// The letter that begins an ISO time.
    T,
    /// The letter of Greenwich.
    Z,
    /// The plural of a decade.
    S,
    /// "a": "a las", "lunes a viernes".
    A,
    /// Anything else.
    Other,
}

/// The form of a calendar word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// `None` if the word is the same in two languages.
    pub(super) language: Option<Language>,
    pub(super) form: Form,
}

/// The length of the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Full,
    Short,
    /// "may", "Mai": the long and short forms are equal.
    Either,
    /// "Mondays", "sábados".
    Plural,
    /// "Tues", "Thurs", "Weds".
    Longer,
}

use Form::{Either, Full, Longer, Plural, Short};
use Language::{English as En, German as De, Spanish as Es};

const DAY_LONGER_EN: [&str; 7] = ["Mon", "Tues", "Weds", "Thurs", "Fri", "Sat", "Sun"];

/// Returns the name of month 1 to 12.
pub(super) fn month(number: i8, language: Language, form: Form) -> Option<&'static str> {
    let list = match form {
        Short => &language.words().months_short,
        _ => &language.words().months,
    };
    list.get(usize::try_from(number - 1).ok()?).copied()
}

/// Returns the name of weekday 0 to 6, and the letter that makes it a plural.
pub(super) fn weekday(number: i8, language: Language, form: Form) -> Option<(&'static str, &'static str)> {
    let list = match (language, form) {
        (En, Longer) => &DAY_LONGER_EN,
        (_, Short | Longer) => &language.words().weekdays_short,
        _ => &language.words().weekdays,
    };
    // "los lunes" has no plural letter.
    let plural = form == Plural && !(language == Es && number < 5);
    let name = list.get(usize::try_from(number).ok()?)?;
    Some((name, if plural { "s" } else { "" }))
}

/// Returns the name of season 0 to 3.
pub(super) fn season(number: i8, language: Language) -> Option<&'static str> {
    let list = &language.words().seasons;
    list.get(usize::try_from(number).ok()?).copied()
}

/// Returns the sense of a folded word.
pub(super) fn sense(word: &str) -> Sense {
    match NAMES.get(word) {
        Some(sense) => *sense,
        None => connective(word),
    }
}

/// The folded names of months, weekdays and seasons. If a word has two meanings, the first one counts: "mar"
/// is also Tuesday, but far more often a month.
static NAMES: LazyLock<HashMap<String, Sense>> = LazyLock::new(|| {
    let mut names = HashMap::new();
    let mut add = |word: &str, sense| {
        names.entry(fold(word)).or_insert(sense);
    };
    for words in lang::ALL {
        let spellings = words.month_spellings.iter().map(|(word, _)| *word);
        for word in words
            .months
            .into_iter()
            .chain(words.months_short)
            .chain(spellings)
        {
            if let Some(name) = calendar::month(&fold(word)) {
                add(word, month_sense(&fold(word), name));
            }
        }
    }
    for words in lang::ALL {
        let name = |form| Name {
            language: Some(words.language),
            form,
        };
        for (number, (full, short)) in (0..).zip(words.weekdays.iter().zip(words.weekdays_short)) {
            add(full, Sense::Weekday(number, name(Full)));
            if let Some((full, "s")) =
                weekday(number, words.language, Plural).filter(|_| words.language != De)
            {
                add(&format!("{full}s"), Sense::Weekday(number, name(Plural)));
            }
            // German ones are everyday words: "so", "do", "mi".
            if words.language != De {
                add(short, Sense::Weekday(number, name(Short)));
            }
        }
        for (number, season) in (0..).zip(words.seasons) {
            add(season, Sense::Season(number, name(Full)));
        }
    }
    let english = |form| Name {
        language: Some(En),
        form,
    };
    for (number, word) in (0..).zip(DAY_LONGER_EN) {
        add(word, Sense::Weekday(number, english(Longer)));
    }
    add("thur", Sense::Weekday(3, english(Longer)));
    add("autumn", Sense::Season(2, english(Either)));
    let spanish = Name {
        language: Some(Es),
        form: Short,
    };
    add("mier", Sense::Weekday(2, spanish));
    names
});

fn month_sense(word: &str, name: MonthName) -> Sense {
    let form = match name.form {
        calendar::Form::Full => Full,
        calendar::Form::Short => Short,
        calendar::Form::Either => Either,
    };
    // German has the same abbreviations; English is far more frequent.
    let language = match word {
        "jan" | "apr" | "aug" => Some(En),
        _ => name.language,
    };
    Sense::Month(name.number as i8, Name { language, form })
}

/// Returns the sense of a word that joins or introduces the parts of a date.
fn connective(word: &str) -> Sense {
    match word {
        "of" | "de" => Sense::Of,
        "to" | "hasta" | "al" | "and" | "y" | "through" | "thru" | "until" | "till" | "bis" | "e" | "und" => {
            Sense::Join
        }
        "from" | "between" | "the" | "on" | "in" | "since" | "del" | "el" | "desde" | "entre" | "dia"
        | "ano" | "anos" | "year" | "mes" | "month" | "early" | "late" | "mid" | "middle" | "end"
        | "beginning" | "principios" | "finales" | "mediados" | "about" | "circa" | "approximately"
        | "around" | "en" | "los" | "fecha" | "vom" | "im" | "ca" | "by" | "before" | "after" | "week"
        | "semana" | "last" | "next" | "this" | "dated" | "der" | "den" | "von" => Sense::Filler,
        "st" | "nd" | "rd" | "th" => Sense::Ordinal,
        "º" | "°" | "ro" | "ero" | "er" | "o" => Sense::SpanishOrdinal,
        "at" | "las" | "la" | "um" => Sense::At,
        "am" | "pm" | "h" | "hr" | "hrs" | "hs" | "hora" | "horas" | "hours" | "hour" | "uhr" | "p" | "m"
        | "est" | "edt" | "cst" | "cdt" | "mst" | "mdt" | "pst" | "pdt" | "utc" | "gmt" | "cet" | "cest" => {
            Sense::Hour
        }
        "t" => Sense::T,
        "z" => Sense::Z,
        "s" => Sense::S,
        "a" => Sense::A,
        _ => Sense::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_is_written_is_read_as_what_it_names() {
        for language in [En, Es, De] {
            for number in 1..=12 {
                for form in [Full, Short] {
                    let word = fold(month(number, language, form).unwrap());
                    assert!(
                        matches!(sense(&word), Sense::Month(read, _) if read == number),
                        "{word}"
                    );
                }
            }
            for number in 0..7 {
                let word = fold(weekday(number, language, Full).unwrap().0);
                assert!(
                    matches!(sense(&word), Sense::Weekday(read, _) if read == number),
                    "{word}"
                );
            }
            for number in 0..4 {
                let word = fold(season(number, language).unwrap());
                assert!(
                    matches!(sense(&word), Sense::Season(read, _) if read == number),
                    "{word}"
                );
            }
        }
    }

    #[test]
    fn there_is_no_thirteenth_month() {
        assert_eq!(
            (month(13, En, Full), month(0, En, Full), month(-1, En, Short)),
            (None, None, None)
        );
        assert_eq!(weekday(7, Es, Full), None);
    }
}
