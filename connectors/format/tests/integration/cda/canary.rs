//! Puts a value into one leaf of a document at a time: it is returned only because of its shape, and only for
//! a listed reason.

use std::collections::{BTreeMap, BTreeSet};

use super::leaves::{holding, leaves, written};
use super::{CONTINUITY, close, keeping};

/// The allowed cases: element, attribute and reason.
const REASONS: &str = include_str!("canary.tsv");

const VALUES: [(&str, &str); 8] = [
    ("word", "Quillfeather"),
    ("number", "5550142"),
    ("date", "20310517"),
    ("code of another table", "CHECKUP"),
    ("telephone", "617.555.0142"),
    ("ZIP code", "02139-1234"),
    ("id", "AB7741902"),
    ("year", "1958"),
];

#[test]
fn a_value_in_one_leaf_does_not_come_back_unless_a_reason_is_listed() {
    let reasons: BTreeMap<(&str, &str), &str> = REASONS
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let [what, place, reason] = line.split('\t').collect::<Vec<_>>()[..] else {
                panic!("three columns: {line}");
            };
            assert!(reason.split(' ').count() > 3, "no reason: {line}");
            ((what, place), reason)
        })
        .collect();
    let all = leaves(CONTINUITY);
    let attributes = all.iter().filter(|leaf| leaf.attribute).count();
    assert!(
        attributes > 600 && all.len() > attributes + 100,
        "{attributes} of {}",
        all.len()
    );
    let before = close(
        &keeping(CONTINUITY).unwrap(),
        |_| "Y".to_owned(),
        |_| "X".to_owned(),
    );
    let mut found = BTreeSet::new();
    let mut refused = 0;
    for (what, value) in VALUES {
        let usual = holding(&before, value);
        let mut seen = BTreeSet::new();
        for leaf in &all {
            // Leaves with the same content are tested once.
            if !seen.insert((leaf.place.as_str(), &CONTINUITY[leaf.at.clone()])) {
                continue;
            }
            let document = written(CONTINUITY, std::iter::once(leaf), value);
            let Ok(event) = keeping(&document) else {
                refused += 1;
                continue;
            };
            let back = close(&event, |_| "Y".to_owned(), |_| "X".to_owned());
            for (place, count) in holding(&back, value) {
                if count > usual.get(&place).copied().unwrap_or(0) {
                    found.insert((what, place));
                }
            }
            let path = event.enclosed.as_ref().unwrap().0.changes().iter();
            for change in path {
                assert!(
                    !change.path.contains(value),
                    "{what} in {}: {}",
                    leaf.place,
                    change.path
                );
            }
        }
    }
    let listed: BTreeSet<(&str, String)> = reasons
        .keys()
        .map(|(what, place)| (*what, (*place).to_owned()))
        .collect();
    let leaks: Vec<_> = found.difference(&listed).collect();
    assert!(leaks.is_empty(), "passes without a reason: {leaks:?}");
    let stale: Vec<_> = listed.difference(&found).collect();
    assert!(stale.is_empty(), "listed and does not pass: {stale:?}");
    assert!(refused < 40, "{refused} refused");
}

#[test]
fn what_the_table_does_not_know_does_not_come_back() {
    let unknown = "<sdtc:unheard value=\"Quillfeather\">Quillfeather<id extension=\"Quillfeather\"/></sdtc:unheard>\
        <x:code xmlns:x=\"urn:quillfeather\" code=\"Quillfeather\"/><Quillfeather Quillfeather=\"Quillfeather\"/>";
    let document = CONTINUITY
        .replace("<statusCode", &format!("{unknown}<statusCode"))
        .replace(
            "<td",
            "<td Quillfeather=\"Quillfeather\" onclick=\"Quillfeather\"",
        );
    let event = keeping(&document).unwrap();
    let back = close(&event, |_| "Y".to_owned(), |_| "X".to_owned());
    assert!(!back.contains("Quillfeather") && !back.contains("quillfeather"));
    let same = close(
        &keeping(CONTINUITY).unwrap(),
        |_| "Y".to_owned(),
        |_| "X".to_owned(),
    );
    assert_eq!(back, same);
}
