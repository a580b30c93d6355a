//! Moves a parsed date and writes it in its own format.

use jiff::ToSpan;
use jiff::civil::Date;

use super::Written;
use super::parse::{Field, Part, Point, ROMAN};
use super::words::{month, season, weekday};
use crate::Language;
use lethe_text::Case;

/// The mean days of a month and of a year, Gregorian, in ten-thousandths.
const MONTH: i64 = 304_369;
const YEAR: i64 = 3_652_425;

/// Days in the years 1 to 9999, rounded up.
const FURTHEST: u32 = 3_660_000;

impl Written<'_> {
    /// Returns the date `days` later, in the same form. `None` if it would leave the years 1 to 9999.
    pub fn shift(&self, days: i32) -> Option<String> {
        // Larger shifts leave the calendar.
        if days.unsigned_abs() > FURTHEST {
            return None;
        }
        let mut points = self.points;
        for point in points.iter_mut().take(1 + usize::from(self.range)) {
            *point = self.moved(point, days)?;
        }
        let extra = self.spelt_out(&points);
        let mut fields: Vec<(&Field, Point)> = self.fields.iter().map(|f| (f, points[f.end])).collect();
        fields.sort_by_key(|(field, _)| field.span.start());
        let mut out = String::with_capacity(self.text.len() + 16);
        let mut at = 0;
        for (field, point) in fields {
            out.push_str(self.text.get(at..field.span.start())?);
            let day = field.part == Part::Day;
            let extra = extra.as_ref().filter(|extra| day && extra.end == field.end);
            out.push_str(extra.map_or("", |extra| &extra.before));
            self.write(field, &point, &mut out)?;
            out.push_str(extra.map_or("", |extra| &extra.behind));
            at = field.span.end();
        }
        out.push_str(self.text.get(at..)?);
        Some(out)
    }

    fn moved(&self, point: &Point, days: i32) -> Option<Point> {
        let mut to = *point;
        let wide = i64::from(days);
        to.weekday = point
            .weekday
            .map(|day| (i64::from(day) + wide).rem_euclid(7) as i8);
        match (point.year, point.month, point.day) {
            (Some(year), Some(month), Some(day)) => {
                let date = Date::new(year, month, day).ok()?;
                let date = date.checked_add(days.days()).ok()?;
                (to.year, to.month, to.day) = (Some(date.year()), Some(date.month()), Some(date.day()));
            }
            (None, Some(month), Some(day)) => {
                let date = match self.reference {
                    Some(year) => {
                        // The 29th of February of a year without it is the day before the 1st of March.
                        let date = Date::new(year, month, day).or_else(|_| Date::new(year, month, day - 1));
                        date.ok()?.checked_add(days.days()).ok()?
                    }
                    // Dates without a year move in a circle of 365 days, so that moving back restores them.
                    None => {
                        let year = if (month, day) == (2, 29) { 2000 } else { 2001 };
                        let date = Date::new(year, month, day).ok()?;
                        let first = Date::new(year, 1, 1).ok()?;
                        let place = i64::from(date.day_of_year()) - 1 + wide;
                        let place = place.rem_euclid(i64::from(date.days_in_year()));
                        first.checked_add(place.days()).ok()?
                    }
                };
                (to.month, to.day) = (Some(date.month()), Some(date.day()));
            }
            (year, Some(month), None) => {
                let months = round(wide, MONTH);
                let all = i64::from(year.unwrap_or(0)) * 12 + i64::from(month) - 1 + months;
                to.year = match year {
                    Some(_) => Some(i16::try_from(all.div_euclid(12)).ok()?),
                    None => None,
                };
                to.month = Some(all.rem_euclid(12) as i8 + 1);
            }
            (Some(year), None, None) if point.season.is_some() => {
                let all = i64::from(year) * 4 + i64::from(point.season?) + round(wide, YEAR / 4);
                to.year = Some(i16::try_from(all.div_euclid(4)).ok()?);
                to.season = Some(all.rem_euclid(4) as i8);
            }
            (Some(year), None, None) => {
                let years = if point.decade {
                    round(wide, YEAR * 10) * 10
                } else {
                    round(wide, YEAR)
                };
                to.year = Some(i16::try_from(i64::from(year) + years).ok()?);
            }
            (None, None, None) => {
                let seasons = round(wide, YEAR / 4);
                to.season = point
                    .season
                    .map(|season| (i64::from(season) + seasons).rem_euclid(4) as i8);
            }
            (_, None, Some(_)) => return None,
        }
        to.year
            .is_none_or(|year| (1..=9999).contains(&year))
            .then_some(to)
    }

    /// "12-15 March" moved across a month's end needs a second month: "28 March-2 April".
    fn spelt_out(&self, points: &[Point; 2]) -> Option<Extra> {
        let end = self.month_from_other.iter().position(|&shared| shared)?;
        if points[0].month == points[1].month && points[0].year == points[1].year {
            return None;
        }
        let giver = 1 - end;
        let find = |wanted: fn(Part) -> bool, of: usize| {
            self.fields
                .iter()
                .find(|field| field.end == of && wanted(field.part))
        };
        let is_month = |part| matches!(part, Part::Month | Part::MonthName(_) | Part::Roman);
        let day = find(|part| part == Part::Day, giver)?;
        let suffix = find(|part| part == Part::Ordinal, giver);
        let month = find(is_month, giver)?;
        let year = find(|part| matches!(part, Part::Year | Part::ShortYear), giver);
        let mut extra = Extra {
            end,
            before: String::new(),
            behind: String::new(),
        };
        // The separators of the other end are reused between day, month and year.
        let between = |a: usize, b: usize| self.text.get(a..b);
        if month.span.start() > day.span.start() {
            let from = suffix.map_or(day.span.end(), |suffix| suffix.span.end());
            extra.behind.push_str(between(from, month.span.start())?);
            self.write(month, &points[end], &mut extra.behind)?;
            if let Some(year) = year.filter(|_| points[0].year != points[1].year) {
                extra
                    .behind
                    .push_str(between(month.span.end(), year.span.start())?);
                self.write(year, &points[end], &mut extra.behind)?;
            }
        } else {
            self.write(month, &points[end], &mut extra.before)?;
            extra
                .before
                .push_str(between(month.span.end(), day.span.start())?);
        }
        Some(extra)
    }

    fn write(&self, field: &Field, point: &Point, out: &mut String) -> Option<()> {
        let old = field.span.get(self.text)?;
        match field.part {
            Part::Day => self.number(field, old, point.day?, out),
            Part::Month => self.number(field, old, point.month?, out),
            Part::Year => out.push_str(&format!("{:04}", point.year?)),
            Part::ShortYear => out.push_str(&format!("{:02}", point.year?.rem_euclid(100))),
            Part::Roman => {
                let name = ROMAN.get(usize::try_from(point.month? - 1).ok()?)?;
                // "I" alone is upper case too.
                let lower = old.starts_with(char::is_lowercase);
                out.push_str(&if lower {
                    name.to_lowercase()
                } else {
                    (*name).to_owned()
                });
            }
            Part::MonthName(name) => {
                let new = month(
                    point.month?,
                    name.language.unwrap_or(Language::English),
                    name.form,
                )?;
                // The same month keeps its spelling: "Sept", "setiembre".
                let same = self.points[field.end].month == point.month;
                Case::of(old).write(if same { old } else { new }, out);
            }
            Part::Weekday(name) => {
                let language = name.language.unwrap_or(Language::English);
                let (new, plural) = weekday(point.weekday?, language, name.form)?;
                let same = self.points[field.end].weekday == point.weekday;
                let new = if same {
                    old.to_owned()
                } else {
                    format!("{new}{plural}")
                };
                Case::of(old).write(&new, out);
            }
            Part::Season(name) => {
                let new = season(point.season?, name.language.unwrap_or(Language::English))?;
                let same = self.points[field.end].season == point.season;
                Case::of(old).write(if same { old } else { new }, out);
            }
            Part::Ordinal => {
                let new = match point.day? {
                    11..=13 => "th",
                    day if day % 10 == 1 => "st",
                    day if day % 10 == 2 => "nd",
                    day if day % 10 == 3 => "rd",
                    _ => "th",
                };
                Case::of(old).write(new, out);
            }
        }
        Some(())
    }

    /// Writes a numeric day or month, with the padding of the text.
    fn number(&self, field: &Field, old: &str, value: i8, out: &mut String) {
        let figures = |field: &&Field| matches!(field.part, Part::Day | Part::Month);
        let shapes = || {
            let texts = self.fields.iter().filter(figures);
            texts.filter_map(|field| field.span.get(self.text))
        };
        let padded = if old.len() == 1 {
            false
        } else if old.starts_with('0') || shapes().any(|text| text.starts_with('0')) {
            true
        } else {
            // Numeric dates with two parts have padding: "12/15/2019" and "12-Mar-19" do, "12 March" does
            // not.
            let rest = self.text.get(field.span.end()..).unwrap_or_default();
            let named = !rest.starts_with(['-', '/', '.'])
                && self.fields.iter().any(|f| matches!(f.part, Part::MonthName(_)));
            !shapes().any(|text| text.len() == 1) && !named
        };
        if padded && value < 10 {
            out.push('0');
        }
        out.push_str(&value.to_string());
    }
}

/// The text that a range's end gets when it no longer shares the other's month.
struct Extra {
    end: usize,
    before: String,
    behind: String,
}

/// Returns `days` in periods of `length` ten-thousandths of a day, rounded half away from zero, so that
/// `-days` reverses `days`.
fn round(days: i64, length: i64) -> i64 {
    let whole = (days.abs() * 10_000 + length / 2) / length;
    whole * days.signum()
}
