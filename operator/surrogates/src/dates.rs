//! Written dates: parsed with their format, moved by days and written in the same format, or reduced to their
//! year.
//!
//! [`Written::parse`] finds the characters of a text that are a day, a month, a year or a weekday;
//! [`Written::shift`] replaces only these and keeps all others, so that punctuation, order, zero padding,
//! case, language and times of day stay. A text that cannot be parsed completely is not a date (`None`), and
//! the caller writes a tag.
//!
//! The interval between two full dates stays exact. A date without a day moves by whole months (mean length
//! 30.436875 days, rounded), one without a month by whole years, as if it were in the middle of its period,
//! so that moving back restores it. A date without a year moves in the hint's year, or in a year of 365 days.

mod figures;
mod lex;
mod named;
mod parse;
#[cfg(test)]
mod tests;
mod time;
mod words;
mod write;

use jiff::civil::Date;

use self::parse::{Field, Point};
use crate::Language;

/// Which of day and month stands first where the numbers leave it open.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
pub enum Order {
    /// Day first: `18/03/2022`.
    #[serde(rename = "dmy")]
    DayMonth,
    /// Month first: `03/18/2022`.
    #[serde(rename = "mdy")]
    MonthDay,
}

/// Hints for parsing a note's dates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    /// The order of day and month; by default that of the language (English: month first).
    pub order: Option<Order>,
    /// The language of the note.
    pub language: Option<Language>,
    /// The year in which the note was written: for dates without a year and for two-digit years.
    pub year: Option<i16>,
}

impl Hint {
    fn order(&self, dotted: bool) -> Order {
        self.order.unwrap_or(match self.language {
            Some(Language::Spanish | Language::German) => Order::DayMonth,
            Some(Language::English) => Order::MonthDay,
            // "18.03.22" is a format with the day first.
            None if dotted => Order::DayMonth,
            None => Order::MonthDay,
        })
    }

    /// Returns the year of two digits: the last one that is not more than a year after the note or, without a
    /// note's year, not after 2035.
    fn century(&self, figures: i16) -> i16 {
        let latest = self.year.map_or(2035, |year| year.saturating_add(1));
        let year = latest - latest.rem_euclid(100) + figures;
        if year > latest { year - 100 } else { year }
    }
}

/// A date, or a range of two, with its format.
#[derive(Clone, Debug)]
pub struct Written<'t> {
    text: &'t str,
    fields: Vec<Field>,
    points: [Point; 2],
    range: bool,
    /// For each end, whether its month comes only from the other end.
    month_from_other: [bool; 2],
    /// For each end, whether its year comes only from the other end.
    year_from_other: [bool; 2],
    reference: Option<i16>,
}

impl<'t> Written<'t> {
    /// Parses `text`, which must be exactly one date or range, with a time of day or words such as "early".
    pub fn parse(text: &'t str, hint: &Hint) -> Option<Self> {
        // The longest range in words, with weekdays and times, is shorter.
        if text.len() > 160 {
            return None;
        }
        let parsed = parse::parse(text, hint)?;
        let mut written = Self {
            text,
            fields: parsed.fields,
            points: parsed.points,
            range: parsed.range,
            month_from_other: [false; 2],
            year_from_other: [false; 2],
            reference: hint.year,
        };
        written.share()?;
        written.check()?;
        Some(written)
    }

    /// Returns the full dates of the text; `None` if one lacks its day, month or year.
    pub fn dates(&self) -> Option<(Date, Option<Date>)> {
        let first = self.points[0].date()?;
        let second = if self.range {
            Some(self.points[1].date()?)
        } else {
            None
        };
        Some((first, second))
    }

    /// Returns the years of the text: of the date, and of a range's second end if it differs. `None` without
    /// a year, or with only a decade.
    pub fn years(&self) -> Option<(i16, Option<i16>)> {
        if self.ends().any(|point| point.decade) {
            return None;
        }
        let first = self.points[0].year?;
        let second = if self.range {
            Some(self.points[1].year?)
        } else {
            None
        };
        Some((first, second.filter(|&year| year != first)))
    }

    /// Returns the date reduced to its year, the only part that 45 CFR 164.514(b)(2)(i)(C) allows: "2019",
    /// "2018-2019", a decade unchanged. `None` for a date without a year.
    pub fn year(&self) -> Option<String> {
        if self.ends().all(|point| point.decade) {
            return Some(self.text.to_owned());
        }
        Some(match self.years()? {
            (year, None) => format!("{year}"),
            (first, Some(second)) => format!("{first}-{second}"),
        })
    }

    /// Returns whether the year of the date would reveal an age over 89, in a note of `note_year`: 45 CFR
    /// 164.514(b)(2)(i)(C).
    ///
    /// A year of the patient's life 90 years or more before the note reveals such an age: the year of birth,
    /// or of anything that happened since. If `birth_year` shows that the patient is younger, no year does,
    /// for instance that of a parent's birth. Whole years are compared, so that "89 or 90" counts as over 89.
    pub fn shows_age_over_89(&self, birth_year: Option<i16>, note_year: i16) -> bool {
        let old = |year: i16| i32::from(note_year) - i32::from(year) >= 90;
        if birth_year.is_some_and(|year| !old(year)) {
            return false;
        }
        self.ends().filter_map(|point| point.year).any(old)
    }

    fn ends(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().take(1 + usize::from(self.range))
    }

    /// Completes each end of a range from the other.
    fn share(&mut self) -> Option<()> {
        let [a, b] = &mut self.points;
        if !self.range {
            // A day alone is not a date.
            return (a.day.is_none() || a.month.is_some()).then_some(());
        }
        let months = [a.month, b.month];
        for (end, one) in [&mut *a, &mut *b].into_iter().enumerate() {
            if one.day.is_some() && one.month.is_none() {
                one.month = Some(months[1 - end]?);
                self.month_from_other[end] = true;
            }
        }
        let within_year = |point: &Point| (point.month, point.day);
        let wraps = match (a.month, b.month, a.season, b.season) {
            (Some(_), Some(_), ..) => within_year(a) > within_year(b),
            (_, _, Some(one), Some(other)) => one > other,
            _ => false,
        };
        let dated = |point: &Point| point.month.is_some() || point.season.is_some();
        match (a.year, b.year) {
            (None, Some(year)) if dated(a) => {
                a.year = Some(year - i16::from(wraps));
                self.year_from_other[0] = true;
            }
            (Some(year), None) if dated(b) => {
                b.year = Some(year + i16::from(wraps));
                self.year_from_other[1] = true;
            }
            _ => {}
        }
        // "15-12 March" is not a range.
        let same_month = self.month_from_other != [false; 2] && a.year == b.year;
        (!same_month || within_year(a) <= within_year(b)).then_some(())
    }

    /// Checks that both ends are existing days.
    fn check(&self) -> Option<()> {
        self.ends()
            .try_for_each(|point| match (point.year, point.month, point.day) {
                (Some(year), Some(month), Some(day)) => Date::new(year, month, day).ok().map(drop),
                // The 29th of February exists in some year.
                (None, Some(month), Some(day)) => Date::new(2000, month, day).ok().map(drop),
                (_, None, Some(_)) => None,
                _ => Some(()),
            })
    }
}

impl Point {
    fn date(&self) -> Option<Date> {
        Date::new(self.year?, self.month?, self.day?).ok()
    }
}
