//! The bundled lists: every folder is registered, has its origin, and compiles to the same bytes each time.

// The lint does not recognise helpers of an integration test as tests.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use lethe_dictionaries::{BUILTIN_LISTS, Dictionary, FURTHER_LISTS, List, Role, compile};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("lists")
}

fn all() -> Vec<List> {
    let further = FURTHER_LISTS.iter();
    let further = further.map(|id| List::read(&folder().join(id)).unwrap());
    lists().into_iter().chain(further).collect()
}

fn lists() -> Vec<List> {
    BUILTIN_LISTS
        .iter()
        .map(|id| List::read(&folder().join(id)).unwrap())
        .collect()
}

#[test]
fn every_folder_is_registered_and_every_registered_list_has_a_folder() {
    let folders: BTreeSet<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    let registered = || BUILTIN_LISTS.iter().chain(FURTHER_LISTS);
    assert_eq!(folders, registered().map(|id| (*id).to_owned()).collect());
    assert_eq!(folders.len(), registered().count());
}

#[test]
fn every_list_says_where_it_comes_from_under_a_licence_that_lets_it_ship() {
    let allowed = ["public domain", "Apache-2.0", "MIT", "CC-BY-4.0", "SCOWL"];
    for list in all() {
        let source = &list.source;
        assert!(
            !source.title.is_empty() && !source.origin.is_empty() && source.date.len() == 10,
            "{}",
            list.id
        );
        assert!(allowed.contains(&source.licence.as_str()), "{}", list.id);
        assert!(
            source.licence != "CC-BY-4.0" || !source.attribution.is_empty(),
            "{}",
            list.id
        );
        assert!(
            (source.role == Role::Phi) != source.label.is_empty(),
            "{}",
            list.id
        );
        assert!(!list.items.is_empty(), "{}", list.id);
    }
}

#[test]
fn items_and_exceptions_are_sorted_without_doubles() {
    for list in all() {
        let items: Vec<&String> = list.items.iter().map(|(item, _)| item).collect();
        assert!(items.is_sorted_by(|a, b| a < b), "{}", list.id);
        assert!(list.exceptions.is_sorted_by(|a, b| a < b), "{}", list.id);
    }
}

#[test]
fn the_built_in_dictionary_is_what_compiling_the_lists_gives_twice() {
    let (once, twice) = (compile(&lists()).unwrap(), compile(&lists()).unwrap());
    assert_eq!(once, twice);
    let compiled = Dictionary::from_bytes(once).unwrap();
    assert_eq!(compiled.digest(), Dictionary::builtin().digest());
}

#[test]
fn well_known_words_are_in_their_lists() {
    let dictionary = Dictionary::builtin();
    for (word, list, held) in [
        ("Smith", "us-surnames", true),
        ("GARCÍA", "es-surnames", true),
        ("garcia", "es-surnames", true),
        ("Boston", "us-cities", true),
        ("MA", "us-state-abbreviations", true),
        ("ma", "us-state-abbreviations", false),
        ("patient", "english-words", true),
        ("patient", "us-given-names-male", false),
    ] {
        let id = dictionary.list(list).unwrap();
        assert_eq!(
            dictionary.word(word).lists().contains(id),
            held,
            "{word} in {list}"
        );
    }
    let surnames = dictionary.list("us-surnames").unwrap();
    assert_eq!(dictionary.word("smith").frequency(surnames), Some(1006));
}
