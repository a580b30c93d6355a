//! Titles before names: extends the span of a name to the left over "Dr." or "Mrs".
//!
//! Spans of names leave titles outside, as the annotation guides ask. A policy may ask that the title goes as
//! well: it tells a person's sex, degree or rank.

use std::fmt;
use std::sync::Arc;

use crate::{Decision, NoteView, TokenKind};

/// The most words of one title, such as "a.o. Univ.-Prof."
const WORDS: usize = 4;
/// The most letters of a word that a full stop abbreviates. After a longer one it ends a sentence: "Seen by the
/// nurse. Okafor slept."
const ABBREVIATION: usize = 4;

/// Returns whether one to four words, as they are written, are a title or a form of address.
pub type IsTitle = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Extends spans of names over the titles before them.
#[derive(Clone)]
pub struct Titles {
    /// By label: whether its spans are extended.
    extends: Vec<bool>,
    is_title: IsTitle,
}

impl Titles {
    /// Creates the extension. `extends` has a value for each label, in the order of the label set; labels
    /// without a value are not extended.
    pub const fn new(extends: Vec<bool>, is_title: IsTitle) -> Self {
        Self { extends, is_title }
    }

    /// Extends the spans. `decisions` are sorted and free of overlaps, and stay so.
    ///
    /// A title stands on the line of the name, directly before it or before another title; one blank or a full
    /// stop separates them. Takes time in proportion to the number of decisions and the words of titles.
    pub fn apply(&self, note: NoteView<'_>, decisions: &mut [Decision]) {
        let mut floor = 0;
        for decision in decisions {
            let extends = self.extends.get(usize::from(decision.label.0));
            if extends.copied().unwrap_or(false) {
                self.extend(note, floor, decision);
            }
            floor = decision.span.end();
        }
    }

    /// Extends one span, at most to the byte `floor`.
    fn extend(&self, note: NoteView<'_>, floor: usize, decision: &mut Decision) {
        let name = note.tokens.at_or_after(decision.span.start());
        let starts = |token| note.tokens.span(token).start();
        if name >= note.tokens.len() || starts(name) != decision.span.start() {
            return;
        }
        let lowest = note.tokens.at_or_after(floor);
        let mut first = name;
        while let Some(title) = self.before(note, lowest, first) {
            first = title;
        }
        if first < name {
            decision.title = (decision.span.start() - starts(first)) as u32;
            decision.span = note.tokens_span(first, name).union(decision.span);
        }
    }

    /// Returns the first token of the longest title that ends before the token `next` and begins at `lowest` or
    /// later.
    fn before(&self, note: NoteView<'_>, lowest: usize, next: usize) -> Option<usize> {
        let (last, mark) = word_before(note, lowest, next)?;
        let is_abbreviation = || note.word(last).chars().count() <= ABBREVIATION;
        match mark {
            Mark::Blank => {}
            Mark::Stop if is_abbreviation() => {}
            Mark::Stop | Mark::Hyphen => return None,
        }
        let (mut first, mut found) = (last, None);
        for _ in 0..WORDS {
            if is_begun(note, first) && (self.is_title)(note.tokens_span(first, last).of(note.text)) {
                found = Some(first);
            }
            let Some((word, _)) = word_before(note, lowest, first) else {
                break;
            };
            first = word;
        }
        found
    }
}

/// The separator of two words.
enum Mark {
    Blank,
    Stop,
    Hyphen,
}

/// Returns the word before the token `next`, if it is at `lowest` or later, and the separator of both.
fn word_before(note: NoteView<'_>, lowest: usize, next: usize) -> Option<(usize, Mark)> {
    let before = |token: usize| token.checked_sub(1).filter(|&token| token >= lowest);
    let token = before(next)?;
    let gap = note.gap_after(token);
    let is_blank = matches!(gap, " " | "\u{a0}");
    match note.tokens.kind(token) {
        TokenKind::Letters => is_blank.then_some((token, Mark::Blank)),
        TokenKind::Punctuation => {
            let mark = match note.word(token) {
                "." if gap.is_empty() || is_blank => Mark::Stop,
                "-" if gap.is_empty() => Mark::Hyphen,
                _ => return None,
            };
            let mut word = before(token)?;
            // "Univ.-Prof."
            if matches!(mark, Mark::Hyphen) && note.word(word) == "." && note.gap_after(word).is_empty() {
                word = before(word)?;
            }
            let is_word = note.tokens.kind(word) == TokenKind::Letters && note.gap_after(word).is_empty();
            is_word.then_some((word, mark))
        }
        TokenKind::Digits => None,
    }
}

/// Returns whether a word begins at the token, and not within a longer one, as in "O'Dr".
fn is_begun(note: NoteView<'_>, token: usize) -> bool {
    let Some(previous) = token.checked_sub(1) else {
        return true;
    };
    let joins = || match note.tokens.kind(previous) {
        TokenKind::Punctuation => matches!(note.word(previous), "-" | "'" | "\u{2019}" | "&" | "@" | "_"),
        TokenKind::Letters | TokenKind::Digits => true,
    };
    !note.gap_after(previous).is_empty() || !joins()
}

impl fmt::Debug for Titles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Titles")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{LabelId, LabelSet, MemberSet, NoteBatch, Propagation, Span};

    const TITLES: [&str; 9] = [
        "Dr",
        "Mrs",
        "Prof",
        "Dr. med",
        "Univ.-Prof",
        "Frau",
        "nurse",
        "M",
        "Madame le Docteur",
    ];

    fn titles(labels: &LabelSet) -> Titles {
        let names = labels.labels().iter().map(|label| label.category == "NAME");
        Titles::new(names.collect(), Arc::new(|text| TITLES.contains(&text)))
    }

    fn decision(labels: &LabelSet, label: &str, span: Span) -> Decision {
        Decision::new(
            span,
            labels.by_name(label).unwrap(),
            MemberSet::default().with(1),
            0.5,
        )
    }

    /// Returns the text with every decided span in braces, and a bar after its title. Spans are given in
    /// braces too, each after its label.
    fn extended(marked: &str) -> String {
        let labels = LabelSet::i2b2_2014();
        let (mut text, mut decisions) = (String::new(), Vec::new());
        for piece in marked.split('{') {
            let Some((inner, rest)) = piece.split_once('}') else {
                text += piece;
                continue;
            };
            let (label, value) = inner.split_once('|').unwrap();
            let span = Span::new(text.len(), text.len() + value.len()).unwrap();
            decisions.push(decision(&labels, label, span));
            text = text + value + rest;
        }
        let batch = NoteBatch::from_texts([text.as_str()]).unwrap();
        titles(&labels).apply(batch.note(0), &mut decisions);
        written(&text, &decisions)
    }

    fn written(text: &str, decisions: &[Decision]) -> String {
        let part = |from: usize, to: usize| Span::new(from, to).unwrap().of(text);
        let (mut out, mut at) = (String::new(), 0);
        for decision in decisions {
            let (start, end) = (decision.span.start(), decision.span.end());
            let name = start + decision.title as usize;
            let title = if name > start {
                part(start, name).to_owned() + "|"
            } else {
                String::new()
            };
            out += &format!("{}{{{title}{}}}", part(at, start), part(name, end));
            at = end;
        }
        out + part(at, text.len())
    }

    #[test]
    fn a_title_before_a_name_becomes_a_part_of_its_span() {
        for (given, expected) in [
            ("Seen by Dr. {DOCTOR|Ruiz}.", "Seen by {Dr. |Ruiz}."),
            ("Mrs {PATIENT|Ada Okafor} slept", "{Mrs |Ada Okafor} slept"),
            ("Dr.{DOCTOR|Ruiz}", "{Dr.|Ruiz}"),
            ("M. {PATIENT|Dupont}", "{M. |Dupont}"),
            ("(Frau\u{a0}{PATIENT|Meier})", "({Frau\u{a0}|Meier})"),
        ] {
            assert_eq!(extended(given), expected, "{given}");
        }
    }

    #[test]
    fn several_titles_and_those_of_several_words_go_together() {
        for (given, expected) in [
            (
                "an Frau Prof. Dr. med. {DOCTOR|Meier}",
                "an {Frau Prof. Dr. med. |Meier}",
            ),
            ("Univ.-Prof. Dr. {DOCTOR|Huber}", "{Univ.-Prof. Dr. |Huber}"),
            (
                "chez Madame le Docteur {DOCTOR|Petit}",
                "chez {Madame le Docteur |Petit}",
            ),
        ] {
            assert_eq!(extended(given), expected, "{given}");
        }
    }

    #[test]
    fn other_words_other_lines_and_wider_gaps_end_the_title() {
        for unchanged in [
            "Dr.\n{DOCTOR|Ruiz}",
            "Dr.  {DOCTOR|Ruiz}",
            "Dr\t{DOCTOR|Ruiz}",
            "Dr, {DOCTOR|Ruiz}",
            "Dr: {DOCTOR|Ruiz}",
            "Dr-{DOCTOR|Ruiz}",
            "O'Dr {DOCTOR|Ruiz}",
            "Dr. Ada {DOCTOR|Ruiz}",
            "med. {DOCTOR|Ruiz}",
            "{DOCTOR|Ruiz}",
        ] {
            let expected = unchanged.replace("DOCTOR|", "");
            assert_eq!(extended(unchanged), expected, "{unchanged}");
        }
    }

    #[test]
    fn a_full_stop_after_a_long_word_ends_a_sentence() {
        assert_eq!(extended("the nurse {DOCTOR|Ruiz}"), "the {nurse |Ruiz}");
        assert_eq!(extended("the nurse. {DOCTOR|Ruiz}"), "the nurse. {Ruiz}");
    }

    #[test]
    fn only_names_are_extended_and_never_over_another_span() {
        assert_eq!(extended("Dr. {HOSPITAL|Ruiz}"), "Dr. {Ruiz}");
        assert_eq!(extended("{DOCTOR|Prof. Dr}. {DOCTOR|Ruiz}"), "{Prof. Dr}. {Ruiz}");
        assert_eq!(
            extended("{DOCTOR|Ruiz} Dr. {DOCTOR|Lee}, Dr. {DOCTOR|Day}"),
            "{Ruiz} {Dr. |Lee}, {Dr. |Day}"
        );
    }

    #[test]
    fn a_further_occurrence_of_a_name_is_extended_too() {
        let labels = LabelSet::i2b2_2014();
        let text = "Ruiz called. Later Dr. Ruiz came.";
        let batch = NoteBatch::from_texts([text]).unwrap();
        let mut decisions = vec![decision(&labels, "DOCTOR", Span::between(0, 4))];
        Propagation::new(&labels, Arc::new(|_| false)).apply(batch.note(0), &mut decisions);
        titles(&labels).apply(batch.note(0), &mut decisions);
        assert_eq!(
            written(text, &decisions),
            "{Ruiz} called. Later {Dr. |Ruiz} came."
        );
    }

    proptest! {
        #[test]
        fn spans_stay_disjoint_in_order_and_on_token_boundaries(
            words in prop::collection::vec("Dr\\.?|Frau|Prof\\. ?|med\\.|Univ|O'|é|[A-Z][a-z]{1,5}|7|[-.,]", 1..40),
            gaps in prop::collection::vec("| |  |\n|\u{a0}", 40),
            chosen in prop::collection::vec(0..4u16, 80),
        ) {
            let text: String = words.iter().zip(&gaps).flat_map(|(word, gap)| [word.as_str(), gap]).collect();
            let batch = NoteBatch::from_texts([text.as_str()]).unwrap();
            let note = batch.note(0);
            let labels = LabelSet::i2b2_2014();
            let given: Vec<Decision> = (note.tokens.iter().zip(&chosen))
                .filter(|(_, chosen)| **chosen < 2)
                .map(|(token, &label)| Decision::new(token.span, LabelId(label), MemberSet::default(), 1.0))
                .collect();
            let mut done = given.clone();
            titles(&labels).apply(note, &mut done);
            let starts: Vec<usize> = note.tokens.iter().map(|token| token.span.start()).collect();
            let mut at = 0;
            for (before, after) in given.iter().zip(&done) {
                prop_assert!(after.span.start() >= at && starts.contains(&after.span.start()));
                prop_assert_eq!(after.span.end(), before.span.end());
                prop_assert_eq!(after.span.start() + after.title as usize, before.span.start());
                let title = Span::new(after.span.start(), before.span.start()).unwrap().of(&text);
                prop_assert!(!title.contains('\n'));
                at = after.span.end();
            }
        }
    }
}
