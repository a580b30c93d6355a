//! Tests of the linear learners, in one binary so that it is linked once.

mod learners;
mod windows;
