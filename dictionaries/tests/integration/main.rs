//! Tests of the built-in dictionary, in one binary to link only once.

mod builtin;
mod matching;
