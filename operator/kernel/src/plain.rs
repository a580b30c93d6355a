//! The product of the backward pass, and functions over whole slices.

use super::Isa;
use super::isa::dispatch;
use super::simd::Simd;
use super::tile::{Task, product};

/// Computes `c += a' b` for `rows` rows of `a` (`a_stride` apart, `m` numbers each) and of `b` (`width`
/// numbers each, a whole number of panels): the gradient of a matrix from its inputs and its outputs'
/// gradient. `c` has `m` rows of `width`.
///
/// # Panics
/// If a side is shorter than its shape, or `width` is not a whole number of panels.
#[expect(clippy::too_many_arguments, reason = "the operands of a matrix product")]
pub fn add_outer(
    isa: Isa,
    rows: usize,
    m: usize,
    a: &[f32],
    a_stride: usize,
    b: &[f32],
    width: usize,
    c: &mut [f32],
) {
    let Some(last) = rows.checked_sub(1) else {
        return;
    };
    let panel = 4 * isa.lanes();
    assert!(
        width.is_multiple_of(panel)
            && a.len() >= last * a_stride + m
            && b.len() >= rows * width
            && c.len() >= m * width,
        "the product's sides have all their rows"
    );
    // One pointer serves for reads and writes: a shared one, taken before, would end with the mutable borrow.
    let c = c.as_mut_ptr();
    let task = Task {
        rows: m,
        k: rows,
        a: a.as_ptr(),
        a_stride: 1,
        a_step: a_stride,
        b: b.as_ptr(),
        b_step: width,
        b_panel: panel,
        panels: width / panel,
        first: c.cast_const(),
        first_stride: width,
        c,
        c_stride: width,
    };
    // SAFETY: the task reads `a[row * a_stride + i]` for rows below `rows` and `i` below `m`, whole rows of
    // `b`, and writes `m` whole rows of `c`: all checked above; `c` is borrowed mutably and so apart from the
    // others.
    unsafe { dispatch!(isa, product(task: Task)) }
}

#[derive(Clone, Copy)]
struct Run {
    at: *mut f32,
    len: usize,
}

/// # Safety
/// `run` must be a valid slice, and the processor must have `S`.
#[inline(always)]
unsafe fn over<S: Simd, const TANH: bool>(run: Run) {
    // No closure is used: it would not be compiled with the processor's instructions, and each intrinsic in
    // it would be a call.
    // SAFETY: the function's own contract; the tail goes through a buffer of one vector.
    unsafe {
        let whole = run.len - run.len % S::LANES;
        for at in (0..whole).step_by(S::LANES) {
            let v = S::load(run.at.add(at));
            S::store(run.at.add(at), if TANH { S::tanh(v) } else { S::exp(v) });
        }
        let mut tail = [0.0_f32; 16];
        let left = run.len - whole;
        std::ptr::copy_nonoverlapping(run.at.add(whole), tail.as_mut_ptr(), left);
        let v = S::load(tail.as_ptr());
        S::store(tail.as_mut_ptr(), if TANH { S::tanh(v) } else { S::exp(v) });
        std::ptr::copy_nonoverlapping(tail.as_ptr(), run.at.add(whole), left);
    }
}

#[inline(always)]
unsafe fn tanh<S: Simd>(run: Run) {
    // SAFETY: the caller's.
    unsafe { over::<S, true>(run) }
}

#[inline(always)]
unsafe fn exp<S: Simd>(run: Run) {
    // SAFETY: the caller's.
    unsafe { over::<S, false>(run) }
}

fn run(values: &mut [f32]) -> Run {
    Run {
        at: values.as_mut_ptr(),
        len: values.len(),
    }
}

/// Replaces each number by its hyperbolic tangent.
pub fn tanh_in_place(isa: Isa, values: &mut [f32]) {
    let run = run(values);
    // SAFETY: `run` is a slice; an `Isa` exists only where the processor has it.
    unsafe { dispatch!(isa, tanh(run: Run)) }
}

/// Replaces each number by `e` to its power; numbers beyond -87 or 87 count as these.
pub fn exp_in_place(isa: Isa, values: &mut [f32]) {
    let run = run(values);
    // SAFETY: as in `tanh_in_place`.
    unsafe { dispatch!(isa, exp(run: Run)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::numbers;

    #[test]
    fn exp_and_tanh_are_those_of_the_standard_library_on_every_instruction_set() {
        let points: Vec<f32> = (-1750..1750).map(|i| i as f32 / 20.0).collect();
        for isa in Isa::all() {
            let (mut e, mut t) = (points.clone(), points.clone());
            exp_in_place(isa, &mut e);
            tanh_in_place(isa, &mut t);
            for (i, &x) in points.iter().enumerate() {
                let (exact, bent) = (f64::from(x.clamp(-87.0, 87.0)).exp(), f64::from(x).tanh());
                assert!(
                    (f64::from(e[i]) / exact - 1.0).abs() < 3e-7,
                    "{} e^{x}",
                    isa.name()
                );
                assert!((f64::from(t[i]) - bent).abs() < 5e-7, "{} tanh {x}", isa.name());
            }
        }
    }

    #[test]
    fn an_outer_product_equals_plain_loops_on_every_instruction_set() {
        for isa in Isa::all() {
            let (rows, m, stride, width) = (5, 7, 9, 8 * isa.lanes());
            let (a, b) = (numbers(rows * stride, 5), numbers(rows * width, 6));
            let mut c = vec![1.0; m * width];
            add_outer(isa, rows, m, &a, stride, &b, width, &mut c);
            for i in 0..m {
                for j in 0..width {
                    let plain: f32 = (0..rows).map(|p| a[p * stride + i] * b[p * width + j]).sum();
                    assert!((c[i * width + j] - 1.0 - plain).abs() < 1e-5);
                }
            }
        }
    }
}
