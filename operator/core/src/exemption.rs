//! Text that a message's own structure explains: headings, units and names of codes in narrative that a
//! server generated.
//!
//! The format reports where such text stands, word for word; it knows the structure but no dictionary. This
//! module tests each stretch again, since a sender may type a name into a display. It drops a decision only
//! if the decision lies within a stretch that passes, and no always-redact member found it.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use crate::{Decision, KnownKind, MemberSet, NoteView, Span, tokenize};

/// The longest run of digits in a stretch: more could be a record number.
const MAX_DIGITS: usize = 3;

/// The source of a stretch's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StructuralKind {
    /// A published list: names of elements, codes of required bindings, units, common headings.
    Published,
    /// The message: the display of a code, which its sender wrote.
    Display,
}

/// A stretch of a note that occurs, word for word, in the structure of the note's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructuralText {
    /// Bytes of the note.
    pub span: Span,
    /// The source of its words.
    pub kind: StructuralKind,
}

/// Returns whether a word names nobody in text of this kind, in any case.
pub type OrdinaryWords = Arc<dyn Fn(&str, StructuralKind) -> bool + Send + Sync>;

/// Drops decisions about text that is known to identify nobody.
#[derive(Clone)]
pub struct Exemption {
    ordinary: OrdinaryWords,
}

impl Exemption {
    /// Creates an exemption of stretches all words of which satisfy `ordinary`.
    pub fn new(ordinary: OrdinaryWords) -> Self {
        Self { ordinary }
    }

    /// Returns the stretches that identify nobody, in order.
    ///
    /// Leaves out a stretch with a word of the note's known names, places or institutions, or with more than
    /// three digits in a row. A published stretch of several words may contain words that are also names,
    /// since published lists name nobody.
    pub fn explained(&self, note: NoteView<'_>, stretches: &[StructuralText]) -> Vec<Span> {
        if stretches.is_empty() {
            return Vec::new();
        }
        let known = known_words(note);
        let holds = |stretch: &&StructuralText| {
            if stretch.span.check(note.text).is_err() {
                return false;
            }
            let (mut possible, mut ordinary, mut names) = (true, false, false);
            each_word(stretch.span.of(note.text), |word| {
                if word.bytes().any(|byte| byte.is_ascii_digit()) {
                    possible &= digits_in_a_row(word) <= MAX_DIGITS;
                } else if known.contains(&word.to_lowercase()) {
                    possible = false;
                } else if (self.ordinary)(word, stretch.kind) {
                    ordinary |= word.chars().count() > 1;
                } else {
                    names = true;
                }
            });
            // "Max Dose" is published as a whole, so that "Max" names nobody in it.
            possible && (!names || ordinary && stretch.kind == StructuralKind::Published)
        };
        let mut explained: Vec<Span> = stretches.iter().filter(holds).map(|one| one.span).collect();
        explained.sort_unstable();
        explained
    }

    /// Drops the decisions all words of which lie within a stretch, unless a member of `always` supports
    /// them. `O((d + s) log s)`.
    pub fn apply(note: NoteView<'_>, explained: &[Span], always: MemberSet, decisions: &mut Vec<Decision>) {
        if explained.is_empty() {
            return;
        }
        decisions
            .retain(|decision| decision.members.0 & always.0 != 0 || !covers(note, explained, decision.span));
    }
}

/// Returns whether each word in the span lies within one of the stretches, which are sorted by their start.
pub(crate) fn covers(note: NoteView<'_>, explained: &[Span], span: Span) -> bool {
    let first = note.tokens.at_or_after(span.start());
    let end = note.tokens.at_or_after(span.end());
    // A span that begins or ends within a token matches no word of a heading.
    let whole = first < end
        && note.tokens.span(first).start() == span.start()
        && note.tokens.span(end - 1).end() == span.end();
    let is_word = |token: &usize| note.word(*token).chars().any(char::is_alphanumeric);
    whole
        && (first..end)
            .filter(is_word)
            .all(|token| within(explained, note.tokens.span(token)))
}

/// Returns whether one of the stretches contains the span.
fn within(explained: &[Span], span: Span) -> bool {
    let after = explained.partition_point(|one| one.start() <= span.start());
    after
        .checked_sub(1)
        .and_then(|last| explained.get(last))
        .is_some_and(|one| span.end() <= one.end())
}

/// Returns the words of names, places and institutions that the note's event carries, in lower case.
fn known_words(note: NoteView<'_>) -> HashSet<String> {
    let mut words = HashSet::new();
    for (kind, value) in note.known() {
        let names = matches!(
            kind,
            KnownKind::Patient
                | KnownKind::Relative
                | KnownKind::Clinician
                | KnownKind::Address
                | KnownKind::Organization
                | KnownKind::Other
        );
        if names {
            each_word(value, |word| {
                if word.chars().count() > 1 {
                    words.insert(word.to_lowercase());
                }
            });
        }
    }
    words
}

/// Calls `take` with each token that has a letter or a digit.
fn each_word(text: &str, mut take: impl FnMut(&str)) {
    tokenize(text, |token| {
        let word = token.span.of(text);
        if word.chars().any(char::is_alphanumeric) {
            take(word);
        }
    });
}

fn digits_in_a_row(word: &str) -> usize {
    let groups = word.split(|c: char| !c.is_ascii_digit());
    groups.map(str::len).max().unwrap_or(0)
}

impl fmt::Debug for Exemption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Exemption")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Known, LabelId, NoteBatch, NoteEvent, Record};

    fn at(text: &str, part: &str) -> Span {
        let start = text.find(part).unwrap();
        Span::new(start, start + part.len()).unwrap()
    }

    /// Returns the decisions that remain of one about each of `found`; an always-redact member supports the
    /// first.
    fn left(text: &str, known: &str, stretches: &[&str], found: &[&str]) -> Vec<String> {
        let event = NoteEvent {
            text: text.into(),
            known: vec![Known {
                kind: KnownKind::Patient,
                value: known.into(),
            }],
            ..NoteEvent::default()
        };
        let batch = NoteBatch::from_records([Record::Note(event)]).unwrap();
        let ordinary: OrdinaryWords = Arc::new(|word, _| !["Okafor", "Ada"].contains(&word));
        let stretches: Vec<StructuralText> = stretches
            .iter()
            .map(|part| StructuralText {
                span: at(text, part),
                kind: StructuralKind::Display,
            })
            .collect();
        let explained = Exemption::new(ordinary).explained(batch.note(0), &stretches);
        let members = |first: bool| MemberSet::default().with(1).with(if first { 0 } else { 1 });
        let mut decisions: Vec<Decision> = found
            .iter()
            .enumerate()
            .map(|(i, part)| Decision::new(at(text, part), LabelId(0), members(i == 0), 1.0))
            .collect();
        Exemption::apply(
            batch.note(0),
            &explained,
            MemberSet::default().with(0),
            &mut decisions,
        );
        decisions
            .iter()
            .map(|decision| decision.span.of(text).to_owned())
            .collect()
    }

    #[test]
    fn a_decision_within_ordinary_structural_text_goes_and_one_that_passes_its_end_stays() {
        let text = "MRN 1. Heart rate of Voss. Body weight";
        let stretches = ["Heart rate", "Body weight"];
        assert_eq!(
            left(text, "x", &stretches, &["MRN", "Heart", "Body weight"]),
            ["MRN"]
        );
        assert_eq!(left(text, "x", &stretches, &["MRN", "rate of Voss"]).len(), 2);
    }

    #[test]
    fn a_stretch_with_a_name_a_known_word_or_a_number_stays_redacted() {
        for (text, known) in [
            ("x Letter to Okafor", "y"),
            ("x Letter to Gray", "Ann Gray"),
            ("x Letter to GRAY", "Ann Gray"),
            ("x Letter 4471", "y"),
        ] {
            let part = text.get(2..).unwrap();
            assert_eq!(left(text, known, &[part], &["x", part]).len(), 2, "{text}");
        }
    }

    #[test]
    fn a_member_that_always_counts_is_never_overruled() {
        assert_eq!(left("Heart rate", "x", &["Heart rate"], &["Heart"]).len(), 1);
    }
}
