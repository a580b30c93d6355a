//! Operations that plain safe loops cannot express: prefetching, and wider registers.
//!
//! This is the only file of the crate with `unsafe`. All functions are safe to call and give the same numbers
//! on every machine.
#![allow(
    unsafe_code,
    reason = "a prefetch takes a pointer, and wider instructions must be detected before they run; each block explains why it is sound"
)]

/// Prefetches a slice's memory for later use.
#[inline(always)]
pub(crate) fn fetch<T>(slice: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        /// Bytes of a cache line.
        const LINE: usize = 64;
        let start = slice.as_ptr().cast::<i8>();
        for at in (0..size_of_val(slice)).step_by(LINE) {
            // SAFETY: `at` lies within the slice, and a prefetch neither faults nor returns a value, wherever
            // it points.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.add(at)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = slice;
}

/// Runs `work` with the machine's wider registers if it has them. The numbers are the same: no operation is
/// fused or moved. Functions that `work` calls must be inlined into it.
#[inline(always)]
pub(crate) fn widely<T>(work: impl FnOnce() -> T) -> T {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn wide<T>(work: impl FnOnce() -> T) -> T {
            work()
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor was just found to have these instructions.
            return unsafe { wide(work) };
        }
    }
    work()
}

/// Returns a sum clamped to the range of 16 bits.
#[inline(always)]
pub(crate) fn narrow(sum: i32) -> i16 {
    sum.clamp(i16::MIN.into(), i16::MAX.into()) as i16
}

/// Rows of equal width, one after another, with the indices of the selected ones.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'r> {
    pub(crate) all: &'r [i16],
    pub(crate) which: &'r [u32],
}

/// Adds the selected rows to `sum`, clamped to the range of 16 bits.
///
/// # Panics
/// If a selected row does not exist, or `sum` and `out` do not have the same width.
#[inline]
pub(crate) fn sum_rows<const R: usize>(rows: [Rows<'_>; R], sum: &[i32], out: &mut [i16]) {
    widely(
        #[inline(always)]
        || plain(rows, sum, out),
    );
}

#[inline(always)]
fn plain<const R: usize>(rows: [Rows<'_>; R], sum: &[i32], out: &mut [i16]) {
    assert_eq!(sum.len(), out.len(), "sums of one width");
    // It processes as many numbers at once as registers hold, then the rest.
    let mut done = blocks::<64, R>(rows, sum, out, 0);
    done = blocks::<32, R>(rows, sum, out, done);
    done = blocks::<16, R>(rows, sum, out, done);
    done = blocks::<8, R>(rows, sum, out, done);
    blocks::<1, R>(rows, sum, out, done);
}

#[inline(always)]
fn blocks<const N: usize, const R: usize>(
    rows: [Rows<'_>; R],
    sum: &[i32],
    out: &mut [i16],
    mut first: usize,
) -> usize {
    let width = sum.len();
    while first + N <= width {
        let mut held = [0i16; N];
        for (held, &sum) in held.iter_mut().zip(&sum[first..first + N]) {
            *held = narrow(sum);
        }
        for Rows { all, which } in rows {
            for &row in which {
                let at = row as usize * width + first;
                let row = &all[at..at + N];
                for i in 0..N {
                    held[i] = held[i].saturating_add(row[i]);
                }
            }
        }
        out[first..first + N].copy_from_slice(&held);
        first += N;
    }
    first
}

/// Rows of equal width, one after another, with the indices of the selected ones and their factors.
#[derive(Clone, Copy)]
pub(crate) struct ScaledRows<'r> {
    pub(crate) all: &'r [f32],
    pub(crate) width: usize,
    pub(crate) which: &'r [u8],
    pub(crate) by: &'r [f32],
}

/// Sets `to[j]` to the sum of `by[i] * all[i][j]` over the selected rows `i`, in their order. `to` may be
/// narrower than rows.
///
/// # Panics
/// If a row or its factor does not exist.
#[inline(always)]
pub(crate) fn sum_scaled(rows: ScaledRows<'_>, to: &mut [f32]) {
    // It processes as many numbers at once as registers hold: a sum that went to memory after each row would
    // take twice as long.
    let mut done = scaled_blocks::<64>(rows, to, 0);
    done = scaled_blocks::<32>(rows, to, done);
    done = scaled_blocks::<16>(rows, to, done);
    done = scaled_blocks::<8>(rows, to, done);
    scaled_blocks::<1>(rows, to, done);
}

#[inline(always)]
fn scaled_blocks<const N: usize>(rows: ScaledRows<'_>, to: &mut [f32], mut first: usize) -> usize {
    while first + N <= to.len() {
        let mut held = [0.0f32; N];
        for &row in rows.which {
            let by = rows.by[usize::from(row)];
            let at = usize::from(row) * rows.width + first;
            let row = &rows.all[at..at + N];
            for i in 0..N {
                held[i] += by * row[i];
            }
        }
        to[first..first + N].copy_from_slice(&held);
        first += N;
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaled_rows_sum_to_the_same_bits_as_one_by_one_whatever_their_width() {
        for width in [1, 7, 8, 24, 40, 96, 131] {
            let number = |i: usize| (i * 7919 % 601) as f32 / 97.0 - 3.0;
            let all: Vec<f32> = (0..width * 9).map(number).collect();
            let by: Vec<f32> = (0..9).map(|i| number(i + 11)).collect();
            let which = [3, 0, 8, 5];
            for narrower in [0, width / 2] {
                let mut out = vec![7.0; width - narrower];
                let rows = ScaledRows {
                    all: &all,
                    width,
                    which: &which,
                    by: &by,
                };
                sum_scaled(rows, &mut out);
                for (j, &sum) in out.iter().enumerate() {
                    let term = |&row: &u8| by[usize::from(row)] * all[usize::from(row) * width + j];
                    let by_one = which.iter().map(term).fold(0.0, |sum, term| sum + term);
                    assert_eq!(sum.to_bits(), by_one.to_bits(), "{width}");
                }
            }
        }
    }

    #[test]
    fn rows_are_added_as_one_by_one_whatever_their_width() {
        for width in [1, 7, 8, 24, 40, 96, 131] {
            let number = |i: usize| (i * 7919 % 60_001) as i16;
            let here: Vec<i16> = (0..width * 9).map(number).collect();
            let there: Vec<i16> = (0..width * 2).map(|i| number(i + 5)).collect();
            let sum: Vec<i32> = (0..width).map(|i| i32::from(number(i * 31)) * 2).collect();
            let added = |i: usize, which: &[u32], all: &[i16], sum: i16| {
                let rows = which.iter().map(|&row| all[row as usize * width + i]);
                rows.fold(sum, i16::saturating_add)
            };
            let by_one: Vec<i16> = (0..width)
                .map(|i| added(i, &[1], &there, added(i, &[3, 0, 8, 3], &here, narrow(sum[i]))))
                .collect();
            let mut out = vec![0; width];
            fetch(&here);
            let here = Rows {
                all: &here,
                which: &[3, 0, 8, 3],
            };
            let there = Rows {
                all: &there,
                which: &[1],
            };
            sum_rows([here, there], &sum, &mut out);
            assert_eq!(out, by_one, "{width}");
        }
    }
}
