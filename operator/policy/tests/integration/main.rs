//! Tests of policies in files, in one binary so that it is linked once.

mod authorities;
mod common;
mod erase;
mod golden;
mod operators;
mod properties;
mod shipped;
mod surrogates;
mod titles;
