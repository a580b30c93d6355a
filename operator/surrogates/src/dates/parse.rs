//! Parses a date's tokens into fields: the characters of day, month and year, for each end of a range.
//!
//! A recursive descent parser over a few tokens. It does not skip unknown tokens: the text is then not a
//! date.

use lethe_core::Span;

use super::Hint;
use super::lex::{Is, Tok, tokens};
use super::words::{Name, Sense};

/// The kind and format of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Day,
    Month,
    MonthName(Name),
    /// I to XII.
    Roman,
    /// Four digits.
    Year,
    /// Two digits.
    ShortYear,
    Weekday(Name),
    /// "rd" of "3rd".
    Ordinal,
    Season(Name),
}

/// Characters that change with the date.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) span: Span,
    pub(super) part: Part,
    /// 0, or 1 for the second end of a range.
    pub(super) end: usize,
}

/// One date, as far as it is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) year: Option<i16>,
    pub(super) month: Option<i8>,
    pub(super) day: Option<i8>,
    pub(super) weekday: Option<i8>,
    pub(super) season: Option<i8>,
    pub(super) decade: bool,
}

/// A parsed text.
#[derive(Clone, Debug)]
pub(super) struct Parsed {
    pub(super) fields: Vec<Field>,
    pub(super) points: [Point; 2],
    pub(super) range: bool,
}

/// The years that notes write with four digits.
pub(super) const YEARS: std::ops::RangeInclusive<u32> = 1500..=2200;

pub(super) fn parse(text: &str, hint: &Hint) -> Option<Parsed> {
    let toks = tokens(text)?;
    let mut parser = Parser {
        text,
        toks: &toks,
        at: 0,
        hint,
        fields: Vec::with_capacity(8),
        end: 0,
        first: Point::default(),
    };
    while parser.cur().mark('(') || parser.cur().mark('[') {
        parser.at += 1;
    }
    let first = parser.side()?;
    let mut points = [first, Point::default()];
    let range = parser.join(&first);
    if range {
        parser.end = 1;
        parser.first = first;
        points[1] = parser.side()?;
    }
    while matches!(parser.cur().is, Is::Mark(')' | ']' | ',' | '.' | ':' | ';')) {
        parser.at += 1;
    }
    (parser.cur().is == Is::End).then_some(Parsed {
        fields: parser.fields,
        points,
        range,
    })
}

pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    toks: &'a [Tok],
    pub(super) at: usize,
    pub(super) hint: &'a Hint,
    pub(super) fields: Vec<Field>,
    pub(super) end: usize,
    /// The first end while the second is parsed.
    pub(super) first: Point,
}

impl Parser<'_> {
    pub(super) fn tok(&self, at: usize) -> Tok {
        self.toks.get(at).copied().unwrap_or(Tok {
            is: Is::End,
            span: Span::between(0, 0),
            glued: false,
        })
    }

    pub(super) fn cur(&self) -> Tok {
        self.tok(self.at)
    }

    pub(super) fn sense(&self, at: usize) -> Option<Sense> {
        match self.tok(at).is {
            Is::Word(sense) => Some(sense),
            _ => None,
        }
    }

    pub(super) fn field(&mut self, at: usize, part: Part) {
        let span = self.tok(at).span;
        self.fields.push(Field {
            span,
            part,
            end: self.end,
        });
    }

    /// Skips words that introduce a date and do not change with it.
    pub(super) fn fillers(&mut self) {
        loop {
            let joins = matches!(self.sense(self.at), Some(Sense::Filler | Sense::Of | Sense::At));
            let mid = self.cur().dash() && self.at > 0 && self.sense(self.at - 1) == Some(Sense::Filler);
            if !joins && !mid {
                return;
            }
            self.at += 1;
        }
    }

    /// Parses the joint between the two ends of a range.
    pub(super) fn join(&mut self, first: &Point) -> bool {
        let years = first.year.is_some() && first.month.is_none();
        let joins = match self.cur().is {
            Is::Word(Sense::Join | Sense::A) | Is::Mark('&' | '~') => true,
            Is::Mark('/') => years || first.weekday.is_some() && first.day.is_none(),
            _ => self.cur().dash(),
        };
        // "al" and "hasta el" are joints of two words; "from 3/4 -> 3/9" has an arrow.
        if joins {
            self.at += 1;
            if self.cur().mark('>') || self.cur().mark('-') {
                self.at += 1;
            }
        }
        joins && self.cur().is != Is::End
    }

    /// Parses one end: a weekday, a date, a time, in this order, each of them optional.
    pub(super) fn side(&mut self) -> Option<Point> {
        let mut point = Point::default();
        self.fillers();
        if self.time() {
            if self.cur().mark(',') {
                self.at += 1;
            }
            self.fillers();
        }
        if self.weekday(&mut point) {
            while self.cur().mark(',') || self.cur().mark('.') {
                self.at += 1;
            }
            self.fillers();
        }
        match self.cur().is {
            Is::Number(value, len) => self.figures(&mut point, value, len)?,
            Is::Word(Sense::Month(..)) => self.month_first(&mut point)?,
            Is::Word(Sense::Season(number, name)) => {
                self.field(self.at, Part::Season(name));
                point.season = Some(number);
                self.at += 1;
                self.year_behind(&mut point);
            }
            // An apostrophe without a year after it is left, and ends the date.
            Is::Mark('\'' | '\u{2018}' | '\u{2019}') => drop(self.short_year(self.at, &mut point)),
            _ => {}
        }
        self.time();
        // "2019-03-04 (Monday)".
        let opened = matches!(self.cur().is, Is::Mark('(' | ','));
        let before = self.at;
        self.at += usize::from(opened);
        if point.weekday.is_some() || !self.weekday(&mut point) {
            self.at = before;
        } else if opened && self.cur().mark(')') {
            self.at += 1;
        }
        (point != Point::default()).then_some(point)
    }

    pub(super) fn weekday(&mut self, point: &mut Point) -> bool {
        let Some(Sense::Weekday(number, name)) = self.sense(self.at) else {
            return false;
        };
        self.field(self.at, Part::Weekday(name));
        point.weekday = Some(number);
        self.at += 1;
        true
    }

    /// Parses four digits, or two in a range of years, as a year.
    pub(super) fn year(&mut self, at: usize, point: &mut Point) -> bool {
        match self.tok(at).number() {
            Some((value, 4)) if YEARS.contains(&value) => {
                self.field(at, Part::Year);
                point.year = Some(value as i16);
                true
            }
            _ => false,
        }
    }

    /// Parses an apostrophe at `at` and two digits after it.
    pub(super) fn short_year(&mut self, at: usize, point: &mut Point) -> bool {
        let quoted = matches!(self.tok(at).is, Is::Mark('\'' | '\u{2018}' | '\u{2019}'));
        let number = self.tok(at + 1);
        let Some((value, 2)) = number.number() else {
            return false;
        };
        if !quoted || !number.glued {
            return false;
        }
        self.two_figures(at + 1, value, point);
        self.at = at + 2;
        self.decade(point);
        true
    }

    pub(super) fn two_figures(&mut self, at: usize, value: u32, point: &mut Point) {
        self.field(at, Part::ShortYear);
        point.year = Some(self.hint.century(value as i16));
    }

    /// Parses the "s" of "1990s" after the year that was just read.
    pub(super) fn decade(&mut self, point: &mut Point) {
        let quote = usize::from(matches!(self.cur().is, Is::Mark('\'' | '\u{2019}')) && self.cur().glued);
        let s = self.tok(self.at + quote);
        if s.is == Is::Word(Sense::S) && s.glued && point.year.is_some_and(|year| year % 10 == 0) {
            point.decade = true;
            self.at += quote + 1;
        }
    }

    /// Parses ", 2019", " de 2019", " del año 2019", " '19" after a month, a day or a season.
    pub(super) fn year_behind(&mut self, point: &mut Point) -> bool {
        let mut at = self.at;
        if self.tok(at).mark('.') && self.tok(at).glued {
            at += 1;
        }
        if self.tok(at).mark(',') {
            at += 1;
        }
        while matches!(self.sense(at), Some(Sense::Of | Sense::Filler)) {
            at += 1;
        }
        if self.short_year(at, point) {
            return true;
        }
        // "at 1430", "1430 hours" are times.
        let hours = self.sense(at + 1) == Some(Sense::Hour);
        if !hours && self.year(at, point) {
            self.at = at + 1;
            return true;
        }
        false
    }

    /// Returns the token after the ordinal of the day at `at`: "3rd", "1º".
    pub(super) fn ordinal(&mut self, at: usize, mark: bool) -> usize {
        let behind = self.tok(at + 1);
        match behind.is {
            Is::Word(Sense::Ordinal) if behind.glued => {
                if mark {
                    self.field(at + 1, Part::Ordinal);
                }
                at + 2
            }
            Is::Word(Sense::SpanishOrdinal) | Is::Mark('°') if behind.glued => at + 2,
            _ => at + 1,
        }
    }

    pub(super) fn day(&mut self, at: usize, value: u32, point: &mut Point) -> Option<()> {
        if !(1..=31).contains(&value) {
            return None;
        }
        self.field(at, Part::Day);
        point.day = Some(value as i8);
        Some(())
    }
}

/// Returns the value of a Roman numeral from I to XII.
pub(super) fn roman(word: &str) -> Option<i8> {
    let place = ROMAN.iter().position(|name| name.eq_ignore_ascii_case(word))?;
    i8::try_from(place + 1).ok()
}

/// The months as Roman numerals.
pub(super) const ROMAN: [&str; 12] = [
    "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII",
];
