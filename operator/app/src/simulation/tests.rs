//! Runs thousands of schedules, and deliberately broken protocols.

#![allow(clippy::print_stdout, reason = "a test may print the events that it met")]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::mutants::Mutant;
use super::schedule::run;
use super::world::Met;

/// Runs a range of schedules on all cores and returns the events that they met. Fails with the trace of the
/// first violation.
fn explore(from: u64, count: u64) -> Met {
    let next = AtomicU64::new(from);
    let failed = AtomicU64::new(u64::MAX);
    let met = Mutex::new(Met::new());
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Relaxed);
                    if seed >= from.saturating_add(count) || failed.load(Relaxed) < seed {
                        break;
                    }
                    let outcome = run(seed, None, false);
                    if outcome.violation.is_some() {
                        failed.fetch_min(seed, Relaxed);
                    }
                    let mut met = met.lock().expect("no worker panics while it counts");
                    for (what, times) in outcome.met {
                        *met.entry(what).or_default() += times;
                    }
                }
            });
        }
    });
    let failed = failed.into_inner();
    if failed != u64::MAX {
        let outcome = run(failed, None, true);
        let repeated = || "it passed when it was repeated".to_owned();
        panic!(
            "{}\nseed {failed}: {}",
            outcome.trace.join("\n"),
            outcome.violation.unwrap_or_else(repeated)
        );
    }
    met.into_inner().expect("no worker panics while it counts")
}

#[test]
fn every_schedule_writes_each_record_once() {
    let number =
        |name: &str, default| std::env::var(name).map_or(default, |value| value.parse().expect("a number"));
    let count = number("LETHE_SIMULATE", 10_000);
    let met = explore(number("LETHE_SIMULATE_FROM", 0), count);
    for (what, times) in &met {
        println!("{times:>9}  {what}");
    }
    // The schedules must have met the events that they are for.
    for what in [
        "process killed",
        "process frozen",
        "member taken for dead",
        "partitions lost",
        "partitions revoked",
        "partition paused",
        "lane reopened after a lost race",
        "create done, answer lost",
        "create carried out late",
        "name taken",
        "commit refused",
        "log trimmed",
        "position out of range",
        "record delivered again",
        "clock jumped",
        "store away",
    ] {
        assert!(count < 1_000 || met.contains_key(what), "no schedule met: {what}");
    }
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
        let mut violations = (0..1_000).filter_map(|seed| {
            let violation = run(seed, Some(mutant), false).violation?;
            Some((seed, violation))
        });
        let Some((seed, violation)) = violations.next() else {
            panic!("{mutant:?} was not found");
        };
        println!("{mutant:?} is found by seed {seed}: {violation}");
    }
}
