//! The layer that scores whole sequences of tags (Lafferty et al. 2001): its gradient, best paths and
//! marginals, over a whole bucket at once.
//!
//! Sums run over probabilities, scaled at every step (Rabiner 1989, section V.A), so that a step of all
//! sequences is one matrix product; emissions are at least e^-60 of their row's best, so that no step's sum
//! is zero.

mod running;
mod soft;

use lethe_kernel::{Buffer, Isa, Matrix, add_outer, columns, exp_in_place};
use lethe_learn::TagSet;

use crate::bucket::Bucket;
pub(crate) use running::{Running, Scratch};

/// A score that no path of the scheme can compensate.
const NEVER: f32 = -1e8;
const FLOOR: f32 = -60.0;

/// Transitions between tags, without those that the scheme forbids.
#[derive(Clone)]
pub(crate) struct Crf {
    isa: Isa,
    tags: usize,
    /// exp(transition), and its transpose.
    ahead: Matrix,
    aback: Matrix,
    /// The scores of transitions for best paths.
    best: Matrix,
    /// The scores of the transitions into each tag, one row per tag.
    into: Vec<f32>,
    /// exp(transition), exp(start), exp(end).
    factors: Vec<f32>,
    first: Vec<f32>,
    last: Vec<f32>,
    start: Vec<f32>,
    end: Vec<f32>,
}

/// The transitions that a scheme allows: tag x tag, starts, ends.
#[derive(Clone, Debug)]
pub(crate) struct Allowed {
    pairs: Vec<bool>,
    starts: Vec<bool>,
    ends: Vec<bool>,
}

impl Allowed {
    /// Returns those of a set of tags.
    pub(crate) fn new(tags: &TagSet) -> Self {
        let all = || (0..tags.len()).map(|tag| tag as u16);
        Self {
            pairs: all()
                .flat_map(|i| all().map(move |j| tags.may_follow(Some(i), Some(j))))
                .collect(),
            starts: all().map(|j| tags.may_follow(None, Some(j))).collect(),
            ends: all().map(|i| tags.may_follow(Some(i), None)).collect(),
        }
    }
}

/// Gradients of transitions, starts and ends.
pub(crate) struct Grads<'a> {
    pub(crate) pairs: &'a mut [f32],
    pub(crate) starts: &'a mut [f32],
    pub(crate) ends: &'a mut [f32],
}

impl Crf {
    /// Packs scores of transitions (tag x tag, from row to column), starts and ends.
    pub(crate) fn new(isa: Isa, allowed: &Allowed, pairs: &[f32], starts: &[f32], ends: &[f32]) -> Self {
        let tags = starts.len();
        let held = |scores: &[f32], allowed: &[bool]| -> Vec<f32> {
            let one = scores.iter().zip(allowed);
            one.map(|(&s, &ok)| if ok { s } else { NEVER }).collect()
        };
        let exp = |scores: &[f32]| -> Vec<f32> {
            scores
                .iter()
                .map(|&s| if s == NEVER { 0.0 } else { s.exp() })
                .collect()
        };
        let pairs = held(pairs, &allowed.pairs);
        let (start, end) = (held(starts, &allowed.starts), held(ends, &allowed.ends));
        let factors = exp(&pairs);
        let into = (0..tags * tags)
            .map(|at| pairs[at % tags * tags + at / tags])
            .collect();
        Self {
            isa,
            tags,
            ahead: Matrix::of_rows(isa, &factors, tags, 0.0),
            aback: Matrix::pack(isa, tags, tags, |j, line| {
                let column = factors.iter().skip(j).step_by(tags.max(1));
                line.iter_mut().zip(column).for_each(|(to, from)| *to = *from);
            }),
            best: Matrix::of_rows(isa, &pairs, tags, NEVER),
            into,
            first: exp(&start),
            last: exp(&end),
            factors,
            start,
            end,
        }
    }

    /// Returns the numbers per row of emissions: the tags, padded.
    pub(crate) fn width(&self) -> usize {
        columns(self.tags, self.isa)
    }

    /// Replaces the emissions by each token's probability of each tag, and returns the sum of the sequences'
    /// log partition functions. Adds to `expected`, if given, the expected number of times of each
    /// transition.
    pub(crate) fn marginals(&self, bucket: &Bucket, scores: &mut Buffer, expected: Option<Grads<'_>>) -> f64 {
        let (width, tags, rows) = (self.width(), self.tags, bucket.rows());
        let mut log_sum = 0.0;
        for row in scores.chunks_exact_mut(width) {
            let top = row[..tags].iter().copied().fold(f32::MIN, f32::max);
            row[..tags].iter_mut().for_each(|s| *s = (*s - top).max(FLOOR));
            log_sum += f64::from(top);
        }
        exp_in_place(self.isa, scores);
        let mut alpha = Buffer::zeros(rows * width);
        let mut scales = vec![0.0_f32; rows];
        for t in 0..bucket.steps() {
            let now = bucket.step(t);
            let (before, rest) = alpha.split_at_mut(now.start * width);
            let here = &mut rest[..now.len() * width];
            if t == 0 {
                here.chunks_exact_mut(width)
                    .for_each(|row| row[..tags].copy_from_slice(&self.first));
            } else {
                let from = bucket.step(t - 1).start * width;
                self.ahead.product(now.len(), &before[from..], width, here);
            }
            let emitted = scores[now.start * width..].chunks_exact(width);
            for ((row, e), scale) in here.chunks_exact_mut(width).zip(emitted).zip(&mut scales[now]) {
                row.iter_mut().zip(e).for_each(|(a, e)| *a *= e);
                let sum: f32 = row[..tags].iter().sum();
                *scale = 1.0 / sum;
                row.iter_mut().for_each(|a| *a *= *scale);
                log_sum += f64::from(sum).ln();
            }
        }
        // From here on `beta` holds, row by row, the factors that turn alpha into probabilities.
        let mut beta = Buffer::zeros(rows * width);
        let mut ahead = Buffer::default();
        for t in (0..bucket.steps()).rev() {
            let (now, next) = (bucket.step(t), bucket.step(t + 1));
            // The next step's scores become its emissions times beta, scaled: the right-hand side of
            // transitions.
            for r in next.clone() {
                let e = &mut scores[r * width..(r + 1) * width];
                let b = &beta[r * width..(r + 1) * width];
                e.iter_mut().zip(b).for_each(|(e, b)| *e *= b * scales[r]);
            }
            ahead.reset(next.len() * width);
            self.aback
                .product(next.len(), &scores[next.start * width..], width, &mut ahead);
            for (i, r) in now.enumerate() {
                let b = &mut beta[r * width..(r + 1) * width];
                if i < next.len() {
                    b.copy_from_slice(&ahead[i * width..(i + 1) * width]);
                } else {
                    let sum: f32 = alpha[r * width..][..tags]
                        .iter()
                        .zip(&self.last)
                        .map(|(a, l)| a * l)
                        .sum();
                    log_sum += f64::from(sum).ln();
                    b[..tags]
                        .iter_mut()
                        .zip(&self.last)
                        .for_each(|(b, l)| *b = l / sum);
                }
            }
        }
        if let Some(grads) = expected {
            let mut counts = vec![0.0; tags * width];
            for t in 1..bucket.steps() {
                let (before, now) = (bucket.step(t - 1).start * width, bucket.step(t));
                let right = &scores[now.start * width..];
                add_outer(
                    self.isa,
                    now.len(),
                    tags,
                    &alpha[before..],
                    width,
                    right,
                    width,
                    &mut counts,
                );
            }
            let factors = self.factors.chunks_exact(tags);
            for ((grads, counts), factors) in grads
                .pairs
                .chunks_exact_mut(tags)
                .zip(counts.chunks_exact(width))
                .zip(factors)
            {
                let expected = counts.iter().zip(factors).map(|(c, f)| c * f);
                grads.iter_mut().zip(expected).for_each(|(g, e)| *g += e);
            }
            for (s, &length) in bucket.lengths().iter().enumerate() {
                for (row, sums) in [
                    (bucket.row(s, 0), &mut *grads.starts),
                    (bucket.row(s, length - 1), &mut *grads.ends),
                ] {
                    let both = alpha[row * width..].iter().zip(&beta[row * width..]);
                    sums.iter_mut().zip(both).for_each(|(g, (a, b))| *g += a * b);
                }
            }
        }
        scores
            .iter_mut()
            .zip(alpha.iter().zip(beta.iter()))
            .for_each(|(p, (a, b))| *p = probability(*a, *b));
        log_sum
    }

    /// Replaces the emissions by the gradient of the negative log-likelihood of `gold` (one tag per row),
    /// adds that of the transitions to `grads`, and returns the loss.
    pub(crate) fn loss(&self, bucket: &Bucket, scores: &mut Buffer, gold: &[u16], grads: Grads<'_>) -> f64 {
        let (width, tags) = (self.width(), self.tags);
        let mut path = 0.0_f64;
        for (row, &tag) in gold.iter().enumerate() {
            path += f64::from(scores[row * width + usize::from(tag)]);
        }
        for (s, &length) in bucket.lengths().iter().enumerate() {
            let mut before: Option<usize> = None;
            for t in 0..length {
                let tag = usize::from(gold[bucket.row(s, t)]);
                match before {
                    None => {
                        path += f64::from(self.start[tag]);
                        grads.starts[tag] -= 1.0;
                    }
                    Some(before) => {
                        let at = before * tags + tag;
                        path += f64::from(self.into[tag * tags + before]);
                        grads.pairs[at] -= 1.0;
                    }
                }
                before = Some(tag);
            }
            if let Some(tag) = before {
                path += f64::from(self.end[tag]);
                grads.ends[tag] -= 1.0;
            }
        }
        let log_sum = self.marginals(bucket, scores, Some(grads));
        for (row, &tag) in gold.iter().enumerate() {
            scores[row * width + usize::from(tag)] -= 1.0;
        }
        log_sum - path
    }

    /// Returns the best path of each sequence (Viterbi 1967), one tag per row. Overwrites `scores`.
    pub(crate) fn decode(&self, bucket: &Bucket, scores: &mut Buffer, out: &mut Vec<u16>) {
        let (width, tags) = (self.width(), self.tags);
        out.clear();
        out.resize(bucket.rows(), 0);
        for t in 0..bucket.steps() {
            let now = bucket.step(t);
            let (before, rest) = scores.split_at_mut(now.start * width);
            let here = &mut rest[..now.len() * width];
            if t == 0 {
                for row in here.chunks_exact_mut(width) {
                    row.iter_mut().zip(&self.start).for_each(|(s, start)| *s += start);
                }
            } else {
                let from = bucket.step(t - 1).start * width;
                self.best.best(now.len(), &before[from..], width, here);
            }
        }
        for (s, &length) in bucket.lengths().iter().enumerate() {
            let row = |t: usize| &scores[bucket.row(s, t) * width..][..tags];
            let mut tag = best_of(row(length - 1), &self.end);
            out[bucket.row(s, length - 1)] = tag as u16;
            for t in (0..length - 1).rev() {
                tag = best_of(row(t), &self.into[tag * tags..(tag + 1) * tags]);
                out[bucket.row(s, t)] = tag as u16;
            }
        }
    }
}

/// Returns the product of two factors, or 0 if it is less than 2^-120. A processor takes a hundred times as
/// long for a subnormal product, and confident models have many.
#[inline(always)]
fn probability(a: f32, b: f32) -> f32 {
    const UP: f32 = (1_u128 << 64) as f32;
    const LEAST: f32 = 1.0 / (1_u128 << 56) as f32;
    // Not a comparison, which the compiler would move behind the last product. From 2^-94 on, the product is
    // exact: what is subtracted is less than its precision.
    ((a * UP * b).max(LEAST) - LEAST) * (1.0 / UP)
}

/// Returns the index of the largest sum, the first of equals.
fn best_of(scores: &[f32], steps: &[f32]) -> usize {
    let (mut best, mut at) = (f32::MIN, 0);
    for (i, (score, step)) in scores.iter().zip(steps).enumerate() {
        if score + step > best {
            (best, at) = (score + step, i);
        }
    }
    at
}

#[cfg(test)]
mod tests;
