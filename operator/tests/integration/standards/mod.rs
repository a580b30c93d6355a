//! Messages generated from the standards' tables without Lethe's code: which are accepted, what is kept, and
//! what is redacted in generated narrative.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod acceptance;
mod corpus;
mod engine;
mod hostile;
mod narrative;
