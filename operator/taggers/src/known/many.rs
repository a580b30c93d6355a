//! Events with many values: the member finds the same as a scan for each value, and reads the text no more
//! often.

use lethe_core::{Annotations, Collector, LabelId, LabelSet, NoteBatch};
use lethe_dictionaries::Dictionary;
use proptest::prelude::*;

use super::phrases::End;
use super::{KnownConfig, Labels, dates, names, numbers, phrases, reference};
use crate::vocabulary::Vocabulary;
use crate::words::Words;

const PIECES: [&str; 42] = [
    "Justin", "Pierce", "Peirce", "pierce", "Rose", "rose", "Al", "al", "J", "P", "Q", "j", "JP", "JQP",
    "PJ", "Pt", "patient", "Ibáñez", "de", "Piercy", "12", "3", "03", "4", "1992", "92", "19920312",
    "03121992", "March", "mar", "of", "19", "1", "2003", "street", "St", "Main", "main", "Provo", "½", "9",
    "Na",
];
const BETWEEN: [&str; 12] = [" ", " ", ".", ". ", ", ", "-", "/", "\n", "\n\n", "'", "", " - "];

fn text(most: usize) -> impl Strategy<Value = String> {
    let piece = (0..PIECES.len(), 0..BETWEEN.len());
    prop::collection::vec(piece, 0..most).prop_map(|pieces| {
        let written = pieces
            .into_iter()
            .map(|(piece, between)| [PIECES[piece], BETWEEN[between]].concat());
        written.collect()
    })
}

/// Returns the spans that `find` adds to a collector for this text.
fn found(text: &str, find: impl FnOnce(&Words<'_>, &mut Collector<'_>)) -> Annotations {
    let batch = NoteBatch::from_texts([text]).unwrap();
    let mut out = Collector::new(batch.note(0));
    find(&Words::new(batch.note(0)), &mut out);
    out.finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn dates_are_found_as_by_a_scan_for_each(
        text in text(30),
        days in prop::collection::vec((0usize..4, 1u32..5, 1u32..13), 0..12),
    ) {
        let days: Vec<_> = days
            .into_iter()
            .map(|(year, month, day)| dates::Date { year: [1992, 2003, 1903, 2012][year], month, day })
            .collect();
        let mut known = dates::Dates::default();
        days.iter().for_each(|date| known.add(*date));
        prop_assert_eq!(
            found(&text, |words, out| known.find(words, LabelId(1), out)),
            found(&text, |words, out| reference::dates(&days, words, LabelId(1), out))
        );
    }

    #[test]
    fn phrases_are_found_as_by_a_scan_for_each(
        text in text(30),
        values in prop::collection::vec(prop::collection::vec(0..PIECES.len(), 1..6), 0..10),
    ) {
        let mut known = phrases::Phrases::default();
        let mut all = Vec::new();
        for (i, value) in values.iter().enumerate() {
            let words: Vec<String> = value
                .iter()
                .map(|&at| phrases::short(&lethe_text::fold(PIECES[at])).to_owned())
                .collect();
            let end = End { label: LabelId((i % 3) as u16), rule: "known.phrase" };
            known.add_piece(&words, end);
            all.push((words, end));
        }
        prop_assert_eq!(
            found(&text, |words, out| known.find(words, out)),
            found(&text, |words, out| reference::phrases(&all, words, out))
        );
    }

    #[test]
    fn initials_are_found_as_by_a_scan_for_each(
        text in text(30),
        given in prop::collection::vec("[JPQA]{2,4}", 0..6),
    ) {
        let mut known = names::Names::default();
        let mut all: Vec<(Vec<char>, LabelId)> = Vec::new();
        for (i, letters) in given.iter().enumerate() {
            let label = LabelId((i % 3) as u16);
            let written: Vec<String> = letters.chars().map(|letter| format!("{letter}.")).collect();
            known.add(&written.join(" "), label);
            let letters: Vec<char> = letters.to_lowercase().chars().collect();
            let mut turned = letters.clone();
            turned.rotate_right(1);
            let ends = vec![letters[0], letters[letters.len() - 1]];
            all.extend([letters, turned, ends].map(|letters| (letters, label)));
        }
        let batch = NoteBatch::from_texts([text.as_str()]).unwrap();
        let words = Words::new(batch.note(0));
        for i in 0..words.len() {
            prop_assert_eq!(known.initials_end(i, &words), reference::initials_at(&all, i, &words));
        }
    }
}

/// Returns the number of tokens read for `count` values of each kind over a text of `repeats` lines.
fn steps(count: u32, repeats: usize) -> u64 {
    let text =
        "Pt JP born 3/19/1992, 19 March 92. J. P. Pierce, 12 Main St. 77 95-458 a a a a\n".repeat(repeats);
    let labels = LabelSet::i2b2_2014();
    let batch = NoteBatch::from_texts([text.as_str()]).unwrap();
    let words = Words::new(batch.note(0));
    let mut out = Collector::new(batch.note(0));
    let (mut all_dates, mut all_names) = (dates::Dates::default(), names::Names::default());
    let (mut all_numbers, mut all_phrases) = (numbers::Numbers::default(), phrases::Phrases::default());
    for i in 0..count {
        all_dates.add(dates::Date {
            year: 1900 + i % 120,
            month: 1 + i % 12,
            day: 1 + i / 12 % 28,
        });
        let letter = |n: u32| char::from(b'A' + (i / 26_u32.pow(n) % 26) as u8);
        all_names.add(
            &format!("{}. {}. {}zzq{i}", letter(0), letter(1), letter(2)),
            LabelId(0),
        );
        all_numbers.add(&format!("77{i}"), LabelId(0));
        all_phrases.add_address(&format!("12 Main {i}, Provo"), &Labels::new(&labels).unwrap());
        all_phrases.add(&"a ".repeat(i as usize % 50), LabelId(0), "known.phrase");
    }
    all_names.finish();
    all_numbers.finish();
    let vocabulary = Vocabulary::new(&Dictionary::builtin());
    all_names.find(&words, &KnownConfig::default(), &vocabulary, &mut out);
    all_numbers.find(&words, &mut out);
    all_phrases.find(&words, &mut out);
    all_dates.find(&words, LabelId(0), &mut out);
    words.steps.get()
}

#[test]
fn more_values_do_not_have_the_text_read_more_often() {
    let (few, many) = (steps(200, 20), steps(20_000, 20));
    assert!(
        many < few * 3 / 2,
        "{few} tokens read for few values, {many} for many"
    );
}

#[test]
fn the_tokens_read_grow_with_the_text() {
    let (short, long) = (steps(200, 20), steps(200, 200));
    assert!(
        long < short * 11,
        "{short} tokens read for one text, {long} for ten"
    );
}

#[test]
fn a_hundred_phrases_that_begin_alike_are_all_found() {
    let mut known = phrases::Phrases::default();
    for i in 0..100 {
        known.add(&format!("12 Main Street {i}"), LabelId(0), "known.phrase");
    }
    let found = found("At 12 Main Street 3 and 12 Main St 99.", |words, out| {
        known.find(words, out)
    });
    assert_eq!(found.len(), 2);
}
