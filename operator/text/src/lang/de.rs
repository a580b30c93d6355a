//! German: the calendar only.

use super::{Language, Words};

pub(super) static WORDS: Words = Words {
    language: Language::German,
    months: [
        "Januar",
        "Februar",
        "März",
        "April",
        "Mai",
        "Juni",
        "Juli",
        "August",
        "September",
        "Oktober",
        "November",
        "Dezember",
    ],
    months_short: [
        "Jan", "Feb", "Mär", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez",
    ],
    month_spellings: &[("maerz", 3), ("mrz", 3), ("sept", 9)],
    weekdays: [
        "Montag",
        "Dienstag",
        "Mittwoch",
        "Donnerstag",
        "Freitag",
        "Samstag",
        "Sonntag",
    ],
    weekdays_short: ["Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"],
    seasons: ["Frühling", "Sommer", "Herbst", "Winter"],
    numbers: &[],
    tens: &[],
    number_forms: &[],
};
