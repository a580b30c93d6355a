//! The hot loops of recurrent networks on one core: matrix products with a packed right-hand side, the fused
//! step of an LSTM and its gradient, and the best-path product of Viterbi.
//!
//! Nearly all `unsafe` code of the workspace is here: intrinsics and raw pointers. Public functions are safe:
//! they check sizes once per call. The instruction set is detected at run time ([`Isa::best`]).
//!
//! It is a crate of its own so that development builds optimise only these loops, and not all code of the
//! networks.
//!
//! Invariant: an output of [`Matrix::product`], of [`step`] and of [`Matrix::best`] depends on its own row
//! alone, summed in the same order whatever other rows there are. So a sentence gets the same scores in every
//! batch.
#![allow(
    unsafe_code,
    reason = "intrinsics; each block explains why it is sound, and the public functions check sizes first"
)]

mod buffer;
mod bytes;
mod isa;
mod lstm;
mod matrix;
mod plain;
mod prefetch;
mod simd;
mod tile;

pub use buffer::Buffer;
pub use bytes::{
    Activations, ByteLayer, ByteRows, ByteStep, ByteSteps, LARGEST as LARGEST_BYTE, UNITS as BYTE_UNITS,
    ZERO as BYTE_ZERO, byte_columns, to_bytes,
};
pub use isa::Isa;
pub use lstm::{Back, Gates, Step, back_step, step};
pub use matrix::{Affine, Matrix, columns};
pub use plain::{add_outer, exp_in_place, tanh_in_place};
pub use prefetch::prefetch;

/// Input for tests, here and in crates that use the loops.
#[doc(hidden)]
pub mod testing {
    /// Returns numbers from -1 to 1, the same for each seed.
    pub fn numbers(len: usize, seed: u64) -> Vec<f32> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..len).map(|_| next()).collect()
    }
}
