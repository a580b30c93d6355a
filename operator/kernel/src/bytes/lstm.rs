//! One time step of an LSTM whose hidden states and recurrent weights are bytes: as [`crate::step`], without a backward
//! pass.

use super::simd::{dispatch, place};
use super::tile::{StepTask, step as step_tile};
use super::{LARGEST, Line, whole};
use crate::{Buffer, Gates, Isa};

/// The byte of a hidden state of 0; one of 1 has [`LARGEST`].
pub const ZERO: u8 = LARGEST - UNITS;
/// The units that a hidden state of 1 has.
pub const UNITS: u8 = 63;

/// The recurrent weights of an LSTM, in eight bits.
#[derive(Clone)]
pub struct ByteSteps {
    gates: Gates,
    fours: usize,
    /// Panels of the four gates of one vector of units, as the gates are laid out.
    weights: Vec<Line>,
    factors: Buffer,
    /// Minus what all states of 0 add to the sum of a gate: their bytes are not 0.
    corrections: Vec<i32>,
}

/// The inputs and outputs of a step. Rows of `hidden` and `cells` are tokens in time-major order.
pub struct ByteStep<'a> {
    /// Sequences that have this step.
    pub rows: usize,
    /// The first row of the previous step; `None` at the sequences' beginning.
    pub from: Option<usize>,
    /// The first row of this step.
    pub to: usize,
    /// Hidden states as bytes: 63 times their value, plus 64. A row has `stride` of them, this direction's begin at `column`.
    pub hidden: &'a mut [u8],
    /// The length of a row of `hidden`.
    pub stride: usize,
    /// The first column of this direction in a row of `hidden`.
    pub column: usize,
    /// The cells, [`Gates::padded`] per row.
    pub cells: &'a mut [f32],
    /// The gates' input, [`Gates::width`] per row, from the first row of the step on.
    pub input: &'a [f32],
}

impl ByteSteps {
    /// Returns the instruction set that has steps of bytes.
    pub fn isa(isa: Isa) -> Isa {
        whole(isa)
    }

    /// Packs weights: `hidden` rows of `4 * hidden` numbers, grouped by gate, that `factors`, one per column, turn into
    /// weights.
    ///
    /// # Panics
    /// If the number of weights or factors is another, or the instruction set of the gates has no steps of bytes.
    pub fn pack(gates: Gates, weights: &[i8], factors: &[f32]) -> Self {
        let (plain, fours) = (4 * gates.hidden, gates.hidden.div_ceil(4));
        assert!(
            weights.len() == gates.hidden * plain && factors.len() == plain && whole(gates.isa) == gates.isa,
            "a layer has a weight for each state and gate"
        );
        let lanes = gates.isa.lanes();
        let panel = 4 * lanes;
        let mut lines = vec![Line([0; 64]); (fours * 4 * gates.width()).div_ceil(64)];
        let mut sums = vec![0_i32; plain];
        for (state, row) in weights.chunks_exact(plain.max(1)).enumerate() {
            sums.iter_mut()
                .zip(row)
                .for_each(|(sum, &weight)| *sum += i32::from(weight));
            for (from, to, len) in gates.runs() {
                for (column, &weight) in (to..).zip(&row[from..from + len]) {
                    let (before, vector) = (column / panel * fours + state / 4, column % panel / lanes);
                    let at = (before * 4 + vector) * 4 * lanes + place(gates.isa, column % lanes, state % 4);
                    lines[at / 64].0[at % 64] = weight;
                }
            }
        }
        let scaled: Vec<f32> = factors.iter().map(|factor| factor / f32::from(UNITS)).collect();
        let mut in_order = Buffer::zeros(gates.width());
        gates.gather(&scaled, &mut in_order);
        let mut corrections = vec![0; gates.width()];
        for (from, to, len) in gates.runs() {
            for (correction, sum) in corrections[to..to + len].iter_mut().zip(&sums[from..]) {
                *correction = -sum * i32::from(ZERO);
            }
        }
        Self {
            gates,
            fours,
            weights: lines,
            factors: in_order,
            corrections,
        }
    }

    /// Takes a step forward.
    ///
    /// # Panics
    /// If a slice is too short for its rows or the two steps' rows overlap.
    pub fn step(&self, s: ByteStep<'_>) {
        if s.rows == 0 {
            return;
        }
        let (padded, width) = (self.gates.padded(), self.gates.width());
        let last = s.to.max(s.from.unwrap_or(0)) + s.rows;
        let apart = s
            .from
            .is_none_or(|from| from + s.rows <= s.to || s.to + s.rows <= from);
        assert!(
            apart
                && s.column + padded.max(4 * self.fours) <= s.stride
                && s.hidden.len() >= last * s.stride
                && s.cells.len() >= last * padded
                && s.input.len() >= s.rows * width,
            "a step's rows lie in its slices"
        );
        let (hidden, cells) = (s.hidden.as_mut_ptr(), s.cells.as_mut_ptr());
        // SAFETY: every offset lies in its slice by the assertion above.
        let task = unsafe {
            StepTask {
                rows: s.rows,
                // At a sequence's beginning there is no state: a sum over none.
                fours: if s.from.is_some() { self.fours } else { 0 },
                all_fours: self.fours,
                panels: padded / self.gates.isa.lanes(),
                before: hidden
                    .add(s.from.unwrap_or(s.to) * s.stride + s.column)
                    .cast_const(),
                stride: s.stride,
                weights: self.weights.as_ptr().cast(),
                factors: self.factors.as_ptr(),
                corrections: self.corrections.as_ptr(),
                input: s.input.as_ptr(),
                width,
                cells_before: s
                    .from
                    .map_or(std::ptr::null(), |from| cells.add(from * padded).cast_const()),
                cells: cells.add(s.to * padded),
                padded,
                hidden: hidden.add(s.to * s.stride + s.column),
            }
        };
        // SAFETY: the rows read (`from`) and written (`to`) are apart and in bounds; the instruction set is one that an
        // `Isa` exists for, with products of bytes by the assertion of `pack`.
        unsafe { dispatch!(self.gates.isa, step_tile(task: StepTask)) }
    }
}

impl std::fmt::Debug for ByteSteps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ByteSteps({} units)", self.gates.hidden)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::numbers;
    use crate::{Matrix, Step, step};

    /// Runs two steps of `rows` sequences, with bytes and with the numbers that the bytes stand for.
    #[test]
    fn a_step_of_bytes_is_that_of_the_numbers_that_they_stand_for_on_every_instruction_set() {
        for isa in Isa::all().into_iter().filter(|&isa| whole(isa) == isa) {
            for (hidden, rows) in [(1, 1), (5, 3), (17, 6), (100, 13)] {
                let gates = Gates { hidden, isa };
                let (padded, width, plain) = (gates.padded(), gates.width(), 4 * hidden);
                let weights: Vec<i8> = numbers(hidden * plain, 1)
                    .iter()
                    .map(|x| (x * 127.0) as i8)
                    .collect();
                let factors: Vec<f32> = numbers(plain, 2)
                    .iter()
                    .map(|x| 0.001 + 0.002 * x.abs())
                    .collect();
                let exact: Vec<f32> = weights
                    .iter()
                    .zip(factors.iter().cycle())
                    .map(|(&w, f)| f32::from(w) * f)
                    .collect();
                let recurrent = Matrix::pack(isa, hidden, width, |row, line| {
                    gates.gather(&exact[row * plain..(row + 1) * plain], line);
                });
                let mut inputs = vec![0.0; 2 * rows * width];
                for row in inputs.chunks_exact_mut(width) {
                    gates.gather(&numbers(plain, 3), row);
                }
                let steps = ByteSteps::pack(gates, &weights, &factors);
                let stride = (3 + padded).next_multiple_of(4) + 4;
                let (mut bytes, mut cells) = (vec![ZERO; 2 * rows * stride], vec![0.0; 2 * rows * padded]);
                let (mut states, mut other) = (vec![0.0; 2 * rows * stride], cells.clone());
                for (from, to) in [(None, 0), (Some(0), rows)] {
                    steps.step(ByteStep {
                        rows,
                        from,
                        to,
                        hidden: &mut bytes,
                        stride,
                        column: 3,
                        cells: &mut cells,
                        input: &inputs[to * width..],
                    });
                    step(
                        gates,
                        &recurrent,
                        Step {
                            rows,
                            from,
                            to,
                            hidden: &mut states,
                            stride,
                            column: 3,
                            cells: &mut other,
                            gates: &mut inputs.clone(),
                            gates_at: to,
                            keep: false,
                        },
                    );
                    for row in to..to + rows {
                        for unit in 0..hidden {
                            let (byte, state) = (
                                &mut bytes[row * stride + 3 + unit],
                                &mut states[row * stride + 3 + unit],
                            );
                            let units = (f32::from(*byte) - f32::from(ZERO)) / f32::from(UNITS);
                            assert!(
                                (units - *state).abs() <= 0.501 / f32::from(UNITS),
                                "{} {units} {state}",
                                isa.name()
                            );
                            let (cell, other) = (cells[row * padded + unit], other[row * padded + unit]);
                            assert!((cell - other).abs() < 1e-4, "{cell} {other}");
                            // Both go on from the same state.
                            *state = units;
                        }
                    }
                }
            }
        }
    }
}
