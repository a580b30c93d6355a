//! Products of the backward pass and functions over whole slices.

use super::Isa;
use super::isa::dispatch;
use super::simd::Simd;

/// A matrix in memory: its numbers, its shape, and how far apart its rows and columns begin.
#[derive(Clone, Copy)]
struct Shape {
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl Shape {
    fn fits(self, len: usize) -> bool {
        self.rows == 0
            || self.columns == 0
            || (self.rows - 1) * self.row_stride + (self.columns - 1) * self.column_stride < len
    }
}

/// `c += a b` (or with either side turned) by the `gemm` crate on one thread; all three stand row after row.
///
/// `m`, `k`, `n` are the shape of the product: `a` is `m` x `k` after turning, `b` is `k` x `n`. Strides are between
/// rows as stored. The sums' order depends on the shape, so this is for training, where the shape is given.
///
/// # Panics
/// If a side is shorter than its shape.
#[expect(clippy::too_many_arguments, reason = "the operands of a matrix product")]
pub fn add_product(
    (m, k, n): (usize, usize, usize),
    a: &[f32],
    a_stride: usize,
    turn_a: bool,
    b: &[f32],
    b_stride: usize,
    turn_b: bool,
    c: &mut [f32],
    c_stride: usize,
) {
    let shape = |rows, columns, stride, turn| {
        let (row_stride, column_stride) = if turn { (1, stride) } else { (stride, 1) };
        Shape {
            rows,
            columns,
            row_stride,
            column_stride,
        }
    };
    let (left, right) = (shape(m, k, a_stride, turn_a), shape(k, n, b_stride, turn_b));
    let to = shape(m, n, c_stride, false);
    assert!(
        left.fits(a.len()) && right.fits(b.len()) && to.fits(c.len()) && c_stride >= n,
        "the product's sides have all their rows"
    );
    if m == 0 || n == 0 || k == 0 {
        return;
    }
    // SAFETY: all three sides hold every element that their shapes and strides reach (checked above), `c` is borrowed
    // mutably and so apart from the others, and its rows do not overlap since `c_stride >= n`.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.as_mut_ptr(),
            1,
            to.row_stride as isize,
            true,
            a.as_ptr(),
            left.column_stride as isize,
            left.row_stride as isize,
            b.as_ptr(),
            right.column_stride as isize,
            right.row_stride as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[derive(Clone, Copy)]
struct Run {
    at: *mut f32,
    len: usize,
}

/// # Safety
/// `run` must be a valid slice, and the processor must have `S`.
#[inline(always)]
unsafe fn over<S: Simd>(run: Run, f: impl Fn(S::V) -> S::V) {
    // SAFETY: the function's own contract; the tail goes through a buffer of one vector.
    unsafe {
        let whole = run.len - run.len % S::LANES;
        for at in (0..whole).step_by(S::LANES) {
            S::store(run.at.add(at), f(S::load(run.at.add(at))));
        }
        let mut tail = [0.0_f32; 16];
        let left = run.len - whole;
        std::ptr::copy_nonoverlapping(run.at.add(whole), tail.as_mut_ptr(), left);
        S::store(tail.as_mut_ptr(), f(S::load(tail.as_ptr())));
        std::ptr::copy_nonoverlapping(tail.as_ptr(), run.at.add(whole), left);
    }
}

#[inline(always)]
unsafe fn tanh<S: Simd>(run: Run) {
    // SAFETY: the caller's.
    unsafe { over::<S>(run, |v| S::tanh(v)) }
}

#[inline(always)]
unsafe fn exp<S: Simd>(run: Run) {
    // SAFETY: the caller's.
    unsafe { over::<S>(run, |v| S::exp(v)) }
}

fn run(values: &mut [f32]) -> Run {
    Run {
        at: values.as_mut_ptr(),
        len: values.len(),
    }
}

/// Each number's hyperbolic tangent.
pub fn tanh_in_place(isa: Isa, values: &mut [f32]) {
    let run = run(values);
    // SAFETY: `run` is a slice; an `Isa` exists only where the processor has it.
    unsafe { dispatch!(isa, tanh(run: Run)) }
}

/// `e` to each number; what lies beyond -87 or 87 counts as that.
pub fn exp_in_place(isa: Isa, values: &mut [f32]) {
    let run = run(values);
    // SAFETY: as in `tanh_in_place`.
    unsafe { dispatch!(isa, exp(run: Run)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::tests::numbers;

    #[test]
    fn exp_and_tanh_are_those_of_the_standard_library_on_every_instruction_set() {
        let points: Vec<f32> = (-1750..1750).map(|i| i as f32 / 20.0).collect();
        for isa in Isa::all() {
            let (mut e, mut t) = (points.clone(), points.clone());
            exp_in_place(isa, &mut e);
            tanh_in_place(isa, &mut t);
            for (i, &x) in points.iter().enumerate() {
                let (exact, bent) = (f64::from(x.clamp(-87.0, 87.0)).exp(), f64::from(x).tanh());
                assert!((f64::from(e[i]) / exact - 1.0).abs() < 3e-7, "{} e^{x}", isa.name());
                assert!((f64::from(t[i]) - bent).abs() < 5e-7, "{} tanh {x}", isa.name());
            }
        }
    }

    #[test]
    fn a_turned_product_equals_plain_loops() {
        let (m, k, n) = (5, 7, 3);
        let (a, b) = (numbers(k * m, 5), numbers(n * k, 6));
        let mut c = vec![1.0; m * 4];
        add_product((m, k, n), &a, m, true, &b, k, true, &mut c, 4);
        for i in 0..m {
            for j in 0..n {
                let plain: f32 = (0..k).map(|p| a[p * m + i] * b[j * k + p]).sum();
                assert!((c[i * 4 + j] - 1.0 - plain).abs() < 1e-5);
            }
            assert_eq!(c[i * 4 + 3], 1.0);
        }
    }
}
