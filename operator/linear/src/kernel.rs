//! The inner loops over padded rows. All work lane by lane without reordering sums, so that the same numbers come out
//! whatever the width of the machine's registers.

/// `to[j] += from[j]`.
#[inline(always)]
pub(crate) fn add(to: &mut [f32], from: &[f32]) {
    for (t, f) in to.iter_mut().zip(from) {
        *t += f;
    }
}

/// `to[j] += by * from[j]`.
#[inline(always)]
pub(crate) fn add_scaled(to: &mut [f32], by: f32, from: &[f32]) {
    for (t, f) in to.iter_mut().zip(from) {
        *t += by * f;
    }
}

/// The largest value, or what a forbidden path weighs if there is none larger.
#[inline(always)]
pub(crate) fn largest(row: &[f32]) -> f32 {
    // Eight maxima at once: the order of a maximum does not matter.
    let mut lanes = [f32::MIN; 8];
    let (chunks, rest) = row.as_chunks::<8>();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane = if value > *lane { value } else { *lane };
        }
    }
    lanes
        .iter()
        .chain(rest)
        .fold(f32::MIN, |a, &b| if b > a { b } else { a })
}

/// The sum in eight lanes, then of the lanes: always in this order.
#[inline(always)]
pub(crate) fn sum(row: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 8];
    let (chunks, rest) = row.as_chunks::<8>();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane += value;
        }
    }
    let halves = [
        lanes[0] + lanes[4],
        lanes[1] + lanes[5],
        lanes[2] + lanes[6],
        lanes[3] + lanes[7],
    ];
    (halves[0] + halves[2]) + (halves[1] + halves[3]) + rest.iter().sum::<f32>()
}

/// `to[j] = max(to[j], row[j] + by)`; where the new one is larger, `from[j] = source`.
#[inline(always)]
pub(crate) fn relax(to: &mut [f32], from: &mut [u32], row: &[f32], by: f32, source: u32) {
    for ((t, f), r) in to.iter_mut().zip(from.iter_mut()).zip(row) {
        let path = r + by;
        let better = path > *t;
        *t = if better { path } else { *t };
        *f = if better { source } else { *f };
    }
}

/// e to the `x`, within two units in the last place for -87 < x < 88; smaller `x` give e^-87, larger e^88.
///
/// Cody and Waite's reduction (1980) and a polynomial of degree 6 over |r| <= ln 2 / 2, with no branch and no table, so that a
/// loop over it runs in vector registers.
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
    let p = p * r + 8.333_333_6e-3;
    let p = p * r + 4.166_666_8e-2;
    let p = p * r + 1.666_666_7e-1;
    let p = p * r + 0.5;
    let p = p * r * r + r + 1.0;
    let exponent = (shifted.to_bits().wrapping_sub(ROUND.to_bits()) as i32).wrapping_shl(23);
    f32::from_bits((p.to_bits() as i32).wrapping_add(exponent) as u32)
}

/// `out[j] = e^(row[j] - less)`.
#[inline(always)]
pub(crate) fn exp_row(out: &mut [f32], row: &[f32], less: f32) {
    for (o, r) in out.iter_mut().zip(row) {
        *o = exp(r - less);
    }
}

/// Dot product in eight lanes, always in the same order.
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
}
