//! Features from the rest of the note: a name in a field is the same name in running text.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use lethe_core::vec_bytes;

use super::hash::{self, feature, pair};
use super::intern::Interned;
use super::layout::Place;
use super::spelling::Form;
use super::words::{KeyHasher, Word};

/// The most word types of a long note whose evidence is kept: with 64 bytes each they take 16 MiB, and twice
/// that while the table grows. A type that first occurs later counts as occurring once.
const MOST_TYPES: usize = 1 << 18;

/// The evidence of a note about a word type.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// The number of occurrences, and the positions of the first two under different keys.
    times: u16,
    keys: [u64; 2],
    at: [u32; 2],
    /// The word before the first occurrence, and before the second.
    before: [u64; 2],
    forms: u8,
}

impl Seen {
    /// Records that token `i` is this word, under the key, after the word `before`.
    fn add(&mut self, i: usize, form: Form, key: u64, before: u64) {
        if self.times == 0 {
            (self.keys, self.at, self.before) = ([key; 2], [i as u32; 2], [before; 2]);
        } else if self.at[1] == self.at[0] || (self.keys[1] == self.keys[0] && key != self.keys[0]) {
            (self.keys[1], self.at[1], self.before[1]) = (key, i as u32, before);
        }
        self.times = self.times.saturating_add(1);
        self.forms |= 1 << form as u8;
    }

    /// Returns what it says about token `i`, which is this word.
    fn of(&self, i: usize, form: Form) -> Known {
        let said = form != Form::Lower || self.forms.count_ones() > 1;
        let first_other = || (0..2).find(|&other| self.at[other] != i as u32);
        let other = match form {
            Form::Lower => None,
            _ if self.times < 2 => None,
            _ => first_other(),
        };
        Known {
            times: self.times.min(4) as u8,
            forms: said.then_some((self.forms, form)),
            other: other.map(|other| (self.keys[other], self.before[other])),
        }
    }
}

/// What the rest of the note says about a token.
#[derive(Clone, Copy, Default)]
pub(super) struct Known {
    /// The occurrences of its word, at most 4; 0 for a punctuation mark, which has no features.
    times: u8,
    /// The forms of all occurrences, and its own.
    forms: Option<(u8, Form)>,
    /// The key of another occurrence's field, and the word before it.
    other: Option<(u64, u64)>,
}

impl Known {
    /// Adds the token.
    pub(super) fn push(self, table: &mut Interned<'_>) {
        let forms = self
            .forms
            .map_or(0, |(forms, form)| 1 | u64::from(forms) << 8 | (form as u64) << 16);
        let (key, before) = self.other.unwrap_or_default();
        let few = u64::from(self.times) | u64::from(self.other.is_some()) << 4 | forms << 8;
        table.push(hash::all([few, key, before]), |out| self.features(out));
    }

    fn features(self, out: &mut Vec<u64>) {
        if self.times > 0 {
            out.push(feature(70, u64::from(self.times)));
        }
        if let Some((forms, form)) = self.forms {
            out.push(feature(71, pair(u64::from(forms), form as u64)));
        }
        if let Some((key, before)) = self.other {
            out.push(feature(72, key));
            out.push(feature(73, before));
        }
    }
}

/// The evidence by folded word, for one note after another.
#[derive(Default)]
pub(super) struct Document {
    /// By the folded word's number: the last note that had it, and its evidence there.
    seen: Vec<(u32, Seen)>,
    note: u32,
}

impl Document {
    /// Returns the bytes of memory that it takes.
    pub(super) const fn bytes(&self) -> usize {
        vec_bytes(&self.seen)
    }

    /// Reads a note.
    pub(super) fn read(&mut self, words: &[Word], places: &[Place]) {
        self.note = self.note.wrapping_add(1);
        if self.note == 0 {
            self.seen.clear();
            self.note = 1;
        }
        for (i, word) in words.iter().enumerate() {
            if word.form == Form::Mark {
                continue;
            }
            let id = word.number as usize;
            if id >= self.seen.len() {
                self.seen
                    .resize((id + 1).next_power_of_two(), (0, Seen::default()));
            }
            let (note, seen) = &mut self.seen[id];
            if *note != self.note {
                (*note, *seen) = (self.note, Seen::default());
            }
            let before = if i == 0 { 0 } else { words[i - 1].norm };
            seen.add(i, word.form, key_of(&places[i]), before);
        }
    }

    /// Returns what the note says about token `i`, which is this word.
    pub(super) fn of(&self, i: usize, word: &Word) -> Known {
        if word.form == Form::Mark {
            return Known::default();
        }
        let seen = self.seen.get(word.number as usize);
        let seen = seen.filter(|(note, _)| *note == self.note);
        seen.map_or_else(Known::default, |(_, seen)| seen.of(i, word.form))
    }
}

/// The evidence of one long note by folded word, read token by token. Its size depends on the note's word
/// types, of which it keeps [`MOST_TYPES`].
#[derive(Default)]
pub(super) struct Evidence {
    seen: HashMap<u64, Seen, BuildHasherDefault<KeyHasher>>,
}

impl Evidence {
    /// Reads token `i`, which is this word after the word `before`.
    pub(super) fn read(&mut self, i: usize, word: &Word, place: &Place, before: u64) {
        if word.form == Form::Mark {
            return;
        }
        let full = self.seen.len() >= MOST_TYPES;
        let seen = match self.seen.get_mut(&word.folded) {
            Some(seen) => seen,
            None if full => return,
            None => self.seen.entry(word.folded).or_default(),
        };
        seen.add(i, word.form, key_of(place), before);
    }

    /// Returns what the note says about token `i`, which is this word.
    pub(super) fn of(&self, i: usize, word: &Word) -> Known {
        if word.form == Form::Mark {
            return Known::default();
        }
        match self.seen.get(&word.folded) {
            Some(seen) => seen.of(i, word.form),
            None => {
                let mut once = Seen::default();
                once.add(i, word.form, 0, 0);
                once.of(i, word.form)
            }
        }
    }
}

/// Returns the key of a token's field, if the token is near its start.
fn key_of(place: &Place) -> u64 {
    if place.in_key || place.since > 12 {
        0
    } else {
        place.key2
    }
}

#[cfg(test)]
mod tests {
    use lethe_core::NoteBatch;
    use lethe_dictionaries::Dictionary;

    use crate::FeatureConfig;
    use crate::features::FeatureError;

    /// Returns the number of document features that two tokens, given by index, have in common.
    fn common(text: &str, a: usize, b: usize) -> Result<usize, FeatureError> {
        let extractor = FeatureConfig::default().build(&Dictionary::builtin())?;
        let columns = extractor.columns(&NoteBatch::from_texts([text]).unwrap());
        // Without a part-of-speech tagger the document's table is the last.
        let table = columns.tables.last().unwrap();
        let of = |i: usize| table.of(table.ids[i], 0);
        Ok(of(a).iter().filter(|f| of(b).contains(f)).count())
    }

    #[test]
    fn names_that_stand_in_one_field_are_alike_in_running_text() {
        let common = |text| common(text, 8, 10).unwrap();
        let one = common("Médico: Ruiz\nMédico: Vega\n\nLo vio Ruiz con Vega ayer");
        let two = common("Médico: Ruiz\nCalle: Vega\n\nLo vio Ruiz con Vega ayer");
        let alone = common("Médico: Ruiz\nCalle: Sol\n\nLo vio Ruiz con Vega ayer");
        assert!(one > two && two > alone, "{one} {two} {alone}");
    }
}
