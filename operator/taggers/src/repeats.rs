//! Repeated names: a name with strong evidence in a note is found at all its other occurrences.

use lethe_core::{Collector, LabelId};

use crate::lexicon::{Flags, WordMap};
use crate::person::Name;
use crate::reading::Reading;
use crate::vocabulary::Traits;
use crate::words::Case;

/// The most names of one note that are remembered.
const MOST: usize = 512;

impl Reading<'_, '_> {
    /// Reports every other occurrence of the names in `people`. Linear in the note's length.
    pub(crate) fn repeats(
        &self,
        people: &[(Name, LabelId)],
        score: f32,
        rule: &'static str,
        out: &mut Collector<'_>,
    ) {
        if people.is_empty() {
            return;
        }
        let mut parts: WordMap<&str, LabelId> = WordMap::default();
        let mut covered = vec![false; self.len()];
        for &(name, label) in people.iter().take(MOST) {
            for (at, seen) in covered
                .iter_mut()
                .enumerate()
                .take(name.last + 1)
                .skip(name.first)
            {
                *seen = true;
                if self.stands_alone(at, name.last) {
                    parts.entry(self.get(at)).or_insert(label);
                }
            }
        }
        let mut i = 0;
        while i < self.len() {
            if !self.is_capital(i) || covered[i] {
                i += 1;
                continue;
            }
            match parts.get(self.get(i)) {
                Some(&label) if self.is_repeat(i) => {
                    let mut last = i;
                    while !self.ends_field(last)
                        && covered.get(last + 1) == Some(&false)
                        && parts.contains_key(self.get(last + 1))
                        && self.is_repeat(last + 1)
                    {
                        last += 1;
                    }
                    out.tokens(i, last, label, score, rule);
                    i = last + 1;
                }
                _ => i += 1,
            }
        }
    }

    /// Returns whether one word of a name is found on its own: not a particle, and not half of "McLean".
    fn stands_alone(&self, at: usize, last: usize) -> bool {
        self.case(at).is_word()
            && self.get(at).len() > 1
            && !self.is_no_name(at)
            && !self.flag(at, Flags::PARTICLE | Flags::FUNCTION | Flags::STOP)
            && !(at < last && self.words.glued(at) && self.case(at + 1).is_word())
    }

    fn is_repeat(&self, i: usize) -> bool {
        let word = self.is(i, Traits::WORD | Traits::MEDICAL);
        let written = match self.case(i) {
            Case::Title => !word || !self.starts_sentence(i),
            Case::Upper => self.get(i).len() > 2 && !word,
            _ => self.all_lower && !word,
        };
        let next = i + 1;
        let institution = self.is_capital(next)
            && self.is(next, Traits::INSTITUTION | Traits::STREET)
            && !self.ends_line(i)
            && !self.is_shapeless(i);
        written && !institution && !self.is_eponym(i)
    }
}
