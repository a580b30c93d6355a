//! Members that adapt to a new institute, given a few labelled notes that trickle in (Singh 2020).

mod units;

pub use units::{Cut, sentences};
