//! Dates: one timeline per document, and the formats they are written in.

use jiff::ToSpan as _;
use jiff::civil::{Date, Weekday, date, time as time_of_day};

use super::{Cast, spoken};
use crate::chance::Chance;
use crate::language::Language;
use crate::page::Page;
use crate::slot::{Day, Role, Written};

/// Day-first formats, which most of the world uses.
const FIGURES: Forms = &[
    ("%d/%m/%Y", 4.0),
    ("%-d/%-m/%Y", 2.0),
    ("%d.%m.%Y", 3.0),
    ("%-d.%-m.%Y", 1.0),
    ("%d-%m-%Y", 1.0),
    ("%-d/%-m/%y", 1.0),
];
const LONG: Forms = &[
    ("%-d %B %Y", 8.0),
    ("%-d %b %Y", 1.0),
    ("{th} %B %Y", 1.0),
    ("{th} of %B %Y", 0.5),
    ("%A %-d %B %Y", 0.7),
    ("%A, %-d %B", 0.4),
];
const SHORT: Forms = &[
    ("%-d %B", 5.0),
    ("%-d %b", 1.0),
    ("{th} %B", 1.0),
    ("%-d/%-m", 0.7),
];
const MONTH_YEAR: Forms = &[("%B %Y", 6.0), ("%b %Y", 1.0), ("%m/%Y", 0.5)];

/// Formats in strftime's notation, by weight.
type Forms = &'static [(&'static str, f64)];

impl Cast<'_> {
    pub(crate) fn day(&mut self, day: Day) -> Date {
        if let Some(&known) = self.days.get(&day) {
            return known;
        }
        let made = self.make_day(day);
        self.days.insert(day, made);
        made
    }

    fn make_day(&mut self, day: Day) -> Date {
        let (from, low, high) = match day {
            Day::Visit => {
                // Records of four decades, most of them of the last one.
                let year = if self.chance.often(0.6) {
                    self.chance.within(2014, 2027)
                } else {
                    self.chance.within(1988, 2013)
                };
                let first = date(i16::try_from(year).unwrap_or(2019), 1, 1);
                return moved(first, self.chance.within(0, 364));
            }
            Day::Birth | Day::RelativeBirth => {
                let role = if day == Day::Birth {
                    Role::Patient
                } else {
                    Role::Relative
                };
                let years = self.person(role).age;
                let visit = self.day(Day::Visit);
                return moved(visit, -(years * 365 + years / 4) - self.chance.within(1, 360));
            }
            Day::Admit => (Day::Visit, -9, 0),
            Day::Discharge => (Day::Visit, 0, 12),
            Day::Signed => (Day::Visit, 0, 3),
            Day::Past => (Day::Visit, -400, -3),
            Day::Past2 => (Day::Visit, -2500, -60),
            Day::Past3 => (Day::Visit, -12000, -200),
            Day::Onset => (Day::Visit, -60, -1),
            Day::Future => (Day::Visit, 2, 60),
            Day::Future2 => (Day::Visit, 20, 400),
        };
        let from = self.day(from);
        moved(from, self.chance.within(low, high))
    }

    pub(super) fn write_date(&mut self, day: Day, written: Written, page: &mut Page) {
        let date = self.day(day);
        let chance = &mut self.chance;
        let institute = self.institute;
        let full = matches!(day, Day::Birth | Day::RelativeBirth);
        let figures = chance.often(institute.figures);
        if let Some(language) = institute.language {
            let form = match written {
                Written::Month => Some(["%B", "%B", "%B", "%b"]),
                Written::Year => Some(["%Y", "%Y", "%Y", "%y"]),
                Written::Weekday => Some(["%A", "%A", "%A", "%a"]),
                _ => None,
            };
            if let Some(form) = form {
                let form = chance.word(&form).to_owned();
                return page.value("DATE", &in_language(date, &form, language, chance));
            }
            match written {
                Written::Holiday => return page.value("DATE", chance.word(&language.holidays)),
                Written::Season => {
                    let season = language.season(date.month(), chance);
                    return page.value("DATE", &format!("{season} {}", date.year()));
                }
                _ => {}
            }
        }
        let (own, day_first) = match written {
            Written::Num => (&institute.numeric, FIGURES),
            Written::Long => (&institute.long, LONG),
            Written::Short => (&institute.short, SHORT),
            Written::MonthYear => (&institute.month_year, MONTH_YEAR),
            Written::Any if full || chance.often(0.85) => {
                if figures {
                    (&institute.numeric, FIGURES)
                } else {
                    (&institute.long, LONG)
                }
            }
            Written::Any => (&institute.short, SHORT),
            Written::Month => {
                return page.value(
                    "DATE",
                    &strftime(date, if chance.often(0.8) { "%B" } else { "%b" }),
                );
            }
            Written::Year => {
                return page.value(
                    "DATE",
                    &strftime(date, if chance.often(0.95) { "%Y" } else { "'%y" }),
                );
            }
            Written::Weekday => {
                return page.value(
                    "DATE",
                    &strftime(date, if chance.often(0.85) { "%A" } else { "%a" }),
                );
            }
            Written::Iso => return page.value("DATE", &strftime(date, "%Y-%m-%d")),
            Written::Holiday => {
                let holiday = institute.pools.holidays.any(chance);
                return page.value("DATE", holiday);
            }
            Written::Season => return season(date, chance, page),
            Written::Spoken | Written::SpokenDay | Written::SpokenYear => {
                let said = match written {
                    Written::SpokenDay => spoken::day(date, chance),
                    Written::SpokenYear => spoken::year(date.year(), chance),
                    _ => spoken::date(date, chance),
                };
                return page.value("DATE", &said);
            }
        };
        let own: Vec<(&str, f64)> = own
            .iter()
            .map(|(form, weight)| (form.as_str(), *weight))
            .collect();
        let form = chance.weighted(if self.day_first { day_first } else { &own }, "%m/%d/%Y");
        let text = match institute.language {
            Some(language) => in_language(date, form, language, chance),
            None => strftime(date, form),
        };
        page.value("DATE", &text);
    }
}

fn moved(from: Date, days: i64) -> Date {
    from.saturating_add(days.days())
}

/// Writes a date with the months and weekdays of a language.
fn in_language(date: Date, form: &str, language: &Language, chance: &mut Chance) -> String {
    let weekday = date.weekday().to_monday_zero_offset();
    let form = form
        .replace("%B", language.month(date.month(), chance))
        .replace("%b", language.month_short(date.month(), chance))
        .replace("%A", language.weekday(weekday))
        .replace("%a", language.weekday_short(weekday));
    date.strftime(&form).to_string()
}

/// Returns a time of day as a language writes it.
pub(super) fn time(language: &Language, chance: &mut Chance) -> String {
    let hour = i8::try_from(chance.within(0, 23)).unwrap_or_default();
    let minute = i8::try_from(chance.within(0, 59)).unwrap_or_default();
    let form = chance.word(&language.times);
    time_of_day(hour, minute, 0, 0).strftime(form).to_string()
}

fn strftime(date: Date, form: &str) -> String {
    let day = date.day();
    let ending = match day {
        11..=13 => "th",
        _ => match day % 10 {
            1 => "st",
            2 => "nd",
            3 => "rd",
            _ => "th",
        },
    };
    let form = form.replace("{th}", &format!("{day}{ending}"));
    date.strftime(&form).to_string()
}

fn season(date: Date, chance: &mut Chance, page: &mut Page) {
    let season = match date.month() {
        12 | 1 | 2 => "winter",
        3..=5 => "spring",
        6..=8 => "summer",
        _ if date.weekday() == Weekday::Monday => "autumn",
        _ => "fall",
    };
    let year = date.year();
    match chance.below(4) {
        0 => page.value("DATE", &format!("{season} {year}")),
        1 | 2 => {
            page.text("the ");
            page.value("DATE", &format!("{season} of {year}"));
        }
        _ => page.value("DATE", &format!("{} {year}", super::words::capital(season))),
    }
}
