//! What fuzz targets share.

pub mod archive;
pub mod hl7v2;
pub mod store;
