//! What plain safe loops cannot ask of a processor: to read ahead without waiting, and its wider registers.
//!
//! The only file of the crate with `unsafe`. Both functions are safe to call and give the same numbers on every machine.
#![allow(
    unsafe_code,
    reason = "a prefetch takes a pointer, and wider instructions must be looked for before they run; each block says why it is sound"
)]

/// Asks for a slice's memory, so that it is at hand a little later.
#[inline(always)]
pub(crate) fn fetch<T>(slice: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        /// Bytes that a processor reads at once.
        const LINE: usize = 64;
        let start = slice.as_ptr().cast::<i8>();
        for at in (0..size_of_val(slice)).step_by(LINE) {
            // SAFETY: `at` lies within the slice; and a prefetch neither faults nor gives a value, wherever it points.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.add(at)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = slice;
}

/// A sum held to the range of 16 bits.
#[inline(always)]
pub(crate) fn narrow(sum: i32) -> i16 {
    sum.clamp(i16::MIN.into(), i16::MAX.into()) as i16
}

/// Adds those of `rows` (`width` numbers each) that `which` names to `sum`, held to the range of 16 bits, and writes `scale`
/// times the sums to `out`.
///
/// # Panics
/// If `which` names a row that there is not, or `sum` or `out` is shorter than `width`.
#[inline]
pub(crate) fn add_rows(rows: &[i16], width: usize, which: &[u32], sum: &[i32], scale: f32, out: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn wide(rows: &[i16], width: usize, which: &[u32], sum: &[i32], scale: f32, out: &mut [f32]) {
            plain(rows, width, which, sum, scale, out);
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has just been found to have these instructions.
            unsafe { wide(rows, width, which, sum, scale, out) };
            return;
        }
    }
    plain(rows, width, which, sum, scale, out);
}

#[inline(always)]
fn plain(rows: &[i16], width: usize, which: &[u32], sum: &[i32], scale: f32, out: &mut [f32]) {
    let (sum, out) = (&sum[..width], &mut out[..width]);
    // As many numbers at once as registers hold; then what is left.
    let mut done = blocks::<64>(rows, width, which, sum, scale, out, 0);
    done = blocks::<32>(rows, width, which, sum, scale, out, done);
    done = blocks::<16>(rows, width, which, sum, scale, out, done);
    done = blocks::<8>(rows, width, which, sum, scale, out, done);
    blocks::<1>(rows, width, which, sum, scale, out, done);
}

#[inline(always)]
fn blocks<const N: usize>(
    rows: &[i16],
    width: usize,
    which: &[u32],
    sum: &[i32],
    scale: f32,
    out: &mut [f32],
    mut first: usize,
) -> usize {
    while first + N <= width {
        let mut held = [0i16; N];
        for (held, &sum) in held.iter_mut().zip(&sum[first..first + N]) {
            *held = narrow(sum);
        }
        for &row in which {
            let at = row as usize * width + first;
            let row = &rows[at..at + N];
            for i in 0..N {
                held[i] = held[i].saturating_add(row[i]);
            }
        }
        for (out, &whole) in out[first..first + N].iter_mut().zip(&held) {
            *out = f32::from(whole) * scale;
        }
        first += N;
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_added_as_one_by_one_whatever_their_width() {
        for width in [1, 7, 8, 24, 40, 96, 131] {
            let number = |i: usize| (i * 7919 % 60_001) as i16;
            let rows: Vec<i16> = (0..width * 9).map(number).collect();
            let which = [3u32, 0, 8, 3];
            let sum: Vec<i32> = (0..width).map(|i| i32::from(number(i * 31)) * 2).collect();
            let by_one: Vec<f32> = (0..width)
                .map(|i| {
                    let add = |sum: i16, row: &u32| sum.saturating_add(rows[*row as usize * width + i]);
                    f32::from(which.iter().fold(narrow(sum[i]), add)) * 0.25
                })
                .collect();
            let mut out = vec![0.0; width];
            fetch(&rows);
            add_rows(&rows, width, &which, &sum, 0.25, &mut out);
            assert_eq!(out, by_one, "{width}");
        }
    }
}
