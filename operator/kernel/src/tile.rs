//! The inner loops, generic over the vector: a tile of rows by four vectors of columns, kept in registers.
//!
//! The safe functions of `matrix` and `lstm` check pointers and sizes.

use super::simd::Simd;

/// `c = first + a b`, or `c = c + max_k (a_k + b_k)`, with `b` in panels of four vectors of columns.
#[derive(Clone, Copy)]
pub(super) struct Task {
    pub(super) rows: usize,
    pub(super) k: usize,
    pub(super) a: *const f32,
    /// The distance between rows.
    pub(super) a_stride: usize,
    /// The distance between terms of the sum.
    pub(super) a_step: usize,
    pub(super) b: *const f32,
    /// The distance between terms of the sum.
    pub(super) b_step: usize,
    /// The distance between panels.
    pub(super) b_panel: usize,
    pub(super) panels: usize,
    /// The initial values of a product's sums: `c` itself, or other rows.
    pub(super) first: *const f32,
    pub(super) first_stride: usize,
    pub(super) c: *mut f32,
    pub(super) c_stride: usize,
}

/// Computes one tile's sums: rows `r` to `r + R` of a panel.
///
/// # Safety
/// The task's `a` and `b` must hold these rows and this panel.
#[expect(
    clippy::needless_range_loop,
    reason = "the indices are registers once unrolled"
)]
#[inline(always)]
unsafe fn tile<S: Simd, const R: usize, const BEST: bool>(
    t: &Task,
    r: usize,
    panel: usize,
    mut acc: [[S::V; 4]; R],
) -> [[S::V; 4]; R] {
    // SAFETY: the function's own contract; every read lies within the rows and the panel.
    unsafe {
        let mut a = t.a.add(r * t.a_stride);
        let mut b = t.b.add(panel * t.b_panel);
        for _ in 0..t.k {
            let mut x = [S::splat(0.0); R];
            for (i, x) in x.iter_mut().enumerate() {
                *x = S::splat(*a.add(i * t.a_stride));
            }
            // One vector of `b` at a time: with sixteen registers there is room for no more.
            for j in 0..4 {
                let w = S::load(b.add(j * S::LANES));
                for i in 0..R {
                    acc[i][j] = if BEST {
                        S::max(acc[i][j], S::add(x[i], w))
                    } else {
                        S::fma(x[i], w, acc[i][j])
                    };
                }
            }
            a = a.wrapping_add(t.a_step);
            b = b.wrapping_add(t.b_step);
        }
        acc
    }
}

/// Runs `$run::<.., R>` for as many rows as remain, at most `S::ROWS`.
macro_rules! by_rows {
    ($rows:expr, $S:ident, |$r:ident, $R:ident| $body:expr) => {{
        let mut $r = 0;
        while $r < $rows {
            let left = ($rows - $r).min($S::ROWS);
            macro_rules! arm {
                ($n:literal) => {{
                    const $R: usize = $n;
                    $body
                }};
            }
            // The guards are constants: they keep tiles that are too high for the registers, which would
            // never run, out of the register allocation for the others.
            match left {
                1 => arm!(1),
                2 if $S::ROWS >= 2 => arm!(2),
                3 if $S::ROWS >= 3 => arm!(3),
                4 if $S::ROWS >= 4 => arm!(4),
                5 if $S::ROWS >= 5 => arm!(5),
                6 if $S::ROWS >= 6 => arm!(6),
                _ => unreachable!("a tile has at most the rows of its vector type"),
            }
            $r += left;
        }
    }};
}

/// # Safety
/// The task's pointers must be valid for its sizes, and `c` must not overlap the others.
#[inline(always)]
unsafe fn product_rows<S: Simd, const R: usize, const BEST: bool>(t: Task, r: usize, panel: usize) {
    // SAFETY: the function's own contract; `r + R <= rows` and `panel < panels`.
    unsafe {
        let c = t.c.add(r * t.c_stride + panel * 4 * S::LANES);
        let mut acc = [[S::splat(if BEST { f32::NEG_INFINITY } else { 0.0 }); 4]; R];
        if !BEST {
            let first = t.first.add(r * t.first_stride + panel * 4 * S::LANES);
            for (i, acc) in acc.iter_mut().enumerate() {
                for (j, acc) in acc.iter_mut().enumerate() {
                    *acc = S::load(first.add(i * t.first_stride + j * S::LANES));
                }
            }
        }
        let acc = tile::<S, R, BEST>(&t, r, panel, acc);
        for (i, acc) in acc.iter().enumerate() {
            for (j, &acc) in acc.iter().enumerate() {
                let to = c.add(i * t.c_stride + j * S::LANES);
                S::store(to, if BEST { S::add(acc, S::load(to)) } else { acc });
            }
        }
    }
}

/// # Safety
/// As [`product_rows`], and the processor must have `S`.
#[inline(always)]
pub(super) unsafe fn product<S: Simd>(t: Task) {
    for panel in 0..t.panels {
        // SAFETY: the function's own contract.
        by_rows!(t.rows, S, |r, R| unsafe {
            product_rows::<S, R, false>(t, r, panel);
        });
    }
}

/// # Safety
/// As [`product`].
#[inline(always)]
pub(super) unsafe fn best<S: Simd>(t: Task) {
    for panel in 0..t.panels {
        // SAFETY: the function's own contract.
        by_rows!(t.rows, S, |r, R| unsafe {
            product_rows::<S, R, true>(t, r, panel);
        });
    }
}

/// One time step of an LSTM: `task` is the product of the previous hidden states with the recurrent weights,
/// whose `c` holds the gates' input and, if they are kept, the gates afterwards.
#[derive(Clone, Copy)]
pub(super) struct StepTask {
    pub(super) task: Task,
    pub(super) keep: bool,
    /// The previous cells; null at a sequence's beginning.
    pub(super) cells_before: *const f32,
    pub(super) cells: *mut f32,
    pub(super) cells_stride: usize,
    pub(super) hidden: *mut f32,
    pub(super) hidden_stride: usize,
}

/// # Safety
/// As [`product_rows`]; cells and hidden states must hold `rows` rows of one vector per panel.
#[inline(always)]
unsafe fn step_rows<S: Simd, const R: usize>(s: StepTask, r: usize, panel: usize) {
    let t = s.task;
    // SAFETY: the function's own contract.
    unsafe {
        let c = t.c.add(r * t.c_stride + panel * 4 * S::LANES);
        let mut acc = [[S::splat(0.0); 4]; R];
        for (i, acc) in acc.iter_mut().enumerate() {
            for (j, acc) in acc.iter_mut().enumerate() {
                *acc = S::load(c.add(i * t.c_stride + j * S::LANES));
            }
        }
        let acc = tile::<S, R, false>(&t, r, panel, acc);
        for (i, acc) in acc.iter().enumerate() {
            let at = (r + i) * s.cells_stride + panel * S::LANES;
            let (input, forget) = (S::sigmoid(acc[0]), S::sigmoid(acc[1]));
            let (update, output) = (S::tanh(acc[2]), S::sigmoid(acc[3]));
            let mut cell = S::mul(input, update);
            if !s.cells_before.is_null() {
                cell = S::fma(forget, S::load(s.cells_before.add(at)), cell);
            }
            S::store(s.cells.add(at), cell);
            let hidden = s.hidden.add((r + i) * s.hidden_stride + panel * S::LANES);
            S::store(hidden, S::mul(output, S::tanh(cell)));
            if s.keep {
                for (j, gate) in [input, forget, update, output].into_iter().enumerate() {
                    S::store(c.add(i * t.c_stride + j * S::LANES), gate);
                }
            }
        }
    }
}

/// # Safety
/// As [`step_rows`], and the processor must have `S`.
#[inline(always)]
pub(super) unsafe fn step<S: Simd>(s: StepTask) {
    for panel in 0..s.task.panels {
        // SAFETY: the function's own contract.
        by_rows!(s.task.rows, S, |r, R| unsafe {
            step_rows::<S, R>(s, r, panel);
        });
    }
}

/// The gradient of one step's gates and cells.
#[derive(Clone, Copy)]
pub(super) struct BackTask {
    pub(super) rows: usize,
    pub(super) panels: usize,
    /// Input: the gates; output: the gradient of their input.
    pub(super) gates: *mut f32,
    pub(super) gates_stride: usize,
    /// The previous cells; null at a sequence's beginning.
    pub(super) cells_before: *const f32,
    pub(super) cells: *const f32,
    pub(super) cells_stride: usize,
    /// The gradient of the hidden states, from above.
    pub(super) above: *const f32,
    pub(super) above_stride: usize,
    /// The gradient of the hidden states from the next step.
    pub(super) after: *const f32,
    pub(super) after_stride: usize,
    /// Input and output: the gradient of the cells.
    pub(super) d_cells: *mut f32,
}

/// # Safety
/// The task's pointers must be valid for `rows` rows each; the processor must have `S`.
#[inline(always)]
pub(super) unsafe fn back<S: Simd>(b: BackTask) {
    // SAFETY: the function's own contract.
    unsafe {
        let one = S::splat(1.0);
        for r in 0..b.rows {
            for panel in 0..b.panels {
                let lane = panel * S::LANES;
                let gates = b.gates.add(r * b.gates_stride + 4 * lane);
                let at = r * b.cells_stride + lane;
                let [input, forget, update, output] = [0, 1, 2, 3].map(|j| S::load(gates.add(j * S::LANES)));
                let bent = S::tanh(S::load(b.cells.add(at)));
                let dh = S::add(
                    S::load(b.above.add(r * b.above_stride + lane)),
                    S::load(b.after.add(r * b.after_stride + lane)),
                );
                let slope = S::sub(one, S::mul(bent, bent));
                let dc = S::fma(S::mul(dh, output), slope, S::load(b.d_cells.add(at)));
                let before = if b.cells_before.is_null() {
                    S::splat(0.0)
                } else {
                    S::load(b.cells_before.add(at))
                };
                let logistic = |gate, d| S::mul(d, S::mul(gate, S::sub(one, gate)));
                let d_update = S::mul(S::mul(dc, input), S::sub(one, S::mul(update, update)));
                S::store(gates, logistic(input, S::mul(dc, update)));
                S::store(gates.add(S::LANES), logistic(forget, S::mul(dc, before)));
                S::store(gates.add(2 * S::LANES), d_update);
                S::store(gates.add(3 * S::LANES), logistic(output, S::mul(dh, bent)));
                S::store(b.d_cells.add(at), S::mul(dc, forget));
            }
        }
    }
}
