//! What must hold of every mention of a person.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::pools::Gender;
use super::*;
use crate::draw::testing::Seeded;

static NAMES: LazyLock<Names> = LazyLock::new(|| Names::new(Dictionary::builtin()).unwrap());

fn about(real: &Real, language: Option<Language>) -> About<'_> {
    About {
        language,
        order: None,
        year: None,
        days: None,
        real,
    }
}

fn surrogate(text: &str, real: &Real, seed: u64) -> String {
    NAMES.surrogate(text, &about(real, None), &Seeded(seed)).unwrap()
}

/// Whose the lists say a folded given name is.
fn gender_of(folded: &str) -> Option<&'static str> {
    match NAMES.pools.class(&NAMES.dictionary, folded)?.role {
        Role::Given(Gender::Female) | Role::Either(Gender::Female) => Some("female"),
        Role::Given(Gender::Male) | Role::Either(Gender::Male) => Some("male"),
        _ => None,
    }
}

fn words(text: &str) -> Vec<String> {
    fold(text)
        .split(|c: char| !c.is_alphabetic())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_mention_of_a_person_agrees_with_every_other() {
    let real = Real::new([], ["John Andrew Smith", "Mary Smith-Jones"], []);
    for seed in 0..20 {
        let get = |text: &str| surrogate(text, &real, seed);
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
        assert!(!full.contains("John") && !full.contains("Smith"));
    }
}

#[test]
fn gender_and_culture_are_kept_where_the_lists_know_them() {
    let real = Real::default();
    for seed in 0..30 {
        for (text, gender) in [
            ("Mary", "female"),
            ("William", "male"),
            ("Lucía", "female"),
            ("Ignacio", "male"),
        ] {
            let out = surrogate(text, &real, seed);
            assert_eq!(gender_of(&fold(&out)), Some(gender), "{text}: {out}");
        }
        let out = NAMES
            .surrogate(
                "Lucía Barrientos de la Quintana",
                &about(&real, Some(Language::Spanish)),
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
    let real = Real::default();
    let shape = |text: &str| text.chars().filter(|c| !c.is_alphabetic()).collect::<String>();
    for text in [
        "Dr. Marcus T. Lindqvist, M.D.",
        "Mrs. EDELTRAUD VANCE",
        "O'Brien, Pat (Jr.)",
        "Ramón y Cajal",
        "Smith–Jones’s",
    ] {
        assert_eq!(
            shape(&surrogate(text, &Real::default(), 3)).replace('\'', ""),
            shape(text).replace('\'', ""),
            "{text}"
        );
    }
    let out = surrogate("Dr. Marcus T. Lindqvist, M.D.", &real, 5);
    assert!(out.starts_with("Dr. ") && out.ends_with(", M.D."), "{out}");
}

#[test]
fn a_nickname_follows_the_name_it_is_short_for() {
    let real = Real::new([], ["William Hale", "José Prados"], []);
    let mut nicknamed = 0;
    for seed in 0..60 {
        for (nickname, name) in [("Bill", "William"), ("Pepe", "José")] {
            let (short, long) = (surrogate(nickname, &real, seed), surrogate(name, &real, seed));
            let short = fold(&short);
            let long = fold(&long);
            let fits =
                short == long || nicknames::given(&short).is_some_and(|names| names.contains(&long.as_str()));
            assert!(fits, "{short} for {long}");
            nicknamed += usize::from(short != long);
        }
    }
    assert!(nicknamed > 10, "{nicknamed} of 120");
    // A short form that is a family's name too follows only a name that is known.
    let none = Real::default();
    assert!((0..10).any(|seed| {
        let kim = fold(&surrogate("Kim", &none, seed));
        kim != fold(&surrogate("Kimberly", &none, seed)) && nicknames::given(&kim).is_none()
    }));
    // Who is registered by the short form has it as a name.
    let jack = Real::new([], ["Jack Hale"], []);
    assert_ne!(surrogate("Jack", &jack, 1), surrogate("John", &jack, 1));
}

#[test]
fn a_misspelling_becomes_a_misspelling_of_the_same_surrogate() {
    let known = Real::new([], ["Tobias Wrenfield"], []);
    let mentioned = Real::new(["Tobias Wrenfield", "Mr. Wrenfield", "Wrenfeild"], [], []);
    for real in [known, mentioned] {
        for seed in 0..30 {
            let (right, wrong) = (
                surrogate("Wrenfield", &real, seed),
                surrogate("Wrenfeild", &real, seed),
            );
            assert!(slip(&fold(&right), &fold(&wrong)).is_some(), "{right} {wrong}");
        }
    }
    // Two listed names at distance 1 are two names.
    let two = Real::new(["Maria", "Mario"], [], []);
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
    let real = Real::default();
    for seed in 0..40 {
        let about = about(&real, Some(Language::English));
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
    fn neither_an_original_part_nor_a_real_value_comes_out(
        given in "(John|Mary|Ann|William|José|Lucía|Ana|Jo|Bill|Xqzrt)",
        family in "(Smith|Lee|García|O'Brien|McDonald|Nguyen|Vance|Wrenfield)",
        taken in proptest::collection::vec("(Baker|Moore|Allen|Ruiz|Ann|Eli|Kim|Dean|Torres|Hale|Mary|Rose)", 0..8),
        seed in 0u64..500,
    ) {
        let text = format!("{given} {family}");
        let real = Real::new([text.as_str()], [], taken.iter().map(String::as_str));
        let out = surrogate(&text, &real, seed);
        let folded = fold(&out);
        for part in words(&text).into_iter().chain(taken.iter().map(|taken| fold(taken))) {
            prop_assert!(part.chars().count() < 3 || !folded.contains(&part), "{}: {} in {}", text, part, out);
        }
    }

    #[test]
    fn the_order_of_mentions_changes_nothing(seed in 0u64..200, swap in any::<bool>()) {
        let mentions = ["Wrenfeild", "Tobias Wrenfield", "Mr Wrenfield", "Ann Hale"];
        let mut other = mentions;
        if swap { other.swap(0, 3) } else { other.reverse() }
        let (one, two) = (Real::new(mentions, [], ["Boise"]), Real::new(other, [], ["Boise"]));
        for text in mentions {
            prop_assert_eq!(surrogate(text, &one, seed), surrogate(text, &two, seed));
        }
    }

    #[test]
    fn case_is_kept_word_by_word(text in "(JOHN SMITH|John Smith|john smith|MARY O'BRIEN|Lucía García)", seed in 0u64..300) {
        let out = surrogate(&text, &Real::default(), seed);
        let case = |text: &str| (text == text.to_uppercase(), text == text.to_lowercase());
        prop_assert_eq!(case(&out), case(&text), "{}", out);
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,30}", seed in 0u64..50) {
        let real = Real::new([text.as_str()], [text.as_str()], []);
        if let Some(out) = NAMES.surrogate(&text, &about(&real, None), &Seeded(seed)) {
            prop_assert_eq!(NAMES.surrogate(&text, &about(&real, None), &Seeded(seed)), Some(out));
        }
    }
}
