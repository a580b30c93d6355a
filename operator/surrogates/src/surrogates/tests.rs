//! Properties of every kind.

use std::sync::LazyLock;

use lethe_text::fold;
use proptest::prelude::*;

use super::*;
use crate::KnownNames;
use crate::dates::Order;
use crate::draw::testing::Seeded;

static ALL: LazyLock<Surrogates> = LazyLock::new(|| Surrogates::new(Dictionary::builtin()).unwrap());

fn about(known: &KnownNames) -> About<'_> {
    About {
        language: None,
        order: Some(Order::MonthDay),
        year: Some(2021),
        days: Some(-83),
        known,
    }
}

/// An example of each kind whose surrogate differs from it.
const EXAMPLES: &[(Kind, &str)] = &[
    (Kind::Patient, "Okafor, Adaeze N."),
    (Kind::Doctor, "Dr. Marcus T. Lindqvist, M.D."),
    (Kind::Username, "mtlindqvist7"),
    (Kind::Profession, "schoolteacher"),
    (Kind::Room, "4B-12"),
    (Kind::Department, "Cardiology"),
    (Kind::Hospital, "St. Brendan's Medical Center"),
    (Kind::Organization, "BlueRiver Health"),
    (Kind::Street, "220 Harbor Street, Suite 14"),
    (Kind::City, "Duluth"),
    (Kind::State, "MN"),
    (Kind::Country, "Portugal"),
    (Kind::Zip, "97103-2214"),
    (Kind::LocationOther, "Lake Quiet"),
    (Kind::Age, "94-year-old"),
    (Kind::Date, "Friday, September 3, 2021"),
    (Kind::Phone, "(218) 286-4142"),
    (Kind::Fax, "218.286.4177"),
    (Kind::Email, "t.wrenfield@hospital.test"),
    (Kind::Url, "https://portal.hospital.test/u/5527719"),
    (Kind::IpAddress, "10.4.18.220"),
    (Kind::Ssn, "219-09-9999"),
    (Kind::MedicalRecord, "448-20-9137"),
    (Kind::HealthPlan, "XJH-4471902-03"),
    (Kind::Account, "4111 1111 1111 1111"),
    (Kind::License, "D4419-2207"),
    (Kind::Vehicle, "7KLM204"),
    (Kind::Device, "PVR884210H"),
    (Kind::BioId, "FP-20931-a"),
    (Kind::IdNum, "#5527719"),
];

#[test]
fn every_kind_has_a_surrogate_that_is_never_the_original() {
    assert_eq!(EXAMPLES.len(), 30);
    let known = KnownNames::default();
    for &(kind, text) in EXAMPLES {
        for seed in 0..40 {
            let out = ALL.surrogate(kind, text, &about(&known), &Seeded(seed));
            let out = out.unwrap_or_else(|| panic!("{kind:?} {text}"));
            assert_ne!(fold(&out), fold(text), "{kind:?}");
            for run in text
                .split(|c: char| !c.is_ascii_digit())
                .filter(|run| run.len() >= 4)
            {
                // A date's year may stay under any shift.
                assert!(!out.contains(run) || kind == Kind::Date, "{kind:?} {text}: {out}");
            }
        }
    }
}

#[test]
fn the_same_text_has_the_same_surrogate_whatever_came_before() {
    let known = KnownNames::default();
    let one: Vec<_> = EXAMPLES
        .iter()
        .map(|&(kind, text)| ALL.surrogate(kind, text, &about(&known), &Seeded(9)))
        .collect();
    let again: Vec<_> = EXAMPLES
        .iter()
        .rev()
        .map(|&(kind, text)| ALL.surrogate(kind, text, &about(&known), &Seeded(9)))
        .collect();
    assert!(one.iter().eq(again.iter().rev()));
}

#[test]
fn all_lanes_can_share_it() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&*ALL);
    assert_eq!(format!("{:?}", *ALL), "Surrogates");
}

#[test]
fn a_date_without_days_and_a_span_of_a_page_have_none() {
    let known = KnownNames::default();
    let still = About {
        days: None,
        ..about(&known)
    };
    assert_eq!(ALL.surrogate(Kind::Date, "03/18/2022", &still, &Seeded(1)), None);
    assert_eq!(
        ALL.surrogate(Kind::Patient, &"Ann ".repeat(200), &still, &Seeded(1)),
        None
    );
}

#[test]
fn a_zip_code_and_its_longer_form_share_five_digits() {
    let known = KnownNames::default();
    for seed in 0..50 {
        let short = ALL
            .surrogate(Kind::Zip, "97103", &about(&known), &Seeded(seed))
            .unwrap();
        let long = ALL
            .surrogate(Kind::Zip, "97103-2214", &about(&known), &Seeded(seed))
            .unwrap();
        assert!(long.starts_with(&short) && long.len() == 10);
        assert_ne!(ZipTable::shipped().generalise(&short).as_deref(), Some("000"));
        let spanish = About {
            language: Some(Language::Spanish),
            ..about(&known)
        };
        let code = ALL
            .surrogate(Kind::City, "19004", &spanish, &Seeded(seed))
            .unwrap();
        assert!(
            (1..=52).contains(&code.get(..2).unwrap().parse::<u8>().unwrap()),
            "{code}"
        );
    }
}

proptest! {
    #[test]
    fn no_text_makes_any_kind_panic(text in "\\PC{0,40}|[A-Za-z0-9 .,/@:-]{0,24}", at in 0usize..30, seed in 0u64..5) {
        let known = KnownNames::new([text.as_str()]);
        let (kind, _) = EXAMPLES[at];
        let out = ALL.surrogate(kind, &text, &about(&known), &Seeded(seed));
        prop_assert_eq!(ALL.surrogate(kind, &text, &about(&known), &Seeded(seed)), out.clone());
        // Ages up to 89 and dates with a shift within their period stay unchanged.
        if !matches!(kind, Kind::Age | Kind::Date) {
            prop_assert_ne!(out, Some(text));
        }
    }
}
