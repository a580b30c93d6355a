//! Numeric dates: "03/18/2022", "2022-03-18", "3/2019", "12/03", "20220318", "2019", and days that the other
//! end of a range completes.

use lethe_core::Span;

use super::Order;
use super::lex::Is;
use super::parse::{Field, Parser, Part, Point, YEARS};
use super::words::Sense;

impl Parser<'_> {
    pub(super) fn figures(&mut self, point: &mut Point, value: u32, len: usize) -> Option<()> {
        let at = self.at;
        if len == 8 {
            return self.compact(point, value);
        }
        if let Some(month) = self.month_behind(at) {
            return self.day_month(point, value, len, month);
        }
        if let Some((mark, second)) = self.apart(at) {
            let (b, b_len) = self.tok(second).number()?;
            if let Some((again, third)) = self.apart(second)
                && again == mark
                && self.month_behind(second).is_none()
                && self.tok(third).number().is_some()
            {
                return self.three(point, [at, second, third]);
            }
            // "12-15 March", "12-15/03/2019", "2018-2019", "2018-19": the dash belongs to a range.
            let goes_on = self.apart(second).is_some_and(|(again, _)| again != mark);
            let range = mark == '-'
                && (self.month_behind(second).is_some()
                    || goes_on && b_len <= 2 && len <= 2
                    || self.month_at(second + 1).is_some());
            let years = len == 4 && (b_len == 4 || b_len == 2 && b > 12);
            if !range && !years {
                return self.two(point, [at, second], (value, len), (b, b_len));
            }
        }
        if self.year(at, point) {
            self.at += 1;
            self.decade(point);
            return Some(());
        }
        // "2018-19": the second end of a range of years.
        let years = self.end == 1 && self.first.year.is_some() && self.first.month.is_none();
        if years && len == 2 {
            self.two_figures(at, value, point);
            self.at += 1;
            return Some(());
        }
        let s = self.tok(at + 1);
        let quoted = matches!(s.is, Is::Mark('\'' | '\u{2019}')) && self.sense(at + 2) == Some(Sense::S);
        if len == 2 && value.is_multiple_of(10) && s.glued && (s.is == Is::Word(Sense::S) || quoted) {
            self.two_figures(at, value, point);
            self.at += 1;
            self.decade(point);
            return Some(());
        }
        // A day whose month comes from the other end of a range.
        if len > 2 || !(1..=31).contains(&value) {
            return None;
        }
        self.field(at, Part::Day);
        point.day = Some(value as i8);
        self.at = self.ordinal(at, true);
        if self.end == 1 {
            self.year_behind(point);
        }
        Some(())
    }

    /// Returns the punctuation mark between the number at `at` and the next token, and that token's index.
    pub(super) fn apart(&self, at: usize) -> Option<(char, usize)> {
        let (mark, next) = (self.tok(at + 1), self.tok(at + 2));
        let close = mark.glued && next.glued;
        let sep = match mark.is {
            Is::Mark('/') => '/',
            Is::Mark('.') if close => '.',
            _ if mark.dash() && close => '-',
            _ => return None,
        };
        next.number().map(|_| (sep, at + 2))
    }

    /// Parses "3/18/2022", "18.03.22", "2022-03-18".
    pub(super) fn three(&mut self, point: &mut Point, at: [usize; 3]) -> Option<()> {
        let [a, b, c] = [at[0], at[1], at[2]].map(|at| self.tok(at).number());
        let ((a, a_len), (b, b_len), (c, c_len)) = (a?, b?, c?);
        if b_len > 2 {
            return None;
        }
        self.at = at[2] + 1;
        // A fourth part makes it a version, an address or an identifier.
        if let Some((mark, _)) = self.apart(at[2])
            && self.apart(at[0]).is_some_and(|(first, _)| first == mark)
        {
            return None;
        }
        let year_first = a_len == 4 || c_len <= 2 && a_len == 2 && a > 31;
        if year_first {
            if c_len > 2 || !self.any_year(at[0], a, a_len, point) {
                return None;
            }
            self.month_number(at[1], b, point)?;
            return self.day(at[2], c, point);
        }
        if a_len > 2 || !matches!(c_len, 2 | 4) {
            return None;
        }
        let [day, month] = self.order(at[0], at[1], a, b)?;
        let [(day_at, day), (month_at, month)] = [day, month];
        self.day(day_at, day, point)?;
        self.month_number(month_at, month, point)?;
        self.any_year(at[2], c, c_len, point).then_some(())
    }

    pub(super) fn any_year(&mut self, at: usize, value: u32, len: usize, point: &mut Point) -> bool {
        if len == 2 {
            self.two_figures(at, value, point);
            return true;
        }
        self.year(at, point)
    }

    pub(super) fn month_number(&mut self, at: usize, value: u32, point: &mut Point) -> Option<()> {
        if !(1..=12).contains(&value) {
            return None;
        }
        self.field(at, Part::Month);
        point.month = Some(value as i8);
        Some(())
    }

    /// Decides which of two numbers is the day and which the month: the one above 12, else the hint.
    pub(super) fn order(&self, first: usize, second: usize, a: u32, b: u32) -> Option<[(usize, u32); 2]> {
        let dotted = self.tok(first + 1).mark('.');
        let day_first = match (a > 12, b > 12) {
            (true, true) => return None,
            (true, false) => true,
            (false, true) => false,
            (false, false) => self.hint.order(dotted) == Order::DayMonth,
        };
        Some(if day_first {
            [(first, a), (second, b)]
        } else {
            [(second, b), (first, a)]
        })
    }

    /// Parses "3/2019", "2019-03", "12/03", "10/99".
    pub(super) fn two(
        &mut self,
        point: &mut Point,
        at: [usize; 2],
        a: (u32, usize),
        b: (u32, usize),
    ) -> Option<()> {
        self.at = at[1] + 1;
        match (a.1, b.1) {
            (1 | 2, 4) => {
                self.month_number(at[0], a.0, point)?;
                self.year(at[1], point).then_some(())
            }
            (4, 1 | 2) => {
                if !self.year(at[0], point) {
                    return None;
                }
                self.month_number(at[1], b.0, point)
            }
            (1 | 2, 2) if b.0 > 31 || b.0 == 0 => {
                self.month_number(at[0], a.0, point)?;
                self.two_figures(at[1], b.0, point);
                Some(())
            }
            (1 | 2, 1 | 2) => {
                let [(day_at, day), (month_at, month)] = self.order(at[0], at[1], a.0, b.0)?;
                self.day(day_at, day, point)?;
                self.month_number(month_at, month, point)
            }
            _ => None,
        }
    }

    /// Parses "20220318", or "18032022" in the hint's order.
    pub(super) fn compact(&mut self, point: &mut Point, value: u32) -> Option<()> {
        let start = self.cur().span.start();
        let (year, month, day) = (value / 10_000, value / 100 % 100, value % 100);
        let iso = YEARS.contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
        let mut cut = |from: usize, len: usize, part: Part, end: usize| {
            // There are eight digits at `start`, one byte each.
            let span = Span::between((start + from) as u32, (start + from + len) as u32);
            self.fields.push(Field { span, part, end });
        };
        let end = self.end;
        if iso {
            cut(0, 4, Part::Year, end);
            cut(4, 2, Part::Month, end);
            cut(6, 2, Part::Day, end);
            (point.year, point.month, point.day) = (Some(year as i16), Some(month as i8), Some(day as i8));
        } else {
            let (a, b, year) = (value / 1_000_000, value / 10_000 % 100, value % 10_000);
            let day_first = a > 12 || b <= 12 && self.hint.order(false) == Order::DayMonth;
            let (day, month) = if day_first { (a, b) } else { (b, a) };
            if !YEARS.contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
                return None;
            }
            let (first, second) = if day_first {
                (Part::Day, Part::Month)
            } else {
                (Part::Month, Part::Day)
            };
            cut(0, 2, first, end);
            cut(2, 2, second, end);
            cut(4, 4, Part::Year, end);
            (point.year, point.month, point.day) = (Some(year as i16), Some(month as i8), Some(day as i8));
        }
        self.at += 1;
        Some(())
    }
}
