//! Names again: what strong evidence has shown to be a name in this note is one wherever the note has it.

use lethe_core::LabelId;

use crate::context::Scan;
use crate::lexicon::{Flags, WordMap};
use crate::vocabulary::Traits;
use crate::words::Case;

/// Names remembered of one note, at most.
const MOST: usize = 512;

impl Scan<'_, '_, '_, '_, '_> {
    /// Finds every other occurrence of the names found so far. Linear in the note's length.
    pub(super) fn repeats(&mut self) {
        if self.people.is_empty() {
            return;
        }
        let note = self.note;
        let mut parts: WordMap<&str, LabelId> = WordMap::default();
        let mut covered = vec![false; note.len()];
        for &(name, label) in self.people.iter().take(MOST) {
            for (at, seen) in covered
                .iter_mut()
                .enumerate()
                .take(name.last + 1)
                .skip(name.first)
            {
                *seen = true;
                if self.stands_alone(at, name.last) {
                    parts.entry(note.get(at)).or_insert(label);
                }
            }
        }
        let mut i = 0;
        while i < note.len() {
            if !note.is_capital(i) {
                i += 1;
                continue;
            }
            match parts.get(note.get(i)) {
                Some(&label) if !covered[i] && self.is_repeat(i) => {
                    let mut last = i;
                    while !note.ends_field(last)
                        && !covered.get(last + 1).copied().unwrap_or(true)
                        && parts.contains_key(note.get(last + 1))
                        && self.is_repeat(last + 1)
                    {
                        last += 1;
                    }
                    self.out.tokens(i, last, label, 0.7, "context.repeat");
                    i = last + 1;
                }
                _ => i += 1,
            }
        }
    }

    /// Whether one word of a name is found again by itself: no particle, no half of "McLean", no two capitals.
    fn stands_alone(&self, at: usize, last: usize) -> bool {
        let note = self.note;
        note.case(at).is_word()
            && note.get(at).len() > 1
            && !note.is_no_name(at)
            && !note.flag(at, Flags::PARTICLE | Flags::FUNCTION | Flags::STOP)
            && !(at < last && note.words.glued(at) && note.case(at + 1).is_word())
    }

    /// The acronyms of the institutions that the note names: "CMC" for Camden Medical Center, and "at XYH ED".
    pub(super) fn acronyms(&mut self) {
        let note = self.note;
        let mut known: Vec<String> = Vec::new();
        for &(first, last) in self.institutions.iter().take(MOST) {
            let letters: String = (first..=last)
                .filter(|&at| {
                    note.case(at).is_word() && !note.flag(at, Flags::FUNCTION) && note.get(at) != "s"
                })
                .filter_map(|at| note.get(at).chars().next())
                .collect();
            if letters.len() >= 3 && !known.contains(&letters) {
                known.push(letters);
            }
        }
        for i in 0..note.len() {
            if note.case(i) != Case::Upper
                || !(3..=6).contains(&note.get(i).len())
                || note.words.glued(i) && note.case(i + 1) == Case::Digits
            {
                continue;
            }
            let plain = !note.is(i, Traits::WORD | Traits::MEDICAL);
            let before = note.words.before(i, 1);
            let resident = before == "," && note.words.before(i, 4) == "pgy";
            let cell = before == "|" && note.get(i + 1) == "|";
            let led = matches!(
                before,
                "at" | "to" | "from" | "in" | "of" | "," | "|" | "the" | "(" | "-"
            );
            let of_note = plain && led && known.iter().any(|letters| letters == note.get(i));
            let at = matches!(note.words.before(i, 1), "at" | "to" | "from");
            let unit = matches!(
                note.get(i + 1),
                "ed" | "er" | "emergency" | "icu" | "hospital" | "inpatient" | "outpatient"
            );
            let ending = resident
                || note.get(i).ends_with('h')
                || note.get(i).ends_with("mc")
                || note.get(i).ends_with('c');
            if of_note || plain && (at && unit || resident || cell) && ending {
                self.out
                    .tokens(i, i, self.labels.hospital, 0.7, "context.acronym");
            }
        }
    }

    fn is_repeat(&self, i: usize) -> bool {
        let note = self.note;
        let word = note.is(i, Traits::WORD | Traits::MEDICAL);
        let written = match note.case(i) {
            Case::Title => !word || !note.starts_sentence(i),
            Case::Upper => note.get(i).len() > 2 && !word,
            _ => note.all_lower && !word,
        };
        let next = i + 1;
        let institution = note.is_capital(next)
            && note.is(next, Traits::INSTITUTION | Traits::STREET)
            && !note.ends_line(i)
            && !note.is_shapeless(i);
        written && !institution && !note.is_eponym(i)
    }
}
