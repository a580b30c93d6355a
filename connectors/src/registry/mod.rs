//! Fetches the schemas that a note format of [`lethe_format`] requests by id from a registry over HTTP.

mod answer;
mod client;

use std::sync::Arc;

use lethe_format::registry::{RegistryConfig, Schemas};
use lethe_format::{Format, FormatConfig, FormatError};

pub use client::Registry;

/// Returns the decoder for a configuration, with a client of its registry if it has one. The registry is not
/// contacted before the first record.
///
/// # Errors
/// The error in the configuration.
pub fn build(config: &FormatConfig) -> Result<Box<dyn Format>, FormatError> {
    config.build_with(&open)
}

fn open(config: &RegistryConfig) -> Result<Arc<dyn Schemas>, FormatError> {
    Ok(Arc::new(Registry::open(config)?))
}
