//! Where notes come from and where they go: note formats, sources and sinks.

pub mod files;
pub mod format;
pub mod inspect;
pub mod kafka;
pub mod secret;
pub mod sink;
pub mod store;
