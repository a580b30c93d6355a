//! The calendar's words in English, Spanish and German: what they mean, and how they are written.

use crate::Language;

/// What a folded word means in a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sense {
    /// 1 to 12.
    Month(i8, Name),
    /// Monday is 0.
    Weekday(i8, Name),
    /// Spring is 0, winter 3.
    Season(i8, Name),
    /// "from", "del", "early": kept as they are before a date.
    Filler,
    /// "of", "de": joins day, month and year.
    Of,
    /// "to", "hasta": joins the two ends of a range. `a` and `to` can be either.
    Join,
    /// "st", "nd", "rd", "th".
    Ordinal,
    /// "o", "er", "ero" behind a Spanish day, and "º" itself.
    SpanishOrdinal,
    /// "at", "las": before a time.
    At,
    /// "am", "pm", "h", "hrs", "horas": behind a time.
    Hour,
    /// The letter that begins an ISO time.
    T,
    /// The letter of Greenwich.
    Z,
    /// The plural of a decade.
    S,
    /// "a": "a las", "lunes a viernes".
    A,
    /// Anything else.
    Other,
}

/// How a calendar word is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// `None`: the word is the same in two languages.
    pub(super) language: Option<Language>,
    pub(super) form: Form,
}

/// Long or short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Full,
    Short,
    /// "may", "Mai": the same long and short.
    Either,
    /// "Mondays", "sábados".
    Plural,
    /// "Tues", "Thurs", "Weds".
    Longer,
}

use Form::{Either, Full, Longer, Plural, Short};
use Language::{English as En, German as De, Spanish as Es};

const MONTHS_EN: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const MONTHS_ES: [&str; 12] = [
    "enero",
    "febrero",
    "marzo",
    "abril",
    "mayo",
    "junio",
    "julio",
    "agosto",
    "septiembre",
    "octubre",
    "noviembre",
    "diciembre",
];
const MONTHS_DE: [&str; 12] = [
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
];
const SHORT_EN: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const SHORT_ES: [&str; 12] = [
    "ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sep", "oct", "nov", "dic",
];
const SHORT_DE: [&str; 12] = [
    "Jan", "Feb", "Mär", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez",
];
const DAYS_EN: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];
const DAYS_ES: [&str; 7] = [
    "lunes",
    "martes",
    "miércoles",
    "jueves",
    "viernes",
    "sábado",
    "domingo",
];
const DAYS_DE: [&str; 7] = [
    "Montag",
    "Dienstag",
    "Mittwoch",
    "Donnerstag",
    "Freitag",
    "Samstag",
    "Sonntag",
];
const DAY_SHORT_EN: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const DAY_SHORT_ES: [&str; 7] = ["lun", "mar", "mié", "jue", "vie", "sáb", "dom"];
const DAY_SHORT_DE: [&str; 7] = ["Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"];
const DAY_LONGER_EN: [&str; 7] = ["Mon", "Tues", "Weds", "Thurs", "Fri", "Sat", "Sun"];
const SEASONS_EN: [&str; 4] = ["spring", "summer", "fall", "winter"];
const SEASONS_ES: [&str; 4] = ["primavera", "verano", "otoño", "invierno"];
const SEASONS_DE: [&str; 4] = ["Frühling", "Sommer", "Herbst", "Winter"];

/// The name of month 1 to 12.
pub(super) fn month(number: i8, language: Language, form: Form) -> Option<&'static str> {
    let list = match (language, form) {
        (En, Short) => &SHORT_EN,
        (Es, Short) => &SHORT_ES,
        (De, Short) => &SHORT_DE,
        (En, _) => &MONTHS_EN,
        (Es, _) => &MONTHS_ES,
        (De, _) => &MONTHS_DE,
    };
    list.get(usize::try_from(number - 1).ok()?).copied()
}

/// The name of weekday 0 to 6, and the letter that makes it a plural.
pub(super) fn weekday(number: i8, language: Language, form: Form) -> Option<(&'static str, &'static str)> {
    let list = match (language, form) {
        (En, Short) => &DAY_SHORT_EN,
        (En, Longer) => &DAY_LONGER_EN,
        (Es, Short | Longer) => &DAY_SHORT_ES,
        (De, Short | Longer) => &DAY_SHORT_DE,
        (En, _) => &DAYS_EN,
        (Es, _) => &DAYS_ES,
        (De, _) => &DAYS_DE,
    };
    // "los lunes" has no letter of its own.
    let plural = form == Plural && !(language == Es && number < 5);
    let name = list.get(usize::try_from(number).ok()?)?;
    Some((name, if plural { "s" } else { "" }))
}

/// The name of season 0 to 3.
pub(super) fn season(number: i8, language: Language) -> Option<&'static str> {
    let list = match language {
        En => &SEASONS_EN,
        Es => &SEASONS_ES,
        De => &SEASONS_DE,
    };
    list.get(usize::try_from(number).ok()?).copied()
}

/// The sense of a folded word.
pub(super) fn sense(word: &str) -> Sense {
    let month = |number, language: Option<Language>, form| Sense::Month(number, Name { language, form });
    let day = |number, language: Option<Language>, form| Sense::Weekday(number, Name { language, form });
    let season = |number, language, form| {
        Sense::Season(
            number,
            Name {
                language: Some(language),
                form,
            },
        )
    };
    let (en, es, de) = (Some(En), Some(Es), Some(De));
    match word {
        "january" => month(1, en, Full),
        "enero" => month(1, es, Full),
        "januar" => month(1, de, Full),
        "jan" => month(1, en, Short),
        "ene" => month(1, es, Short),
        "february" => month(2, en, Full),
        "febrero" => month(2, es, Full),
        "februar" => month(2, de, Full),
        "feb" => month(2, None, Short),
        "march" => month(3, en, Full),
        "marzo" => month(3, es, Full),
        "marz" | "maerz" => month(3, de, Full),
        // "mar" is Tuesday too; a month is meant far more often.
        "mar" => month(3, None, Short),
        "april" => month(4, None, Full),
        "abril" => month(4, es, Full),
        "apr" => month(4, en, Short),
        "abr" => month(4, es, Short),
        "may" => month(5, None, Either),
        "mayo" => month(5, es, Full),
        "mai" => month(5, de, Either),
        "june" => month(6, en, Full),
        "junio" => month(6, es, Full),
        "juni" => month(6, de, Full),
        "jun" => month(6, None, Short),
        "july" => month(7, en, Full),
        "julio" => month(7, es, Full),
        "juli" => month(7, de, Full),
        "jul" => month(7, None, Short),
        "august" => month(8, None, Full),
        "agosto" => month(8, es, Full),
        "aug" => month(8, en, Short),
        "ago" => month(8, es, Short),
        "september" => month(9, None, Full),
        "septiembre" | "setiembre" => month(9, es, Full),
        "sep" | "sept" => month(9, None, Short),
        "set" => month(9, es, Short),
        "october" => month(10, en, Full),
        "octubre" => month(10, es, Full),
        "oktober" => month(10, de, Full),
        "oct" => month(10, None, Short),
        "okt" => month(10, de, Short),
        "november" => month(11, None, Full),
        "noviembre" => month(11, es, Full),
        "nov" => month(11, None, Short),
        "december" => month(12, en, Full),
        "diciembre" => month(12, es, Full),
        "dezember" => month(12, de, Full),
        "dec" => month(12, en, Short),
        "dic" => month(12, es, Short),
        "dez" => month(12, de, Short),
        "monday" => day(0, en, Full),
        "mondays" => day(0, en, Plural),
        "mon" => day(0, en, Short),
        "lunes" => day(0, es, Full),
        "lun" => day(0, es, Short),
        "montag" => day(0, de, Full),
        "tuesday" => day(1, en, Full),
        "tuesdays" => day(1, en, Plural),
        "tue" => day(1, en, Short),
        "tues" => day(1, en, Longer),
        "martes" => day(1, es, Full),
        "dienstag" => day(1, de, Full),
        "wednesday" => day(2, en, Full),
        "wednesdays" => day(2, en, Plural),
        "wed" => day(2, en, Short),
        "weds" => day(2, en, Longer),
        "miercoles" => day(2, es, Full),
        "mie" | "mier" => day(2, es, Short),
        "mittwoch" => day(2, de, Full),
        "thursday" => day(3, en, Full),
        "thursdays" => day(3, en, Plural),
        "thu" => day(3, en, Short),
        "thur" | "thurs" => day(3, en, Longer),
        "jueves" => day(3, es, Full),
        "jue" => day(3, es, Short),
        "donnerstag" => day(3, de, Full),
        "friday" => day(4, en, Full),
        "fridays" => day(4, en, Plural),
        "fri" => day(4, en, Short),
        "viernes" => day(4, es, Full),
        "vie" => day(4, es, Short),
        "freitag" => day(4, de, Full),
        "saturday" => day(5, en, Full),
        "saturdays" => day(5, en, Plural),
        "sat" => day(5, en, Short),
        "sabado" => day(5, es, Full),
        "sabados" => day(5, es, Plural),
        "sab" => day(5, es, Short),
        "samstag" => day(5, de, Full),
        "sunday" => day(6, en, Full),
        "sundays" => day(6, en, Plural),
        "sun" => day(6, en, Short),
        "domingo" => day(6, es, Full),
        "domingos" => day(6, es, Plural),
        "dom" => day(6, es, Short),
        "sonntag" => day(6, de, Full),
        "spring" => season(0, En, Full),
        "primavera" => season(0, Es, Full),
        "fruhling" => season(0, De, Full),
        "summer" => season(1, En, Full),
        "verano" => season(1, Es, Full),
        "sommer" => season(1, De, Full),
        "fall" => season(2, En, Full),
        "autumn" => season(2, En, Either),
        "otono" => season(2, Es, Full),
        "herbst" => season(2, De, Full),
        // German writes winter alike.
        "winter" => season(3, En, Full),
        "invierno" => season(3, Es, Full),
        "of" | "de" => Sense::Of,
        "to" | "hasta" | "al" | "and" | "y" | "through" | "thru" | "until" | "till" | "bis" | "e" | "und" => {
            Sense::Join
        }
        "from" | "between" | "the" | "on" | "in" | "since" | "del" | "el" | "desde" | "entre" | "dia"
        | "ano" | "anos" | "year" | "mes" | "month" | "early" | "late" | "mid" | "middle" | "end"
        | "beginning" | "principios" | "finales" | "mediados" | "about" | "circa" | "approximately"
        | "around" | "en" | "los" | "fecha" | "vom" | "im" | "ca" | "by" | "before" | "after" | "week"
        | "semana" | "last" | "next" | "this" | "dated" | "der" | "den" | "von" => Sense::Filler,
        "st" | "nd" | "rd" | "th" => Sense::Ordinal,
        "º" | "°" | "ro" | "ero" | "er" | "o" => Sense::SpanishOrdinal,
        "at" | "las" | "la" | "um" => Sense::At,
        "am" | "pm" | "h" | "hr" | "hrs" | "hs" | "hora" | "horas" | "hours" | "hour" | "uhr" | "p" | "m"
        | "est" | "edt" | "cst" | "cdt" | "mst" | "mdt" | "pst" | "pdt" | "utc" | "gmt" | "cet" | "cest" => {
            Sense::Hour
        }
        "t" => Sense::T,
        "z" => Sense::Z,
        "s" => Sense::S,
        "a" => Sense::A,
        _ => Sense::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_is_written_is_read_as_what_it_names() {
        for language in [En, Es, De] {
            for number in 1..=12 {
                for form in [Full, Short] {
                    let word = lethe_dictionaries::fold(month(number, language, form).unwrap());
                    assert!(
                        matches!(sense(&word), Sense::Month(read, _) if read == number),
                        "{word}"
                    );
                }
            }
            for number in 0..7 {
                let word = lethe_dictionaries::fold(weekday(number, language, Full).unwrap().0);
                assert!(
                    matches!(sense(&word), Sense::Weekday(read, _) if read == number),
                    "{word}"
                );
            }
            for number in 0..4 {
                let word = lethe_dictionaries::fold(season(number, language).unwrap());
                assert!(
                    matches!(sense(&word), Sense::Season(read, _) if read == number),
                    "{word}"
                );
            }
        }
    }

    #[test]
    fn there_is_no_thirteenth_month() {
        assert_eq!(
            (month(13, En, Full), month(0, En, Full), month(-1, En, Short)),
            (None, None, None)
        );
        assert_eq!(weekday(7, Es, Full), None);
    }
}
