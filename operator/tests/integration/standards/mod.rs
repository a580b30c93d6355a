//! Messages that a generator writes from the standards' tables, without Lethe's: what is accepted, what comes back, and what of
//! generated narrative is redacted.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod acceptance;
mod corpus;
mod engine;
mod hostile;
mod narrative;
