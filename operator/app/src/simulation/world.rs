//! The shared parts of a schedule: randomness, the clock, the trace, and the first violation.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use tokio::time::Instant;

use super::dice::Dice;
use super::mutants::Mutant;

/// The number of times that each relevant event happened.
pub(super) type Met = BTreeMap<&'static str, u64>;

/// A simulated world. Everything in it runs on one thread, so its locks are never contended.
pub(super) struct World {
    pub(super) mutant: Option<Mutant>,
    dice: Mutex<Dice>,
    began: Instant,
    /// The lines of the trace, if it is recorded.
    trace: Option<Mutex<Vec<String>>>,
    violation: Mutex<Option<String>>,
    /// Counts of events.
    met: Mutex<Met>,
    weather: Mutex<Weather>,
}

/// The current faults.
#[derive(Clone, Copy)]
pub(super) struct Weather {
    /// The number of store requests in 1,000 that fail.
    pub(super) store_faults: u64,
    /// The number of creates in 1,000 whose process is frozen just before they are sent.
    pub(super) zombies: u64,
    /// Whether some faults are fatal for a process.
    pub(super) fatal_faults: bool,
    /// The time until which the store refuses everything.
    pub(super) store_away: Instant,
    /// Whether everything happens at the worst moment: a record is deleted from its log as soon as it is
    /// durable, no matter who wrote it, and a frozen process wakes up just after another has opened a lane.
    pub(super) ambush: bool,
    /// The time at which frozen processes wake up in that case.
    pub(super) alarm: Option<Instant>,
}

impl World {
    pub(super) fn new(seed: u64, mutant: Option<Mutant>, traced: bool) -> Self {
        let now = Instant::now();
        Self {
            mutant,
            dice: Mutex::new(Dice::new(seed)),
            began: now,
            trace: traced.then(Mutex::default),
            violation: Mutex::default(),
            met: Mutex::default(),
            weather: Mutex::new(Weather {
                store_faults: 0,
                zombies: 0,
                fatal_faults: false,
                store_away: now,
                ambush: false,
                alarm: None,
            }),
        }
    }

    pub(super) fn dice(&self) -> MutexGuard<'_, Dice> {
        lock(&self.dice)
    }

    pub(super) fn weather(&self) -> Weather {
        *lock(&self.weather)
    }

    pub(super) fn change_weather(&self, change: impl FnOnce(&mut Weather)) {
        change(&mut lock(&self.weather));
    }

    /// Records that a lane was opened; in an ambush, frozen processes wake up soon afterwards.
    pub(super) fn lane_opened(&self) {
        if self.weather().ambush {
            let alarm = Instant::now() + Duration::from_millis(self.dice().between(0, 60));
            self.change_weather(|weather| weather.alarm = Some(alarm));
        }
    }

    pub(super) fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// Writes a line of the trace: time, actor, action and outcome.
    pub(super) fn note(&self, who: &str, what: impl Display, outcome: impl Display) {
        if let Some(trace) = &self.trace {
            let at = self.began.elapsed().as_secs_f64();
            lock(trace).push(format!("{at:10.3} s  {who:<6} {what} -> {outcome}"));
        }
    }

    /// Returns the trace so far.
    pub(super) fn trace(&self) -> Vec<String> {
        self.trace
            .as_ref()
            .map(|trace| lock(trace).clone())
            .unwrap_or_default()
    }

    /// Counts a relevant event.
    pub(super) fn meet(&self, what: &'static str) {
        *lock(&self.met).entry(what).or_default() += 1;
    }

    pub(super) fn met(&self) -> Met {
        lock(&self.met).clone()
    }

    /// Records a violation. The first one ends the schedule.
    pub(super) fn broken(&self, what: String) {
        self.note("check", "VIOLATION", &what);
        lock(&self.violation).get_or_insert(what);
    }

    pub(super) fn violation(&self) -> Option<String> {
        lock(&self.violation).clone()
    }

    /// Waits between `low` and `high` milliseconds of simulated time.
    pub(super) async fn pause(&self, low: u64, high: u64) {
        let wait = self.dice().between(low, high);
        tokio::time::sleep(Duration::from_millis(wait)).await;
    }
}

/// Locks a mutex that only one thread ever locks: waiting for it would be a deadlock.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    match mutex.try_lock() {
        Ok(guard) => guard,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => panic!("the simulation locks a value twice"),
    }
}
