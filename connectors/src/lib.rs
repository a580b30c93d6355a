//! Where notes come from and where they go: note formats, sources and sinks.

pub mod format;
