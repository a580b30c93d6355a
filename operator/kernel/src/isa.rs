//! The instruction sets that the processor has.

/// An instruction set that kernels are written for and that this processor has: it cannot be constructed
/// otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isa(pub(super) Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Plain Rust.
    Portable,
    /// AVX2 and FMA: vectors of eight.
    Avx2,
    /// AVX-512 F: vectors of sixteen.
    Avx512,
}

impl Isa {
    /// Returns the widest instruction set of this processor.
    pub fn best() -> Self {
        Self::all().last().copied().unwrap_or(Self(Kind::Portable))
    }

    /// Returns all instruction sets of this processor, the widest last.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self(Kind::Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                all.push(Self(Kind::Avx2));
                if is_x86_feature_detected!("avx512f") {
                    all.push(Self(Kind::Avx512));
                }
            }
        }
        all
    }

    /// Returns its name, for reports.
    pub const fn name(self) -> &'static str {
        match self.0 {
            Kind::Portable => "portable",
            Kind::Avx2 => "AVX2",
            Kind::Avx512 => "AVX-512",
        }
    }

    /// Runs loops in plain Rust with this instruction set's registers, of which the compiler uses the narrower ones
    /// otherwise. The numbers are the same: no operation is fused or moved. `work` must be `#[inline(always)]`, and so
    /// must the functions whose loops are meant.
    #[inline(always)]
    pub fn widely<T>(self, work: impl FnOnce() -> T) -> T {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx2")]
            fn wide<T>(work: impl FnOnce() -> T) -> T {
                work()
            }
            if self.0 != Kind::Portable {
                // SAFETY: an `Isa` exists only where the processor has it, and both others include AVX2.
                return unsafe { wide(work) };
            }
        }
        work()
    }

    /// Returns the numbers per vector.
    pub const fn lanes(self) -> usize {
        match self.0 {
            Kind::Portable | Kind::Avx2 => 8,
            Kind::Avx512 => 16,
        }
    }
}

/// Runs `$name` with the vector type of `$isa`, compiled with its instructions. A kernel that needs more than AVX-512 F
/// names all features that AVX-512 must have.
macro_rules! dispatch {
    ($isa:expr, $name:ident ( $($arg:ident : $type:ty),* $(,)? )) => {
        crate::isa::dispatch!($isa, $name($($arg: $type),*), "avx512f,avx2,fma")
    };
    ($isa:expr, $name:ident ( $($arg:ident : $type:ty),* $(,)? ), $avx512:literal) => {{
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2($($arg: $type),*) {
            // SAFETY: the caller's, and the instructions are enabled here.
            unsafe { $name::<crate::simd::Avx2>($($arg),*) }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $avx512)]
        unsafe fn avx512($($arg: $type),*) {
            // SAFETY: the caller's, and the instructions are enabled here.
            unsafe { $name::<crate::simd::Avx512>($($arg),*) }
        }
        match $isa.0 {
            #[cfg(target_arch = "x86_64")]
            crate::isa::Kind::Avx512 => avx512($($arg),*),
            #[cfg(target_arch = "x86_64")]
            crate::isa::Kind::Avx2 => avx2($($arg),*),
            _ => $name::<crate::simd::Portable>($($arg),*),
        }
    }};
}
pub(super) use dispatch;
