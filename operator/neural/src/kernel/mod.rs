//! The hot loops of recurrent networks on one core: matrix products with a packed right-hand side, the fused step of an
//! LSTM and its gradient, and the best-path product of Viterbi.
//!
//! The only module of the crate with `unsafe`: intrinsics and raw pointers. Everything that leaves it is safe: sizes are
//! checked at the door, once a call. The instruction set is found at run time ([`Isa::best`]).
//!
//! Invariant: an output of [`Matrix::product`], of [`step`] and of [`Matrix::best`] depends on its own row alone, summed
//! in the same order whatever other rows there are. So a sentence gets the same scores in every batch.
#![allow(
    unsafe_code,
    reason = "intrinsics; each block says why it is sound, and the module's functions check sizes first"
)]

mod buffer;
mod isa;
mod lstm;
mod matrix;
mod plain;
mod simd;
mod tile;

pub use buffer::Buffer;
pub use isa::Isa;
pub use lstm::{Back, Gates, Step, back_step, step};
pub use matrix::{Affine, Matrix, columns};
pub use plain::{add_outer, exp_in_place, tanh_in_place};

#[cfg(test)]
pub(crate) mod tests {
    /// Numbers from -1 to 1, the same for a seed.
    pub(crate) fn numbers(len: usize, seed: u64) -> Vec<f32> {
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
