//! Identifiers as people say them, and as transcripts write them down.

use jiff::civil::Date;
use lethe_text::numbers::{ORDINALS, in_english};

use crate::chance::Chance;

const DIGITS: [&str; 10] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
];

/// Returns a name letter by letter: "Q-U-A-Y-L-E".
pub(super) fn spelled(name: &str, chance: &mut Chance) -> String {
    let between = chance.word(&["-", "-", " ", ", ", "."]).to_owned();
    let lower = between == " " && chance.often(0.3);
    let letters = name.chars().filter(|char| char.is_alphabetic());
    let letters: Vec<String> = letters
        .map(|char| {
            if lower {
                char.to_lowercase().to_string()
            } else {
                char.to_uppercase().to_string()
            }
        })
        .collect();
    letters.join(&between)
}

/// Returns a day and a month in words: "the third of March", without "the".
pub(super) fn day(date: Date, chance: &mut Chance) -> String {
    let month = date.strftime("%B").to_string();
    let ordinal = ordinal(date.day(), chance);
    match chance.below(5) {
        0 | 1 => format!("{ordinal} of {month}"),
        2 => format!("{month} the {ordinal}"),
        3 => format!("{month} {}", cardinal(i64::from(date.day()))),
        _ => format!("{month} {ordinal}"),
    }
}

/// Returns a date in words: "third of March nineteen seventy-two".
pub(super) fn date(date: Date, chance: &mut Chance) -> String {
    let day = day(date, chance);
    let between = chance.word(&[" ", " ", ", ", ", ", " in "]).to_owned();
    format!("{day}{between}{}", year(date.year(), chance))
}

/// Returns a year in words: "nineteen seventy-two", "two thousand and four", "oh nine".
pub(super) fn year(year: i16, chance: &mut Chance) -> String {
    let (century, rest) = (i64::from(year / 100), i64::from(year % 100));
    let rest_in_words = match rest {
        1..=9 => format!("oh {}", cardinal(rest)),
        _ => cardinal(rest),
    };
    match (century, rest) {
        (20, 0) => "two thousand".to_owned(),
        (20, 1..=9) => {
            let and = if chance.often(0.6) { "and " } else { "" };
            format!("two thousand {and}{}", cardinal(rest))
        }
        (20, 10..) if chance.often(0.2) => format!("two thousand and {rest_in_words}"),
        (_, 0) => format!("{} hundred", cardinal(century)),
        // "born in seventy-two"
        _ if rest > 9 && chance.often(0.15) => rest_in_words,
        _ => format!("{} {rest_in_words}", cardinal(century)),
    }
}

/// Returns a number, a code or a postcode, character by character.
pub(super) fn code(text: &str, chance: &mut Chance) -> String {
    let zero = chance.word(&["zero", "oh", "o"]).to_owned();
    let pause = chance.word(&[", ", ", ", " ", "... "]).to_owned();
    let in_figures = chance.often(0.2);
    let mut said: Vec<String> = Vec::new();
    let mut chars = text.chars().peekable();
    let mut size = 0;
    while let Some(char) = chars.next() {
        let Some(word) = (match char.to_digit(10) {
            Some(_) if in_figures => Some(char.to_string()),
            Some(0) => Some(zero.clone()),
            Some(digit) => Some(DIGITS[digit as usize].to_owned()),
            None if char.is_alphabetic() => Some(char.to_uppercase().to_string()),
            None => None,
        }) else {
            size = 0;
            if said.last().is_some_and(|last| last != &pause) && chars.peek().is_some() {
                said.push(pause.clone());
            }
            continue;
        };
        if chars.peek() == Some(&char) && char.is_ascii_digit() && chance.often(0.35) {
            chars.next();
            said.push(format!("double {word}"));
            size += 2;
        } else {
            said.push(word);
            size += 1;
        }
        if size >= 4 && chars.peek().is_some_and(|next| next.is_alphanumeric()) && chance.often(0.6) {
            said.push(pause.clone());
            size = 0;
        }
    }
    let mut text = String::new();
    for word in said {
        if !text.is_empty() && word != pause && !text.ends_with(&pause) {
            text.push(' ');
        }
        text += &word;
    }
    text.trim_end_matches(pause.trim_end()).trim().to_owned()
}

/// Returns an address of e-mail or the web: "ann dot quayle at example dot com".
pub(super) fn address(text: &str, chance: &mut Chance) -> String {
    let dash = chance.word(&["dash", "hyphen"]).to_owned();
    let mut said = String::new();
    let mut number = String::new();
    let flush = |number: &mut String, said: &mut String| {
        if !number.is_empty() {
            let words: Vec<&str> = number
                .bytes()
                .map(|digit| DIGITS[usize::from(digit - b'0')])
                .collect();
            *said += &format!(" {} ", words.join(" "));
            number.clear();
        }
    };
    for char in text.chars() {
        if char.is_ascii_digit() {
            number.push(char);
            continue;
        }
        flush(&mut number, &mut said);
        match char {
            '@' => said += " at ",
            '.' => said += " dot ",
            '_' => said += " underscore ",
            '-' => said += &format!(" {dash} "),
            '/' => said += " slash ",
            ':' => said += " colon ",
            _ => said.extend(char.to_lowercase()),
        }
    }
    flush(&mut number, &mut said);
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a street whose number is said in words: "forty-two Linden Street".
pub(super) fn street(text: &str, chance: &mut Chance) -> String {
    let (number, rest) = text.split_once(' ').unwrap_or((text, ""));
    let Ok(value) = number.parse::<i64>() else {
        return text.to_owned();
    };
    let words = match value {
        0..=99 => cardinal(value),
        100..=9999 if chance.often(0.7) => {
            let (high, low) = (value / 100, value % 100);
            match low {
                0 => format!("{} hundred", cardinal(high)),
                1..=9 => format!("{} oh {}", cardinal(high), cardinal(low)),
                _ => format!("{} {}", cardinal(high), cardinal(low)),
            }
        }
        _ => code(number, chance),
    };
    format!("{words} {rest}").trim_end().to_owned()
}

/// Returns a number from 0 to 99 in words.
fn cardinal(n: i64) -> String {
    in_english(u8::try_from(n).unwrap_or_default())
}

fn ordinal(day: i8, chance: &mut Chance) -> String {
    let at = usize::try_from(day - 1).unwrap_or_default();
    let word = ORDINALS.get(at).copied().unwrap_or("first");
    if chance.often(0.2) {
        word.replace('-', " ")
    } else {
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns everything that a function says within 200 tries.
    fn said(mut say: impl FnMut(&mut Chance) -> String) -> std::collections::BTreeSet<String> {
        (0..200).map(|number| say(&mut Chance::new(3, number))).collect()
    }

    #[test]
    fn dates_are_said_in_several_ways() {
        let born = jiff::civil::date(1972, 3, 3);
        let dates = said(|chance| date(born, chance));
        assert!(dates.contains("third of March nineteen seventy-two"), "{dates:?}");
        assert!(
            dates.contains("March the third, nineteen seventy-two"),
            "{dates:?}"
        );
        let years = said(|chance| year(2004, chance));
        assert!(years.contains("two thousand and four"), "{years:?}");
        assert!(said(|chance| year(1905, chance)).contains("nineteen oh five"));
        assert!(said(|chance| year(1900, chance)).contains("nineteen hundred"));
    }

    #[test]
    fn codes_are_said_character_by_character() {
        let postcodes = said(|chance| code("SW1A 2AA", chance));
        assert!(postcodes.contains("S W one A, two A A"), "{postcodes:?}");
        let phones = said(|chance| code("555-0144", chance));
        assert!(
            phones.contains("five five five, oh one double four"),
            "{phones:?}"
        );
        assert!(
            phones
                .iter()
                .all(|phone| !phone.ends_with(',') && !phone.contains("  ")),
            "{phones:?}"
        );
    }

    #[test]
    fn addresses_and_streets_are_said() {
        let mails = said(|chance| address("Ann.Quayle7@example.com", chance));
        assert!(
            mails.contains("ann dot quayle seven at example dot com"),
            "{mails:?}"
        );
        assert!(said(|chance| street("42 Linden Street", chance)).contains("forty-two Linden Street"));
        assert!(said(|chance| street("1905 Elm Road", chance)).contains("nineteen oh five Elm Road"));
        assert!(said(|chance| spelled("Quayle", chance)).contains("Q-U-A-Y-L-E"));
    }
}
