//! The rule members, one file each, and their registry.
//!
//! A member is a serde configuration with `build()`, the object it builds, and its tests. Members know
//! [`lethe_core`]'s notes and spans, but not streams or each other, and do not read files after they are
//! built. All of them pass the same [conformance suite](conformance).

pub mod conformance;
pub mod context;
pub mod external;
pub mod gazetteer;
pub mod known;
mod lexicon;
mod once;
pub mod origin;
pub mod pattern;
mod person;
pub mod phrases;
mod reading;
pub mod registry;
mod repeats;
mod vocabulary;
mod words;
