//! Names again: what strong evidence has shown to be a name in this note is one wherever the note has it.

use lethe_core::LabelId;

use crate::context::Scan;
use crate::lexicon::WordMap;
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
                if note.case(at).is_word() && note.get(at).len() > 1 && !note.is_no_name(at) {
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
