//! Runs the stacked network.
//!
//! The contribution of a member's tag to the lower layer's gates is one row of a table, computed once; a
//! token's gates are those of a token without predictions, plus one row for each member with a prediction.
//!
//! In most sentences no member predicts anything. The network's output for such a sentence depends on its
//! length alone (a sequence's scores are the same in every bucket), so it is computed once per length.

use std::ops::Range;
use std::sync::OnceLock;

use lethe_kernel::{Affine, Buffer, Isa, Matrix};

use super::MemberTags;
use super::shape::{Shape, slot};
use crate::bilstm::{BiLstm, Trace, Weights};
use crate::bucket::Bucket;
use crate::crf::{Allowed, Crf};
use crate::model::Params;
use crate::runner::buckets;
use crate::tape::lstm;

/// The longest sequence without predictions whose output is cached.
const SILENT: usize = 512;

/// Tags of tokens, and the probability of each token's tag.
type Answer = (Vec<u16>, Vec<f32>);

/// The network packed for running.
#[derive(Clone)]
pub(super) struct Runner {
    shape: Shape,
    lower: BiLstm,
    upper: BiLstm,
    /// The lower layer's gates, for each direction, of a token without predictions.
    nothing: [Buffer; 2],
    /// The contribution of each row of the embedding table to them.
    more: [Buffer; 2],
    out: Affine,
    crf: Crf,
    /// Cached outputs for sequences without predictions, by length.
    silent: Vec<OnceLock<Answer>>,
}

/// Buffers that are reused between calls.
#[derive(Clone, Default)]
pub struct StackedScratch {
    lower: Trace,
    upper: Trace,
    scores: Buffer,
    probabilities: Buffer,
    path: Vec<u16>,
}

impl Runner {
    /// Packs the parameters.
    pub(super) fn new(isa: Isa, shape: &Shape, allowed: &Allowed, params: &Params) -> Self {
        let [lower, upper] = slot::LAYERS;
        let lower = BiLstm::new(isa, shape.hidden, lstm(params, lower));
        // The rows of the matrices above a layer match the columns of the layer's states.
        let spread = |layer: &BiLstm, rows: &[f32], columns: usize| {
            let mut out = vec![0.0; layer.width() * columns];
            for (unit, row) in rows.chunks_exact(columns).enumerate() {
                out[layer.column(unit) * columns..][..columns].copy_from_slice(row);
            }
            out
        };
        let sides = lstm(params, upper);
        let inputs = sides.map(|side| spread(&lower, side.input, 4 * shape.hidden));
        let [fore, back] =
            [(sides[0], &inputs[0]), (sides[1], &inputs[1])].map(|(side, input)| Weights { input, ..side });
        let upper = BiLstm::new(isa, shape.hidden, [fore, back]);
        let (inputs, size) = (shape.inputs(), shape.embedding);
        let outside = |member: usize| params.row(slot::TABLE, shape.row(member, 0));
        let mut x: Vec<f32> = (0..shape.members).flat_map(outside).copied().collect();
        let mut nothing = [Buffer::default(), Buffer::default()];
        let [fore, back] = &mut nothing;
        lower.project(1, &x, inputs, true, [fore, back]);
        let rows = shape.members * shape.member_tags;
        x.clear();
        x.resize(rows * inputs, 0.0);
        for (row, x) in x.chunks_exact_mut(inputs).enumerate() {
            let member = row / shape.member_tags;
            let both = params.row(slot::TABLE, row).iter().zip(outside(member));
            x[member * size..(member + 1) * size]
                .iter_mut()
                .zip(both)
                .for_each(|(x, (tag, outside))| *x = tag - outside);
        }
        let mut more = [Buffer::default(), Buffer::default()];
        let [fore, back] = &mut more;
        lower.project(rows, &x, inputs, false, [fore, back]);
        let out = spread(&upper, params.get(slot::OUT), shape.tags);
        let out = Affine::new(
            Matrix::of_rows(isa, &out, shape.tags, 0.0),
            params.get(slot::OUT_BIAS),
        );
        let [pairs, starts, ends] = [slot::PAIRS, slot::STARTS, slot::ENDS].map(|slot| params.get(slot));
        Self {
            shape: shape.clone(),
            crf: Crf::new(isa, allowed, pairs, starts, ends),
            lower,
            upper,
            nothing,
            more,
            out,
            silent: vec![OnceLock::new(); SILENT + 1],
        }
    }

    /// Returns the tags of tokens, and the probability of each token's tag.
    pub(super) fn tag(&self, member_tags: MemberTags<'_>, scratch: &mut StackedScratch) -> Answer {
        let members = self.shape.members;
        let tokens = member_tags.predictions.len() / members;
        let mut answer = (vec![0; tokens], vec![1.0; tokens]);
        let mut open = Vec::new();
        for range in member_tags.sequences {
            let predictions = &member_tags.predictions[range.start * members..range.end * members];
            if range.len() <= SILENT && predictions.iter().all(|&tag| tag == 0) {
                let (tags, token_scores) = self.silent[range.len()].get_or_init(|| {
                    let mut answer = (vec![0; range.len()], vec![1.0; range.len()]);
                    self.ask(
                        predictions,
                        std::slice::from_ref(&(0..range.len())),
                        scratch,
                        &mut answer,
                    );
                    answer
                });
                answer.0[range.clone()].copy_from_slice(tags);
                answer.1[range.clone()].copy_from_slice(token_scores);
            } else {
                open.push(range.clone());
            }
        }
        self.ask(member_tags.predictions, &open, scratch, &mut answer);
        answer
    }

    /// Runs the network over sequences, and stores the output for their tokens.
    pub(super) fn ask(
        &self,
        predictions: &[u16],
        sequences: &[Range<usize>],
        scratch: &mut StackedScratch,
        (tags, token_scores): &mut Answer,
    ) {
        for group in buckets(sequences) {
            let bucket = Bucket::new(group.iter().map(Range::len).collect());
            self.scores(&bucket, &group, predictions, scratch);
            let width = self.crf.width();
            scratch.probabilities.clone_from(&scratch.scores);
            self.crf.marginals(&bucket, &mut scratch.probabilities, None);
            self.crf.decode(&bucket, &mut scratch.scores, &mut scratch.path);
            for (s, range) in group.iter().enumerate() {
                for (t, token) in range.clone().enumerate() {
                    let row = bucket.row(s, t);
                    let tag = scratch.path[row];
                    tags[token] = tag;
                    token_scores[token] =
                        scratch.probabilities[row * width + usize::from(tag)].clamp(0.0, 1.0);
                }
            }
        }
    }

    /// Computes the tags' scores of a bucket.
    fn scores(
        &self,
        bucket: &Bucket,
        group: &[Range<usize>],
        predictions: &[u16],
        scratch: &mut StackedScratch,
    ) {
        let (rows, width, members) = (bucket.rows(), self.lower.gates_width(), self.shape.members);
        let gates = self.lower.gates_of(rows, &mut scratch.lower);
        for ((gates, nothing), more) in gates.into_iter().zip(&self.nothing).zip(&self.more) {
            for t in 0..bucket.steps() {
                for (s, row) in bucket.step(t).enumerate() {
                    let to = &mut gates[row * width..(row + 1) * width];
                    to.copy_from_slice(nothing);
                    let predictions = &predictions[(group[s].start + t) * members..][..members];
                    for (member, &tag) in predictions.iter().enumerate().filter(|(_, tag)| **tag != 0) {
                        let from = &more[self.shape.row(member, tag) * width..][..width];
                        to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
                    }
                }
            }
        }
        self.lower.recur(bucket, false, &mut scratch.lower);
        let (states, stride) = (&scratch.lower.hidden, self.lower.width());
        self.upper
            .forward(bucket, states, stride, false, &mut scratch.upper);
        let (states, stride) = (&scratch.upper.hidden, self.upper.width());
        self.out.apply(rows, states, stride, &mut scratch.scores);
    }
}
