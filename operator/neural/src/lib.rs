//! Neural members: recurrent networks with and without a CRF layer, and transformer checkpoints.

mod bilstm;
mod bucket;
pub mod kernel;
pub mod transformer;
