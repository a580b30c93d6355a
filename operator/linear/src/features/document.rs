//! What the rest of the note says of a word: a name that stands in a field is the same name in running text.

use super::hash::{feature, pair};
use super::layout::Place;
use super::spelling::Form;
use super::words::Word;

/// What a note has shown of a word type.
#[derive(Clone, Copy, Default)]
struct Seen {
    note: u32,
    /// How often, and where first and second under different keys.
    times: u16,
    keys: [u64; 2],
    at: [u32; 2],
    /// The word before its first occurrence and before its second.
    before: [u64; 2],
    forms: u8,
}

/// Evidence by folded word, one note after another.
#[derive(Default)]
pub(super) struct Document {
    /// By the folded word's number.
    seen: Vec<Seen>,
    note: u32,
}

impl Document {
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
                self.seen.resize((id + 1).next_power_of_two(), Seen::default());
            }
            let seen = &mut self.seen[id];
            if seen.note != self.note {
                *seen = Seen {
                    note: self.note,
                    ..Seen::default()
                };
            }
            let key = key_of(&places[i]);
            let before = if i == 0 { 0 } else { words[i - 1].norm };
            if seen.times == 0 {
                (seen.keys, seen.at, seen.before) = ([key; 2], [i as u32; 2], [before; 2]);
            } else if seen.at[1] == seen.at[0] || (seen.keys[1] == seen.keys[0] && key != seen.keys[0]) {
                (seen.keys[1], seen.at[1], seen.before[1]) = (key, i as u32, before);
            }
            seen.times = seen.times.saturating_add(1);
            seen.forms |= 1 << word.form as u8;
        }
    }

    /// The features of token `i`, which is this word.
    pub(super) fn features(&self, i: usize, word: &Word, out: &mut Vec<u64>) {
        if word.form == Form::Mark {
            return;
        }
        let Some(seen) = self
            .seen
            .get(word.number as usize)
            .filter(|seen| seen.note == self.note)
        else {
            return;
        };
        out.push(feature(70, u64::from(seen.times.min(4))));
        if word.form != Form::Lower || seen.forms.count_ones() > 1 {
            out.push(feature(71, pair(u64::from(seen.forms), word.form as u64)));
        }
        if word.form == Form::Lower || seen.times < 2 {
            return;
        }
        for other in 0..2 {
            if seen.at[other] != i as u32 {
                out.push(feature(72, seen.keys[other]));
                out.push(feature(73, seen.before[other]));
                break;
            }
        }
    }
}

/// The field that a token stands in, if it stands near its start.
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

    /// How many features of the document's two tokens, by their index, have in common.
    fn common(text: &str, a: usize, b: usize) -> Result<usize, FeatureError> {
        let extractor = FeatureConfig::default().build(&Dictionary::builtin())?;
        let columns = extractor.columns(&NoteBatch::from_texts([text]).unwrap());
        // Without a part-of-speech tagger the document's table is the last.
        let table = columns.tables.last().unwrap();
        let of = |i: usize| table.of(table.ids[i]);
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
