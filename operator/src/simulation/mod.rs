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
mod world;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mutants::Mutant;
use schedule::run;

/// Runs a range of schedules on all cores, and fails with the trace of the first that breaks a promise.
fn explore(from: u64, count: u64) {
    let next = AtomicU64::new(from);
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let failed = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        let seed = next.fetch_add(1, Relaxed);
                        if seed >= from + count {
                            return None;
                        }
                        if run(seed, None, false).violation.is_some() {
                            // The others end as well.
                            next.store(from + count, Relaxed);
                            return Some(seed);
                        }
                    }
                })
            })
            .collect();
        let failed = workers.into_iter().map(|worker| worker.join());
        failed.filter_map(|seed| seed.unwrap_or(Some(u64::MAX))).min()
    });
    if let Some(seed) = failed {
        let outcome = run(seed, None, true);
        panic!(
            "{}\nseed {seed}: {}",
            outcome.trace.join("\n"),
            outcome
                .violation
                .unwrap_or_else(|| "it passed when it was repeated".to_owned())
        );
    }
}

#[test]
fn every_schedule_writes_each_record_once() {
    let number =
        |name: &str, default| std::env::var(name).map_or(default, |value| value.parse().expect("a number"));
    explore(number("LETHE_SIMULATE_FROM", 0), number("LETHE_SIMULATE", 10_000));
}

#[test]
fn a_seed_gives_the_same_trace_twice() {
    for seed in 0..20 {
        let (first, second) = (run(seed, None, true), run(seed, None, true));
        assert!(!first.trace.is_empty());
        assert_eq!(first.trace, second.trace, "seed {seed}");
    }
}

#[test]
fn each_broken_protocol_is_found_within_1_000_schedules() {
    for mutant in Mutant::ALL {
        let found = (0..1_000).find(|&seed| run(seed, Some(mutant), false).violation.is_some());
        assert!(found.is_some(), "{mutant:?} was not found");
    }
}
