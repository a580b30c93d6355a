//! Training: an averaged perceptron with its own tags as history (Collins 2002, section 2.5; Daumé 2006,
//! appendix A, for the average).

use std::collections::HashMap;

use rand::seq::SliceRandom as _;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::corpus::Sentence;
use super::model::{PosTagger, Row, START, TAGS, best, features, history};

const WIDTH: usize = TAGS.len();

/// The integer that the largest weight becomes.
const LARGEST: f64 = 2000.0;
/// Weights below this share of the largest are left out of the file.
const NEGLIGIBLE: f64 = 0.0015;

#[derive(Clone, Copy)]
struct Weight {
    now: [f64; WIDTH],
    /// Each update multiplied by its step.
    late: [f64; WIDTH],
}

const ZERO: Weight = Weight {
    now: [0.0; WIDTH],
    late: [0.0; WIDTH],
};

impl Weight {
    fn update(&mut self, gold: usize, found: usize, step: f64) {
        for (tag, by) in [(gold, 1.0), (found, -1.0)] {
            self.now[tag] += by;
            self.late[tag] += by * step;
        }
    }

    fn average(&self, steps: f64) -> [f64; WIDTH] {
        std::array::from_fn(|tag| self.now[tag] - self.late[tag] / steps)
    }
}

/// A sentence as feature numbers.
struct Example {
    words: Vec<[Vec<u32>; 3]>,
    tags: Vec<u8>,
}

/// Fits a tagger to sentences in `epochs` passes. The same sentences and seed give the same tagger.
pub fn train(sentences: &[Sentence], epochs: usize, seed: u64) -> PosTagger {
    let mut numbers: HashMap<u32, u32> = HashMap::new();
    let mut hashes = Vec::new();
    let examples: Vec<Example> = sentences
        .iter()
        .map(|sentence| Example {
            words: sentence
                .words
                .iter()
                .map(|word| {
                    let mut kinds: [Vec<u32>; 3] = std::array::from_fn(|_| Vec::new());
                    features(word, |kind, feature| {
                        let next = hashes.len() as u32;
                        let number = *numbers.entry(feature).or_insert(next);
                        if number == next {
                            hashes.push(feature);
                        }
                        kinds[kind].push(number);
                    });
                    kinds
                })
                .collect(),
            tags: sentence.tags.clone(),
        })
        .collect();
    let mut weights = vec![ZERO; hashes.len()];
    let mut histories = vec![ZERO; PosTagger::new().history.len()];
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut order: Vec<usize> = (0..examples.len()).collect();
    let mut step = 1.0;
    for _ in 0..epochs {
        order.shuffle(&mut random);
        for &at in &order {
            step = learn(&examples[at], &mut weights, &mut histories, &mut random, step);
        }
    }
    finish(&hashes, &weights, &histories, step)
}

fn learn(
    example: &Example,
    weights: &mut [Weight],
    histories: &mut [Weight],
    random: &mut ChaCha8Rng,
    mut step: f64,
) -> f64 {
    let (mut before2, mut before) = (START, START);
    for (i, &gold) in example.tags.iter().enumerate() {
        let gold = usize::from(gold);
        let nothing: &[u32] = &[];
        let next = i.checked_sub(1).map_or(nothing, |i| &example.words[i][1]);
        let after = example.words.get(i + 1).map_or(nothing, |word| &word[2]);
        let past = history(before2, before);
        let mut scores = histories[past].now;
        // Some words are treated as unknown, so that affixes and context get weights too.
        let unknown = random.random_range(0..10) == 0;
        let own = &example.words[i][0];
        let known = |feature: &&u32| {
            !(unknown
                && own
                    .iter()
                    .position(|f| f == *feature)
                    .is_some_and(|p| matches!(p, 1 | 9)))
        };
        let all: Vec<u32> = own
            .iter()
            .filter(known)
            .chain(next)
            .chain(after)
            .copied()
            .collect();
        for &feature in &all {
            let weight = &weights[feature as usize].now;
            scores
                .iter_mut()
                .zip(weight)
                .for_each(|(score, weight)| *score += weight);
        }
        let found = best(&scores);
        if found != gold {
            for &feature in &all {
                weights[feature as usize].update(gold, found, step);
            }
            histories[past].update(gold, found, step);
        }
        (before2, before) = (before, found);
        step += 1.0;
    }
    step
}

/// Averages the weights and rounds them to small integers; negligible ones are left out.
fn finish(hashes: &[u32], weights: &[Weight], histories: &[Weight], steps: f64) -> PosTagger {
    let average = |weights: &[Weight]| -> Vec<[f64; WIDTH]> {
        weights.iter().map(|weight| weight.average(steps)).collect()
    };
    let (weights, histories) = (average(weights), average(histories));
    let largest = weights
        .iter()
        .chain(&histories)
        .flatten()
        .fold(1e-9, |largest: f64, weight| largest.max(weight.abs()));
    let round = |row: &[f64; WIDTH]| -> Row {
        row.map(|weight| {
            if weight.abs() < largest * NEGLIGIBLE {
                0
            } else {
                (weight / largest * LARGEST).round() as i16
            }
        })
    };
    let mut tagger = PosTagger::new();
    for (&hash, row) in hashes.iter().zip(&weights) {
        let row = round(row);
        if row != Row::default() {
            tagger.words.insert(hash, row);
        }
    }
    for (to, row) in tagger.history.iter_mut().zip(&histories) {
        *to = round(row);
    }
    tagger
}

/// The accuracy of a tagger against gold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accuracy {
    /// Correct tokens.
    pub hits: usize,
    /// All tokens.
    pub tokens: usize,
}

impl Accuracy {
    /// Tags sentences and counts the correct tokens.
    pub fn of(tagger: &PosTagger, sentences: &[Sentence]) -> Self {
        let mut accuracy = Self::default();
        let mut found = Vec::new();
        for sentence in sentences {
            let vectors: Vec<_> = sentence.words.iter().map(|word| tagger.vectors(word)).collect();
            found.clear();
            tagger.tag(&vectors, &mut found);
            accuracy.tokens += found.len();
            accuracy.hits += found.iter().zip(&sentence.tags).filter(|(a, b)| a == b).count();
        }
        accuracy
    }

    /// Returns the share of correct tokens; 0 if there are none.
    pub fn share(self) -> f64 {
        self.hits as f64 / self.tokens.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pos::{PosError, Vectors};

    /// Returns a language of four words, in which "run" is a verb after a noun and a noun after an article.
    fn sentences() -> Vec<Sentence> {
        let tag = |name: &str| TAGS.iter().position(|tag| *tag == name).unwrap() as u8;
        let (det, noun, verb) = (tag("DET"), tag("NOUN"), tag("VERB"));
        let sentence = |words: &[&str], tags: &[u8]| Sentence {
            words: words.iter().map(|&word| word.to_owned()).collect(),
            tags: tags.to_vec(),
        };
        vec![
            sentence(&["the", "dogs", "run"], &[det, noun, verb]),
            sentence(&["the", "run", "ends"], &[det, noun, verb]),
            sentence(&["dogs", "run"], &[noun, verb]),
            sentence(&["the", "run"], &[det, noun]),
        ]
    }

    #[test]
    fn context_decides_where_the_word_does_not() {
        let tagger = train(&sentences(), 10, 1);
        assert_eq!(Accuracy::of(&tagger, &sentences()).share(), 1.0);
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes_and_they_read_back() {
        let tagger = train(&sentences(), 3, 7);
        let bytes = tagger.to_bytes();
        assert_eq!(bytes, train(&sentences(), 3, 7).to_bytes());
        assert!(PosTagger::from_bytes(&bytes).unwrap() == tagger);
    }

    #[test]
    fn bytes_that_were_cut_lengthened_or_are_another_versions_are_refused() {
        let bytes = train(&sentences(), 2, 7).to_bytes();
        for length in 0..bytes.len() {
            assert!(PosTagger::from_bytes(&bytes[..length]).is_err(), "{length} bytes");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(matches!(
            PosTagger::from_bytes(&longer),
            Err(PosError::Damaged { .. })
        ));
        let mut other = bytes;
        other[8] = 99;
        assert_eq!(
            PosTagger::from_bytes(&other),
            Err(PosError::Version { found: 99 })
        );
        assert_eq!(PosTagger::from_bytes(b"0123456789"), Err(PosError::Magic));
    }

    #[test]
    fn a_sentence_without_words_has_no_tags() {
        let mut out = Vec::new();
        train(&sentences(), 1, 1).tag(std::iter::empty::<&Vectors>(), &mut out);
        assert!(out.is_empty());
    }
}
