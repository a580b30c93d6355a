//! One pass: sequences in groups of similar length, a step of Adam for each group.

use std::ops::Range;

use lethe_learn::Observer;

use super::{Corpus, Schedule};
use crate::adam::Adam;
use crate::bucket::{Bucket, groups};
use crate::checkpoint::State;
use crate::model::Params;
use crate::reader::Memory;
use crate::rng::Rng;
use crate::tape::{Gold, Sample, Tape};

/// Runs one pass over the training data, and returns its mean loss per sequence.
#[expect(
    clippy::too_many_arguments,
    reason = "the parts of one pass have different lifetimes"
)]
pub(super) fn pass(
    tape: &Tape<'_>,
    schedule: &Schedule,
    corpus: &Corpus,
    memory: &Memory,
    once: &[bool],
    state: &mut State,
    grads: &mut Params,
    observer: &mut dyn Observer,
) -> f64 {
    let mut rng = Rng::new(&[schedule.seed, 1, u64::from(state.epochs)]);
    let groups = groups(&corpus.read.sequences, schedule.batch, &mut rng);
    let mut loss = 0.0;
    let of = groups.len();
    for (i, group) in groups.iter().enumerate() {
        observer.step(i, of);
        let mut rng = Rng::new(&[schedule.seed, 2, u64::from(state.epochs), i as u64]);
        let bucket = Bucket::new(group.iter().map(Range::len).collect());
        let mut tokens = Vec::with_capacity(bucket.rows());
        for t in 0..bucket.steps() {
            tokens.extend(group[..bucket.step(t).len()].iter().map(|range| range.start + t));
        }
        let take = |from: &[u32]| -> Vec<u32> { tokens.iter().map(|&token| from[token]).collect() };
        let types = take(&corpus.read.types);
        let words: Vec<u32> = types
            .iter()
            .map(|&at| {
                let word = memory.types.get(at).word;
                if once[word as usize] && rng.unit() < schedule.unknown {
                    0
                } else {
                    word
                }
            })
            .collect();
        let gold: Vec<u16> = tokens.iter().map(|&token| corpus.gold[token]).collect();
        let sample = Sample {
            bucket: &bucket,
            types: &types,
            contexts: &take(&corpus.read.contexts),
            words: &words,
            gold: Gold::Hard(&gold),
        };
        loss += tape.gradient(&state.params, memory, &sample, &mut rng, grads);
        let done = f64::from(state.epochs) + i as f64 / of as f64;
        descend(state, grads, words, schedule, done, group.len());
    }
    loss / corpus.read.sequences.len().max(1) as f64
}

/// Takes a step of Adam down a gradient summed over `sequences` sequences, after this many passes; `words`
/// are their rows.
pub(super) fn descend(
    state: &mut State,
    grads: &mut Params,
    words: Vec<u32>,
    schedule: &Schedule,
    done: f64,
    sequences: usize,
) {
    let mut touched = words;
    touched.sort_unstable();
    touched.dedup();
    let rate = schedule.rate * (1.0 - done / f64::from(schedule.epochs)) as f32;
    let State { params, adam, .. } = state;
    Adam::step(
        adam,
        params,
        grads,
        &touched,
        rate,
        1.0 / sequences as f32,
        schedule.clip,
    );
}
