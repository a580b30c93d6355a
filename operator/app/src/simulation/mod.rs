//! Deterministic simulation: processes with real lanes, and a simulated broker, store and clock.
//!
//! A seed determines everything: the records, when processes are killed, frozen, replaced and added, how each
//! request to the store ends, and how long everything takes. All of it runs on one thread, with a clock that
//! advances when all tasks wait, so that the same seed gives the same schedule.

mod broker;
mod checker;
mod consumer;
mod dice;
mod fleet;
mod mutants;
mod notes;
mod process;
mod schedule;
mod store;
mod tests;
mod world;

pub(crate) use checker::rows;
pub(crate) use notes::fingerprints;
