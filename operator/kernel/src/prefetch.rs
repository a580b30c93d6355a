//! Hints for the processor's cache.

/// Prefetches a slice's memory, so that reading it a little later does not stall.
#[inline(always)]
pub fn prefetch<T>(data: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

        let start = data.as_ptr().cast::<i8>();
        for at in (0..size_of_val(data)).step_by(64) {
            // SAFETY: the address lies within the slice, and a prefetch reads nothing that the program sees.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.add(at)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = data;
}
