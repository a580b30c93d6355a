//! Sources and sinks of notes, and their formats.

mod authority;
pub mod emit;
pub mod erase;
pub mod files;
mod id;
pub mod inspect;
#[cfg(feature = "kafka")]
pub mod kafka;
pub mod registry;
pub mod replay;
pub mod sink;
pub mod source;
mod stop;
pub mod store;
pub mod tables;

#[cfg(feature = "fault-injection")]
pub use id::seed_ids;
pub use lethe_core::Backoff;
pub use lethe_format as format;
pub use lethe_format::secret;
pub use stop::Stop;
