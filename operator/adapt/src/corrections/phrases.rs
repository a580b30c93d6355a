//! A list of the words that corrections mark and the bundle missed: what a single correction can teach.
//!
//! After one note a learner rightly has next to no weight; but a name that leaked once will leak in the
//! patient's next note, today. So from then on a marked phrase is found wherever it occurs as it was written.
//! A list cannot distinguish a name from a word, so it only has phrases that look like a name or a number,
//! and none that occurs unmarked in corrected notes as often as marked, or in the last note that has it.

use std::collections::BTreeMap;

use lethe_core::Span;
use lethe_corpus::Document;
use lethe_dictionaries::{CompileError, Dictionary, List, LoadError, MatchMode, Role, Source, compile};

use super::learnt::{Lesson, batches};

/// The minimum number of letters in a phrase.
const LETTERS: usize = 3;
/// The minimum number of digits in a phrase with fewer letters: a shorter number may be a dose, an age or a
/// year.
const DIGITS: usize = 5;
/// The maximum number of characters: longer text is a passage.
const LONGEST: usize = 80;

/// Why phrases cannot be listed. It holds no phrase.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PhrasesError {
    /// They cannot be compiled.
    #[error("the list of phrases cannot be compiled: {}", told(.0))]
    Compile(CompileError),
    /// The compiled list cannot be read.
    #[error("the list of phrases: {0}")]
    Load(#[from] LoadError),
    /// The corrected notes do not form a batch.
    #[error(transparent)]
    Batch(#[from] lethe_core::BatchError),
}

/// Returns only the error's kind: its own message may name an entry.
const fn told(error: &CompileError) -> &'static str {
    match error {
        CompileError::TooMany { .. } => "more labels than a dictionary can have lists",
        CompileError::SameId { .. } => "two labels with the same name",
        _ => "building the automaton failed",
    }
}

/// Counts of a phrase in corrected notes.
#[derive(Default)]
struct Seen {
    /// The phrase as last marked.
    text: String,
    /// Whether the bundle ever missed it.
    missed: bool,
    /// Counts by label, with the index of the last such note.
    marked: BTreeMap<String, (usize, usize)>,
    unmarked: usize,
    /// Whether it is unmarked in the last note that has it.
    refuted: bool,
}

/// Returns the compiled phrases, with one list per label; `None` without phrases. The same lessons give the
/// same bytes.
///
/// # Errors
/// [`PhrasesError`].
pub(super) fn listed(lessons: &[Lesson<'_>]) -> Result<Option<(Vec<u8>, usize)>, PhrasesError> {
    let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
    for (place, lesson) in lessons.iter().enumerate() {
        let document = lesson.document;
        for mark in &document.marks {
            let text = mark.span.trimmed(&document.text).of(&document.text);
            if !is_phrase(text) {
                continue;
            }
            let phrase = seen.entry(canonical(text)).or_default();
            phrase.text = text.to_owned();
            phrase.missed |= lesson.missed.contains(&mark.span);
            let count = phrase.marked.entry(mark.label.clone()).or_default();
            *count = (count.0 + 1, place);
        }
    }
    seen.retain(|_, phrase| phrase.missed);
    if seen.is_empty() {
        return Ok(None);
    }
    look(lessons, &mut seen)?;
    let mut by_label: BTreeMap<&str, Vec<(String, u32)>> = BTreeMap::new();
    let mut count = 0;
    for phrase in seen.values() {
        let times: usize = phrase.marked.values().map(|(times, _)| times).sum();
        if phrase.refuted || phrase.unmarked >= times {
            continue;
        }
        // If it was marked with several labels, the most frequent counts, then the last.
        let label = phrase.marked.iter().max_by_key(|(_, count)| **count);
        if let Some((label, _)) = label {
            by_label.entry(label).or_default().push((phrase.text.clone(), 0));
            count += 1;
        }
    }
    let lists: Vec<List> = by_label
        .into_iter()
        .map(|(label, items)| list(label, items))
        .collect();
    let bytes = compile(&lists).map_err(PhrasesError::Compile)?;
    Ok((count > 0).then_some((bytes, count)))
}

/// Counts unmarked occurrences, as the member that lists phrases would find them.
fn look(lessons: &[Lesson<'_>], seen: &mut BTreeMap<String, Seen>) -> Result<(), PhrasesError> {
    let items = seen.values().map(|phrase| (phrase.text.clone(), 0)).collect();
    let bytes = compile(&[list("", items)]).map_err(PhrasesError::Compile)?;
    let dictionary = Dictionary::from_bytes(bytes)?;
    let wanted = dictionary.lists_where(|_| true);
    let mut matcher = dictionary.matcher();
    let documents: Vec<&Document> = lessons.iter().map(|lesson| lesson.document).collect();
    let mut notes = documents.iter();
    for batch in batches(&documents) {
        for (note, document) in batch?.notes().zip(notes.by_ref()) {
            let mut here: BTreeMap<String, (bool, bool)> = BTreeMap::new();
            matcher.each(&note, wanted, |found| {
                let key = canonical(found.span.of(note.text));
                let marked = is_marked(document, found.span);
                if !marked && let Some(phrase) = seen.get_mut(&key) {
                    phrase.unmarked += 1;
                }
                let both = here.entry(key).or_default();
                *both = (both.0 || marked, both.1 || !marked);
            });
            for (key, (marked, unmarked)) in here {
                if let Some(phrase) = seen.get_mut(&key) {
                    phrase.refuted = unmarked && !marked;
                }
            }
        }
    }
    Ok(())
}

fn is_marked(document: &Document, span: Span) -> bool {
    // A part of a marked span does not count as an unmarked occurrence, nor does a hit that extends beyond
    // the span.
    document
        .marks
        .iter()
        .any(|mark| mark.span.start() < span.end() && span.start() < mark.span.end())
}

/// Returns the key of a phrase: its letters and digits as written.
fn canonical(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Returns whether a marked text may be listed: it is written like a name, or is a number long enough to be
/// an identifier.
fn is_phrase(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let digits = text.chars().filter(|c| c.is_numeric()).count();
    let first = text.chars().find(|c| c.is_alphanumeric());
    let named = letters >= LETTERS && first.is_some_and(|c| !c.is_lowercase());
    (named || digits >= DIGITS) && text.chars().count() <= LONGEST && !text.contains(['\n', '\r'])
}

fn list(label: &str, items: Vec<(String, u32)>) -> List {
    List {
        id: format!("corrections-{}", label.to_lowercase()),
        source: Source {
            title: "What corrections mark".to_owned(),
            origin: "corrections".to_owned(),
            licence: "none".to_owned(),
            attribution: String::new(),
            date: String::new(),
            language: "any".to_owned(),
            label: label.to_owned(),
            match_mode: MatchMode::Exact,
            min_length: LETTERS,
            role: Role::Phi,
            number: String::new(),
            variants: false,
        },
        items,
        exceptions: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use lethe_core::NoteBatch;
    use lethe_corpus::Mark;

    use super::*;

    fn document(text: &str, marked: &[(&str, &str)]) -> Document {
        let mark = |&(part, label): &(&str, &str)| {
            let start = text.find(part).unwrap();
            Mark::gold(Span::new(start, start + part.len()).unwrap(), label)
        };
        Document {
            id: text.to_owned(),
            patient: None,
            text: text.to_owned(),
            marks: marked.iter().map(mark).collect(),
        }
    }

    /// Returns the phrases of notes in which the bundle finds nothing, with their labels.
    fn phrases(documents: &[Document]) -> Vec<(String, String)> {
        let lessons: Vec<Lesson<'_>> = documents
            .iter()
            .map(|document| Lesson {
                document,
                missed: document.marks.iter().map(|mark| mark.span).collect(),
            })
            .collect();
        let Some((bytes, count)) = listed(&lessons).unwrap() else {
            return Vec::new();
        };
        let dictionary = Dictionary::from_bytes(bytes).unwrap();
        let mut found = Vec::new();
        let candidates = documents.iter().flat_map(|document| {
            document
                .marks
                .iter()
                .map(|mark| mark.span.of(&document.text).to_owned())
        });
        for text in candidates {
            let batch = NoteBatch::from_texts([text.as_str()]).unwrap();
            let wanted = dictionary.lists_where(|_| true);
            dictionary.matcher().longest(&batch.note(0), wanted, |one| {
                let list = dictionary
                    .lists()
                    .iter()
                    .find(|list| one.entry.lists().contains(list.list));
                found.push((one.span.of(&text).to_owned(), list.unwrap().label.clone()));
            });
        }
        found.sort();
        found.dedup();
        assert_eq!(found.len(), count);
        found
    }

    fn only(label: &str, texts: &[&str]) -> Vec<(String, String)> {
        texts
            .iter()
            .map(|&text| (text.to_owned(), label.to_owned()))
            .collect()
    }

    #[test]
    fn names_and_numbers_are_listed_and_words_are_not() {
        let note = document(
            "Zorva Quill, seen by her brother on 2024, 45 years, file 4471-98. Ed was there. QX",
            &[
                ("Zorva Quill", "P"),
                ("her brother", "P"),
                ("2024", "P"),
                ("45", "P"),
                ("4471-98", "P"),
                ("Ed", "P"),
                ("QX", "P"),
            ],
        );
        assert_eq!(phrases(&[note]), only("P", &["4471-98", "Zorva Quill"]));
        assert_eq!(phrases(&[document("Nothing here.", &[])]), []);
    }

    #[test]
    fn what_the_bundle_finds_needs_no_list() {
        let note = document("Quill and Zorva.", &[("Quill", "P"), ("Zorva", "P")]);
        let lesson = |missed| Lesson {
            document: &note,
            missed,
        };
        assert!(listed(&[lesson(Vec::new())]).unwrap().is_none());
        let (_, count) = listed(&[lesson(vec![note.marks[0].span])]).unwrap().unwrap();
        assert_eq!(count, 1);
    }

    #[test]
    fn a_word_that_stands_unmarked_as_often_as_marked_is_left_out() {
        let first = document("Hope Quill came. Hope left.", &[("Quill", "P"), ("Hope", "P")]);
        assert_eq!(phrases(std::slice::from_ref(&first)), only("P", &["Quill"]));
        let second = document("Hope again.", &[("Hope", "P")]);
        assert_eq!(phrases(&[first, second]), only("P", &["Hope", "Quill"]));
    }

    #[test]
    fn a_correction_that_takes_a_mark_away_takes_the_phrase_away() {
        let marks = document("Quill came.", &[("Quill", "P")]);
        let takes = document("The Quill method.", &[]);
        assert_eq!(
            phrases(&[marks.clone(), marks.clone(), marks.clone(), takes.clone()]),
            []
        );
        let other = document("quill and QUILL.", &[]);
        assert_eq!(phrases(&[marks.clone(), other]), only("P", &["Quill"]));
        // Marked again since then.
        assert_eq!(phrases(&[marks.clone(), takes, marks]), only("P", &["Quill"]));
    }

    #[test]
    fn of_several_labels_the_most_frequent_counts_then_the_last() {
        let notes = [("A", "Quill was."), ("B", "Quill is."), ("B", "Quill will.")];
        let notes: Vec<Document> = notes
            .iter()
            .map(|(label, text)| document(text, &[("Quill", label)]))
            .collect();
        assert_eq!(phrases(&notes[..1]), only("A", &["Quill"]));
        assert_eq!(phrases(&notes[..2]), only("B", &["Quill"]));
        assert_eq!(phrases(&notes), only("B", &["Quill"]));
    }
}
