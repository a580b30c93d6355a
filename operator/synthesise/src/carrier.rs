//! Carrier text: real clinical prose into which identifiers are inserted, and from which residues of
//! identifiers are removed.
//!
//! Carriers were de-identified once and have residues: placeholders ("Dr. X", "XYZ Hospital"), remaining ages
//! and dates, names that look real. Unchanged they would teach that such text is not an identifier. So a name
//! after a title becomes an invented one; an age becomes an invented age; an annotated date gets gold; and a
//! sentence with any other residue is left out. A residue is recognised by known placeholders and by the
//! document's annotations, which `lethe annotate` produces.

use std::collections::HashMap;

use lethe_core::Span;
use lethe_corpus::Document;

use crate::slot::{Count, MentionForm, Role, Slot};
use crate::template::Node;

/// A carrier: its lines, each of sentences.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Carrier {
    pub(crate) lines: Vec<Vec<Sentence>>,
    /// The number of sentences left out.
    pub(crate) left_out: usize,
}

/// A sentence with the blanks after it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sentence {
    pub(crate) nodes: Vec<Carried>,
}

/// A piece of a carrier.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Carried {
    Node(Node),
    /// An identifier that stays unchanged.
    Kept(&'static str, String),
}

const TITLES: &[&str] = &["Dr", "Drs", "Mr", "Mrs", "Ms", "Miss", "Doctor"];
/// Words that stand for a removed identifier.
const PLACEHOLDERS: &[&str] = &[
    "XX", "XXX", "XXXX", "XXXXX", "XYZ", "ABC", "ABCD", "XY", "YY", "ZZZ", "XXXXXX", "ABCDE", "Doe", "DOE",
    "____", "Sample", "LMNO", "MMDDYYYY", "FDFD",
];
/// Labels whose marks are replaced or kept, instead of removing the sentence.
const DATE: &str = "DATE";
const AGE: &str = "AGE";

impl Carrier {
    /// Creates the carrier of a document, whose marks count as residues.
    pub(crate) fn new(document: &Document) -> Self {
        let mut carrier = Self::default();
        let mut people = People::default();
        let mut at = 0;
        for line in document.text.split('\n') {
            let mut sentences = Vec::new();
            let mut start = at;
            for sentence in split(line) {
                let end = start + sentence.len();
                match clean(sentence, start, document, &mut people) {
                    Some(nodes) => sentences.push(Sentence { nodes }),
                    None => carrier.left_out += 1,
                }
                start = end;
            }
            at += line.len() + 1;
            if !sentences.is_empty() {
                carrier.lines.push(sentences);
            }
        }
        carrier
    }
}

/// Splits a line into sentences, each with the blanks after it: a full stop, blanks, a capital.
fn split(line: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut rest = line;
    let mut from = 0;
    while let Some(at) = rest
        .get(from..)
        .and_then(|tail| tail.find(". "))
        .map(|at| at + from)
    {
        let behind = rest.get(at + 1..).unwrap_or_default();
        let blanks = behind.len() - behind.trim_start().len();
        let word = rest
            .get(..at)
            .and_then(|head| head.rsplit([' ', '(', ',']).next())
            .unwrap_or_default();
        let goes_on = TITLES.contains(&word)
            || word.len() <= 1
            || !behind.trim_start().starts_with(|char: char| char.is_uppercase());
        let cut = at + 1 + blanks;
        if goes_on {
            from = cut;
            continue;
        }
        let (sentence, tail) = rest.split_at(cut);
        sentences.push(sentence);
        (rest, from) = (tail, 0);
    }
    if !rest.is_empty() {
        sentences.push(rest);
    }
    sentences
}

/// Returns whether a word is a letter that stands for a name and ends a sentence: "Dr. X".
fn is_letter_for_a_name(word: &str) -> bool {
    matches!(word, "X" | "Y" | "Z")
}

/// The people of a carrier: equal placeholders are the same person.
#[derive(Default)]
struct People {
    known: HashMap<String, Role>,
    doctors: usize,
}

impl People {
    fn of(&mut self, title: &str, name: &str) -> Role {
        if !title.starts_with('D') {
            return Role::Patient;
        }
        if let Some(&role) = self.known.get(name) {
            return role;
        }
        let role = [Role::Doctor, Role::Doctor2, Role::Doctor3][self.doctors % 3];
        self.doctors += 1;
        self.known.insert(name.to_owned(), role);
        role
    }
}

/// Returns a sentence's nodes; `None` if some text in it cannot stay.
fn clean(sentence: &str, start: usize, document: &Document, people: &mut People) -> Option<Vec<Carried>> {
    let mut residues = titled(sentence, people);
    let sentence_end = start + sentence.len();
    for mark in &document.marks {
        let (from, to) = (mark.span.start(), mark.span.end());
        if to <= start || from >= sentence_end {
            continue;
        }
        if from < start || to > sentence_end {
            return None;
        }
        let (from, to) = (from - start, to - start);
        let covered = residues
            .iter()
            .any(|(span, _)| span.start() < to && from < span.end());
        let text = Span::checked(sentence, from, to).ok()?.get(sentence)?;
        let kept = match mark.label.as_str() {
            _ if covered => continue,
            AGE if text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() <= 2 => {
                Carried::Node(Node::Slot(Slot::Person(
                    Role::Patient,
                    MentionForm::Age(Count::Figures),
                    false,
                )))
            }
            AGE => Carried::Kept(AGE, text.to_owned()),
            DATE => Carried::Kept(DATE, text.to_owned()),
            _ => return None,
        };
        residues.push((Span::new(from, to).ok()?, kept));
    }
    residues.sort_by_key(|(span, _)| span.start());
    let mut nodes = Vec::new();
    let mut at = 0;
    for (span, residue) in residues {
        if span.start() < at {
            return None;
        }
        let before_person = matches!(
            residue,
            Carried::Node(Node::Slot(Slot::Person(
                _,
                MentionForm::Any | MentionForm::Last,
                _
            )))
        );
        nodes.push(literal(sentence.get(at..span.start())?, before_person)?);
        nodes.push(residue);
        at = span.end();
    }
    nodes.push(literal(sentence.get(at..)?, false)?);
    Some(nodes)
}

/// Returns text that stays; `None` if it has a placeholder, or a title without a person after it.
fn literal(text: &str, before_person: bool) -> Option<Carried> {
    let words = text.split(|char: char| !char.is_alphanumeric() && char != '_');
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let titles = words
        .iter()
        .filter(|word| TITLES.contains(word) && **word != "Miss")
        .count();
    let residue = words
        .iter()
        .any(|word| PLACEHOLDERS.contains(word) || word.starts_with("__"));
    (!residue && titles == usize::from(before_person)).then(|| Carried::Node(Node::Text(text.to_owned())))
}

/// Finds names after titles: one to three words with a capital.
fn titled(sentence: &str, people: &mut People) -> Vec<(Span, Carried)> {
    let mut found = Vec::new();
    let mut words = words(sentence).peekable();
    while let Some((_, end, word)) = words.next() {
        if !TITLES.contains(&word) {
            continue;
        }
        let gap = |from: usize, to: usize| sentence.get(from..to).unwrap_or_default();
        let mut name: Option<(usize, usize)> = None;
        let mut before = end;
        while let Some(&(start, stop, word)) = words.peek() {
            let between = gap(before, start);
            let joined = match name {
                None => matches!(between, ". " | " " | "." | ".  "),
                // "Dr. A. Smith", "Dr. Smith Jones"; a full stop after a longer word ends the sentence.
                Some((from, to)) => {
                    between == " "
                        || matches!(between, ". ")
                            && to - from == 1
                            && !is_letter_for_a_name(sentence.get(from..to).unwrap_or_default())
                }
            };
            let upper = word.starts_with(|char: char| char.is_uppercase());
            if !joined || !upper || TITLES.contains(&word) || name.is_some_and(|(from, _)| stop - from > 40) {
                break;
            }
            name = Some((name.map_or(start, |(from, _)| from), stop));
            before = stop;
            words.next();
        }
        let span = name.and_then(|(from, to)| Some((Span::new(from, to).ok()?, sentence.get(from..to)?)));
        if let Some((span, text)) = span {
            let role = people.of(word, text);
            let form = if text.contains(' ') {
                MentionForm::Any
            } else {
                MentionForm::Last
            };
            found.push((span, Carried::Node(Node::Slot(Slot::Person(role, form, false)))));
        }
    }
    found
}

/// Returns words with their start and end.
fn words(text: &str) -> impl Iterator<Item = (usize, usize, &str)> {
    let inside = |char: char| char.is_alphanumeric() || char == '\'' || char == '_' || char == '-';
    text.split(move |char: char| !inside(char))
        .filter(|word| !word.is_empty())
        .map(move |word| {
            let start = word.as_ptr().addr() - text.as_ptr().addr();
            (start, start + word.len(), word)
        })
}

#[cfg(test)]
mod tests {
    use lethe_corpus::Mark;

    use super::*;

    fn carrier(text: &str, marks: &[(&str, &str)]) -> Carrier {
        let mark = |&(value, label): &(&str, &str)| {
            let at = text.find(value).unwrap();
            Mark::gold(Span::new(at, at + value.len()).unwrap(), label)
        };
        Carrier::new(&Document {
            id: "1".into(),
            patient: None,
            text: text.into(),
            marks: marks.iter().map(mark).collect(),
        })
    }

    fn shown(carrier: &Carrier) -> String {
        let piece = |carried: &Carried| match carried {
            Carried::Node(Node::Text(text)) => text.clone(),
            Carried::Node(Node::Slot(Slot::Person(role, form, _))) => format!("<{role:?} {form:?}>"),
            Carried::Node(other) => format!("{other:?}"),
            Carried::Kept(label, text) => format!("<{label} {text}>"),
        };
        let line = |line: &Vec<Sentence>| {
            line.iter()
                .flat_map(|sentence| &sentence.nodes)
                .map(piece)
                .collect::<String>()
        };
        carrier.lines.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn placeholders_behind_titles_become_people_and_the_same_one_the_same() {
        let text = "Dr. X saw Mr. ABC with Drs. Young.  I thank Dr. X. A Foley stays.";
        assert_eq!(
            shown(&carrier(text, &[])),
            "Dr. <Doctor Last> saw Mr. <Patient Last> with Drs. <Doctor2 Last>.  I thank Dr. <Doctor Last>. A Foley stays."
        );
    }

    #[test]
    fn a_sentence_with_another_residue_goes() {
        let text = "He came from XYZ Hospital. He is 56 years old. Seen on 3/4 in Boston. Seen in May 2003. He left.";
        let marks = [
            ("56", "AGE"),
            ("Boston", "CITY"),
            ("May 2003", "DATE"),
            ("3/4", "DATE"),
        ];
        let carrier = carrier(text, &marks);
        assert_eq!(
            shown(&carrier),
            "He is <Patient Age(Figures)> years old. Seen in <DATE May 2003>. He left."
        );
        assert_eq!(carrier.left_out, 2);
    }

    #[test]
    fn text_without_residues_stays_as_it_is() {
        let text =
            "PLAN:\n1. Start aspirin 81 mg p.o. daily.  Follow up in 2 weeks.\n\n2. T4 N1, Factor X normal.";
        assert_eq!(shown(&carrier(text, &[])), text.replace("\n\n", "\n"));
    }
}
