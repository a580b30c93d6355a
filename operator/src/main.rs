//! Lethe.
fn main() {}
