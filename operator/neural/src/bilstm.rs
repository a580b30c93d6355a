//! A bidirectional LSTM layer over a bucket, forward and backward, on the kernels.

use std::ops::Range;

use lethe_kernel::{
    Affine, Back, Buffer, ByteStep, ByteSteps, Gates, Isa, Matrix, Step, add_outer, back_step, step,
};

use crate::bucket::Bucket;
use crate::precision::{Rounded, round};

/// One direction's weights in row-major order: `input` is inputs x 4 hidden, `recurrent` hidden x 4 hidden,
/// `bias` 4 hidden; columns are grouped by gate: input, forget, update, output.
#[derive(Clone, Copy)]
pub struct Weights<'a> {
    /// The weights from inputs to gates.
    pub input: &'a [f32],
    /// The weights from the previous hidden states to gates.
    pub recurrent: &'a [f32],
    /// The biases of the gates.
    pub bias: &'a [f32],
}

/// A layer packed for running. Its output has [`BiLstm::width`] numbers per row: forward, then backward, each
/// padded.
#[derive(Clone)]
pub struct BiLstm {
    gates: Gates,
    inputs: usize,
    sides: [Side; 2],
}

#[derive(Clone)]
struct Side {
    input: Affine,
    recurrent: Matrix,
}

/// The results of a pass over a bucket, with buffers that are reused for the next bucket.
#[derive(Clone, Default)]
pub struct Trace {
    gates: [Buffer; 2],
    cells: [Buffer; 2],
    /// The hidden states, [`BiLstm::width`] per row.
    pub hidden: Buffer,
    /// The same as bytes, if the layer ran with those.
    pub bytes: Vec<u8>,
}

impl Trace {
    /// Returns the bytes of memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        let buffers = self.gates.iter().chain(&self.cells).chain([&self.hidden]);
        buffers.map(Buffer::bytes).sum::<usize>() + self.bytes.capacity()
    }
}

impl BiLstm {
    /// Packs the weights of the two directions, forward first.
    pub fn new(isa: Isa, hidden: usize, weights: [Weights<'_>; 2]) -> Self {
        let gates = Gates { hidden, isa };
        let plain = 4 * hidden;
        let pack = |rows: &[f32]| {
            Matrix::pack(isa, rows.len() / plain, gates.width(), |row, line| {
                gates.gather(&rows[row * plain..(row + 1) * plain], line);
            })
        };
        let sides = weights.map(|w| {
            let mut bias = vec![0.0; gates.width()];
            gates.gather(w.bias, &mut bias);
            Side {
                input: Affine::new(pack(w.input), &bias),
                recurrent: pack(w.recurrent),
            }
        });
        Self {
            gates,
            inputs: weights[0].input.len() / plain,
            sides,
        }
    }

    /// Returns the numbers per row of hidden states.
    pub const fn width(&self) -> usize {
        2 * self.gates.padded()
    }

    /// Returns the numbers per row of one direction's gates.
    pub const fn gates_width(&self) -> usize {
        self.gates.width()
    }

    /// Returns the column of unit `unit` of 2 x hidden (forward, then backward) in a row of hidden states.
    pub const fn column(&self, unit: usize) -> usize {
        let hidden = self.gates.hidden;
        if unit < hidden {
            unit
        } else {
            self.gates.padded() + unit - hidden
        }
    }

    /// Appends the contributions of `rows` rows of inputs, `stride` apart, to each direction's gates: rows of
    /// [`BiLstm::gates_width`]. With `bias` this is the gates' whole input, without it a part to be added to
    /// one.
    pub fn project(&self, rows: usize, inputs: &[f32], stride: usize, bias: bool, out: [&mut Buffer; 2]) {
        for (side, out) in self.sides.iter().zip(out) {
            if bias {
                side.input.append(rows, inputs, stride, out);
            } else {
                let old = out.len();
                out.resize(old + rows * self.gates.width());
                side.input.matrix().product(rows, inputs, stride, &mut out[old..]);
            }
        }
    }

    /// Runs over a bucket whose inputs are `stride` apart, in the bucket's order.
    pub fn forward(&self, bucket: &Bucket, inputs: &[f32], stride: usize, keep: bool, trace: &mut Trace) {
        for (side, gates) in self.sides.iter().zip(&mut trace.gates) {
            side.input.apply(bucket.rows(), inputs, stride, gates);
        }
        self.recur(bucket, keep, trace);
    }

    /// Returns the gates' inputs of a trace, forward and backward, for callers that compute the projection
    /// themselves and write all of them.
    pub fn gates_of<'t>(&self, rows: usize, trace: &'t mut Trace) -> [&'t mut [f32]; 2] {
        let [fore, back] = &mut trace.gates;
        fore.reuse(rows * self.gates.width());
        back.reuse(rows * self.gates.width());
        [fore, back]
    }

    /// Runs over a bucket whose gates' inputs are in the trace.
    pub fn recur(&self, bucket: &Bucket, keep: bool, trace: &mut Trace) {
        self.run(bucket, trace, |side, direction, rows, from, trace| {
            let to = rows.start;
            self.step(side, direction, rows, from, trace, to, keep);
        });
    }

    /// Runs over a bucket without keeping the gates: `fill` writes the inputs' contributions to those of some
    /// rows of a direction (0 forward, 1 backward), a row of [`BiLstm::gates_width`] each. So the gates take
    /// the memory of one step.
    pub fn recur_filled(
        &self,
        bucket: &Bucket,
        trace: &mut Trace,
        mut fill: impl FnMut(usize, Range<usize>, &mut [f32]),
    ) {
        let width = self.gates.width();
        self.run(bucket, trace, |side, direction, rows, from, trace| {
            let gates = &mut trace.gates[direction];
            gates.reuse(rows.len() * width);
            fill(direction, rows.clone(), gates);
            self.step(side, direction, rows, from, trace, 0, false);
        });
    }

    /// Rounds the recurrent weights of the two directions, forward first, which are hidden x 4 hidden.
    pub(crate) fn rounded(&self, recurrent: [&[f32]; 2]) -> [ByteSteps; 2] {
        recurrent.map(|weights| {
            let Rounded { weights, factors } = round(weights, 4 * self.gates.hidden, &[1.0]);
            ByteSteps::pack(self.gates, &weights, &factors)
        })
    }

    /// Runs as [`BiLstm::recur_filled`] does, but with rounded weights; leaves the hidden states as bytes.
    pub(crate) fn recur_bytes(
        &self,
        sides: &[ByteSteps; 2],
        bucket: &Bucket,
        trace: &mut Trace,
        mut fill: impl FnMut(usize, Range<usize>, &mut [f32]),
    ) {
        let (padded, width) = (self.gates.padded(), self.gates.width());
        let Trace {
            gates, cells, bytes, ..
        } = trace;
        bytes.resize(bucket.rows() * self.width(), 0);
        for (direction, steps) in sides.iter().enumerate() {
            let (gates, cells) = (&mut gates[direction], &mut cells[direction]);
            cells.reuse(bucket.rows() * padded);
            let mut run = |rows: usize, from: Option<usize>, to: usize| {
                gates.reuse(rows * width);
                fill(direction, to..to + rows, gates);
                steps.step(ByteStep {
                    rows,
                    from,
                    to,
                    hidden: bytes,
                    stride: 2 * padded,
                    column: direction * padded,
                    cells,
                    input: gates,
                });
            };
            each_step(bucket, direction, &mut run);
        }
    }

    /// Calls `each` with each step's rows and the first row of the previous step.
    fn run(
        &self,
        bucket: &Bucket,
        trace: &mut Trace,
        mut each: impl FnMut(&Side, usize, Range<usize>, Option<usize>, &mut Trace),
    ) {
        let rows = bucket.rows();
        trace.hidden.reuse(rows * self.width());
        for (direction, side) in self.sides.iter().enumerate() {
            trace.cells[direction].reuse(rows * self.gates.padded());
            each_step(
                bucket,
                direction,
                &mut |rows: usize, from: Option<usize>, to: usize| {
                    if rows > 0 {
                        each(side, direction, to..to + rows, from, trace);
                    }
                },
            );
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the operands of a step")]
    fn step(
        &self,
        side: &Side,
        direction: usize,
        rows: Range<usize>,
        from: Option<usize>,
        trace: &mut Trace,
        gates_at: usize,
        keep: bool,
    ) {
        let padded = self.gates.padded();
        step(
            self.gates,
            &side.recurrent,
            Step {
                rows: rows.len(),
                from,
                to: rows.start,
                hidden: &mut trace.hidden,
                stride: 2 * padded,
                column: direction * padded,
                cells: &mut trace.cells[direction],
                gates: &mut trace.gates[direction],
                gates_at,
                keep,
            },
        );
    }

    /// Computes the gradient of the layer: `above` is that of its hidden states ([`BiLstm::width`] per row).
    /// Adds to the weights' gradients, and to `d_inputs` (`columns` of the inputs per row) that of its
    /// inputs. Overwrites the gates.
    #[expect(clippy::too_many_arguments, reason = "the operands of a layer's gradient")]
    pub fn backward(
        &self,
        bucket: &Bucket,
        weights: [Weights<'_>; 2],
        inputs: &[f32],
        stride: usize,
        above: &[f32],
        trace: &mut Trace,
        grads: [[&mut [f32]; 3]; 2],
        d_inputs: &mut [f32],
    ) {
        let (rows, padded, width) = (bucket.rows(), self.gates.padded(), self.gates.width());
        let (isa, hidden) = (self.gates.isa, self.gates.hidden);
        let mut before = Buffer::zeros(rows * hidden);
        for (direction, (w, [g_input, g_recurrent, g_bias])) in weights.into_iter().zip(grads).enumerate() {
            let turned_recurrent = turned(isa, &self.gather(w.recurrent), width);
            let d_width = turned_recurrent.width();
            let sequences = bucket.lengths().len();
            let mut after = Buffer::zeros(sequences * d_width);
            let mut d_cells = Buffer::zeros(sequences * padded);
            before.fill(0.0);
            let gates = &mut trace.gates[direction];
            let mut run = |rows: usize, from: Option<usize>, to: usize, fresh: usize| {
                // `fresh` is the first of this step's sequences whose gradient begins here, or whose rows end
                // here.
                let shift = fresh * d_width;
                back_step(
                    self.gates,
                    Back {
                        rows,
                        from,
                        to,
                        above,
                        stride: 2 * padded,
                        column: direction * padded,
                        after: &after[shift..],
                        after_stride: d_width,
                        cells: &trace.cells[direction],
                        d_cells: &mut d_cells[fresh * padded..],
                        gates,
                    },
                );
                if let Some(from) = from {
                    let d = &mut after[shift..shift + rows * d_width];
                    d.fill(0.0);
                    turned_recurrent.product(rows, &gates[to * width..], width, d);
                    for r in 0..rows {
                        let at = (from + r) * 2 * padded + direction * padded;
                        before[(to + r) * hidden..][..hidden].copy_from_slice(&trace.hidden[at..at + hidden]);
                    }
                }
            };
            each_back_step(bucket, direction, &mut run);
            let mut sum = vec![0.0; (self.inputs + hidden) * width];
            let (d_input, d_recurrent) = sum.split_at_mut(self.inputs * width);
            add_outer(isa, rows, self.inputs, inputs, stride, gates, width, d_input);
            add_outer(isa, rows, hidden, &before, hidden, gates, width, d_recurrent);
            self.spread(d_input, g_input);
            self.spread(d_recurrent, g_recurrent);
            let mut bias = vec![0.0; width];
            for row in gates[..rows * width].chunks_exact(width) {
                bias.iter_mut().zip(row).for_each(|(sum, d)| *sum += d);
            }
            self.spread(&bias, g_bias);
            let turned = turned(isa, &self.gather(w.input), width);
            turned.product(rows, gates, width, d_inputs);
        }
    }

    /// Adds gradients in the gates' order to those in plain order.
    fn spread(&self, from: &[f32], to: &mut [f32]) {
        let rows = from.chunks_exact(self.gates.width());
        for (from, to) in rows.zip(to.chunks_exact_mut(4 * self.gates.hidden)) {
            self.gates.add_to_plain(from, to);
        }
    }

    /// Returns plain rows in the gates' order.
    fn gather(&self, plain: &[f32]) -> Vec<f32> {
        let (width, row) = (self.gates.width(), 4 * self.gates.hidden);
        let mut out = vec![0.0; plain.len() / row * width];
        for (from, to) in plain.chunks_exact(row).zip(out.chunks_exact_mut(width)) {
            self.gates.gather(from, to);
        }
        out
    }
}

/// Returns a packed transposed matrix: `rows` are `width` numbers apart and become columns.
pub(crate) fn turned(isa: Isa, rows: &[f32], width: usize) -> Matrix {
    Matrix::pack(isa, width, rows.len() / width, |column, line| {
        let column = rows.iter().skip(column).step_by(width);
        line.iter_mut().zip(column).for_each(|(to, from)| *to = *from);
    })
}

/// Calls `run(rows, from, to)` for each step of a direction (0 forward, 1 backward), in the order of reading.
fn each_step(bucket: &Bucket, direction: usize, run: &mut impl FnMut(usize, Option<usize>, usize)) {
    if direction == 0 {
        for t in 0..bucket.steps() {
            let now = bucket.step(t);
            let from = t.checked_sub(1).map(|t| bucket.step(t).start);
            run(now.len(), from, now.start);
        }
    } else {
        for t in (0..bucket.steps()).rev() {
            let (now, next) = (bucket.step(t), bucket.step(t + 1));
            run(next.len(), Some(next.start), now.start);
            run(now.len() - next.len(), None, now.start + next.len());
        }
    }
}

/// Works like [`each_step`], in reverse order; `run`'s last argument is the first of the sequences.
fn each_back_step(
    bucket: &Bucket,
    direction: usize,
    run: &mut impl FnMut(usize, Option<usize>, usize, usize),
) {
    if direction == 0 {
        for t in (0..bucket.steps()).rev() {
            let now = bucket.step(t);
            let from = t.checked_sub(1).map(|t| bucket.step(t).start);
            run(now.len(), from, now.start, 0);
        }
    } else {
        for t in 0..bucket.steps() {
            let (now, next) = (bucket.step(t), bucket.step(t + 1));
            run(next.len(), Some(next.start), now.start, 0);
            run(now.len() - next.len(), None, now.start + next.len(), next.len());
        }
    }
}

#[cfg(test)]
mod tests;
