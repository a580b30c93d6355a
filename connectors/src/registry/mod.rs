//! The schemas of a registry, over HTTP: what a note format of [`lethe_format`] asks for by id.

mod answer;
mod client;

use std::sync::Arc;

use lethe_format::registry::{RegistryConfig, Schemas};
use lethe_format::{Format, FormatConfig, FormatError};

pub use client::Registry;

/// The decoder that a configuration asks for, with a client of its registry if it names one. The registry is not asked
/// before the first record.
///
/// # Errors
/// What is wrong with the configuration.
pub fn build(config: &FormatConfig) -> Result<Box<dyn Format>, FormatError> {
    config.build_with(&open)
}

fn open(config: &RegistryConfig) -> Result<Arc<dyn Schemas>, FormatError> {
    Ok(Arc::new(Registry::open(config)?))
}
