//! Products of bytes, summed exactly in whole numbers: a network with weights of eight bits and activations of seven.
//!
//! All instruction sets give the same numbers, bit for bit: sums are of whole numbers, and what follows (a factor, a
//! bias, rounding) is done number by number, without fused operations. Activations have seven bits because AVX2 adds
//! two products in sixteen bits, which those of two bytes of eight bits may exceed.

mod lstm;
mod simd;
mod tile;

pub use lstm::{ByteStep, ByteSteps, UNITS, ZERO};
use simd::{PANEL, dispatch, place};
use tile::{Task, affine, narrow, residual};

use crate::isa::Kind;
use crate::{Buffer, Isa};

/// The largest activation.
pub const LARGEST: u8 = 127;

/// One cache line of weights.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([i8; 64]);

/// A layer with weights of eight bits: `f(k)` = the sum over the inputs of a row, times the factor of column `k`, plus
/// its bias.
///
/// The inputs of a row lie in one or several *taps*: runs of bytes at a fixed distance, such as a token and its
/// neighbours.
#[derive(Clone)]
pub struct ByteLayer {
    isa: Isa,
    taps: usize,
    /// Groups of four inputs of a tap.
    fours: usize,
    width: usize,
    /// Panels of two vectors of columns; each has, for four inputs at a time, the weights of its columns.
    weights: Vec<Line>,
    factors: Buffer,
    biases: Buffer,
}

/// The input of a layer: rows of bytes.
#[derive(Clone, Copy, Debug)]
pub struct ByteRows<'a> {
    /// The bytes, from 0 to [`LARGEST`].
    pub bytes: &'a [u8],
    /// The number of rows.
    pub rows: usize,
    /// The distance between rows.
    pub stride: usize,
    /// The distance between the taps of a row.
    pub tap: usize,
}

/// The output of [`ByteLayer::add_positive`].
#[derive(Debug)]
pub struct Activations<'a> {
    /// The sums so far, [`ByteLayer::width`] per row.
    pub sums: &'a mut [f32],
    /// The factors of columns that turn a sum into a byte, [`ByteLayer::width`] of them.
    pub per_unit: &'a [f32],
    /// The sums as bytes, [`ByteLayer::width`] per row.
    pub bytes: &'a mut [u8],
}

impl ByteLayer {
    /// Packs the weights of `columns` columns, one row per input: the rows of the first tap, then those of the next.
    /// Padding columns give 0.
    ///
    /// # Panics
    /// If the number of weights is not `taps * inputs * columns`, or the numbers of factors and biases are not `columns`.
    pub fn pack(
        isa: Isa,
        taps: usize,
        inputs: usize,
        weights: &[i8],
        factors: &[f32],
        biases: &[f32],
    ) -> Self {
        let isa = whole(isa);
        let (columns, lanes) = (factors.len(), isa.lanes());
        assert!(
            weights.len() == taps * inputs * columns && biases.len() == columns,
            "a layer has a weight for each input and column"
        );
        let width = byte_columns(columns, isa);
        let (fours, panel) = (inputs.div_ceil(4), PANEL * lanes);
        let mut packed = vec![Line([0; 64]); (taps * fours * 4 * width).div_ceil(64)];
        for (row, line) in weights.chunks_exact(columns.max(1)).enumerate() {
            let (tap, input) = (row / inputs, row % inputs);
            let group = tap * fours + input / 4;
            for (column, &weight) in line.iter().enumerate() {
                let (before, vector) = (column / panel * taps * fours + group, column % panel / lanes);
                let at = (before * PANEL + vector) * 4 * lanes + place(isa, column % lanes, input % 4);
                packed[at / 64].0[at % 64] = weight;
            }
        }
        let padded = |numbers: &[f32]| {
            let mut all = Buffer::zeros(width);
            all[..columns].copy_from_slice(numbers);
            all
        };
        Self {
            isa,
            taps,
            fours,
            width,
            weights: packed,
            factors: padded(factors),
            biases: padded(biases),
        }
    }

    /// Returns the columns of its output, of which the last ones may be padding.
    pub const fn width(&self) -> usize {
        self.width
    }

    /// Writes the layer's output, [`ByteLayer::width`] numbers per row.
    ///
    /// # Panics
    /// If a slice is too short.
    pub fn apply(&self, input: ByteRows<'_>, out: &mut [f32]) {
        let Some(task) = self.task(input, out) else { return };
        // SAFETY: `task` checked every size; `out` is borrowed mutably and so apart from the input.
        unsafe { dispatch!(self.isa, affine(task: Task)) }
    }

    /// Adds the positive part of the layer's output to the sums, and writes these as bytes: times their factors,
    /// rounded to the nearest (ties to even), and limited to [`LARGEST`].
    ///
    /// # Panics
    /// If a slice is too short.
    pub fn add_positive(&self, input: ByteRows<'_>, out: Activations<'_>) {
        let Some(mut task) = self.task(input, out.sums) else {
            return;
        };
        assert!(
            out.per_unit.len() >= self.width && out.bytes.len() >= input.rows * self.width,
            "the activations have all their rows"
        );
        task.per_unit = out.per_unit.as_ptr();
        task.bytes = out.bytes.as_mut_ptr();
        // SAFETY: as in `apply`, and the bytes, borrowed mutably too, have all rows.
        unsafe { dispatch!(self.isa, residual(task: Task)) }
    }

    /// Returns the task without bytes to write, or `None` without rows.
    fn task(&self, input: ByteRows<'_>, out: &mut [f32]) -> Option<Task> {
        let last = input.rows.checked_sub(1)?;
        assert!(
            input.bytes.len() >= last * input.stride + (self.taps - 1) * input.tap + 4 * self.fours
                && out.len() >= input.rows * self.width,
            "the input and the output have all their rows"
        );
        Some(Task {
            rows: input.rows,
            taps: self.taps,
            fours: self.fours,
            tap: input.tap,
            input: input.bytes.as_ptr(),
            input_stride: input.stride,
            weights: self.weights.as_ptr().cast(),
            panels: self.width / (PANEL * self.isa.lanes()),
            factors: self.factors.as_ptr(),
            biases: self.biases.as_ptr(),
            out: out.as_mut_ptr(),
            width: self.width,
            per_unit: std::ptr::null(),
            zero: 0.0,
            bytes: std::ptr::null_mut(),
        })
    }
}

/// Writes sums as bytes, as [`ByteLayer::add_positive`] does, but after adding `zero`. There is one factor for each number
/// of a row.
///
/// # Panics
/// If `bytes` is too short, or the length of a row is not one of [`byte_columns`], or the sums are not whole rows.
pub fn to_bytes(isa: Isa, sums: &[f32], per_unit: &[f32], zero: u8, bytes: &mut [u8]) {
    let (isa, width) = (whole(isa), per_unit.len());
    assert!(
        width == byte_columns(width, isa)
            && sums.len().is_multiple_of(width.max(1))
            && bytes.len() >= sums.len(),
        "the activations have all their rows"
    );
    if width == 0 {
        return;
    }
    let task = Task {
        rows: sums.len() / width,
        taps: 0,
        fours: 0,
        tap: 0,
        input: std::ptr::null(),
        input_stride: 0,
        weights: std::ptr::null(),
        panels: width / (PANEL * isa.lanes()),
        factors: std::ptr::null(),
        biases: std::ptr::null(),
        // Only read.
        out: sums.as_ptr().cast_mut(),
        width,
        per_unit: per_unit.as_ptr(),
        zero: f32::from(zero),
        bytes: bytes.as_mut_ptr(),
    };
    // SAFETY: the assertion checked every size; `bytes` is borrowed mutably and so apart from the sums.
    unsafe { dispatch!(isa, narrow(task: Task)) }
}

/// Returns the columns of a layer's output with padding: whole panels.
pub fn byte_columns(columns: usize, isa: Isa) -> usize {
    columns.next_multiple_of(PANEL * whole(isa).lanes())
}

/// Returns the instruction set that has products of bytes: AVX-512 alone does not.
fn whole(isa: Isa) -> Isa {
    #[cfg(target_arch = "x86_64")]
    if isa.0 == Kind::Avx512 && !is_x86_feature_detected!("avx512vnni") {
        return Isa(Kind::Avx2);
    }
    isa
}

impl std::fmt::Debug for ByteLayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            taps, fours, width, ..
        } = self;
        write!(
            f,
            "ByteLayer({taps} taps of {} inputs, {width} columns)",
            4 * fours
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::numbers;

    fn signed(len: usize, seed: u64) -> Vec<i8> {
        numbers(len, seed)
            .iter()
            .map(|x| (x * 127.0).round() as i8)
            .collect()
    }

    fn unsigned(len: usize, seed: u64) -> Vec<u8> {
        numbers(len, seed)
            .iter()
            .map(|x| (x.abs() * 127.0).round() as u8)
            .collect()
    }

    /// The layer, number by number.
    fn plainly(
        input: ByteRows<'_>,
        (taps, inputs, columns): (usize, usize, usize),
        weights: &[i8],
        factors: &[f32],
        biases: &[f32],
    ) -> Vec<f32> {
        let mut out = Vec::new();
        for row in 0..input.rows {
            for column in 0..columns {
                let mut sum = 0_i32;
                for tap in 0..taps {
                    for i in 0..inputs {
                        let x = input.bytes[row * input.stride + tap * input.tap + i];
                        sum += i32::from(x) * i32::from(weights[(tap * inputs + i) * columns + column]);
                    }
                }
                out.push(sum as f32 * factors[column] + biases[column]);
            }
        }
        out
    }

    #[test]
    fn every_instruction_set_gives_the_numbers_of_plain_loops_bit_for_bit() {
        for isa in Isa::all() {
            for (rows, taps, inputs, columns) in [
                (1, 1, 4, 1),
                (7, 1, 5, 17),
                (8, 3, 16, 32),
                (21, 3, 96, 96),
                (13, 1, 96, 121),
            ] {
                let weights = signed(taps * inputs * columns, 1);
                let (factors, biases) = (numbers(columns, 2), numbers(columns, 3));
                let (stride, tap) = (inputs.next_multiple_of(4), 2 * inputs.next_multiple_of(4));
                let bytes = unsigned(rows * stride + taps * tap, 4);
                let input = ByteRows {
                    bytes: &bytes,
                    rows,
                    stride,
                    tap,
                };
                let expected = plainly(input, (taps, inputs, columns), &weights, &factors, &biases);
                let layer = ByteLayer::pack(isa, taps, inputs, &weights, &factors, &biases);
                let width = layer.width();
                let mut out = vec![f32::NAN; rows * width];
                layer.apply(input, &mut out);
                for (row, expected) in out.chunks_exact(width).zip(expected.chunks_exact(columns)) {
                    assert_eq!(
                        &row[..columns],
                        expected,
                        "{} {rows} {taps} {inputs} {columns}",
                        isa.name()
                    );
                    assert!(row[columns..].iter().all(|&padding| padding == 0.0));
                }

                let start = numbers(rows * width, 5);
                let (mut sums, mut found) = (start.clone(), vec![255; rows * width]);
                let per_unit: Vec<f32> = numbers(width, 6).iter().map(|x| x.abs() / 500.0 + 0.01).collect();
                let activations = Activations {
                    sums: &mut sums,
                    per_unit: &per_unit,
                    bytes: &mut found,
                };
                layer.add_positive(input, activations);
                for row in 0..rows {
                    for column in 0..columns {
                        let at = row * width + column;
                        let sum = start[at] + expected[row * columns + column].max(0.0);
                        assert_eq!(sums[at], sum);
                        let byte = (sum * per_unit[column]).clamp(0.0, 127.0).round_ties_even();
                        assert_eq!(f32::from(found[at]), byte, "{sum}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_largest_sums_of_bytes_do_not_overflow() {
        for isa in Isa::all() {
            let layer = ByteLayer::pack(isa, 3, 96, &[-127; 3 * 96], &[1.0], &[0.0]);
            let bytes = [LARGEST; 3 * 96];
            let mut out = vec![0.0; layer.width()];
            let input = ByteRows {
                bytes: &bytes,
                rows: 1,
                stride: 96,
                tap: 96,
            };
            layer.apply(input, &mut out);
            assert_eq!(out[0], -127.0 * 127.0 * 288.0);
        }
    }

    #[test]
    #[should_panic(expected = "all their rows")]
    fn an_input_that_is_too_short_is_refused() {
        let layer = ByteLayer::pack(Isa::best(), 3, 8, &[1; 24], &[1.0], &[0.0]);
        let mut out = vec![0.0; 2 * layer.width()];
        let input = ByteRows {
            bytes: &[0; 31],
            rows: 2,
            stride: 8,
            tap: 8,
        };
        layer.apply(input, &mut out);
    }
}
