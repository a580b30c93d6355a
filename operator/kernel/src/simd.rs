//! The processor's vectors of `f32`, and the two functions that gates consist of.
//!
//! One trait, three widths. Every operation is an intrinsic: the compiler's code for plain loops under
//! AVX-512 was twenty times slower in measurements.

/// A processor's vector of `f32`.
///
/// # Safety
/// A method may run only if the processor has the instructions of the implementing type; [`super::Isa`]
/// detects them. Pointers must be valid for [`Simd::LANES`] numbers.
pub(super) trait Simd: Copy {
    /// The vector.
    type V: Copy;
    /// The numbers per vector.
    const LANES: usize;
    /// The rows of a tile: as many as fit in registers with four columns of vectors, without spilling.
    const ROWS: usize;

    unsafe fn splat(x: f32) -> Self::V;
    unsafe fn load(from: *const f32) -> Self::V;
    unsafe fn store(to: *mut f32, v: Self::V);
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V;
    /// Returns `a * b + c`.
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    unsafe fn min(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn max(a: Self::V, b: Self::V) -> Self::V;
    /// Returns the nearest whole numbers.
    unsafe fn round(a: Self::V) -> Self::V;
    /// Returns `a * 2^n` for integer `n` from -126 to 126.
    unsafe fn scale(a: Self::V, n: Self::V) -> Self::V;
    /// Returns a first approximation of `1 / a`.
    unsafe fn reciprocal_guess(a: Self::V) -> Self::V;

    /// Returns `1 / a` to about one unit in the last place: the approximation and one Newton step.
    #[inline(always)]
    unsafe fn reciprocal(a: Self::V) -> Self::V {
        // SAFETY: the caller vouches for the instructions.
        unsafe {
            let guess = Self::reciprocal_guess(a);
            let two = Self::splat(2.0);
            Self::mul(guess, Self::sub(two, Self::mul(a, guess)))
        }
    }

    /// Returns `e^a`, with a relative error below 2e-7 from -87 to 87; `a` is clamped to that range.
    #[inline(always)]
    unsafe fn exp(a: Self::V) -> Self::V {
        // SAFETY: the caller vouches for the instructions.
        unsafe {
            let a = Self::max(Self::min(a, Self::splat(87.0)), Self::splat(-87.0));
            let n = Self::round(Self::mul(a, Self::splat(std::f32::consts::LOG2_E)));
            // a - n ln 2, with ln 2 in two parts so that the product with n is exact (Cody and Waite 1980).
            let f = Self::fma(n, Self::splat(-0.693_359_4), a);
            let f = Self::fma(n, Self::splat(2.121_944_4e-4), f);
            // e^f for |f| <= ln 2 / 2: Taylor's series, whose first omitted term is below 2e-7.
            let mut p = Self::splat(1.0 / 720.0);
            for c in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
                p = Self::fma(p, f, Self::splat(c));
            }
            Self::scale(p, n)
        }
    }

    /// Returns `1 / (1 + e^-a)`.
    #[inline(always)]
    unsafe fn sigmoid(a: Self::V) -> Self::V {
        // SAFETY: the caller vouches for the instructions.
        unsafe {
            let one = Self::splat(1.0);
            let e = Self::exp(Self::sub(Self::splat(0.0), a));
            Self::reciprocal(Self::add(one, e))
        }
    }

    /// Returns `2 / (1 + e^-2a) - 1`, with an absolute error below 5e-7.
    #[inline(always)]
    unsafe fn tanh(a: Self::V) -> Self::V {
        // SAFETY: the caller vouches for the instructions.
        unsafe {
            let two = Self::splat(2.0);
            Self::sub(Self::mul(two, Self::sigmoid(Self::mul(two, a))), Self::splat(1.0))
        }
    }
}

/// Plain Rust, for processors without AVX2 and for checking the others.
#[derive(Clone, Copy)]
pub(super) struct Portable;

#[inline(always)]
fn each(a: [f32; 8], b: [f32; 8], f: impl Fn(f32, f32) -> f32) -> [f32; 8] {
    std::array::from_fn(|i| f(a[i], b[i]))
}

impl Simd for Portable {
    type V = [f32; 8];
    const LANES: usize = 8;
    const ROWS: usize = 1;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self::V {
        [x; 8]
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self::V {
        // SAFETY: the caller vouches for eight numbers; an unaligned read asks for no alignment.
        unsafe { from.cast::<[f32; 8]>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store(to: *mut f32, v: Self::V) {
        // SAFETY: as `load`.
        unsafe { to.cast::<[f32; 8]>().write_unaligned(v) }
    }
    #[inline(always)]
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V {
        each(a, b, |a, b| a + b)
    }
    #[inline(always)]
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V {
        each(a, b, |a, b| a - b)
    }
    #[inline(always)]
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V {
        each(a, b, |a, b| a * b)
    }
    #[inline(always)]
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        // Without the instruction, `mul_add` would be one call per number.
        std::array::from_fn(|i| a[i] * b[i] + c[i])
    }
    #[inline(always)]
    unsafe fn min(a: Self::V, b: Self::V) -> Self::V {
        each(a, b, |a, b| if a < b { a } else { b })
    }
    #[inline(always)]
    unsafe fn max(a: Self::V, b: Self::V) -> Self::V {
        each(a, b, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    unsafe fn round(a: Self::V) -> Self::V {
        // Adding and subtracting 1.5 * 2^23 leaves the nearest integer, ties to even.
        a.map(|a| (a + 12_582_912.0) - 12_582_912.0)
    }
    #[inline(always)]
    unsafe fn scale(a: Self::V, n: Self::V) -> Self::V {
        each(a, n, |a, n| a * f32::from_bits(((n as i32 + 127) << 23) as u32))
    }
    #[inline(always)]
    unsafe fn reciprocal_guess(a: Self::V) -> Self::V {
        a.map(|a| 1.0 / a)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Simd;

    /// AVX2 with FMA.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2;

    /// AVX-512 F.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx512;

    /// The trait's methods, each one intrinsic.
    // SAFETY of every block within: the trait's contract, that the processor has the instructions and
    // pointers are valid.
    macro_rules! intrinsics {
        ($splat:ident $load:ident $store:ident $add:ident $sub:ident $mul:ident $fma:ident $min:ident $max:ident) => {
            #[inline(always)]
            unsafe fn splat(x: f32) -> Self::V {
                // SAFETY: the caller vouches for the instructions.
                unsafe { $splat(x) }
            }
            #[inline(always)]
            unsafe fn load(from: *const f32) -> Self::V {
                // SAFETY: the caller vouches for the instructions and the pointer; the load asks for no
                // alignment.
                unsafe { $load(from) }
            }
            #[inline(always)]
            unsafe fn store(to: *mut f32, v: Self::V) {
                // SAFETY: as `load`.
                unsafe { $store(to, v) }
            }
            #[inline(always)]
            unsafe fn add(a: Self::V, b: Self::V) -> Self::V {
                // SAFETY: the caller vouches for the instructions.
                unsafe { $add(a, b) }
            }
            #[inline(always)]
            unsafe fn sub(a: Self::V, b: Self::V) -> Self::V {
                // SAFETY: the caller vouches for the instructions.
                unsafe { $sub(a, b) }
            }
            #[inline(always)]
            unsafe fn mul(a: Self::V, b: Self::V) -> Self::V {
                // SAFETY: the caller vouches for the instructions.
                unsafe { $mul(a, b) }
            }
            #[inline(always)]
            unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
                // SAFETY: the caller vouches for the instructions.
                unsafe { $fma(a, b, c) }
            }
            #[inline(always)]
            unsafe fn min(a: Self::V, b: Self::V) -> Self::V {
                // SAFETY: the caller vouches for the instructions.
                unsafe { $min(a, b) }
            }
            #[inline(always)]
            unsafe fn max(a: Self::V, b: Self::V) -> Self::V {
                // SAFETY: the caller vouches for the instructions.
                unsafe { $max(a, b) }
            }
        };
    }

    impl Simd for Avx2 {
        type V = __m256;
        const LANES: usize = 8;
        const ROWS: usize = 3;

        intrinsics!(_mm256_set1_ps _mm256_loadu_ps _mm256_storeu_ps _mm256_add_ps _mm256_sub_ps _mm256_mul_ps _mm256_fmadd_ps _mm256_min_ps _mm256_max_ps);

        #[inline(always)]
        unsafe fn round(a: Self::V) -> Self::V {
            // SAFETY: the caller vouches for the instructions.
            unsafe { _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a) }
        }
        #[inline(always)]
        unsafe fn scale(a: Self::V, n: Self::V) -> Self::V {
            // SAFETY: the caller vouches for the instructions.
            unsafe {
                let exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
                _mm256_mul_ps(a, _mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent)))
            }
        }
        #[inline(always)]
        unsafe fn reciprocal_guess(a: Self::V) -> Self::V {
            // SAFETY: the caller vouches for the instructions.
            unsafe { _mm256_rcp_ps(a) }
        }
    }

    impl Simd for Avx512 {
        type V = __m512;
        const LANES: usize = 16;
        const ROWS: usize = 6;

        intrinsics!(_mm512_set1_ps _mm512_loadu_ps _mm512_storeu_ps _mm512_add_ps _mm512_sub_ps _mm512_mul_ps _mm512_fmadd_ps _mm512_min_ps _mm512_max_ps);

        #[inline(always)]
        unsafe fn round(a: Self::V) -> Self::V {
            // SAFETY: the caller vouches for the instructions. The immediate 8 is nearest, no exceptions.
            unsafe { _mm512_roundscale_ps::<8>(a) }
        }
        #[inline(always)]
        unsafe fn scale(a: Self::V, n: Self::V) -> Self::V {
            // SAFETY: the caller vouches for the instructions.
            unsafe { _mm512_scalef_ps(a, n) }
        }
        #[inline(always)]
        unsafe fn reciprocal_guess(a: Self::V) -> Self::V {
            // SAFETY: the caller vouches for the instructions.
            unsafe { _mm512_rcp14_ps(a) }
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, Avx512};
