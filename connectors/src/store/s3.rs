//! A bucket of Amazon S3, or of a store with the same protocol.

#[cfg(feature = "s3")]
mod admission;
#[cfg(feature = "s3")]
mod bucket;
#[cfg(feature = "s3")]
mod cause;
#[cfg(feature = "s3")]
mod client;
mod config;

#[cfg(feature = "s3")]
pub use bucket::S3;
pub use config::S3Config;
