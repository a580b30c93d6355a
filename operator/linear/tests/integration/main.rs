//! Tests of the linear learners. One binary, so that it is linked once.

mod learners;
mod windows;
