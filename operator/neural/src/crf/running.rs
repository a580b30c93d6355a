//! The layer for running: over the transitions that the scheme allows alone.
//!
//! In BILOU, `I-` and `L-` of a label follow two tags, and all tags that begin a span or lie outside follow the same
//! ones. With the columns in an order of their own, a step is one small product and a few sums of columns side by
//! side.

mod columns;

use lethe_kernel::{Affine, Buffer, ByteLayer, Isa, Matrix, exp_in_place};
use lethe_learn::TagSet;

use super::{Allowed, FLOOR, NEVER, best_of, probability};
use crate::bucket::Bucket;
use crate::precision::{Inputs, byte_layer};
use columns::{Columns, Inner};

/// Columns that are summed side by side, so that the processor does not wait for one sum after the other.
const LANES: usize = 16;

/// A layer packed for running.
pub(crate) struct Running {
    isa: Isa,
    columns: Columns,
    labels: usize,
    /// exp(transition) from `closed` to `open`, and its transpose.
    ahead: Matrix,
    aback: Matrix,
    /// The scores of those transitions.
    best: Matrix,
    /// The same, one row of `closed` for each of `open`.
    into: Vec<f32>,
    /// For each run of inner columns exp(transition) from the two tags before, and the scores of those transitions.
    factors: Vec<[Vec<f32>; 2]>,
    steps: Vec<[Vec<f32>; 2]>,
    first: Vec<f32>,
    last: Vec<f32>,
    start: Vec<f32>,
    end: Vec<f32>,
}

/// What a thread reuses between buckets.
#[derive(Clone, Default)]
pub(crate) struct Scratch {
    alpha: Buffer,
    beta: Buffer,
    scales: Vec<f32>,
}

impl Running {
    /// Packs scores of transitions (tag x tag, from row to column), starts and ends.
    pub(crate) fn new(isa: Isa, tags: &TagSet, pairs: &[f32], starts: &[f32], ends: &[f32]) -> Self {
        let (columns, allowed, n) = (Columns::new(isa, tags), Allowed::new(tags), tags.len());
        let mut tag_of = vec![None; columns.width];
        columns
            .of
            .iter()
            .enumerate()
            .for_each(|(tag, &at)| tag_of[at] = Some(tag));
        let score = |from: usize, to: usize| match (tag_of[from], tag_of[to]) {
            (Some(from), Some(to)) if allowed.pairs[from * n + to] => pairs[from * n + to],
            _ => NEVER,
        };
        let exp = |score: f32| if score == NEVER { 0.0 } else { score.exp() };
        let (open, closed) = (columns.open.clone(), columns.closed.clone());
        let pack = |of: &dyn Fn(f32) -> f32| {
            Matrix::pack(isa, closed.len(), open.len(), |from, line| {
                let scores = open.clone().map(|to| of(score(closed.start + from, to)));
                line.iter_mut().zip(scores).for_each(|(to, score)| *to = score);
            })
        };
        let inner = |of: &dyn Fn(f32) -> f32| -> Vec<[Vec<f32>; 2]> {
            let run = |inner: &Inner| {
                inner.after.map(|from| {
                    let labels = 0..tags.labels().len();
                    labels
                        .map(|label| of(score(from + label, inner.at + label)))
                        .collect()
                })
            };
            columns.inner.iter().map(run).collect()
        };
        let held = |scores: &[f32], allowed: &[bool]| -> Vec<f32> {
            let one = scores.iter().zip(allowed);
            one.map(|(&score, &ok)| if ok { score } else { NEVER }).collect()
        };
        let start = columns.place(&held(starts, &allowed.starts), NEVER);
        let end = columns.place(&held(ends, &allowed.ends), NEVER);
        Self {
            isa,
            labels: tags.labels().len(),
            ahead: pack(&exp),
            aback: Matrix::pack(isa, open.len(), closed.len(), |to, line| {
                let scores = closed.clone().map(|from| exp(score(from, open.start + to)));
                line.iter_mut().zip(scores).for_each(|(to, score)| *to = score);
            }),
            best: pack(&|score| score),
            into: open
                .clone()
                .flat_map(|to| closed.clone().map(move |from| (from, to)))
                .map(|(from, to)| score(from, to))
                .collect(),
            factors: inner(&exp),
            steps: inner(&|score| score),
            first: start.iter().copied().map(exp).collect(),
            last: end.iter().copied().map(exp).collect(),
            start,
            end,
            columns,
        }
    }

    /// Packs a map to the tags' scores, whose rows have a number for each tag, so that its results are in the order of
    /// the columns. Padding scores so low that it has no probability.
    pub(crate) fn map(&self, rows: &[f32], bias: &[f32]) -> Affine {
        let tags = bias.len();
        let matrix = Matrix::pack(
            self.isa,
            rows.len() / tags.max(1),
            self.columns.width,
            |row, line| {
                let row = self.columns.place(&rows[row * tags..(row + 1) * tags], 0.0);
                line[..row.len()].copy_from_slice(&row);
            },
        );
        Affine::new(matrix, &self.columns.place(bias, NEVER))
    }

    /// Rounds the same map for inputs that are bytes. The rows of its results are as wide.
    pub(crate) fn byte_map(&self, rows: &[f32], bias: &[f32], inputs: &Inputs<'_>) -> ByteLayer {
        let rows = rows.chunks_exact(bias.len().max(1));
        let placed: Vec<f32> = rows.flat_map(|row| self.columns.place(row, 0.0)).collect();
        byte_layer(self.isa, 1, &placed, &self.columns.place(bias, NEVER), inputs)
    }

    /// Returns the numbers per row of scores.
    pub(crate) fn width(&self) -> usize {
        self.columns.width
    }

    /// Returns the column of a tag.
    pub(crate) fn column(&self, tag: u16) -> usize {
        self.columns.of[usize::from(tag)]
    }

    /// Writes a row in the order of the tags.
    pub(crate) fn by_tag(&self, row: &[f32], tags: &mut [f32]) {
        self.columns
            .of
            .iter()
            .zip(tags)
            .for_each(|(&at, tag)| *tag = row[at]);
    }

    /// Replaces the scores by each token's probability of each tag.
    pub(crate) fn marginals(&self, bucket: &Bucket, scores: &mut Buffer, scratch: &mut Scratch) {
        self.isa.widely(
            #[inline(always)]
            || self.all_marginals(bucket, scores, scratch),
        );
    }

    #[inline(always)]
    fn all_marginals(&self, bucket: &Bucket, scores: &mut Buffer, scratch: &mut Scratch) {
        let (width, rows) = (self.width(), bucket.rows());
        for row in scores.chunks_exact_mut(width) {
            let top = largest(row);
            row.iter_mut()
                .for_each(|score| *score = (*score - top).max(FLOOR));
        }
        exp_in_place(self.isa, scores);
        let Scratch { alpha, beta, scales } = scratch;
        alpha.reset(rows * width);
        beta.reset(rows * width);
        scales.resize(rows, 0.0);
        for t in 0..bucket.steps() {
            let now = bucket.step(t);
            let (before, rest) = alpha.split_at_mut(now.start * width);
            let here = &mut rest[..now.len() * width];
            if t == 0 {
                here.chunks_exact_mut(width)
                    .for_each(|row| row.copy_from_slice(&self.first));
            } else {
                let before = &before[bucket.step(t - 1).start * width..];
                self.step_ahead(now.len(), before, here);
            }
            let emitted = scores[now.start * width..].chunks_exact(width);
            for ((row, e), scale) in here.chunks_exact_mut(width).zip(emitted).zip(&mut scales[now]) {
                row.iter_mut().zip(e).for_each(|(a, e)| *a *= e);
                *scale = 1.0 / total(row);
                row.iter_mut().for_each(|a| *a *= *scale);
            }
        }
        // `beta` holds, row by row, the factors that turn alpha into probabilities.
        for t in (0..bucket.steps()).rev() {
            let (now, next) = (bucket.step(t), bucket.step(t + 1));
            let (here, after) = beta.split_at_mut(next.start * width);
            // The next step's scores become its emissions times beta, scaled: the right-hand side of transitions.
            for (r, b) in next.clone().zip(after.chunks_exact(width)) {
                let e = &mut scores[r * width..(r + 1) * width];
                e.iter_mut().zip(b).for_each(|(e, b)| *e *= b * scales[r]);
            }
            let here = &mut here[now.start * width..];
            self.step_aback(next.len(), &scores[next.start * width..], here);
            for r in now.start + next.len()..now.end {
                let mut ended = [0.0; LANES];
                let alpha = &alpha[r * width..(r + 1) * width];
                for (alpha, last) in alpha.chunks_exact(LANES).zip(self.last.chunks_exact(LANES)) {
                    for i in 0..LANES {
                        ended[i] += alpha[i] * last[i];
                    }
                }
                let share = 1.0 / total(&ended);
                let b = &mut here[(r - now.start) * width..][..width];
                b.iter_mut()
                    .zip(&self.last)
                    .for_each(|(b, last)| *b = last * share);
            }
        }
        scores
            .iter_mut()
            .zip(alpha.iter().zip(beta.iter()))
            .for_each(|(p, (a, b))| *p = probability(*a, *b));
    }

    /// Computes for some rows, which are zero, the mass that comes from those before.
    #[inline(always)]
    fn step_ahead(&self, rows: usize, before: &[f32], here: &mut [f32]) {
        let width = self.width();
        self.ahead
            .product_into(rows, &before[self.columns.closed.start..], width, here, width);
        for (before, here) in before.chunks_exact(width).zip(here.chunks_exact_mut(width)) {
            for (inner, factors) in self.columns.inner.iter().zip(&self.factors) {
                let [begin, inside] = inner.after.map(|at| &before[at..at + self.labels]);
                let sums = begin.iter().zip(&factors[0]).zip(inside.iter().zip(&factors[1]));
                let here = &mut here[inner.at..inner.at + self.labels];
                here.iter_mut()
                    .zip(sums)
                    .for_each(|(here, ((b, to_b), (i, to_i)))| *here = b * to_b + i * to_i);
            }
        }
    }

    /// Computes for some rows, which are zero, the mass that comes from those after.
    #[inline(always)]
    fn step_aback(&self, rows: usize, after: &[f32], here: &mut [f32]) {
        let width = self.width();
        self.aback
            .product_into(rows, after, width, &mut here[self.columns.closed.start..], width);
        for (after, here) in after
            .chunks_exact(width)
            .zip(here.chunks_exact_mut(width))
            .take(rows)
        {
            for (inner, factors) in self.columns.inner.iter().zip(&self.factors) {
                for (&from, factors) in inner.after.iter().zip(factors) {
                    let mass = after[inner.at..inner.at + self.labels].iter().zip(factors);
                    let here = &mut here[from..from + self.labels];
                    here.iter_mut()
                        .zip(mass)
                        .for_each(|(here, (mass, factor))| *here += mass * factor);
                }
            }
        }
    }

    /// Returns the best path of each sequence (Viterbi 1967), one tag per row. Overwrites `scores`.
    pub(crate) fn decode(&self, bucket: &Bucket, scores: &mut Buffer, out: &mut Vec<u16>) {
        let width = self.width();
        out.clear();
        out.resize(bucket.rows(), 0);
        for t in 0..bucket.steps() {
            let now = bucket.step(t);
            let (before, rest) = scores.split_at_mut(now.start * width);
            let here = &mut rest[..now.len() * width];
            if t == 0 {
                for row in here.chunks_exact_mut(width) {
                    row.iter_mut()
                        .zip(&self.start)
                        .for_each(|(score, start)| *score += start);
                }
            } else {
                let before = &before[bucket.step(t - 1).start * width..];
                self.isa.widely(
                    #[inline(always)]
                    || self.best_step(now.len(), before, here),
                );
            }
        }
        let (closed, labels) = (self.columns.closed.clone(), self.labels);
        for (s, &length) in bucket.lengths().iter().enumerate() {
            let row = |t: usize| &scores[bucket.row(s, t) * width..][..width];
            let mut at = best_of(row(length - 1), &self.end);
            for t in (0..length).rev() {
                out[bucket.row(s, t)] = at as u16;
                let Some(before) = t.checked_sub(1).map(row) else {
                    break;
                };
                let inner = self
                    .columns
                    .inner
                    .iter()
                    .position(|inner| (inner.at..inner.at + labels).contains(&at));
                at = match inner {
                    Some(run) => {
                        let inner = &self.columns.inner[run];
                        let label = at - inner.at;
                        let [begin, inside] = [0, 1]
                            .map(|from| before[inner.after[from] + label] + self.steps[run][from][label]);
                        inner.after[usize::from(inside > begin)] + label
                    }
                    None => {
                        let into = &self.into[at * closed.len()..(at + 1) * closed.len()];
                        closed.start + best_of(&before[closed.clone()], into)
                    }
                };
            }
        }
        let mut tag_of = vec![0; width];
        self.columns
            .of
            .iter()
            .zip(0..)
            .for_each(|(&at, tag)| tag_of[at] = tag);
        out.iter_mut().for_each(|at| *at = tag_of[usize::from(*at)]);
    }

    /// Adds to some rows the score of the best tag before each.
    #[inline(always)]
    fn best_step(&self, rows: usize, before: &[f32], here: &mut [f32]) {
        let width = self.width();
        // The panels of the product cover `open` alone.
        self.best
            .best_into(rows, &before[self.columns.closed.start..], width, here, width);
        for (before, here) in before.chunks_exact(width).zip(here.chunks_exact_mut(width)) {
            for (inner, steps) in self.columns.inner.iter().zip(&self.steps) {
                let [begin, inside] = inner.after.map(|at| &before[at..at + self.labels]);
                let sums = begin.iter().zip(&steps[0]).zip(inside.iter().zip(&steps[1]));
                let here = &mut here[inner.at..inner.at + self.labels];
                here.iter_mut()
                    .zip(sums)
                    .for_each(|(here, ((b, to_b), (i, to_i)))| {
                        let (begin, inside) = (b + to_b, i + to_i);
                        *here += if inside > begin { inside } else { begin };
                    });
            }
        }
    }
}

/// Returns the largest number of a row.
#[inline(always)]
fn largest(row: &[f32]) -> f32 {
    let mut lanes = [f32::MIN; LANES];
    for part in row.chunks_exact(LANES) {
        for i in 0..LANES {
            lanes[i] = if part[i] > lanes[i] { part[i] } else { lanes[i] };
        }
    }
    lanes.into_iter().fold(f32::MIN, f32::max)
}

/// Returns the sum of a row.
#[inline(always)]
fn total(row: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    for part in row.chunks_exact(LANES) {
        for i in 0..LANES {
            lanes[i] += part[i];
        }
    }
    lanes.iter().sum()
}

#[cfg(test)]
mod tests;
