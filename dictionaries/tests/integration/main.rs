//! Tests of the built-in dictionary. One binary, so that it is linked once.

mod builtin;
mod matching;
