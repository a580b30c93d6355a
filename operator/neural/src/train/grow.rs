//! Extends a trained network for other notes: new words, characters, fields and labels.

use std::collections::HashSet;

use lethe_core::NoteBatch;
use lethe_learn::TagSet;

use super::{Seen, once};
use crate::model::{Model, Params, slot};
use crate::reader::{field_rows, fields};
use crate::vectors::Vectors;

/// The tables whose new rows start as the row by which new words and characters were read before.
const UNKNOWN: usize = 0;
/// The row of fields without one of their own.
const OTHER_FIELD: usize = 1;

/// Returns a network extended by rows for the words and characters of these notes and by columns for new
/// tags; and the rows of its word table that are new and belong to a word that the notes have once.
///
/// Old numbers do not change. A new word starts with its vector in `vectors`, or with the row by which it was
/// read before, so that without new labels the network predicts the same; scores of new labels start as in an
/// untrained network. `tags` begins with the old ones.
pub(super) fn grow(
    old: &Model,
    batch: &NoteBatch,
    tags: &TagSet,
    vectors: Option<&Vectors>,
    seed: u64,
) -> (Model, Vec<bool>) {
    let architecture = &old.architecture;
    let seen = Seen::of(batch, architecture.casing);
    let known: HashSet<&str> = old.words.iter().map(String::as_str).collect();
    let new_words = seen.times.keys().filter(|word| !known.contains(word.as_str()));
    let new_chars = seen.chars().filter(|c| !old.chars.contains(c));
    let new_fields = if architecture.field > 0 {
        let mut fields = fields(batch);
        fields.retain(|field| !old.fields.contains(field));
        fields
    } else {
        Vec::new()
    };
    let mut model = Model {
        architecture: architecture.clone(),
        tags: tags.clone(),
        words: old.words.iter().chain(new_words).cloned().collect(),
        chars: old.chars.iter().copied().chain(new_chars).collect(),
        fields: [old.fields.clone(), new_fields].concat(),
        lists: old.lists.clone(),
        dictionary: old.dictionary.clone(),
        speech: old.speech.clone(),
        params: Params(Vec::new()),
    };
    model.params = Params::random(architecture, model.rows(), tags.len(), seed);
    for (new, old) in model.params.0.iter_mut().zip(&old.params.0) {
        for row in 0..old.rows {
            let from = &old.data[row * old.columns..(row + 1) * old.columns];
            new.data[row * new.columns..][..old.columns].copy_from_slice(from);
        }
    }
    let vocabulary = old.vocabulary();
    for (i, word) in model.words.iter().enumerate().skip(old.words.len()) {
        let before = vocabulary.word(word, architecture.casing) as usize;
        let begins = vectors.and_then(|vectors| vectors.get(word));
        let begins = begins.unwrap_or_else(|| old.params.row(slot::WORD, before));
        model.params.row_mut(slot::WORD, i + 1).copy_from_slice(begins);
    }
    for i in old.chars.len()..model.chars.len() {
        let begins = old.params.row(slot::CHAR, UNKNOWN);
        model.params.row_mut(slot::CHAR, i + 1).copy_from_slice(begins);
    }
    if architecture.field > 0 {
        // There are two blocks of rows, for this line and for the last one with a field: the second begins
        // later now.
        let blocks = |model: &Model| field_rows(model.fields.len()) / 2;
        let (before, now) = (blocks(old), blocks(&model));
        for block in 0..2 {
            for row in 0..now {
                let from = if row < before { row } else { OTHER_FIELD };
                let begins = old.params.row(slot::FIELD, block * before + from);
                model
                    .params
                    .row_mut(slot::FIELD, block * now + row)
                    .copy_from_slice(begins);
            }
        }
    }
    let mut once = once(&model, &seen);
    once[..=old.words.len()].fill(false);
    (model, once)
}

#[cfg(test)]
mod tests {
    use lethe_learn::Scheme;

    use super::*;
    use crate::model::Architecture;
    use crate::types::Casing;

    fn tags(labels: &[&str]) -> TagSet {
        TagSet::new(
            Scheme::Bilou,
            labels.iter().map(|&label| label.to_owned()).collect(),
        )
    }

    fn old(casing: Casing) -> Model {
        let architecture = Architecture {
            casing,
            word: 4,
            char: 3,
            char_hidden: 2,
            hidden: 3,
            layer: 3,
            field: 2,
            speech: 2,
            ..Architecture::default()
        };
        let mut model = Model {
            architecture,
            tags: tags(&["DATE", "NAME"]),
            words: ["ana", "hoy"].map(str::to_owned).to_vec(),
            chars: vec!['a', 'n'],
            fields: vec!["nombre".to_owned()],
            lists: Vec::new(),
            dictionary: None,
            speech: None,
            params: Params(Vec::new()),
        };
        model.params = Params::random(&model.architecture, model.rows(), model.tags.len(), 5);
        model
    }

    /// Returns notes with new words, new characters, and a field that occurs often enough.
    fn batch() -> NoteBatch {
        NoteBatch::from_texts(["Fecha: hoy Ana Zoe zoe ana\n".repeat(9).as_str(), "quux"]).unwrap()
    }

    #[test]
    fn old_rows_are_equal_to_the_bit_before_the_first_step_and_new_ones_follow_them() {
        for casing in [Casing::Folded, Casing::AsWritten] {
            let old = old(casing);
            let (new, once) = grow(&old, &batch(), &tags(&["DATE", "NAME", "WARD"]), None, 1);
            assert_eq!(new.words[..2], old.words[..]);
            assert_eq!(new.chars[..2], old.chars[..]);
            assert!(new.words.contains(&"quux".to_owned()) && new.chars.contains(&'z'));
            assert_eq!(new.fields, ["nombre", "fecha"]);
            for (at, (before, now)) in old.params.0.iter().zip(&new.params.0).enumerate() {
                if at == slot::FIELD {
                    continue;
                }
                for row in 0..before.rows {
                    let from = &before.data[row * before.columns..(row + 1) * before.columns];
                    let to = &now.data[row * now.columns..][..before.columns];
                    let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                    assert_eq!(bits(from), bits(to), "{}, row {row}", before.name);
                }
            }
            assert_eq!(new.params.0[slot::OUT].columns, 13);
            assert_eq!(
                (new.params.0[slot::PAIRS].rows, new.params.0[slot::PAIRS].columns),
                (13, 13)
            );
            let row = |word: &str| new.words.iter().position(|w| w == word).unwrap() + 1;
            assert_eq!(
                new.params.row(slot::WORD, row("quux")),
                old.params.row(slot::WORD, 0)
            );
            assert!(once[row("quux")] && !once[row("ana")] && !once[0]);
            if casing == Casing::AsWritten {
                // It was read as the word in lower case.
                assert_eq!(
                    new.params.row(slot::WORD, row("Ana")),
                    old.params.row(slot::WORD, 1)
                );
            }
            // Old fields keep their rows in both blocks, wherever these begin; the new one starts as an
            // unknown one.
            for block in 0..2 {
                for (now, before) in [(0, 0), (1, 1), (2, 2), (3, 1)] {
                    assert_eq!(
                        new.params.row(slot::FIELD, 4 * block + now),
                        old.params.row(slot::FIELD, 3 * block + before)
                    );
                }
            }
        }
    }

    #[test]
    fn a_new_word_begins_with_its_vector_where_there_is_one() {
        let old = old(Casing::Folded);
        let vectors = Vectors::new(vec!["zoe".into(), "ana".into()], 4, vec![0.5; 8]);
        let (new, _) = grow(&old, &batch(), &old.tags, Some(&vectors), 1);
        let zoe = new.words.iter().position(|word| word == "zoe").unwrap() + 1;
        assert_eq!(new.params.row(slot::WORD, zoe), [0.5; 4]);
        assert_eq!(new.params.row(slot::WORD, 1), old.params.row(slot::WORD, 1));
    }
}
