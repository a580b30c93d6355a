//! Switch-out: replaces random words and characters of a text by others, so that a learner relies more on the
//! rest (Wang et al. 2018; the noise of Liao 2021).
//!
//! A word of letters becomes another word of letters, a number another number, and a character another of its
//! own class. Punctuation and the number of tokens stay, so that the tokens' labels also fit the noisy text.

use std::collections::BTreeSet;

use lethe_core::{NoteBatch, NoteView, Span, TokenKind};
use serde::{Deserialize, Serialize};

/// The most attempts to find a replacement character.
const TRIES: usize = 8;

/// The rates of replacement. Liao 2021 has one probability for each and does not give its value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SwitchOut {
    /// The share of words that are replaced.
    pub words: f32,
    /// The share of words of which one character is replaced.
    pub characters: f32,
}

impl Default for SwitchOut {
    fn default() -> Self {
        Self {
            words: 0.1,
            characters: 0.1,
        }
    }
}

/// The replacement words: each form once, so that rare ones come as often as frequent ones. Holds words of
/// notes, and never prints them.
#[derive(Default)]
pub struct Pool {
    letters: Vec<String>,
    digits: Vec<String>,
}

impl Pool {
    /// Collects all words of these batches.
    pub fn of<'b>(batches: impl IntoIterator<Item = &'b NoteBatch>) -> Self {
        let mut sets = [BTreeSet::new(), BTreeSet::new()];
        for batch in batches {
            for note in batch.notes() {
                for i in 0..note.tokens.len() {
                    let set = match note.tokens.kind(i) {
                        TokenKind::Letters => &mut sets[0],
                        TokenKind::Digits => &mut sets[1],
                        TokenKind::Punctuation => continue,
                    };
                    if !set.contains(note.word(i)) {
                        set.insert(note.word(i).to_owned());
                    }
                }
            }
        }
        let [letters, digits] = sets.map(|set| set.into_iter().collect());
        Self { letters, digits }
    }

    fn kind(&self, kind: TokenKind) -> &[String] {
        match kind {
            TokenKind::Letters => &self.letters,
            TokenKind::Digits => &self.digits,
            TokenKind::Punctuation => &[],
        }
    }
}

impl std::fmt::Debug for Pool {
    /// Prints sizes only, because the words come from notes.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Pool({} words, {} numbers)",
            self.letters.len(),
            self.digits.len()
        )
    }
}

impl SwitchOut {
    /// Checks that both are shares.
    ///
    /// # Errors
    /// The problem.
    pub fn check(&self) -> Result<(), &'static str> {
        if [self.words, self.characters]
            .iter()
            .all(|p| (0.0..=1.0).contains(p))
        {
            Ok(())
        } else {
            Err("noise.words and noise.characters must be between 0 and 1")
        }
    }

    /// Returns the replacement of a word, or `None` if it stays. `chance` gives 64 random bits.
    pub fn draw(
        &self,
        word: &str,
        kind: TokenKind,
        pool: &Pool,
        chance: &mut dyn FnMut() -> u64,
    ) -> Option<String> {
        let pool = pool.kind(kind);
        if pool.is_empty() {
            return None;
        }
        let drawn = unit(chance());
        if drawn < self.words {
            let other = &pool[below(chance(), pool.len())];
            return (other != word).then(|| other.clone());
        }
        if drawn - self.words >= self.characters * (1.0 - self.words).max(0.0) {
            return None;
        }
        let count = word.chars().count();
        let place = below(chance(), count);
        let old = word.chars().nth(place)?;
        for _ in 0..TRIES {
            let other = &pool[below(chance(), pool.len())];
            let new = other.chars().nth(below(chance(), other.chars().count()));
            if let Some(new) = new.filter(|&new| new != old && sort(new) == sort(old)) {
                let switched = word.chars().enumerate();
                return Some(switched.map(|(i, c)| if i == place { new } else { c }).collect());
            }
        }
        None
    }

    /// Returns a note's text with words and characters replaced, or the clean text if the noisy one would
    /// have other tokens.
    pub fn text(&self, note: &NoteView<'_>, pool: &Pool, chance: &mut dyn FnMut() -> u64) -> String {
        let Some(&first) = note.tokens.starts.first() else {
            return note.text.to_owned();
        };
        let mut text = Span::between(0, first).of(note.text).to_owned();
        for i in 0..note.tokens.len() {
            match self.draw(note.word(i), note.tokens.kind(i), pool, chance) {
                Some(other) => text.push_str(&other),
                None => text.push_str(note.word(i)),
            }
            text.push_str(note.gap_after(i));
        }
        let mut tokens = 0;
        lethe_core::tokenize(&text, |_| tokens += 1);
        if tokens == note.tokens.len() {
            text
        } else {
            note.text.to_owned()
        }
    }
}

/// Returns the class within which characters are replaced: capitals, small letters, letters of neither case,
/// digits.
fn sort(c: char) -> (bool, bool, bool) {
    (c.is_uppercase(), c.is_lowercase(), c.is_numeric())
}

fn unit(bits: u64) -> f32 {
    (bits >> 40) as f32 / (1 << 24) as f32
}

fn below(bits: u64, n: usize) -> usize {
    ((u128::from(bits) * n as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Generates random bits by SplitMix64.
    fn chance(mut state: u64) -> impl FnMut() -> u64 {
        move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut x = state;
            x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            x ^ x >> 31
        }
    }

    fn batch() -> NoteBatch {
        let text = "Ana Ruiz vino el 12 de mayo.\nTel: 555-1234, Luis\n".repeat(40);
        NoteBatch::from_texts([text.as_str(), ""]).unwrap()
    }

    #[test]
    fn a_noisy_text_has_the_tokens_of_the_clean_one_in_number_and_kind() {
        let batch = batch();
        let pool = Pool::of([&batch]);
        let noise = SwitchOut {
            words: 0.3,
            characters: 0.4,
        };
        let note = batch.note(0);
        let noisy = noise.text(&note, &pool, &mut chance(3));
        assert_ne!(noisy, note.text);
        let again = NoteBatch::from_texts([noisy.as_str()]).unwrap();
        assert_eq!(again.note(0).tokens.kinds, note.tokens.kinds);
        let same = |i: &usize| note.word(*i) == again.note(0).word(*i);
        let words: Vec<usize> = (0..note.tokens.len())
            .filter(|&i| note.tokens.kind(i) != TokenKind::Punctuation)
            .collect();
        let share = words.iter().filter(|i| same(i)).count() as f64 / words.len() as f64;
        // The replacement of a word may be the word itself: 11 forms, and few characters of a class.
        assert!((0.35..0.6).contains(&share), "{share}");
        assert_eq!(noise.text(&batch.note(1), &pool, &mut chance(3)), "");
    }

    #[test]
    fn the_same_chance_switches_the_same_and_no_noise_switches_nothing() {
        let batch = batch();
        let pool = Pool::of([&batch]);
        let text = |noise: SwitchOut, seed| noise.text(&batch.note(0), &pool, &mut chance(seed));
        assert_eq!(text(SwitchOut::default(), 1), text(SwitchOut::default(), 1));
        assert_ne!(text(SwitchOut::default(), 1), text(SwitchOut::default(), 2));
        let none = SwitchOut {
            words: 0.0,
            characters: 0.0,
        };
        assert_eq!(text(none, 1), batch.note(0).text);
        assert!(SwitchOut { words: 1.5, ..none }.check().is_err() && none.check().is_ok());
    }

    #[test]
    fn a_character_becomes_one_of_its_kind_and_the_rest_of_the_word_stays() {
        let batch = batch();
        let pool = Pool::of([&batch]);
        let noise = SwitchOut {
            words: 0.0,
            characters: 1.0,
        };
        let mut chance = chance(8);
        for word in ["Ana", "Luis", "mayo"] {
            for _ in 0..20 {
                let Some(other) = noise.draw(word, TokenKind::Letters, &pool, &mut chance) else {
                    continue;
                };
                let changed = word.chars().zip(other.chars()).filter(|(a, b)| a != b);
                assert_eq!(
                    (changed.count(), other.chars().count()),
                    (1, word.chars().count())
                );
                let caps = |text: &str| text.chars().map(char::is_uppercase).collect::<Vec<_>>();
                assert_eq!(caps(&other), caps(word));
            }
        }
    }
}
