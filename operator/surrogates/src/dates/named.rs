//! Dates with a month's name: "March 3rd, 2019", "3 de marzo de 2019", "19-Mar-92", "12-III-2004".

use super::lex::Is;
use super::parse::{Parser, Part, Point, roman};
use super::words::{Form, Name, Sense};
use crate::Language;

impl Parser<'_> {
    /// Returns the month's name that belongs to the day at `at`: after an ordinal, a full stop, "of", "de", a
    /// dash or a slash.
    pub(super) fn month_behind(&mut self, at: usize) -> Option<usize> {
        let mut next = self.ordinal(at, false);
        let mark = self.tok(next);
        if matches!(mark.is, Is::Mark('.' | '/')) || mark.dash() {
            // "3 - March" is a range's dash; "3. März" has its full stop directly after the day.
            if !mark.glued || !(self.tok(next + 1).glued || mark.mark('.')) {
                return None;
            }
            next += 1;
        } else {
            while matches!(self.sense(next), Some(Sense::Of)) || self.is_del(next) {
                next += 1;
            }
        }
        self.month_at(next)
    }

    /// Returns whether fillers follow: "12 del marzo", "día 12 del mes de marzo".
    pub(super) fn is_del(&self, at: usize) -> bool {
        self.sense(at) == Some(Sense::Filler)
            && matches!(
                self.sense(at + 1),
                Some(Sense::Of | Sense::Month(..)) | Some(Sense::Filler)
            )
    }

    /// Returns `at` if it is a month: a name, or a Roman numeral between two marks.
    pub(super) fn month_at(&self, at: usize) -> Option<usize> {
        let tok = self.tok(at);
        match tok.is {
            Is::Word(Sense::Month(..)) => Some(at),
            Is::Word(_) if tok.glued && self.tok(at + 1).glued => roman(tok.span.of(self.text)).map(|_| at),
            _ => None,
        }
    }

    pub(super) fn day_month(&mut self, point: &mut Point, day: u32, len: usize, month: usize) -> Option<()> {
        if len > 2 || !(1..=31).contains(&day) {
            return None;
        }
        self.field(self.at, Part::Day);
        self.ordinal(self.at, true);
        point.day = Some(day as i8);
        let mark = self.tok(month - 1);
        let bound = (mark.dash() || mark.mark('/') || mark.mark('.')) && mark.glued;
        self.month_field(month, bound, point)?;
        self.at = month + 1;
        if self.year_behind(point) {
            return Some(());
        }
        // "19-Mar-92", "19/mar/2019".
        let sep = self.cur();
        let year = self.tok(self.at + 1);
        if bound && sep.glued && year.glued && (sep.dash() || matches!(sep.is, Is::Mark('/' | '.'))) {
            if self.year(self.at + 1, point) {
                self.at += 2;
            } else if let Some((value, 2)) = year.number() {
                self.two_figures(self.at + 1, value, point);
                self.at += 2;
            }
            return Some(());
        }
        // "3 March 19", if nothing else follows.
        if let (Some((value, 2)), Is::End) = (sep.number(), year.is) {
            self.two_figures(self.at, value, point);
            self.at += 1;
        }
        Some(())
    }

    pub(super) fn month_field(&mut self, at: usize, bound: bool, point: &mut Point) -> Option<()> {
        match self.tok(at).is {
            Is::Word(Sense::Month(number, name)) => {
                let name = self.settle(at, name, bound);
                self.field(at, Part::MonthName(name));
                point.month = Some(number);
            }
            _ => {
                point.month = Some(roman(self.tok(at).span.of(self.text))?);
                self.field(at, Part::Roman);
            }
        }
        Some(())
    }

    /// Returns the language and form of a name with several possible ones.
    pub(super) fn settle(&self, at: usize, name: Name, bound: bool) -> Name {
        let stop = self.tok(at + 1).mark('.') && self.tok(at + 1).glued;
        let form = match name.form {
            Form::Either if bound || stop => Form::Short,
            Form::Either => Form::Full,
            form => form,
        };
        let spanish = || {
            let of = |at: usize| {
                let span = self.tok(at).span.get(self.text).unwrap_or_default();
                self.sense(at) == Some(Sense::Of) && span.eq_ignore_ascii_case("de")
            };
            of(at + 1) || at > 0 && of(at - 1)
        };
        let language = name.language.or(if spanish() {
            Some(Language::Spanish)
        } else {
            self.hint.language
        });
        // "septiembre" has its own word: "September" is English or German, "may" never German.
        let language = match (language, form) {
            (Some(Language::Spanish), Form::Full) if name.language.is_none() => Some(Language::English),
            (language, _) => language,
        };
        let lower = self.tok(at).span.of(self.text).starts_with(char::is_lowercase);
        let default = if lower && form == Form::Short {
            Language::Spanish
        } else {
            Language::English
        };
        Name {
            language: Some(language.unwrap_or(default)),
            form,
        }
    }

    pub(super) fn month_first(&mut self, point: &mut Point) -> Option<()> {
        let month = self.at;
        let sep = self.tok(month + 1);
        let next = self.tok(month + 2);
        let bound = sep.glued && next.glued && (sep.dash() || sep.mark('/')) && next.number().is_some();
        self.month_field(month, bound, point)?;
        self.at += 1;
        if bound {
            let (value, len) = next.number()?;
            let (again, last) = (self.tok(month + 3), self.tok(month + 4));
            let third = again.glued && last.glued && (again.dash() && sep.dash() || again.mark('/'));
            if len <= 2 && third && last.number().is_some() {
                // "Mar-19-1992".
                self.day(month + 2, value, point)?;
                if !self.year(month + 4, point) {
                    let (value, 2) = last.number()? else { return None };
                    self.two_figures(month + 4, value, point);
                }
                self.at = month + 5;
            } else if self.year(month + 2, point) {
                self.at = month + 3;
            } else if len == 2 {
                self.two_figures(month + 2, value, point);
                self.at = month + 3;
            } else {
                self.day(month + 2, value, point)?;
                self.at = month + 3;
            }
            return Some(());
        }
        let day = self.at + usize::from(self.cur().mark('.') && self.cur().glued);
        let the = usize::from(self.sense(day) == Some(Sense::Filler));
        if let Some((value, 1 | 2)) = self.tok(day + the).number()
            && !self.tok(day + the + 1).mark(':')
        {
            let day = day + the;
            self.day(day, value, point)?;
            self.at = self.ordinal(day, true);
            if !self.year_behind(point) {
                // "March 3, 19", if nothing else follows.
                let comma = usize::from(self.cur().mark(','));
                let last = self.tok(self.at + comma);
                if let (Some((value, 2)), Is::End) = (last.number(), self.tok(self.at + comma + 1).is) {
                    self.two_figures(self.at + comma, value, point);
                    self.at += comma + 1;
                }
            }
            return Some(());
        }
        self.year_behind(point);
        Some(())
    }
}
