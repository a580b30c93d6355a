//! Properties of every place.

use std::sync::LazyLock;

use lethe_dictionaries::Dictionary;
use proptest::prelude::*;

use super::*;
use crate::KnownNames;
use crate::draw::testing::Seeded;

static PLACES: LazyLock<Places> = LazyLock::new(Places::new);

fn get(kind: Kind, text: &str, language: Option<Language>, seed: u64) -> Option<String> {
    let known = KnownNames::default();
    let about = About {
        language,
        order: None,
        year: None,
        days: None,
        known: &known,
    };
    PLACES.surrogate(kind, text, &about, &Seeded(seed))
}

#[test]
fn a_place_becomes_another_of_its_list() {
    let dictionary = Dictionary::builtin();
    let cities = dictionary.set(["us-cities"]).unwrap();
    for seed in 0..40 {
        let out = get(Kind::City, "Boston", EN, seed).unwrap();
        assert!(out != "Boston" && hash(&fold(&out)) != hash("boston"));
        if !out.contains([' ', '-', '.']) {
            assert!(dictionary.word(&out).lists().intersects(cities), "{out}");
        }
        let out = get(Kind::City, "Teruel", ES, seed).unwrap();
        assert_eq!(PLACES.members[&hash(&fold(&out))] & 2, 2, "{out}");
        let out = get(Kind::Hospital, "Hospital Ramón y Cajal", None, seed).unwrap();
        assert!(!fold(&out).contains("cajal"), "{out}");
    }
}

#[test]
fn a_list_that_has_the_place_comes_before_the_notes_language() {
    for seed in 0..20 {
        let out = get(Kind::City, "Teruel", EN, seed).unwrap();
        assert_eq!(PLACES.members[&hash(&fold(&out))] & 2, 2, "{out}");
    }
}

#[test]
fn a_university_becomes_a_university() {
    assert_eq!(SHIPPED[UNIVERSITIES].3, "universities");
    for seed in 0..20 {
        let out = get(Kind::Organization, "Larchmont University", EN, seed).unwrap();
        let table = PLACES.members[&hash(&fold(&out))];
        assert_eq!(table >> UNIVERSITIES & 1, 1, "{out}");
    }
}

#[test]
fn case_marks_and_possessives_stay() {
    for seed in 0..20 {
        let out = get(Kind::City, "BOSTON", EN, seed).unwrap();
        assert_eq!(out, out.to_uppercase());
        assert!(get(Kind::City, "Boston's", EN, seed).unwrap().ends_with("'s"));
        assert!(
            get(Kind::Hospital, "(Bellevue Hospital)", EN, seed)
                .unwrap()
                .ends_with(')')
        );
        let out = get(Kind::Profession, "carpintero", ES, seed).unwrap();
        assert_eq!(out, out.to_lowercase());
        let out = get(Kind::Hospital, "MGH", EN, seed).unwrap();
        assert!(out.len() == 3 && out == out.to_uppercase() && out != "MGH");
    }
}

#[test]
fn a_city_and_its_state_in_one_span_are_two_places() {
    let out = get(Kind::City, "Duluth, MN", EN, 3).unwrap();
    let (city, state) = out.split_once(", ").unwrap();
    assert!(city != "Duluth" && state.len() == 2 && state != "MN", "{out}");
    assert_eq!(get(Kind::State, "MN", EN, 3).unwrap(), state);
}

#[test]
fn a_spanish_profession_keeps_its_gender() {
    let mut kept = 0;
    for seed in 0..40 {
        let out = get(Kind::Profession, "enfermera", ES, seed).unwrap();
        kept += usize::from(out.ends_with('a'));
    }
    assert!(kept > 35, "{kept}");
}

#[test]
fn words_that_all_share_are_sorted() {
    assert!(COMMON.is_sorted());
    assert_eq!(
        telling("st. mary's hospital of the lake").collect::<Vec<_>>(),
        ["mary"]
    );
}

#[test]
fn no_place_with_the_originals_name_in_its_own_comes_out() {
    for seed in 0..400 {
        let out = get(Kind::City, "Boston", EN, seed).unwrap();
        assert!(!out.contains("Boston"), "{out}");
        let out = get(Kind::Hospital, "Boston General Hospital", EN, seed).unwrap();
        assert!(!out.contains("Boston"), "{out}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,30}", seed in 0u64..10) {
        for kind in [Kind::City, Kind::State, Kind::Country, Kind::Hospital, Kind::Organization, Kind::Department, Kind::Profession] {
            prop_assert_ne!(get(kind, &text, None, seed), Some(text.clone()));
        }
    }
}
