//! Tests of evaluation over whole corpora, in one binary so that it is linked once.

mod brute_force;
mod page;
mod report;
