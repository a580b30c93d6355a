//! Helpers of the fuzz targets.

pub mod archive;
pub mod hl7v2;
pub mod store;
