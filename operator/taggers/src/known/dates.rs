//! A known date in every common written form: 1992-03-19 is also 03/19/92, 19.3.1992, March 19th, 1992 and 19 de marzo de 1992.

use lethe_core::{Collector, LabelId};

use crate::words::{Case, Words};

const MONTHS: [[&str; 4]; 12] = [
    ["january", "jan", "enero", "ene"],
    ["february", "feb", "febrero", "febr"],
    ["march", "mar", "marzo", "mrz"],
    ["april", "apr", "abril", "abr"],
    ["may", "may", "mayo", "may"],
    ["june", "jun", "junio", "jun"],
    ["july", "jul", "julio", "jul"],
    ["august", "aug", "agosto", "ago"],
    ["september", "sept", "septiembre", "sep"],
    ["october", "oct", "octubre", "oct"],
    ["november", "nov", "noviembre", "nov"],
    ["december", "dec", "diciembre", "dic"],
];

/// Words and marks that may stand between a date's parts.
const BETWEEN: [&str; 15] = [
    "/", "-", ".", ",", "–", "'", "’", "de", "del", "of", "st", "nd", "rd", "th", "º",
];

/// Tokens that a written date may have.
const MOST_TOKENS: usize = 11;

/// A date of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Date {
    year: u32,
    month: u32,
    day: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Component {
    Number(u32, usize),
    Month(u32),
}

impl Date {
    /// From ISO 8601: `YYYY-MM-DD`, `YYYYMMDD`, or a date-time that begins so.
    pub(super) fn parse(value: &str) -> Option<Self> {
        let digits: String = value.chars().filter(char::is_ascii_digit).take(8).collect();
        let number: u32 = digits.parse().ok().filter(|_| digits.len() == 8)?;
        let date = Self {
            year: number / 10_000,
            month: number / 100 % 100,
            day: number % 100,
        };
        ((1..=12).contains(&date.month) && (1..=31).contains(&date.day)).then_some(date)
    }

    pub(super) fn find(self, words: &Words<'_>, label: LabelId, out: &mut Collector<'_>) {
        let mut i = 0;
        while i < words.len() {
            match self.at(i, words) {
                Some(last) => {
                    out.tokens(i, last, label, 1.0, "known.date");
                    i = last + 1;
                }
                None => i += 1,
            }
        }
    }

    fn at(self, i: usize, words: &Words<'_>) -> Option<usize> {
        if i > 0 && words.glued(i - 1) && (words.case(i - 1) == Case::Digits || words.before(i, 1) == "/") {
            return None;
        }
        let first = component(i, words)?;
        if let Component::Number(number, 8) = first {
            return self.compact(number).then_some(i);
        }
        let mut read = [first; 3];
        let (mut count, mut last) = (1, i);
        for at in i + 1..words.len().min(i + MOST_TOKENS) {
            if words.breaks_after(at - 1) > 1 {
                break;
            }
            if let Some(next) = component(at, words) {
                read[count] = next;
                count += 1;
                last = at;
                if count == 3 {
                    break;
                }
            } else if !BETWEEN.contains(&words.get(at)) {
                break;
            }
        }
        let glued_on = words.glued(last) && words.case(last + 1) == Case::Digits;
        (count == 3 && !glued_on && self.is(read)).then_some(last)
    }

    fn compact(self, number: u32) -> bool {
        let Self { year, month, day } = self;
        [
            year * 10_000 + month * 100 + day,
            month * 1_000_000 + day * 10_000 + year,
            day * 1_000_000 + month * 10_000 + year,
        ]
        .contains(&number)
    }

    /// Whether three components are this date: year first, day first or month first.
    fn is(self, [a, b, c]: [Component; 3]) -> bool {
        let month = |x| {
            x == Component::Month(self.month) || matches!(x, Component::Number(n, 1..=2) if n == self.month)
        };
        let day = |x| matches!(x, Component::Number(n, 1..=2) if n == self.day);
        let year = |x| {
            matches!(x, Component::Number(n, 4) if n == self.year)
                || matches!(x, Component::Number(n, 2) if n == self.year % 100)
        };
        (year(a) && month(b) && day(c)) || (year(c) && (month(a) && day(b) || day(a) && month(b)))
    }
}

fn component(i: usize, words: &Words<'_>) -> Option<Component> {
    let word = words.get(i);
    match words.case(i) {
        Case::Digits if matches!(word.len(), 1 | 2 | 4 | 8) => {
            word.parse().ok().map(|n| Component::Number(n, word.len()))
        }
        case if case.is_word() && word.len() >= 3 => {
            let at = MONTHS.iter().position(|names| names.contains(&word))?;
            Some(Component::Month(at as u32 + 1))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_dates_and_date_times_parse_and_others_do_not() {
        let date = Date {
            year: 1992,
            month: 3,
            day: 19,
        };
        assert_eq!(Date::parse("1992-03-19"), Some(date));
        assert_eq!(Date::parse("19920319T000000Z"), Some(date));
        assert_eq!(Date::parse("1992-13-19"), None);
        assert_eq!(Date::parse("1992"), None);
    }
}
