//! Matches and their positions, on small dictionaries that the tests build.

// The lint does not recognise helpers of an integration test as tests.
#![allow(clippy::unwrap_used)]

use lethe_core::NoteBatch;
use lethe_dictionaries::{Dictionary, List, ListSet, Match, MatchMode, Role, Source, compile};
use proptest::prelude::*;

fn list(id: &str, match_mode: MatchMode, items: &[&str]) -> List {
    List {
        id: id.into(),
        source: Source {
            title: id.into(),
            origin: "test".into(),
            licence: "public domain".into(),
            attribution: String::new(),
            date: "2026-11-21".into(),
            language: "any".into(),
            label: "CITY".into(),
            match_mode,
            min_length: 1,
            role: Role::Phi,
            number: "people".into(),
            variants: match_mode != MatchMode::Exact,
        },
        items: items
            .iter()
            .enumerate()
            .map(|(i, item)| ((*item).into(), i as u32))
            .collect(),
        exceptions: vec![],
    }
}

fn dictionary(lists: &[List]) -> Dictionary {
    Dictionary::from_bytes(compile(lists).unwrap()).unwrap()
}

fn small() -> Dictionary {
    dictionary(&[
        list(
            "places",
            MatchMode::Folded,
            &[
                "St. Paul",
                "New York",
                "York",
                "Winston-Salem",
                "Coruña",
                "Ávila",
                "McAllen",
                "St. Mary's Hospital",
            ],
        ),
        list(
            "names",
            MatchMode::Folded,
            &["O'Brien", "Paul", "D'Amico", "Saint-Paul de la Cruz"],
        ),
        list("states", MatchMode::Exact, &["MA", "IN", "N.Y.", "AT&T"]),
        list(
            "regions",
            MatchMode::Distance1,
            &["Massachusetts", "New Hampshire", "Ohio"],
        ),
    ])
}

/// Returns the longest matches of a text, as `text/distance`.
fn longest(dictionary: &Dictionary, text: &str) -> Vec<String> {
    let batch = NoteBatch::from_texts([text]).unwrap();
    let mut found = vec![];
    for note in batch.notes() {
        dictionary.matcher().longest(&note, ListSet::ALL, |m| {
            found.push(format!("{}/{}", m.span.of(note.text), m.distance));
        });
    }
    found
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(longest(&small(), text), expected, "{text}");
}

#[test]
fn spelling_that_writers_vary_still_matches() {
    check("lives in St. Paul, MN", &["St. Paul/0"]);
    check("lives in ST PAUL", &["ST PAUL/0"]);
    check("lives in Saint Paul", &["Saint Paul/0"]);
    check(
        "Winston Salem, Winston-Salem, winston-\nsalem",
        &["Winston Salem/0", "Winston-Salem/0", "winston-\nsalem/0"],
    );
    check(
        "O'Brien, O’Brien, OBRIEN",
        &["O'Brien/0", "O’Brien/0", "OBRIEN/0"],
    );
    check("McAllen and MCALLEN", &["McAllen/0", "MCALLEN/0"]);
    check(
        "La CORUÑA, Corun\u{303}a, avila",
        &["CORUÑA/0", "Corun\u{303}a/0", "avila/0"],
    );
    check(
        "St Marys Hospital; St. Mary’s Hospital",
        &["St Marys Hospital/0", "St. Mary’s Hospital/0"],
    );
}

#[test]
fn the_longest_match_wins_and_the_next_begins_after_it() {
    check("New York York", &["New York/0", "York/0"]);
    check("Saint-Paul de la Cruz", &["Saint-Paul de la Cruz/0"]);
    check("Saint-Paul de la Vega", &["Saint-Paul/0"]);
}

#[test]
fn a_possessive_does_not_hide_the_name() {
    check(
        "Paul's and O'Brien's and York’s",
        &["Paul/0", "O'Brien/0", "York/0"],
    );
}

#[test]
fn a_name_may_wrap_to_the_next_line_but_not_across_an_empty_one_or_a_column() {
    check("New\n  York", &["New\n  York/0"]);
    check("New\r\nYork", &["New\r\nYork/0"]);
    check("New\n\nYork", &["York/0"]);
    check("New    York", &["York/0"]);
    check("New\0York", &["York/0"]);
}

#[test]
fn an_entry_inside_a_longer_word_does_not_match() {
    check("Yorkshire, Paulina, newyork", &[]);
}

#[test]
fn exact_lists_look_at_the_case() {
    check("MA ma Ma IN in", &["MA/0", "IN/0"]);
    check("N.Y. NY N. Y. n.y.", &["N.Y/0", "N. Y/0"]);
    check("AT&T, AT & T, at&t", &["AT&T/0", "AT & T/0"]);
}

#[test]
fn one_typing_error_is_forgiven_in_long_words_of_lists_that_ask_for_it() {
    check(
        "Massachusets, Masachusetts, MASSACHUSETST",
        &["Massachusets/1", "Masachusetts/1", "MASSACHUSETST/1"],
    );
    check("New Hampshrie", &["New Hampshrie/1"]);
    // No entry begins like these.
    check(
        "Mqssachusetts, xMassachusetts",
        &["Mqssachusetts/1", "Massachusetts/0"],
    );
    check("Mqzachusetts. qMassachusett", &["Massachusett/1"]);
    check("Ohoi, Msasachusets, Winstno-Salem", &[]);
}

#[test]
fn a_long_word_after_a_misspelt_one_does_not_hide_it() {
    let entries = [
        "Upperlongmeadowville Nethershortmeadow",
        "Upperlongmeadowvile",
        "Lowerlongmeadowville",
    ];
    let dictionary = dictionary(&[list("places", MatchMode::Distance1, &entries)]);
    assert_eq!(
        longest(&dictionary, "Upperlongmeadowville Lowerlongmeadowville"),
        ["Upperlongmeadowville/1", "Lowerlongmeadowville/0"]
    );
}

#[test]
fn marks_inside_an_entry_differ() {
    let entries = ["Hale&Sons", "Hale/Norton", "Hale+Orr", "Ávila"];
    let dictionary = dictionary(&[list("places", MatchMode::Folded, &entries)]);
    assert_eq!(
        longest(&dictionary, "Hale & Sons, Hale/Norton; Hale+Orr"),
        ["Hale & Sons/0", "Hale/Norton/0", "Hale+Orr/0"]
    );
    assert!(longest(&dictionary, "Hale/Sons Hale&Norton Hale=Orr Hale@Sons").is_empty());
    assert_eq!(longest(&dictionary, "A\u{301}vila"), ["A\u{301}vila/0"]);
}

#[test]
fn all_matches_name_their_lists_and_numbers() {
    let dictionary = small();
    let (places, names) = (
        dictionary.list("places").unwrap(),
        dictionary.list("names").unwrap(),
    );
    let batch = NoteBatch::from_texts(["in New York with Paul"]).unwrap();
    let mut found = vec![];
    for note in batch.notes() {
        dictionary.matcher().each(&note, ListSet::ALL, |m| {
            found.push((
                m.first,
                m.last,
                m.entry.lists(),
                m.entry.frequency(places),
                m.entry.frequency(names),
            ));
        });
    }
    assert_eq!(
        found,
        [
            (1, 2, places.into(), Some(1), None),
            (2, 2, places.into(), Some(2), None),
            (4, 4, names.into(), None, Some(1)),
        ]
    );
}

#[test]
fn only_wanted_lists_are_reported() {
    let dictionary = small();
    let names = dictionary.set(["names"]).unwrap();
    let batch = NoteBatch::from_texts(["St. Paul"]).unwrap();
    let mut found = vec![];
    for note in batch.notes() {
        dictionary
            .matcher()
            .longest(&note, names, |m| found.push(m.span.of(note.text).to_owned()));
    }
    assert_eq!(found, ["Paul"]);
}

#[test]
fn every_token_has_its_own_entry_in_words() {
    let dictionary = small();
    let batch = NoteBatch::from_texts(["Paul, MA ma York."]).unwrap();
    let mut entries = vec![];
    for note in batch.notes() {
        dictionary.matcher().words(&note, &mut entries);
    }
    let known: Vec<bool> = entries.iter().map(|entry| !entry.is_none()).collect();
    assert_eq!(known, [true, false, true, false, true, false]);
}

#[test]
fn a_single_word_is_looked_up_in_any_case() {
    let dictionary = small();
    let names = dictionary.list("names").unwrap();
    assert!(dictionary.word("PAUL").lists().contains(names));
    assert!(dictionary.word("Paula").is_none());
    assert!(!dictionary.word("MA").is_none() && dictionary.word("ma").is_none());
}

proptest! {
    #[test]
    fn matches_lie_on_token_boundaries_and_agree_with_a_fresh_matcher(
        text in "([A-Za-zñáé'’. \n&,0-9-]|St|Paul|New |York|Massachusets |Winston|Salem|MA|\\PC){0,60}"
    ) {
        let dictionary = small();
        let batch = NoteBatch::from_texts([text.as_str()]).unwrap();
        let mut warm = dictionary.matcher();
        for note in batch.notes() {
            let (mut once, mut again) = (vec![], vec![]);
            warm.each(&note, ListSet::ALL, |m| once.push((m.first, m.last, m.entry.lists(), m.distance)));
            warm.each(&note, ListSet::ALL, |m| again.push((m.first, m.last, m.entry.lists(), m.distance)));
            prop_assert_eq!(&once, &again);
            let mut end = 0;
            warm.longest(&note, ListSet::ALL, |m| {
                assert!(m.first <= m.last && m.last < note.tokens.len());
                assert_eq!(m.span, note.tokens_span(m.first, m.last));
                m.span.check(note.text).unwrap();
                assert!(m.span.start() >= end, "longest matches overlap");
                assert!(once.contains(&(m.first, m.last, m.entry.lists(), m.distance)));
                end = m.span.end();
            });
        }
    }

    #[test]
    fn one_look_up_returns_what_two_return_and_no_filter_hides_a_word(
        text in "([A-Z]?[a-z]{1,7}|[A-Z]{1,4}|[0-9]{1,3}|[-.'/+ ]|Bost?on|San |Francisco|Mass[a-z]{0,3}|é){0,60}"
    ) {
        let (dictionary, batch) = (Dictionary::builtin(), NoteBatch::from_texts([text.as_str()]).unwrap());
        let note = batch.note(0);
        let parts = |m: Match<'_>| (m.first, m.last, m.span, m.entry.lists(), m.distance);
        let (mut one, mut two) = (dictionary.matcher(), dictionary.matcher());
        // All sought first: what one leads to may take another's place.
        let slot_keys: Vec<_> = (0..note.tokens.len()).map(|i| one.seek(&note, i)).collect();
        for (i, slot_key) in slot_keys.into_iter().enumerate() {
            let (entry, longest) = one.word_and_longest_at(&note, i, slot_key, ListSet::ALL);
            prop_assert_eq!(entry.id(), two.word(&note, i).id());
            prop_assert_eq!(longest.map(parts), two.longest_at(&note, i, ListSet::ALL).map(parts));
            let alone = dictionary.word(note.word(i));
            prop_assert!(entry.lists() == alone.lists() || !note.word(i).chars().all(char::is_alphanumeric));
            if let Some(set) = entry.list_set() {
                prop_assert_eq!(dictionary.list_sets().nth(set), Some(entry.lists()));
            }
        }
    }

    #[test]
    fn every_entry_is_found_as_written(entry in "[A-Z][a-zñéß]{1,8}([ '-][A-Z]?[a-zö]{1,6}){0,3}") {
        let dictionary = dictionary(&[list("l", MatchMode::Folded, &[&entry])]);
        let found = longest(&dictionary, &format!("seen by {entry}, today"));
        prop_assert!(found.contains(&format!("{entry}/0")), "{:?}", found);
    }

    #[test]
    fn damaged_bytes_are_refused_not_trusted(at in 0usize..4000, bit in 0u8..8) {
        let mut bytes = compile(&[list("l", MatchMode::Folded, &["Boston", "Paris"])]).unwrap();
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        prop_assert!(Dictionary::from_bytes(bytes).is_err());
    }
}

#[test]
fn a_cut_file_is_refused() {
    let bytes = compile(&[list("l", MatchMode::Folded, &["Boston"])]).unwrap();
    for len in 0..bytes.len() {
        assert!(Dictionary::from_bytes(bytes[..len].to_vec()).is_err());
    }
}

#[test]
fn an_exception_that_is_no_item_is_refused_by_name() {
    let mut names = list("names", MatchMode::Folded, &["Long"]);
    names.exceptions = vec!["Stent".into()];
    let error = compile(&[names]).unwrap_err().to_string();
    assert!(error.contains("names") && error.contains("Stent"), "{error}");
}

#[test]
fn two_lists_of_one_name_are_refused() {
    let twice = [
        list("names", MatchMode::Folded, &["Long"]),
        list("names", MatchMode::Folded, &["May"]),
    ];
    assert!(compile(&twice).unwrap_err().to_string().contains("names"));
}

#[test]
fn exceptions_are_marked() {
    let mut names = list("names", MatchMode::Folded, &["Long", "Ruiz"]);
    names.exceptions = vec!["Long".into()];
    let dictionary = dictionary(&[names]);
    let id = dictionary.list("names").unwrap();
    assert!(dictionary.word("long").is_exception(id));
    assert!(!dictionary.word("ruiz").is_exception(id));
}
