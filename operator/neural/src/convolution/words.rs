//! The input of a network: a vector for each token, which depends on its word alone.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::ops::Range;

use lethe_core::{NoteView, TokenKind};

use super::pieces::Pieces;
use super::settings::{ConvolutionShape, slot};
use crate::halves::Halves;
use crate::model::Params;
use crate::types::WordHasher;

/// The most words whose vectors are held: some 2 MiB of them.
const MOST_WORDS: usize = 1 << 13;

/// The vectors of n-grams and shapes.
pub(super) struct Table {
    buckets: usize,
    piece: usize,
    inputs: usize,
    /// The tables of n-grams and shapes; that of n-grams is empty if `pieces` has it.
    params: Params,
    pieces: Option<Halves>,
}

impl Table {
    pub(super) fn new(shape: &ConvolutionShape, params: Params, pieces: Option<Halves>) -> Self {
        Self {
            buckets: shape.buckets,
            piece: shape.piece,
            inputs: shape.inputs(),
            params,
            pieces,
        }
    }

    /// Writes the vector of the word that `pieces` has read. `row` has the size of an n-gram's vector.
    fn write(&self, pieces: &Pieces, row: &mut [f32], to: &mut [f32]) {
        let (sum, shape) = to.split_at_mut(self.piece);
        for &at in &pieces.rows {
            match &self.pieces {
                Some(table) => table.row(at as usize, row),
                None => row.copy_from_slice(self.params.row(slot::PIECES, at as usize)),
            }
            sum.iter_mut().zip(&*row).for_each(|(sum, x)| *sum += x);
        }
        let scale = scale(pieces.rows.len());
        sum.iter_mut().for_each(|x| *x *= scale);
        shape.copy_from_slice(self.params.row(slot::SHAPES, usize::from(pieces.shape)));
    }
}

/// The vectors of words of a batch: its notes share most of their words.
#[derive(Default)]
pub(super) struct Words<'n> {
    /// The place of each word's vector.
    places: HashMap<(&'n str, TokenKind), usize, BuildHasherDefault<WordHasher>>,
    vectors: Vec<f32>,
    pieces: Pieces,
    row: Vec<f32>,
}

impl<'n> Words<'n> {
    /// Returns the input of some of a note's tokens.
    pub(super) fn input(&mut self, table: &Table, note: NoteView<'n>, tokens: Range<usize>) -> Vec<f32> {
        let inputs = table.inputs;
        let mut input = Vec::with_capacity(tokens.len() * inputs);
        self.row.resize(table.piece, 0.0);
        for token in tokens {
            let (word, kind) = (note.word(token), note.tokens.kind(token));
            let place = match self.places.get(&(word, kind)) {
                Some(&place) => place,
                None => self.add(table, word, kind),
            };
            input.extend_from_slice(&self.vectors[place * inputs..(place + 1) * inputs]);
        }
        input
    }

    /// Computes the vector of a word, and returns its place.
    fn add(&mut self, table: &Table, word: &'n str, kind: TokenKind) -> usize {
        if self.places.len() == MOST_WORDS {
            self.places.clear();
            self.vectors.clear();
        }
        let place = self.places.len();
        self.places.insert((word, kind), place);
        self.pieces.read(word, kind, table.buckets);
        let start = self.vectors.len();
        self.vectors.resize(start + table.inputs, 0.0);
        table.write(&self.pieces, &mut self.row, &mut self.vectors[start..]);
        place
    }
}

/// Returns the factor of a sum of this many vectors that keeps its size.
pub(super) fn scale(rows: usize) -> f32 {
    1.0 / (rows as f32).sqrt()
}

#[cfg(test)]
mod tests {
    use lethe_core::NoteBatch;

    use super::*;

    #[test]
    fn vectors_do_not_depend_on_the_words_before_even_if_there_are_more_than_are_held() {
        let shape = ConvolutionShape {
            buckets: 64,
            piece: 4,
            shape: 2,
            ..ConvolutionShape::default()
        };
        let table = Table::new(&shape, shape.random(5, 1), None);
        let letter = |i: usize| char::from(b'a' + (i % 26) as u8);
        let word =
            |i: usize| String::from_iter([letter(i), letter(i / 26), letter(i / 676), letter(i / 17_576)]);
        let many: Vec<String> = (0..MOST_WORDS + 10).map(word).collect();
        let text = format!("Quillfeather {} Quillfeather {}", many.join(" "), many[7]);
        let batch = NoteBatch::from_texts([text.as_str()]).unwrap();
        let note = batch.note(0);
        let all = note.tokens.len();
        let mut words = Words::default();
        let whole = words.input(&table, note, 0..all);
        assert!(words.places.len() <= MOST_WORDS);
        let inputs = shape.inputs();
        for token in [0, all - 2, all - 1] {
            let alone = Words::default().input(&table, note, token..token + 1);
            assert_eq!(alone, whole[token * inputs..(token + 1) * inputs]);
        }
        assert_eq!(whole[..inputs], whole[(all - 2) * inputs..(all - 1) * inputs]);
    }
}
