//! Helpers of the benchmarks: synthetic notes that are the same for a seed everywhere, and documents with
//! gold spans.

pub mod documents;
pub mod notes;

// The measured code must allocate as the program does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
