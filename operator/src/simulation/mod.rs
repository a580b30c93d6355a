//! Deterministic simulation: processes of real lanes over a simulated broker, store and clock.
//!
//! A seed decides everything: what the records are, when processes are killed, frozen, replaced and added, how each request
//! to the store ends, how long everything takes. All of it runs on one thread, on a clock that moves when nobody has
//! anything to do, so that the same seed gives the same schedule.

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
