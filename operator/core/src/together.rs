//! Groups the notes of a batch that are tagged together.
//!
//! Members compute the features that depend on a word alone once per group, and hold them until it is done:
//! some 100 bytes per token, and up to 2 KiB for each distinct word. So notes with few words are tagged by
//! the thousand, and tables of numbers a few at a time.

use std::ops::Range;

use crate::{NoteBatch, NoteView};

/// The most tokens of a group, unless a single note has more.
const MOST_TOKENS: usize = 1 << 17;
/// The most distinct words of a group, as [`Words`] counts them. A batch of ordinary notes has about as many.
const MOST_WORDS: usize = 1 << 13;
/// A batch of at most this many tokens is one group, whatever its words.
const FEW_TOKENS: usize = 1 << 14;

/// Returns the rows of a batch in groups that are tagged together, in order.
pub(crate) fn together(batch: &NoteBatch) -> impl Iterator<Item = Range<usize>> {
    let all: usize = batch.notes().map(|note| note.tokens.len()).sum();
    let few = batch.len() < 2 || all <= FEW_TOKENS;
    let mut start = 0;
    std::iter::from_fn(move || {
        let (mut tokens, mut words) = (0, Words::default());
        let fits = |row: &usize| {
            let note = batch.note(*row);
            tokens += note.tokens.len();
            few || tokens <= MOST_TOKENS && words.add(note) <= MOST_WORDS
        };
        // A note that exceeds the limits is a group of its own.
        let fitting = (start..batch.len()).take_while(fits).count().max(1);
        let group = start..(start + fitting).min(batch.len());
        start = group.end;
        (!group.is_empty()).then_some(group)
    })
}

/// Counts distinct words approximately: one bit for each of a few hashes of length, beginning and end.
#[derive(Default)]
struct Words {
    bits: Vec<u64>,
    count: usize,
}

impl Words {
    /// Adds a note's words, and returns the number of words so far.
    fn add(&mut self, note: NoteView<'_>) -> usize {
        self.bits.resize(1 << 10, 0);
        let text = note.text.as_bytes();
        for (&start, &end) in note.tokens.starts.iter().zip(note.tokens.ends) {
            let word = text.get(start as usize..end as usize).unwrap_or_default();
            let ends = edge(word.first_chunk(), word) ^ edge(word.last_chunk(), word).rotate_left(29);
            let hash = (ends ^ word.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
            if let Some(bits) = self.bits.get_mut(hash as usize >> 6) {
                let bit = 1 << (hash & 63);
                self.count += usize::from(*bits & bit == 0);
                *bits |= bit;
            }
        }
        self.count
    }
}

/// Returns eight bytes of a word as a number, or all of them if it has fewer.
fn edge(bytes: Option<&[u8; 8]>, word: &[u8]) -> u64 {
    bytes.map_or_else(
        || word.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)),
        |bytes| u64::from_le_bytes(*bytes),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(texts: &[String]) -> Vec<Range<usize>> {
        let batch = NoteBatch::from_texts(texts.iter().map(String::as_str)).unwrap();
        let groups: Vec<_> = together(&batch).collect();
        let rows = groups.iter().cloned().flatten();
        assert!(rows.eq(0..texts.len()), "each row is in one group, in order");
        groups
    }

    #[test]
    fn notes_of_the_same_words_go_together_and_those_of_different_ones_do_not() {
        let same = vec!["seen in clinic today with a cough ".repeat(100); 180];
        assert_eq!(groups(&same).len(), 1);
        let numbers: Vec<String> = (0..180)
            .map(|note| (0..500).map(|i| format!("{} ", note * 500 + i)).collect())
            .collect();
        let count = groups(&numbers).len();
        assert!((9..=12).contains(&count), "{count}");
    }

    #[test]
    fn a_note_of_many_tokens_is_a_group_of_its_own() {
        let texts = [
            "a".to_owned(),
            ". ".repeat(MOST_TOKENS + 1),
            "b".to_owned(),
            "c".to_owned(),
        ];
        assert_eq!(groups(&texts), [0..1, 1..2, 2..4]);
        assert_eq!(groups(&[]), []);
    }
}
