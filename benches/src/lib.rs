//! What the benches share: invented notes, the same for a seed everywhere, and documents with gold spans.

pub mod documents;
pub mod notes;

// What is measured must allocate as the program does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
