//! Properties of every mention of a person.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::pools::Gender;
use super::*;
use crate::draw::testing::Seeded;

static NAMES: LazyLock<Names> = LazyLock::new(|| Names::new(Dictionary::builtin()).unwrap());

fn about(known: &KnownNames, language: Option<Language>) -> About<'_> {
    About {
        language,
        order: None,
        year: None,
        days: None,
        known,
    }
}

fn surrogate(text: &str, known: &KnownNames, seed: u64) -> String {
    NAMES.surrogate(text, &about(known, None), &Seeded(seed)).unwrap()
}

/// Returns the gender of a folded given name in the lists.
fn gender_of(folded: &str) -> Option<&'static str> {
    match NAMES.pools.class(&NAMES.dictionary, folded)?.role {
        Role::Given(Gender::Female) | Role::Either(Gender::Female) => Some("female"),
        Role::Given(Gender::Male) | Role::Either(Gender::Male) => Some("male"),
        _ => None,
    }
}

#[test]
fn every_mention_of_a_person_agrees_with_every_other() {
    let known = KnownNames::new(["John Andrew Smith", "Mary Smith-Jones"]);
    for seed in 0..20 {
        let get = |text: &str| surrogate(text, &known, seed);
        let full = get("John Smith");
        let (given, family) = full.split_once(' ').unwrap();
        assert_eq!(get("Smith"), family);
        assert_eq!(get("Mr. Smith"), format!("Mr. {family}"));
        assert_eq!(get("Mr. Smith's"), format!("Mr. {family}'s"));
        assert_eq!(
            get("SMITH, JOHN"),
            format!("{}, {}", family.to_uppercase(), given.to_uppercase())
        );
        assert_eq!(get("john smith"), full.to_lowercase());
        let (j, s) = (given.get(..1).unwrap(), family.get(..1).unwrap());
        assert_eq!(get("J. Smith"), format!("{j}. {family}"));
        assert_eq!(get("John S."), format!("{given} {s}."));
        assert_eq!(get("JS"), format!("{j}{s}"));
        let jones = get("Jones");
        let a = get("Andrew");
        let a = a.get(..1).unwrap();
        assert_eq!(
            get("Dr. J. A. Smith-Jones"),
            format!("Dr. {j}. {a}. {family}-{jones}")
        );
        assert!(given != "John" && family != "Smith");
    }
}

#[test]
fn gender_and_culture_are_kept_where_the_lists_know_them() {
    let known = KnownNames::default();
    for seed in 0..30 {
        for (text, gender) in [
            ("Mary", "female"),
            ("William", "male"),
            ("Lucía", "female"),
            ("Ignacio", "male"),
        ] {
            let out = surrogate(text, &known, seed);
            assert_eq!(gender_of(&fold(&out)), Some(gender), "{text}: {out}");
        }
        let out = NAMES
            .surrogate(
                "Lucía Barrientos de la Quintana",
                &about(&known, Some(Language::Spanish)),
                &Seeded(seed),
            )
            .unwrap();
        assert!(out.contains(" de la "), "{out}");
        let family = out.rsplit(' ').next().unwrap();
        let spanish = Dictionary::builtin().set(["es-surnames"]).unwrap();
        assert!(
            Dictionary::builtin().word(family).lists().intersects(spanish),
            "{out}"
        );
    }
}

#[test]
fn titles_particles_degrees_suffixes_and_marks_stay() {
    let known = KnownNames::default();
    let shape = |text: &str| text.chars().filter(|c| !c.is_alphabetic()).collect::<String>();
    for text in [
        "Dr. Marcus T. Lindqvist, M.D.",
        "Mrs. EDELTRAUD VANCE",
        "O'Brien, Pat (Jr.)",
        "Ramón y Cajal",
        "Smith–Jones’s",
    ] {
        assert_eq!(
            shape(&surrogate(text, &KnownNames::default(), 3)).replace('\'', ""),
            shape(text).replace('\'', ""),
            "{text}"
        );
    }
    let out = surrogate("Dr. Marcus T. Lindqvist, M.D.", &known, 5);
    assert!(out.starts_with("Dr. ") && out.ends_with(", M.D."), "{out}");
}

#[test]
fn a_nickname_follows_the_name_it_is_short_for() {
    let known = KnownNames::new(["William Hale", "José Prados"]);
    let mut nicknamed = 0;
    for seed in 0..60 {
        for (nickname, name) in [("Bill", "William"), ("Pepe", "José")] {
            let (short, long) = (surrogate(nickname, &known, seed), surrogate(name, &known, seed));
            let short = fold(&short);
            let long = fold(&long);
            let fits =
                short == long || nicknames::given(&short).is_some_and(|names| names.contains(&long.as_str()));
            assert!(fits, "{short} for {long}");
            nicknamed += usize::from(short != long);
        }
    }
    assert!(nicknamed > 10, "{nicknamed} of 120");
    // A short form that is also a family name is replaced as a family name.
    let none = KnownNames::default();
    assert!((0..10).any(|seed| {
        let kim = fold(&surrogate("Kim", &none, seed));
        kim != fold(&surrogate("Kimberly", &none, seed)) && nicknames::given(&kim).is_none()
    }));
}

#[test]
fn a_misspelling_becomes_a_misspelling_of_the_same_surrogate() {
    let known = KnownNames::new(["Tobias Wrenfield"]);
    for seed in 0..30 {
        let (right, wrong) = (
            surrogate("Wrenfield", &known, seed),
            surrogate("Wrenfeild", &known, seed),
        );
        assert!(slip(&fold(&right), &fold(&wrong)).is_some(), "{right} {wrong}");
    }
    // Two listed names at distance 1 are two names.
    let two = KnownNames::new(["Maria", "Mario"]);
    assert!(
        (0..10).any(|seed| slip(&surrogate("Maria", &two, seed), &surrogate("Mario", &two, seed)).is_none())
    );
}

#[test]
fn initials_of_different_letters_stay_different() {
    for seed in 0..20 {
        let letters = Letters::of(&Seeded(seed));
        let mut seen = std::collections::HashSet::new();
        for &letter in LETTERS {
            let to = letters.get(&char::from(letter).to_string());
            assert!(to != letter && seen.insert(to));
        }
    }
}

#[test]
fn english_notes_get_no_accents() {
    let known = KnownNames::default();
    for seed in 0..40 {
        let about = about(&known, Some(Language::English));
        assert!(
            NAMES
                .surrogate("José Martínez", &about, &Seeded(seed))
                .unwrap()
                .is_ascii()
        );
    }
}

proptest! {
    #[test]
    fn each_word_of_a_mention_has_its_surrogate_alone(
        given in "(John|Mary|Ann|William|José|Lucía|Ana|Jo|Bill|Tom|Xqzrt)",
        family in "(Smith|Lee|García|McDonald|Nguyen|Vance|Wrenfield|Johnson|Tomlinson)",
        seed in 0u64..500,
    ) {
        let none = KnownNames::default();
        let whole = fold(&surrogate(&format!("{given} {family}"), &none, seed));
        let parts = [&given, &family].map(|part| fold(&surrogate(part, &none, seed)));
        prop_assert_eq!(&whole, &parts.join(" "));
        for (part, out) in [given, family].iter().zip(&parts) {
            let part = fold(part);
            prop_assert!(&part != out && (part.chars().count() < 3 || !out.contains(&part)), "{}: {}", part, out);
        }
    }

    #[test]
    fn case_is_kept_word_by_word(text in "(JOHN SMITH|John Smith|john smith|MARY O'BRIEN|Lucía García)", seed in 0u64..300) {
        let out = surrogate(&text, &KnownNames::default(), seed);
        let case = |text: &str| (text == text.to_uppercase(), text == text.to_lowercase());
        prop_assert_eq!(case(&out), case(&text), "{}", out);
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,30}", seed in 0u64..50) {
        let known = KnownNames::new([text.as_str()]);
        if let Some(out) = NAMES.surrogate(&text, &about(&known, None), &Seeded(seed)) {
            prop_assert_eq!(NAMES.surrogate(&text, &about(&known, None), &Seeded(seed)), Some(out));
        }
    }
}
