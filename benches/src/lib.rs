//! What the benches share: invented notes, the same for a seed everywhere, and documents with gold spans.

pub mod documents;
pub mod notes;
