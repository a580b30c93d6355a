//! Golden formats, and properties of every format.

use proptest::prelude::*;

use super::*;

fn hint(order: Order) -> Hint {
    let language = if order == Order::DayMonth {
        Language::Spanish
    } else {
        Language::English
    };
    Hint {
        order: Some(order),
        language: Some(language),
        year: None,
    }
}

const MDY: Order = Order::MonthDay;
const DMY: Order = Order::DayMonth;

fn shifted(text: &str, order: Order, days: i32) -> Option<String> {
    Written::parse(text, &hint(order))?.shift(days)
}

/// Text, order, days, and the expected result.
const SHIFTS: &[(&str, Order, i32, &str)] = &[
    ("03/18/2022", MDY, 20, "04/07/2022"),
    ("3/18/2022", MDY, 20, "4/7/2022"),
    ("18/03/2022", DMY, 20, "07/04/2022"),
    ("18/03/22", MDY, 1, "19/03/22"),
    ("03/18/22", DMY, 1, "03/19/22"),
    ("18.03.22", DMY, -18, "28.02.22"),
    ("18-3-2022", DMY, 1, "19-3-2022"),
    ("2022-03-18", DMY, 300, "2023-01-12"),
    ("2022/03/18", MDY, -77, "2021/12/31"),
    (
        "2022-03-18T10:20:30.123+02:00",
        MDY,
        1,
        "2022-03-19T10:20:30.123+02:00",
    ),
    ("2022-03-18T10:20Z", MDY, 1, "2022-03-19T10:20Z"),
    ("20220318", MDY, 14, "20220401"),
    ("3/18/2022 at 10:30 a.m.", MDY, 1, "3/19/2022 at 10:30 a.m."),
    ("3/18/2022 3 pm", MDY, 1, "3/19/2022 3 pm"),
    ("03/04/2019, 14:02", MDY, 1, "03/05/2019, 14:02"),
    ("18/03/2022 a las 10:30 h", DMY, 1, "19/03/2022 a las 10:30 h"),
    ("10:30 on 3/18/2022", MDY, 1, "10:30 on 3/19/2022"),
    ("March 3rd, 2019", MDY, -1, "March 2nd, 2019"),
    ("March 3, 2019", MDY, 10, "March 13, 2019"),
    ("MARCH 3RD 2019", MDY, 30, "APRIL 2ND 2019"),
    ("Mar. 3, 2019", MDY, 30, "Apr. 2, 2019"),
    ("the 3rd of March", MDY, 8, "the 11th of March"),
    ("3 March 2019", DMY, -3, "28 February 2019"),
    ("3 de marzo de 2019", DMY, 30, "2 de abril de 2019"),
    ("3 de Marzo del 2019", DMY, 30, "2 de Abril del 2019"),
    ("1º de mayo de 2020", DMY, 3, "4º de mayo de 2020"),
    ("mar 2019", DMY, 31, "abr 2019"),
    ("Mar 2019", MDY, 31, "Apr 2019"),
    ("marzo de 2019", DMY, -90, "diciembre de 2018"),
    ("December 2019", MDY, 31, "January 2020"),
    ("3/2019", MDY, -90, "12/2018"),
    ("03/2019", DMY, 31, "04/2019"),
    ("2019-03", MDY, 31, "2019-04"),
    ("12/03", MDY, 30, "01/02"),
    ("12/03", DMY, 30, "11/04"),
    ("10/99", MDY, 92, "01/00"),
    ("March", MDY, 31, "April"),
    ("marzo", DMY, -31, "febrero"),
    ("2019", MDY, 365, "2020"),
    ("2019", MDY, 100, "2019"),
    ("'09", MDY, -400, "'08"),
    ("1990s", MDY, 300, "1990s"),
    ("the 90s", MDY, 4000, "the 00s"),
    ("summer of 2018", MDY, 91, "fall of 2018"),
    ("winter 2018", MDY, 91, "spring 2019"),
    ("verano de 2018", DMY, -91, "primavera de 2018"),
    ("Monday", MDY, 3, "Thursday"),
    ("Mondays", MDY, 3, "Thursdays"),
    ("sábado", DMY, 2, "lunes"),
    ("Monday, March 4, 2019", MDY, 9, "Wednesday, March 13, 2019"),
    ("lunes, 4 de marzo de 2019", DMY, 7, "lunes, 11 de marzo de 2019"),
    ("Mon 3/4", MDY, 1, "Tue 3/5"),
    ("2019-03-04 (Monday)", MDY, 1, "2019-03-05 (Tuesday)"),
    ("19-Mar-92", MDY, 20, "08-Apr-92"),
    ("19-MAR-1992", MDY, 20, "08-APR-1992"),
    ("19/mar/2019", DMY, 20, "08/abr/2019"),
    ("12-III-2004", DMY, 30, "11-IV-2004"),
    ("Mar-92", MDY, 31, "Apr-92"),
    ("abril-08", DMY, 31, "mayo-08"),
    ("12-15 March 2019", MDY, 5, "17-20 March 2019"),
    ("12-15 March 2019", MDY, 18, "30 March-2 April 2019"),
    ("12-15 December 2019", MDY, 18, "30 December 2019-2 January 2020"),
    ("March 12-15, 2019", MDY, 18, "March 30-April 2, 2019"),
    ("March 12-15, 2019", MDY, 2, "March 14-17, 2019"),
    ("3/4-3/9/2020", MDY, 30, "4/3-4/8/2020"),
    ("12/28-1/3/2020", MDY, 1, "12/29-1/4/2020"),
    ("12-15/03/2019", DMY, 18, "30/03-02/04/2019"),
    ("3/4/2020-3/9/2020", MDY, 30, "4/3/2020-4/8/2020"),
    ("2018-2019", MDY, 365, "2019-2020"),
    ("2018-19", MDY, 365, "2019-20"),
    ("from 3 to 9 May", MDY, 1, "from 4 to 10 May"),
    (
        "del 3 al 9 de mayo de 2019",
        DMY,
        1,
        "del 4 al 10 de mayo de 2019",
    ),
    (
        "del 28 al 30 de abril de 2019",
        DMY,
        1,
        "del 29 de abril al 1 de mayo de 2019",
    ),
    ("entre el 3 y el 9 de mayo", DMY, 1, "entre el 4 y el 10 de mayo"),
    ("March to April 2019", MDY, 31, "April to May 2019"),
    ("lunes a viernes", DMY, 1, "martes a sábado"),
    ("early March 2019", MDY, 31, "early April 2019"),
    ("mid-March 2019", MDY, 31, "mid-April 2019"),
    (
        "principios de marzo de 2019",
        DMY,
        31,
        "principios de abril de 2019",
    ),
    ("week of 3/4", MDY, 7, "week of 3/11"),
    ("29/02/2020", DMY, 1, "01/03/2020"),
    ("02/29", MDY, 1, "03/01"),
    ("3. März 2019", DMY, 1, "4. März 2019"),
    ("3. März 2019", DMY, 30, "2. April 2019"),
    ("3/18/2022.", MDY, 1, "3/19/2022."),
];

#[test]
fn a_shifted_date_is_written_in_its_own_form() {
    let mut wrong = String::new();
    for &(text, order, days, expected) in SHIFTS {
        let got = shifted(text, order, days).unwrap_or_default();
        if got != expected {
            wrong += &format!("{text} {days:+}: {got:?}, not {expected:?}\n");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn what_is_no_date_is_left_to_the_caller() {
    for text in [
        "",
        "soon",
        "yesterday",
        "13/13/2019",
        "31/02/2019",
        "02/30",
        "1.2.3.4",
        "10:30",
        "3",
        "the 3rd",
        "15-12 March",
        "March 32",
        "12/03/2019 John",
        "555-1234",
        "99999999",
        "3/4/5/6",
        "Christmas",
        "2019-13-01",
        "12-",
        "-",
        "1/",
        "99999999999999",
        "12 March 2019 and 13 April 2019 and 3 May",
    ] {
        assert!(Written::parse(text, &hint(MDY)).is_none(), "{text}");
    }
}

#[test]
fn clause_164_514_b_2_i_c_only_the_year_of_a_date_stays() {
    for (text, year) in [
        ("03/18/2022", Some("2022")),
        ("18.03.92", Some("1992")),
        ("March 3rd, 2019 at 10:30", Some("2019")),
        ("summer of 2018", Some("2018")),
        ("12-15 March 2019", Some("2019")),
        ("12/28-1/3/2020", Some("2019-2020")),
        ("2018-19", Some("2018-2019")),
        ("2019", Some("2019")),
        ("1990s", Some("1990s")),
        ("12/03", None),
        ("March", None),
        ("Monday", None),
    ] {
        let written = Written::parse(text, &hint(MDY)).unwrap();
        assert_eq!(written.year().as_deref(), year, "{text}");
    }
}

#[test]
fn clause_164_514_b_2_i_c_a_year_that_shows_an_age_over_89_is_seen() {
    let shows = |text: &str, birth, note| {
        Written::parse(text, &hint(MDY))
            .unwrap()
            .shows_age_over_89(birth, note)
    };
    assert!(shows("1934", None, 2024) && !shows("1935", None, 2024));
    assert!(shows("07/14/1930", Some(1930), 2024));
    // An event in such a life, but too recent to reveal the age.
    assert!(!shows("2021", Some(1930), 2024));
    // A parent's birth in a younger patient's note.
    assert!(!shows("1920", Some(1960), 2024));
    assert!(shows("1931-1950", Some(1930), 2024) && !shows("March", Some(1930), 2024));
}

#[test]
fn two_figures_mean_the_last_such_year_before_the_note() {
    let year = |text: &str, note| {
        let hint = Hint {
            year: note,
            ..hint(MDY)
        };
        Written::parse(text, &hint).unwrap().years().unwrap().0
    };
    assert_eq!(year("3/4/32", Some(2019)), 1932);
    assert_eq!(year("3/4/19", Some(2019)), 2019);
    assert_eq!(year("3/4/20", Some(2019)), 2020);
    assert_eq!(year("3/4/99", Some(1998)), 1999);
    assert_eq!(year("3/4/36", None), 1936);
}

#[test]
fn a_date_without_a_year_moves_in_the_notes_year() {
    let hint = Hint {
        year: Some(2020),
        ..hint(MDY)
    };
    assert_eq!(Written::parse("2/28", &hint).unwrap().shift(1).unwrap(), "2/29");
    assert_eq!(shifted("2/28", MDY, 1).unwrap(), "3/1");
}

#[test]
fn a_shift_of_whole_weeks_keeps_the_weekday() {
    assert_eq!(
        shifted("Monday, March 4, 2019", MDY, 35).unwrap(),
        "Monday, April 8, 2019"
    );
}

#[test]
fn a_date_that_would_leave_the_calendar_is_left_to_the_caller() {
    assert_eq!(shifted("03/18/2022", MDY, i32::MAX), None);
    assert_eq!(shifted("2019", MDY, i32::MIN), None);
    assert_eq!(shifted("March 2019", MDY, i32::MIN), None);
}

/// Returns a full date in one of the formats with definite padding.
fn form(year: i16, month: i8, day: i8, kind: usize) -> (String, Order) {
    let names = [
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
    let meses = [
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
    let name = names[month as usize - 1];
    let mes = meses[month as usize - 1];
    match kind {
        0 => (format!("{month:02}/{day:02}/{year}"), MDY),
        1 => (format!("{day:02}-{month:02}-{year}"), DMY),
        2 => (format!("{day:02}.{month:02}.{:02}", year % 100), DMY),
        3 => (format!("{year}-{month:02}-{day:02}"), MDY),
        4 => (format!("{year}{month:02}{day:02}"), MDY),
        5 => (format!("{name} {day}, {year}"), MDY),
        6 => (format!("{day} de {mes} de {year}"), DMY),
        7 => (format!("{day} {} {year}", name.to_uppercase()), MDY),
        8 => (format!("{year}-{month:02}-{day:02}T08:09:10Z"), DMY),
        _ => (format!("{}, {day:02}/{month:02}/{year} 10:30", "lunes"), DMY),
    }
}

proptest! {
    #[test]
    fn a_shift_and_its_opposite_give_the_same_text(
        year in 1940i16..2030, month in 1i8..=12, day in 1i8..=28, kind in 0usize..10, days in -4000i32..4000,
    ) {
        let (text, order) = form(year, month, day, kind);
        // Two digits are unambiguous only within a hundred years.
        prop_assume!(kind != 2 || days.abs() < 1800 && (1950..2020).contains(&year));
        let there = shifted(&text, order, days).unwrap();
        prop_assert_eq!(there.chars().filter(|c| c.is_ascii_punctuation()).count(),
            text.chars().filter(|c| c.is_ascii_punctuation()).count());
        prop_assert_eq!(shifted(&there, order, -days), Some(text));
    }

    #[test]
    fn partial_dates_come_back_too(
        year in 1940i16..2030, month in 1i8..=12, day in 1i8..=28, kind in 0usize..6, days in -4000i32..4000,
    ) {
        let full = ["June", "July"][usize::from(month > 6)];
        let text = match kind {
            0 => format!("{month:02}/{year}"),
            1 => format!("{full} {year}"),
            2 => format!("{year}"),
            3 => format!("{month:02}/{day:02}"),
            4 => format!("summer of {year}"),
            _ => full.to_owned(),
        };
        let there = shifted(&text, MDY, days).unwrap();
        prop_assert_eq!(shifted(&there, MDY, -days), Some(text));
    }

    #[test]
    fn the_interval_of_two_full_dates_stays(
        (y1, m1, d1, k1) in (1940i16..2030, 1i8..=12, 1i8..=28, 0usize..10),
        (y2, m2, d2, k2) in (1940i16..2030, 1i8..=12, 1i8..=28, 0usize..10),
        days in -4000i32..4000,
    ) {
        prop_assume!(k1 != 2 && k2 != 2);
        let ends = [form(y1, m1, d1, k1), form(y2, m2, d2, k2)];
        let day = |text: &str, order| Written::parse(text, &hint(order)).unwrap().dates().unwrap().0;
        let before = day(&ends[0].0, ends[0].1).until(day(&ends[1].0, ends[1].1)).unwrap().get_days();
        let moved: Vec<_> = ends.iter().map(|(text, order)| day(&shifted(text, *order, days).unwrap(), *order)).collect();
        prop_assert_eq!(moved[0].until(moved[1]).unwrap().get_days(), before);
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,40}", days in any::<i32>()) {
        let _ = shifted(&text, MDY, days);
        let _ = Written::parse(&text, &Hint::default()).map(|written| (written.year(), written.years()));
    }

    #[test]
    fn no_look_alike_makes_it_panic(
        text in "(([0-9]{1,4}|march|de|mar|lunes|to|of|at|a|3rd|'|iv|s|th)[-/., :]{0,2}){1,9}", days in -5000i32..5000,
    ) {
        if let Some(written) = Written::parse(&text, &hint(DMY)) {
            let _ = (written.shift(days), written.year(), written.shows_age_over_89(None, 2024));
            prop_assert_eq!(written.shift(0), Some(text.clone()));
        }
    }
}
