//! The inner loops over padded rows. All work lane by lane without reordering sums, so that the result does
//! not depend on the width of the machine's registers.

mod wide;

use crate::states::LANES;

pub(crate) use wide::{Rows, ScaledRows, fetch, sum_rows, sum_scaled, widely};

// Loops over plain slices are vectorised; loops over arrays of lanes are too, but less well the more there is
// to store.

/// Computes `to[j] += from[j]`.
#[inline(always)]
pub(crate) fn add(to: &mut [f32], from: &[f32]) {
    for (t, f) in to.iter_mut().zip(from) {
        *t += f;
    }
}

/// Computes `to[j] += by * from[j]`.
#[inline(always)]
pub(crate) fn add_scaled(to: &mut [f32], by: f32, from: &[f32]) {
    for (t, f) in to.iter_mut().zip(from) {
        *t += by * f;
    }
}

/// Computes `to[j] *= by`.
#[inline(always)]
pub(crate) fn scale(to: &mut [f32], by: f32) {
    for t in to {
        *t *= by;
    }
}

/// Computes `to[j] *= from[j]`.
#[inline(always)]
pub(crate) fn multiply(to: &mut [f32], from: &[f32]) {
    for (t, f) in to.iter_mut().zip(from) {
        *t *= f;
    }
}

/// Returns the largest value of a row of whole lanes.
#[inline(always)]
pub(crate) fn largest(row: &[f32]) -> f32 {
    // It takes eight maxima at once: the order of a maximum does not matter.
    let mut lanes = [f32::MIN; LANES];
    for chunk in row.as_chunks::<LANES>().0 {
        for i in 0..LANES {
            lanes[i] = if chunk[i] > lanes[i] { chunk[i] } else { lanes[i] };
        }
    }
    lanes.into_iter().fold(f32::MIN, |a, b| if b > a { b } else { a })
}

/// Returns the largest `a[j] + b[j]` of rows of whole lanes.
#[inline(always)]
pub(crate) fn largest_sum(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [f32::MIN; LANES];
    for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
        for i in 0..LANES {
            let sum = a[i] + b[i];
            lanes[i] = if sum > lanes[i] { sum } else { lanes[i] };
        }
    }
    lanes.into_iter().fold(f32::MIN, |a, b| if b > a { b } else { a })
}

/// Returns the sum of a row of whole lanes: within lanes, then over the lanes, always in this order.
#[inline(always)]
pub(crate) fn sum(row: &[f32]) -> f32 {
    let mut lanes = [0.0f32; LANES];
    for chunk in row.as_chunks::<LANES>().0 {
        for i in 0..LANES {
            lanes[i] += chunk[i];
        }
    }
    sum_lanes(lanes)
}

/// Returns the sum of `a[j] * b[j]` of rows of whole lanes, in the order of [`sum`].
#[inline(always)]
pub(crate) fn sum_product(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0f32; LANES];
    for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
        for i in 0..LANES {
            lanes[i] += a[i] * b[i];
        }
    }
    sum_lanes(lanes)
}

#[inline(always)]
fn sum_lanes(lanes: [f32; LANES]) -> f32 {
    let halves = [
        lanes[0] + lanes[4],
        lanes[1] + lanes[5],
        lanes[2] + lanes[6],
        lanes[3] + lanes[7],
    ];
    (halves[0] + halves[2]) + (halves[1] + halves[3])
}

/// Computes `to[j] = max(to[j], row[j] + by)`; where the new value is larger, `from[j] = source`.
#[inline(always)]
pub(crate) fn relax(to: &mut [f32], from: &mut [u32], row: &[f32], by: f32, source: u32) {
    for ((t, f), r) in to.iter_mut().zip(from.iter_mut()).zip(row) {
        let path = r + by;
        let better = path > *t;
        *t = if better { path } else { *t };
        *f = if better { source } else { *f };
    }
}

/// Returns e to the `x`, within two units in the last place for -87 < x < 88; e^-87 for smaller `x`, e^88 for
/// larger.
///
/// It uses Cody and Waite's reduction (1980) and a polynomial of degree 6 over |r| <= ln 2 / 2, without
/// branches and tables, so that a loop over it is vectorised.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    /// Adding 1.5 * 2^23 rounds to the nearest integer and leaves it in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let x = if x > 88.0 { 88.0 } else { x };
    let x = if x < -87.0 { -87.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = x - n * 0.693_359_4 - n * -2.121_944_4e-4;
    let p = 1.388_888_9e-3;
    let p = p * r + 8.333_334e-3;
    let p = p * r + 4.166_666_8e-2;
    let p = p * r + 1.666_666_7e-1;
    let p = p * r + 0.5;
    let p = p * r * r + r + 1.0;
    let exponent = (shifted.to_bits().wrapping_sub(ROUND.to_bits()) as i32).wrapping_shl(23);
    f32::from_bits((p.to_bits() as i32).wrapping_add(exponent) as u32)
}

/// Returns the natural logarithm of a normal number above 0, within 2e-7 of it or, if that is more, of 1.
///
/// The mantissa's logarithm is a series in (m - 1) / (m + 1), taken between the roots of one half and of two,
/// without branches and tables.
#[inline(always)]
pub(crate) fn ln(x: f32) -> f32 {
    const ROOT_HALF: i32 = 0x3f35_04f3;
    let bits = (x.to_bits() as i32).wrapping_sub(ROOT_HALF);
    let exponent = (bits >> 23) as f32;
    let m = f32::from_bits(((bits & 0x007f_ffff) + ROOT_HALF) as u32);
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let p = 1.0 / 9.0;
    let p = p * z + 1.0 / 7.0;
    let p = p * z + 1.0 / 5.0;
    let p = p * z + 1.0 / 3.0;
    let p = p * z + 1.0;
    2.0 * s * p + exponent * std::f32::consts::LN_2
}

/// Computes `out[j] = e^(row[j] - less)`, but at least e^-50: far from the small numbers with which
/// processors are slow.
#[inline(always)]
pub(crate) fn exp_row(out: &mut [f32], row: &[f32], less: f32) {
    for (o, r) in out.iter_mut().zip(row) {
        let x = r - less;
        *o = exp(if x > -50.0 { x } else { -50.0 });
    }
}

/// Computes `to[j] *= by`, and 0 if the result is less than `least`.
#[inline(always)]
pub(crate) fn scale_or_drop(to: &mut [f32], by: f32, least: f32) {
    for t in to {
        let scaled = *t * by;
        *t = if scaled > least { scaled } else { 0.0 };
    }
}

/// Returns the dot product in eight lanes, always in the same order.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0f64; 8];
    let (a_chunks, a_rest) = a.as_chunks::<8>();
    let (b_chunks, b_rest) = b.as_chunks::<8>();
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for i in 0..8 {
            lanes[i] += a[i] * b[i];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    lanes.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_right_to_a_few_units_in_the_last_place() {
        for i in -8700..8800 {
            let x = i as f32 / 100.0;
            let (found, exact) = (f64::from(exp(x)), f64::from(x).exp());
            assert!((found / exact - 1.0).abs() < 1e-6, "{x}: {found} {exact}");
        }
        assert!(exp(-1e9) > 0.0 && exp(-1e9) < 1e-37);
        assert!(exp(1e9).is_finite());
    }

    #[test]
    fn the_logarithm_is_right_to_a_few_units_in_the_last_place() {
        for i in 0..20_000 {
            let x = 10f32.powf((i - 10_000) as f32 / 300.0);
            let (found, exact) = (f64::from(ln(x)), f64::from(x).ln());
            assert!(
                (found - exact).abs() < 2e-7 * exact.abs().max(1.0),
                "{x}: {found} {exact}"
            );
        }
        assert_eq!(ln(1.0), 0.0);
    }
}
