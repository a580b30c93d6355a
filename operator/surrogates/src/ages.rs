//! Ages over 89 become "90 or older": 45 CFR 164.514(b)(2)(i)(C). Ages of 89 and below stay unchanged.
//!
//! An age is parsed as numbers with units ("94", "ninety-four years", "94 años", "1100 months", "89 y 11 m").
//! Text without a number that can be parsed gives `None`, and the caller writes a tag, since an age that
//! cannot be parsed may be over 89.

mod numbers;

use lethe_text::fold;

use self::numbers::{Token, tokens};

/// The highest age that may be shown, in years.
const LAST: u32 = 89;

/// Returns the age in the form that Safe Harbor allows: the text itself if every age in it is 89 or below,
/// else the same in words of the same language with "90 or older" ("90 años o más"). `None` if the text
/// cannot be parsed.
pub fn generalise(text: &str) -> Option<String> {
    let read = read(text)?;
    if read.ages.iter().all(|&age| age <= LAST) && !read.open_above {
        return Some(text.to_owned());
    }
    let lowest = read.ages.iter().copied().min().unwrap_or(LAST + 1);
    // "over 89" is 90 or older; the lower end of "85 to 93" reveals nothing that is not allowed.
    let floor = if read.ages.len() > 1 && lowest <= LAST {
        lowest
    } else {
        LAST + 1
    };
    Some(word(text, &read, floor))
}

/// Returns whether the text shows an age over 89; `None` if it cannot be parsed.
pub fn is_over_89(text: &str) -> Option<bool> {
    read(text).map(|read| read.open_above || read.ages.iter().any(|&age| age > LAST))
}

struct Read {
    /// Ages in whole years, in the order of the text.
    ages: Vec<u32>,
    /// "over 89", "≥ 89": ages above the number.
    open_above: bool,
    spanish: bool,
    /// The text has a word for years.
    years: bool,
    /// "in her nineties": the words before the number belong to the phrase.
    decade: bool,
}

fn read(text: &str) -> Option<Read> {
    // An age is a few words; a page of digits is not an age.
    if text.len() > 120 {
        return None;
    }
    let folded = fold(text);
    let tokens = tokens(&folded);
    let mut read = Read {
        ages: vec![],
        open_above: false,
        spanish: text.contains(['ñ', 'Ñ']),
        years: false,
        decade: false,
    };
    let mut over = false;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            Token::Number { value, spanish, .. } => {
                read.spanish |= *spanish;
                let unit = unit(&tokens, at);
                // "11 m" after years belongs to the same age, and so do days after months.
                let rest = !read.ages.is_empty() && !unit.is_years() && unit != Unit::None;
                if !rest {
                    // "94 M" is a man or, in Spanish, a woman rather than a number of months.
                    if *value > LAST && unit != Unit::Years && is_sex(&tokens, at) {
                        return None;
                    }
                    read.ages.push(unit.whole_years(*value)?);
                }
                read.open_above |= over && unit.is_years_or_none() && *value >= LAST;
            }
            Token::Decade { value } => {
                read.decade = true;
                read.ages.push(if *value >= 90 { LAST + 1 } else { *value });
            }
            Token::Over => over = true,
            // "85+" and "89 or older" mean the same as "over".
            Token::Plus => {
                read.open_above |= read.ages.last().is_some_and(|&age| age >= LAST);
            }
            Token::Word(word) => match *word {
                "ano" | "anos" | "de" | "edad" => {
                    read.spanish = true;
                    read.years |= word.starts_with("an");
                }
                "year" | "years" | "yr" | "yrs" | "yo" | "y" => read.years = true,
                "nonagenarian" | "centenarian" | "supercentenarian" => read.ages.push(LAST + 1),
                "nonagenario" | "nonagenaria" | "centenario" | "centenaria" => {
                    read.spanish = true;
                    read.ages.push(LAST + 1);
                }
                _ => {}
            },
            // A run of four digits is a year of birth or an error, not an age.
            Token::Long => return None,
            Token::Mark => {}
        }
    }
    (!read.ages.is_empty()).then_some(read)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    None,
    Years,
    Months,
    Weeks,
    Days,
    Hours,
}

impl Unit {
    fn is_years(self) -> bool {
        self == Self::Years
    }

    fn is_years_or_none(self) -> bool {
        matches!(self, Self::Years | Self::None)
    }

    /// Returns `value` of this unit in whole years; `None` for an impossible age.
    fn whole_years(self, value: u32) -> Option<u32> {
        match self {
            Self::None | Self::Years => (value < 1000).then_some(value),
            Self::Months => Some(value / 12),
            // The shortest year is used, so that no age over 89 counts as lower.
            Self::Weeks => Some(value.saturating_mul(7) / 365),
            Self::Days => Some(value / 365),
            Self::Hours => Some(value / (365 * 24)),
        }
    }
}

/// Returns the unit after the number, across a hyphen or a blank.
fn unit(tokens: &[Token<'_>], at: usize) -> Unit {
    let behind = tokens
        .iter()
        .skip(at)
        .find(|token| !matches!(token, Token::Mark | Token::Plus));
    let Some(Token::Word(word)) = behind else {
        return Unit::None;
    };
    match *word {
        "year" | "years" | "yr" | "yrs" | "y" | "yo" | "yof" | "yom" | "ano" | "anos" | "a" => Unit::Years,
        "month" | "months" | "mo" | "mos" | "mth" | "mths" | "m" | "mes" | "meses" => Unit::Months,
        "week" | "weeks" | "wk" | "wks" | "w" | "semana" | "semanas" | "sem" => Unit::Weeks,
        "day" | "days" | "d" | "dia" | "dias" => Unit::Days,
        "hour" | "hours" | "h" | "hr" | "hrs" | "hora" | "horas" => Unit::Hours,
        _ => Unit::None,
    }
}

/// Returns whether a single letter that is both a sex and a unit follows the number.
fn is_sex(tokens: &[Token<'_>], at: usize) -> bool {
    matches!(tokens.get(at), Some(Token::Word("m" | "w" | "h")))
}

/// Returns "90 or older" as a replacement of `text`.
fn word(text: &str, read: &Read, floor: u32) -> String {
    let worded = match (read.spanish, read.years || read.decade) {
        (true, true) => format!("{floor} años o más"),
        (true, false) => format!("{floor} o más"),
        (false, _) if read.decade => format!("aged {floor} or older"),
        (false, _) => format!("{floor} or older"),
    };
    let letters = || text.chars().filter(|c| c.is_alphabetic());
    // Two letters, as in "94 YO" or "94F", are an abbreviation in any text.
    if letters().count() > 2 && letters().all(char::is_uppercase) {
        worded.to_uppercase()
    } else {
        worded
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kept(text: &str) {
        assert_eq!(generalise(text).as_deref(), Some(text));
    }

    #[test]
    fn clause_164_514_b_2_i_c_ages_of_89_and_below_stay_as_written() {
        for text in [
            "89",
            "89 years",
            "89-year-old",
            "89 y 11 m",
            "89 años y 11 meses",
            "eighty-nine",
            "62",
            "53yo",
            "3 days",
            "18 months",
            "100 days",
            "95 weeks",
            "94 meses",
            "ochenta y nueve años",
            "in her sixties",
            "80s",
            "two and a half years",
            "6/12",
            "35 años",
            "85+",
            "over 65",
            "un año",
            "1,079 months",
            "45 to 60",
        ] {
            kept(text);
        }
    }

    #[test]
    fn clause_164_514_b_2_i_c_ages_over_89_become_90_or_older() {
        for (text, general) in [
            ("90", "90 or older"),
            ("94", "90 or older"),
            ("94-year-old", "90 or older"),
            ("94 years old", "90 or older"),
            ("94 y/o", "90 or older"),
            ("94yo", "90 or older"),
            ("94 YEAR OLD", "90 OR OLDER"),
            ("ninety-four years", "90 or older"),
            ("ninety", "90 or older"),
            ("one hundred and two", "90 or older"),
            ("a hundred", "90 or older"),
            ("94 años", "90 años o más"),
            ("noventa y cuatro años", "90 años o más"),
            ("ciento dos años", "90 años o más"),
            ("cien años", "90 años o más"),
            ("90s", "aged 90 or older"),
            ("in her nineties", "aged 90 or older"),
            ("early 90's", "aged 90 or older"),
            ("1080 months", "90 or older"),
            ("nonagenarian", "90 or older"),
            ("94 6/12", "90 or older"),
            ("94.5 years", "90 or older"),
            ("94F", "90 or older"),
            ("103", "90 or older"),
        ] {
            assert_eq!(generalise(text).as_deref(), Some(general), "{text}");
        }
    }

    #[test]
    fn an_age_over_89_is_over_89_however_it_is_written() {
        for text in [
            "over 89",
            "> 89",
            "older than 89",
            "89+",
            "more than 90",
            "mayor de 89 años",
            "≥90",
            "89 or older",
        ] {
            let out = generalise(text).unwrap();
            assert!(out.starts_with("90"), "{text}: {out}");
        }
    }

    #[test]
    fn a_range_across_89_keeps_its_lower_end() {
        assert_eq!(generalise("85-93").as_deref(), Some("85 or older"));
        assert_eq!(generalise("entre 88 y 92 años").as_deref(), Some("88 años o más"));
        assert_eq!(generalise("91 to 95 years").as_deref(), Some("90 or older"));
        kept("80-89");
    }

    #[test]
    fn what_is_no_age_is_left_to_the_caller() {
        for text in [
            "",
            "elderly",
            "1934",
            "born in 1934",
            "94M",
            "94 m",
            "adult",
            "años",
            "12345678901234567890",
        ] {
            assert_eq!(generalise(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_number_of_years_is_kept_to_89_and_hidden_above(age in 0u32..=130, unit in "( years?|-year-old| yo| años|)") {
            let text = format!("{age}{unit}");
            let out = generalise(&text).unwrap();
            if age <= 89 {
                prop_assert_eq!(out, text);
            } else {
                prop_assert!(out.starts_with("90"), "{}", out);
                prop_assert!(age == 90 || !out.contains(&age.to_string()));
            }
        }

        #[test]
        fn no_text_makes_it_panic_and_no_number_over_89_stays(text in "\\PC{0,40}|[0-9a-z +-]{0,20}") {
            if let Some(out) = generalise(&text)
                && is_over_89(&text) == Some(true)
            {
                prop_assert!(out != text || text.starts_with("90"), "{}", text);
            }
        }
    }
}
