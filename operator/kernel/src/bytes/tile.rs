//! The inner loops of products of bytes: a tile of rows by two vectors of columns, kept in registers.

use super::simd::{Bytes, PANEL};

/// What a layer reads and writes.
#[derive(Clone, Copy)]
pub(super) struct Task {
    pub(super) rows: usize,
    pub(super) taps: usize,
    pub(super) fours: usize,
    /// The distance between taps.
    pub(super) tap: usize,
    pub(super) input: *const u8,
    pub(super) input_stride: usize,
    pub(super) weights: *const i8,
    pub(super) panels: usize,
    pub(super) factors: *const f32,
    pub(super) biases: *const f32,
    pub(super) out: *mut f32,
    /// The columns of a row of `out`, of `per_unit` and of `bytes`.
    pub(super) width: usize,
    /// Only for [`residual`].
    pub(super) per_unit: *const f32,
    /// What is added to a sum times its factor before it is rounded.
    pub(super) zero: f32,
    /// Only for [`residual`].
    pub(super) bytes: *mut u8,
}

/// Writes a vector of sums as bytes.
///
/// # Safety
/// The vector lies within the task's rows and columns.
#[inline(always)]
unsafe fn to_bytes<S: Bytes>(t: &Task, at: usize, column: usize, sums: S::V) {
    // SAFETY: the function's own contract.
    unsafe {
        let scaled = S::mul(sums, S::load(t.per_unit.add(column)));
        let scaled = S::add(scaled, S::splat(t.zero));
        let limited = S::min(S::max(scaled, S::splat(0.0)), S::splat(127.0));
        S::store_bytes(t.bytes.add(at), limited);
    }
}

/// Computes rows `row` to `row + R` of a panel.
///
/// # Safety
/// The task's pointers must be valid for its sizes, of which these rows and this panel are a part.
#[expect(
    clippy::needless_range_loop,
    reason = "the indices are registers once unrolled"
)]
#[inline(always)]
unsafe fn tile<S: Bytes, const R: usize, const RESIDUAL: bool>(t: &Task, row: usize, panel: usize) {
    // SAFETY: the function's own contract; every access lies within the rows and the panel.
    unsafe {
        let mut sums = [[S::zeros(); PANEL]; R];
        let mut weights = t.weights.add(panel * t.taps * t.fours * 4 * PANEL * S::LANES);
        let rows = t.input.add(row * t.input_stride);
        for tap in 0..t.taps {
            let mut input = rows.add(tap * t.tap);
            for _ in 0..t.fours {
                let mut x = [S::zeros(); R];
                for (i, x) in x.iter_mut().enumerate() {
                    *x = S::splat_four(input.add(i * t.input_stride));
                }
                for j in 0..PANEL {
                    let w = S::load_weights(weights.add(4 * j * S::LANES));
                    for i in 0..R {
                        sums[i][j] = S::dot(sums[i][j], x[i], w);
                    }
                }
                input = input.wrapping_add(4);
                weights = weights.wrapping_add(4 * PANEL * S::LANES);
            }
        }
        // Constants of the columns first, and rows outside: so the compiler keeps the sums in registers.
        let first = panel * PANEL * S::LANES;
        let (mut factors, mut biases) = ([S::splat(0.0); PANEL], [S::splat(0.0); PANEL]);
        for (j, (factor, bias)) in factors.iter_mut().zip(&mut biases).enumerate() {
            *factor = S::load(t.factors.add(first + j * S::LANES));
            *bias = S::load(t.biases.add(first + j * S::LANES));
        }
        for (i, sums) in sums.iter().enumerate() {
            for (j, &sum) in sums.iter().enumerate() {
                let column = first + j * S::LANES;
                let at = (row + i) * t.width + column;
                let out = S::add(S::mul(S::single(sum), factors[j]), biases[j]);
                if RESIDUAL {
                    let sum = S::add(S::load(t.out.add(at)), S::max(out, S::splat(0.0)));
                    S::store(t.out.add(at), sum);
                    to_bytes::<S>(t, at, column, sum);
                } else {
                    S::store(t.out.add(at), out);
                }
            }
        }
    }
}

/// Runs the tiles of a task, each with as many rows as fit.
///
/// # Safety
/// As [`tile`], for all rows and panels, and the processor must have `S`.
#[inline(always)]
unsafe fn tiles<S: Bytes, const RESIDUAL: bool>(t: Task) {
    for panel in 0..t.panels {
        let mut row = 0;
        while row < t.rows {
            let left = t.rows - row;
            // The guards are constants, and keep tiles that are too high for the registers out of the program.
            // SAFETY: the function's own contract.
            row += unsafe {
                match left {
                    8.. if S::HEIGHT >= 8 => {
                        tile::<S, 8, RESIDUAL>(&t, row, panel);
                        8
                    }
                    4.. if S::HEIGHT >= 4 => {
                        tile::<S, 4, RESIDUAL>(&t, row, panel);
                        4
                    }
                    2.. if S::HEIGHT >= 2 => {
                        tile::<S, 2, RESIDUAL>(&t, row, panel);
                        2
                    }
                    _ => {
                        tile::<S, 1, RESIDUAL>(&t, row, panel);
                        1
                    }
                }
            };
        }
    }
}

/// # Safety
/// As [`tiles`].
#[inline(always)]
pub(super) unsafe fn affine<S: Bytes>(t: Task) {
    // SAFETY: the caller's.
    unsafe { tiles::<S, false>(t) }
}

/// # Safety
/// As [`tiles`]; `per_unit` and `bytes` must be valid too.
#[inline(always)]
pub(super) unsafe fn residual<S: Bytes>(t: Task) {
    // SAFETY: the caller's.
    unsafe { tiles::<S, true>(t) }
}

/// Writes the sums in `out`, which it only reads, as bytes.
///
/// # Safety
/// `out`, `per_unit` and `bytes` must be valid for the rows and panels, and the processor must have `S`.
#[inline(always)]
pub(super) unsafe fn narrow<S: Bytes>(t: Task) {
    for row in 0..t.rows {
        for vector in 0..t.panels * PANEL {
            let column = vector * S::LANES;
            let at = row * t.width + column;
            // SAFETY: the function's own contract.
            unsafe { to_bytes::<S>(&t, at, column, S::load(t.out.add(at))) }
        }
    }
}

/// What a step of an LSTM reads and writes.
#[derive(Clone, Copy)]
pub(super) struct StepTask {
    pub(super) rows: usize,
    /// The groups of four states to sum over, and those that the weights have.
    pub(super) fours: usize,
    pub(super) all_fours: usize,
    pub(super) panels: usize,
    /// The states of the previous step.
    pub(super) before: *const u8,
    /// The distance between rows of states.
    pub(super) stride: usize,
    pub(super) weights: *const i8,
    pub(super) factors: *const f32,
    pub(super) corrections: *const i32,
    pub(super) input: *const f32,
    /// The columns of a row of `input`.
    pub(super) width: usize,
    /// Null at a sequence's beginning.
    pub(super) cells_before: *const f32,
    pub(super) cells: *mut f32,
    /// The columns of a row of cells.
    pub(super) padded: usize,
    pub(super) hidden: *mut u8,
}

/// Takes rows `row` to `row + R` of a panel a step forward.
///
/// # Safety
/// The task's pointers must be valid for its sizes, of which these rows and this panel are a part.
#[expect(
    clippy::needless_range_loop,
    reason = "the indices are registers once unrolled"
)]
#[inline(always)]
unsafe fn step_rows<S: Bytes, const R: usize>(t: &StepTask, row: usize, panel: usize) {
    // SAFETY: the function's own contract; every access lies within the rows and the panel.
    unsafe {
        let column = panel * 4 * S::LANES;
        let mut first = [S::zeros(); 4];
        if t.fours > 0 {
            for (j, first) in first.iter_mut().enumerate() {
                *first = S::load_sums(t.corrections.add(column + j * S::LANES));
            }
        }
        let mut sums = [first; R];
        let mut weights = t.weights.add(panel * t.all_fours * 16 * S::LANES);
        let mut states = t.before.add(row * t.stride);
        for _ in 0..t.fours {
            let mut x = [S::zeros(); R];
            for (i, x) in x.iter_mut().enumerate() {
                *x = S::splat_four(states.add(i * t.stride));
            }
            // One vector of weights at a time: with sixteen registers there is room for no more.
            for j in 0..4 {
                let w = S::load_weights(weights.add(4 * j * S::LANES));
                for i in 0..R {
                    sums[i][j] = S::dot(sums[i][j], x[i], w);
                }
            }
            states = states.wrapping_add(4);
            weights = weights.wrapping_add(16 * S::LANES);
        }
        let (one, units) = (S::splat(1.0), S::splat(f32::from(super::lstm::UNITS)));
        let zero = S::splat(f32::from(super::lstm::ZERO));
        let mut factors = [one; 4];
        for (j, factor) in factors.iter_mut().enumerate() {
            *factor = S::load(t.factors.add(column + j * S::LANES));
        }
        for (i, sums) in sums.iter().enumerate() {
            let mut gates = [one; 4];
            for (j, (gate, &sum)) in gates.iter_mut().zip(sums).enumerate() {
                let input = S::load(t.input.add((row + i) * t.width + column + j * S::LANES));
                *gate = S::fma(S::single(sum), factors[j], input);
            }
            let at = (row + i) * t.padded + panel * S::LANES;
            // With `a` to `e` as powers of e: input * update is (1 - b) / ((1 + a) (1 + b)), so that two functions share
            // one reciprocal.
            let (a, b) = (power::<S>(gates[0], -1.0), power::<S>(gates[2], -2.0));
            let both = S::mul(S::add(one, a), S::add(one, b));
            let mut cell = S::mul(S::sub(one, b), S::reciprocal(both));
            if !t.cells_before.is_null() {
                let forget = S::reciprocal(S::add(one, power::<S>(gates[1], -1.0)));
                cell = S::fma(forget, S::load(t.cells_before.add(at)), cell);
            }
            S::store(t.cells.add(at), cell);
            let (d, e) = (power::<S>(gates[3], -1.0), power::<S>(cell, -2.0));
            let both = S::mul(S::add(one, d), S::add(one, e));
            let hidden = S::mul(S::sub(one, e), S::reciprocal(both));
            let to = t.hidden.add((row + i) * t.stride + panel * S::LANES);
            S::store_bytes(to, S::fma(hidden, units, zero));
        }
    }
}

/// Returns `e` to the power of `times * a`, with a relative error below 1e-5: enough for states of seven bits.
///
/// # Safety
/// The processor must have `S`.
#[inline(always)]
unsafe fn power<S: Bytes>(a: S::V, times: f32) -> S::V {
    // SAFETY: the caller's.
    unsafe {
        // Beyond 2^60 a gate is closed or open, and the product of two powers is still finite.
        let a = S::mul(a, S::splat(times * std::f32::consts::LOG2_E));
        let a = S::max(S::min(a, S::splat(60.0)), S::splat(-60.0));
        let n = S::round(a);
        let f = S::sub(a, n);
        // 2^f for |f| <= 1/2, with the coefficients that interpolate (2^f - 1) / f at the four Chebyshev nodes.
        let mut p = S::splat(0.009_656_71);
        for c in [0.055_838_283, 0.240_225_3, 0.693_136_7, 1.0] {
            p = S::fma(p, f, S::splat(c));
        }
        S::scale(p, n)
    }
}

/// # Safety
/// As [`step_rows`], for all rows and panels, and the processor must have `S`.
#[inline(always)]
pub(super) unsafe fn step<S: Bytes>(t: StepTask) {
    for panel in 0..t.panels {
        let mut row = 0;
        while row < t.rows {
            let left = t.rows - row;
            // SAFETY: the function's own contract.
            row += unsafe {
                match left {
                    6.. if S::HEIGHT >= 6 => {
                        step_rows::<S, 6>(&t, row, panel);
                        6
                    }
                    4.. if S::HEIGHT >= 6 => {
                        step_rows::<S, 4>(&t, row, panel);
                        4
                    }
                    2.. if S::HEIGHT >= 2 => {
                        step_rows::<S, 2>(&t, row, panel);
                        2
                    }
                    _ => {
                        step_rows::<S, 1>(&t, row, panel);
                        1
                    }
                }
            };
        }
    }
}
