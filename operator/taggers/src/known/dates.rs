//! A known date in every common format: 1992-03-19 is also 03/19/92, 19.3.1992, March 19th, 1992 and 19 de
//! marzo de 1992.

use std::collections::HashMap;

use lethe_core::{Collector, LabelId};
use lethe_text::calendar;

use crate::words::{Case, Words};

/// Tokens that may separate a date's parts.
const BETWEEN: [&str; 15] = [
    "/", "-", ".", ",", "–", "'", "’", "de", "del", "of", "st", "nd", "rd", "th", "º",
];

/// The most tokens of a written date.
const MOST_TOKENS: usize = 11;

/// A date of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Date {
    pub(super) year: u32,
    pub(super) month: u32,
    pub(super) day: u32,
}

impl Date {
    /// Parses ISO 8601: `YYYY-MM-DD`, `YYYYMMDD`, or a date-time that begins so.
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
}

/// The dates that one event carries.
#[derive(Default)]
pub(super) struct Dates {
    all: Vec<Date>,
    /// Indices into `all` by the year's last two digits, month and day: at most one for each century.
    by_day: HashMap<[u32; 3], Vec<usize>>,
}

impl Dates {
    pub(super) fn add(&mut self, date: Date) {
        let same_day = self
            .by_day
            .entry([date.year % 100, date.month, date.day])
            .or_default();
        if !same_day.iter().any(|&at| self.all[at] == date) {
            same_day.push(self.all.len());
            self.all.push(date);
        }
    }

    /// Reads each date of the text once and looks it up: the cost does not depend on the number of known
    /// dates.
    pub(super) fn find(&self, words: &Words<'_>, label: LabelId, out: &mut Collector<'_>) {
        if self.all.is_empty() {
            return;
        }
        // The position from which each date may occur next: its occurrences do not overlap, while those of
        // two dates may.
        let mut free = vec![0; self.all.len()];
        for i in 0..words.len() {
            let Some((read, last)) = Read::at(i, words) else {
                continue;
            };
            let mut found = false;
            for (year, month, day) in read.dates().into_iter().flatten() {
                let same_day = self.by_day.get(&[year.short(), month, day]);
                for &at in same_day.into_iter().flatten() {
                    if year.fits(self.all[at].year) && free[at] <= i {
                        free[at] = last + 1;
                        found = true;
                    }
                }
            }
            if found {
                out.tokens(i, last, label, 1.0, "known.date");
            }
        }
    }
}

/// A possible date in the text.
pub(super) enum Read {
    /// Eight digits without separators.
    Compact(u32),
    /// Three components in the order of the text.
    Apart([Component; 3]),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Component {
    Number(u32, usize),
    Month(u32),
}

/// A year as the text writes it.
#[derive(Clone, Copy)]
enum Year {
    Whole(u32),
    Short(u32),
}

impl Year {
    const fn short(self) -> u32 {
        match self {
            Self::Whole(year) | Self::Short(year) => year % 100,
        }
    }

    const fn fits(self, known: u32) -> bool {
        match self {
            Self::Whole(year) => year == known,
            Self::Short(year) => year == known % 100,
        }
    }
}

impl Read {
    /// Returns the possible date at token `i`, and its last token.
    pub(super) fn at(i: usize, words: &Words<'_>) -> Option<(Self, usize)> {
        let first = component(i, words)?;
        if i > 0 && words.glued(i - 1) && (words.case(i - 1) == Case::Digits || words.before(i, 1) == "/") {
            return None;
        }
        if let Component::Number(number, 8) = first {
            return Some((Self::Compact(number), i));
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
        (count == 3 && !glued_on).then_some((Self::Apart(read), last))
    }

    /// Returns the dates that this may be: year first, day first or month first.
    fn dates(&self) -> [Option<(Year, u32, u32)>; 3] {
        match *self {
            Self::Compact(number) => [
                (number / 10_000, number / 100 % 100, number % 100),
                (number % 10_000, number / 1_000_000, number / 10_000 % 100),
                (number % 10_000, number / 10_000 % 100, number / 1_000_000),
            ]
            .map(|(year, month, day)| Some((Year::Whole(year), month, day))),
            Self::Apart([a, b, c]) => {
                let date = |y: Component, m: Component, d: Component| Some((y.year()?, m.month()?, d.day()?));
                [date(a, b, c), date(c, a, b), date(c, b, a)]
            }
        }
    }
}

impl Component {
    const fn year(self) -> Option<Year> {
        match self {
            Self::Number(year, 4) => Some(Year::Whole(year)),
            Self::Number(year, 2) => Some(Year::Short(year)),
            _ => None,
        }
    }

    const fn month(self) -> Option<u32> {
        match self {
            Self::Month(month) | Self::Number(month, 1..=2) => Some(month),
            Self::Number(..) => None,
        }
    }

    const fn day(self) -> Option<u32> {
        match self {
            Self::Number(day, 1..=2) => Some(day),
            _ => None,
        }
    }
}

fn component(i: usize, words: &Words<'_>) -> Option<Component> {
    let word = words.get(i);
    match words.case(i) {
        Case::Digits if matches!(word.len(), 1 | 2 | 4 | 8) => {
            word.parse().ok().map(|n| Component::Number(n, word.len()))
        }
        case if case.is_word() && word.len() >= 3 => {
            let name = calendar::month(word)?;
            Some(Component::Month(name.number.into()))
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
