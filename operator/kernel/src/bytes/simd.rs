//! The vectors of whole numbers of each instruction set.

use crate::Isa;
use crate::isa::Kind;
use crate::simd::{Portable, Simd};

/// The vectors of columns of a tile.
pub(super) const PANEL: usize = 2;

/// A vector of `i32` and one of as many `f32`.
///
/// # Safety
/// As for [`Simd`].
pub(super) trait Bytes: Simd {
    /// A vector of `i32`, each of which may stand for four bytes.
    type I: Copy;
    /// Four weights for each column of a vector, in the order of [`place`].
    type W: Copy;
    /// The rows of a tile: as many as fit in registers.
    const HEIGHT: usize;

    unsafe fn zeros() -> Self::I;
    /// Repeats four bytes.
    unsafe fn splat_four(from: *const u8) -> Self::I;
    /// Loads four weights for each column.
    unsafe fn load_weights(from: *const i8) -> Self::W;
    /// Loads sums.
    unsafe fn load_sums(from: *const i32) -> Self::I;
    /// Adds the four products of bytes, of which those of `a` are at most 127, to each sum.
    unsafe fn dot(sums: Self::I, a: Self::I, b: Self::W) -> Self::I;
    /// Converts to `f32`.
    unsafe fn single(a: Self::I) -> Self::V;
    /// Stores the nearest whole numbers, ties to even, of numbers from 0 to 127.
    unsafe fn store_bytes(to: *mut u8, v: Self::V);
}

impl Bytes for Portable {
    type I = [i32; 8];
    type W = [[i8; 8]; 4];
    const HEIGHT: usize = 1;

    #[inline(always)]
    unsafe fn zeros() -> Self::I {
        [0; 8]
    }
    #[inline(always)]
    unsafe fn splat_four(from: *const u8) -> Self::I {
        // SAFETY: the caller vouches for four bytes; an unaligned read asks for no alignment.
        [unsafe { from.cast::<i32>().read_unaligned() }; 8]
    }
    #[inline(always)]
    unsafe fn load_weights(from: *const i8) -> Self::W {
        // SAFETY: the caller vouches for 32 bytes; an unaligned read asks for no alignment.
        unsafe { from.cast::<[[i8; 8]; 4]>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn load_sums(from: *const i32) -> Self::I {
        // SAFETY: the caller vouches for eight numbers.
        unsafe { from.cast::<[i32; 8]>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn dot(mut sums: Self::I, a: Self::I, b: Self::W) -> Self::I {
        // Two products fit in sixteen bits, as for AVX2.
        let a = a[0].to_ne_bytes().map(i16::from);
        for i in 0..8 {
            let low = a[0] * i16::from(b[0][i]) + a[1] * i16::from(b[1][i]);
            let high = a[2] * i16::from(b[2][i]) + a[3] * i16::from(b[3][i]);
            sums[i] += i32::from(low) + i32::from(high);
        }
        sums
    }
    #[inline(always)]
    unsafe fn single(a: Self::I) -> Self::V {
        a.map(|x| x as f32)
    }
    #[inline(always)]
    unsafe fn store_bytes(to: *mut u8, v: Self::V) {
        let bytes = v.map(|x| x.round_ties_even() as u8);
        // SAFETY: the caller vouches for eight bytes.
        unsafe { to.cast::<[u8; 8]>().write_unaligned(bytes) }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Bytes;
    use crate::simd::{Avx2, Avx512};

    impl Bytes for Avx2 {
        type I = __m256i;
        type W = __m256i;
        const HEIGHT: usize = 4;

        #[inline(always)]
        unsafe fn zeros() -> Self::I {
            // SAFETY: the caller vouches for the instructions.
            unsafe { _mm256_setzero_si256() }
        }
        #[inline(always)]
        unsafe fn splat_four(from: *const u8) -> Self::I {
            // SAFETY: the caller vouches for the instructions and four bytes.
            unsafe { _mm256_set1_epi32(from.cast::<i32>().read_unaligned()) }
        }
        #[inline(always)]
        unsafe fn load_weights(from: *const i8) -> Self::W {
            // SAFETY: the caller vouches for the instructions and 32 bytes.
            unsafe { _mm256_loadu_si256(from.cast()) }
        }
        #[inline(always)]
        unsafe fn load_sums(from: *const i32) -> Self::I {
            // SAFETY: the caller vouches for the instructions and the numbers.
            unsafe { _mm256_loadu_si256(from.cast()) }
        }
        #[inline(always)]
        unsafe fn dot(sums: Self::I, a: Self::I, b: Self::W) -> Self::I {
            // SAFETY: the caller vouches for the instructions. Two products are at most 2 * 127 * 128 = 32512, so that
            // the sums of sixteen bits do not saturate.
            unsafe {
                let pairs = _mm256_maddubs_epi16(a, b);
                _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
            }
        }
        #[inline(always)]
        unsafe fn single(a: Self::I) -> Self::V {
            // SAFETY: the caller vouches for the instructions.
            unsafe { _mm256_cvtepi32_ps(a) }
        }
        #[inline(always)]
        unsafe fn store_bytes(to: *mut u8, v: Self::V) {
            // SAFETY: the caller vouches for the instructions and eight bytes.
            unsafe {
                let whole = _mm256_cvtps_epi32(v);
                let low = _mm256_castsi256_si128(whole);
                let words = _mm_packus_epi32(low, _mm256_extracti128_si256::<1>(whole));
                _mm_storel_epi64(to.cast(), _mm_packus_epi16(words, words));
            }
        }
    }

    /// With VNNI, whose instruction adds four products of bytes.
    impl Bytes for Avx512 {
        type I = __m512i;
        type W = __m512i;
        const HEIGHT: usize = 8;

        #[inline(always)]
        unsafe fn zeros() -> Self::I {
            // SAFETY: the caller vouches for the instructions.
            unsafe { _mm512_setzero_si512() }
        }
        #[inline(always)]
        unsafe fn splat_four(from: *const u8) -> Self::I {
            // SAFETY: the caller vouches for the instructions and four bytes.
            unsafe { _mm512_set1_epi32(from.cast::<i32>().read_unaligned()) }
        }
        #[inline(always)]
        unsafe fn load_weights(from: *const i8) -> Self::W {
            // SAFETY: the caller vouches for the instructions and 64 bytes.
            unsafe { _mm512_loadu_si512(from.cast()) }
        }
        #[inline(always)]
        unsafe fn load_sums(from: *const i32) -> Self::I {
            // SAFETY: the caller vouches for the instructions and the numbers.
            unsafe { _mm512_loadu_si512(from.cast()) }
        }
        #[inline(always)]
        unsafe fn dot(sums: Self::I, a: Self::I, b: Self::W) -> Self::I {
            // SAFETY: the caller vouches for the instructions.
            unsafe { _mm512_dpbusd_epi32(sums, a, b) }
        }
        #[inline(always)]
        unsafe fn single(a: Self::I) -> Self::V {
            // SAFETY: the caller vouches for the instructions.
            unsafe { _mm512_cvtepi32_ps(a) }
        }
        #[inline(always)]
        unsafe fn store_bytes(to: *mut u8, v: Self::V) {
            // SAFETY: the caller vouches for the instructions and sixteen bytes.
            unsafe { _mm_storeu_si128(to.cast(), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v))) }
        }
    }
}

/// Returns the place of a weight among the four for each column of a vector. Vector instructions want the four of a
/// column side by side; plain Rust becomes vectors if the first ones of all columns come first.
pub(super) fn place(isa: Isa, column: usize, input: usize) -> usize {
    match isa.0 {
        Kind::Portable => input * isa.lanes() + column,
        _ => column * 4 + input,
    }
}

/// Runs `$name` with the vectors of `$isa`, and with VNNI for AVX-512.
macro_rules! dispatch {
    ($isa:expr, $name:ident ( $($arg:ident : $type:ty),* )) => {
        crate::isa::dispatch!($isa, $name($($arg: $type),*), "avx512f,avx512vnni,avx2,fma")
    };
}
pub(super) use dispatch;
