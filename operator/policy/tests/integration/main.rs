//! Tests of policies as files give them. One binary, so that it is linked once.

mod authorities;
mod common;
mod erase;
mod golden;
mod operators;
mod properties;
mod shipped;
mod surrogates;
