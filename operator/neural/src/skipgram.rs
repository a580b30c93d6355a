//! Word vectors from plain text: skip-gram with negative sampling (Mikolov et al. 2013), on one thread, the
//! same bytes for the same seed.

use std::collections::HashMap;

use lethe_core::NoteBatch;
use serde::{Deserialize, Serialize};

use crate::rng::Rng;
use crate::types::Casing;
use crate::vectors::Vectors;

/// Settings of the training of word vectors; the defaults are word2vec's, except for the rarest word, since
/// corpora are small.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SkipGram {
    /// The size of a vector.
    pub size: usize,
    /// The most words on either side.
    pub window: usize,
    /// The negative words per positive one.
    pub negative: usize,
    /// The number of passes.
    pub epochs: usize,
    /// The initial learning rate, which decreases to 0.
    pub rate: f32,
    /// The fewest occurrences of a word.
    pub least: usize,
    /// Words more frequent than this share are subsampled.
    pub thin: f64,
    /// The seed.
    pub seed: u64,
}

impl Default for SkipGram {
    fn default() -> Self {
        Self {
            size: 100,
            window: 5,
            negative: 5,
            epochs: 5,
            rate: 0.025,
            least: 3,
            thin: 1e-3,
            seed: 1,
        }
    }
}

/// The size of the table from which negative words are drawn.
const DRAWS: usize = 1 << 20;

impl SkipGram {
    /// Trains vectors of the words of some texts, in the form in which `casing` looks them up. `progress`
    /// receives the share done.
    pub fn train<'t>(
        &self,
        texts: impl IntoIterator<Item = &'t str>,
        casing: Casing,
        mut progress: impl FnMut(f64),
    ) -> Vectors {
        let (words, lines) = self.read(texts, casing);
        let times = {
            let mut times = vec![0_u32; words.len()];
            lines.iter().flatten().for_each(|&word| times[word as usize] += 1);
            times
        };
        let total: u64 = times.iter().map(|&n| u64::from(n)).sum();
        // The probability that a word is kept: word2vec's formula.
        let kept: Vec<f32> = times
            .iter()
            .map(|&n| {
                let rarity = self.thin * total as f64 / f64::from(n);
                (rarity.sqrt() + rarity).min(1.0) as f32
            })
            .collect();
        let draws = draws(&times);
        let n = self.size;
        let mut rng = Rng::new(&[self.seed]);
        let mut inner: Vec<f32> = (0..words.len() * n)
            .map(|_| (rng.unit() - 0.5) / n as f32)
            .collect();
        let mut outer = vec![0.0_f32; words.len() * n];
        let mut step = vec![0.0_f32; n];
        let (mut seen, all) = (0_u64, total * self.epochs as u64);
        let mut line: Vec<u32> = Vec::new();
        for _ in 0..self.epochs {
            for full in &lines {
                seen += full.len() as u64;
                let rate = self.rate * (1.0 - seen as f32 / all.max(1) as f32).max(1e-4);
                line.clear();
                line.extend(full.iter().filter(|&&word| rng.unit() < kept[word as usize]));
                for (i, &word) in line.iter().enumerate() {
                    let reach = 1 + rng.below(self.window);
                    for j in i.saturating_sub(reach)..(i + reach + 1).min(line.len()) {
                        if i == j {
                            continue;
                        }
                        let v = &mut inner[line[j] as usize * n..][..n];
                        step.fill(0.0);
                        for k in 0..=self.negative {
                            let (target, label) = if k == 0 {
                                (word, 1.0)
                            } else {
                                (draws[rng.below(DRAWS)], 0.0)
                            };
                            if k > 0 && target == word {
                                continue;
                            }
                            let u = &mut outer[target as usize * n..][..n];
                            let g = (label - 1.0 / (1.0 + (-dot(v, u)).exp())) * rate;
                            add(&mut step, u, g);
                            add(u, v, g);
                        }
                        add(v, &step, 1.0);
                    }
                }
            }
            progress(seen as f64 / all.max(1) as f64);
        }
        Vectors::new(words, n, inner)
    }

    /// Returns the words that are frequent enough, by frequency and name, and each text as their indices.
    fn read<'t>(
        &self,
        texts: impl IntoIterator<Item = &'t str>,
        casing: Casing,
    ) -> (Vec<String>, Vec<Vec<u32>>) {
        let mut places: HashMap<String, u32> = HashMap::new();
        let mut times: Vec<usize> = Vec::new();
        let mut lines: Vec<Vec<u32>> = Vec::new();
        for text in texts {
            let Ok(batch) = NoteBatch::from_texts([text]) else {
                continue;
            };
            let note = batch.note(0);
            let mut line = Vec::with_capacity(note.tokens.len());
            for i in 0..note.tokens.len() {
                let form = casing.form(note.word(i));
                let next = places.len() as u32;
                let at = *places.entry(form).or_insert(next);
                if at == next {
                    times.push(0);
                }
                times[at as usize] += 1;
                line.push(at);
            }
            lines.push(line);
        }
        let mut words: Vec<(String, u32)> = places
            .into_iter()
            .filter(|&(_, at)| times[at as usize] >= self.least)
            .collect();
        words.sort_by(|a, b| (times[b.1 as usize], &a.0).cmp(&(times[a.1 as usize], &b.0)));
        let mut rows = vec![u32::MAX; times.len()];
        for (row, (_, at)) in words.iter().enumerate() {
            rows[*at as usize] = row as u32;
        }
        for line in &mut lines {
            line.iter_mut().for_each(|at| *at = rows[*at as usize]);
            line.retain(|&row| row != u32::MAX);
        }
        (words.into_iter().map(|(word, _)| word).collect(), lines)
    }
}

/// Returns words in proportion to their frequency to the power of 3/4.
fn draws(times: &[u32]) -> Vec<u32> {
    let sum: f64 = times.iter().map(|&n| f64::from(n).powf(0.75)).sum();
    let (mut word, mut reached) = (0, 0.0);
    let mut out = Vec::with_capacity(DRAWS);
    for i in 0..DRAWS {
        while word + 1 < times.len()
            && reached + f64::from(times[word]).powf(0.75) / sum <= i as f64 / DRAWS as f64
        {
            reached += f64::from(times[word]).powf(0.75) / sum;
            word += 1;
        }
        out.push(word as u32);
    }
    out
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    // Eight independent sums: a single one would wait for itself at every term.
    let mut sums = [0.0_f32; 8];
    let (a, a_tail) = a.as_chunks::<8>();
    let (b, b_tail) = b.as_chunks::<8>();
    for (a, b) in a.iter().zip(b) {
        for i in 0..8 {
            sums[i] += a[i] * b[i];
        }
    }
    let tail: f32 = a_tail.iter().zip(b_tail).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + tail
}

fn add(to: &mut [f32], from: &[f32], by: f32) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += by * from);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_similar_contexts_have_similar_vectors_and_a_seed_gives_the_same_bytes() {
        let mut text = String::new();
        let mut rng = Rng::new(&[3]);
        for _ in 0..3000 {
            let (who, what) = if rng.below(2) == 0 {
                (
                    ["ana", "eva"][rng.below(2)],
                    ["runs", "walks", "swims"][rng.below(3)],
                )
            } else {
                (
                    ["iron", "lead"][rng.below(2)],
                    ["melts", "rusts", "bends"][rng.below(3)],
                )
            };
            text += &format!("{who} {what} . ");
        }
        let settings = SkipGram {
            size: 12,
            window: 1,
            thin: 1.0,
            ..SkipGram::default()
        };
        let train = || settings.train([text.as_str()], Casing::Folded, |_| {});
        let vectors = train();
        let like = |a: &str, b: &str| {
            let (a, b) = (vectors.get(a).unwrap(), vectors.get(b).unwrap());
            dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
        };
        assert!(like("ana", "eva") > like("ana", "iron") + 0.2);
        assert!(like("runs", "walks") > like("runs", "melts") + 0.2);
        assert_eq!(train(), vectors);
    }
}
