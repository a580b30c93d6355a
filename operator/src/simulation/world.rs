//! What everything in a schedule shares: chance, the clock, the trace, and the first violation.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use tokio::time::Instant;

use super::dice::Dice;
use super::mutants::Mutant;

/// How often each thing happened that schedules are for.
pub(super) type Met = BTreeMap<&'static str, u64>;

/// One simulated world. Everything in it runs on one thread, so its locks are never contended.
pub(super) struct World {
    pub(super) mutant: Option<Mutant>,
    dice: Mutex<Dice>,
    began: Instant,
    /// Lines of the trace, if it is wanted.
    trace: Option<Mutex<Vec<String>>>,
    violation: Mutex<Option<String>>,
    /// How often what happened.
    met: Mutex<Met>,
    weather: Mutex<Weather>,
}

/// What goes wrong at present.
#[derive(Clone, Copy)]
pub(super) struct Weather {
    /// How many of 1,000 requests to the store meet a fault.
    pub(super) store_faults: u64,
    /// How many of 1,000 creates find their process frozen just before they are sent.
    pub(super) zombies: u64,
    /// Whether some faults are of a kind that a process does not survive.
    pub(super) fatal_faults: bool,
    /// Until when the store refuses everything.
    pub(super) store_away: Instant,
    /// Whether everything happens at the worst moment: a record is deleted from its log as soon as it is durable, no matter who wrote
    /// it, and a frozen process wakes up just after another has opened a lane.
    pub(super) ambush: bool,
    /// When frozen processes wake up, if that is so.
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

    /// A lane was opened: where everything happens at the worst moment, frozen processes wake up soon.
    pub(super) fn lane_opened(&self) {
        if self.weather().ambush {
            let alarm = Instant::now() + Duration::from_millis(self.dice().between(0, 60));
            self.change_weather(|weather| weather.alarm = Some(alarm));
        }
    }

    pub(super) fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// Writes a line of the trace: when, who, what, and how it ended.
    pub(super) fn note(&self, who: &str, what: impl Display, outcome: impl Display) {
        if let Some(trace) = &self.trace {
            let at = self.began.elapsed().as_secs_f64();
            lock(trace).push(format!("{at:10.3} s  {who:<6} {what} -> {outcome}"));
        }
    }

    /// The trace so far.
    pub(super) fn trace(&self) -> Vec<String> {
        self.trace
            .as_ref()
            .map(|trace| lock(trace).clone())
            .unwrap_or_default()
    }

    /// Counts something that schedules are for.
    pub(super) fn meet(&self, what: &'static str) {
        *lock(&self.met).entry(what).or_default() += 1;
    }

    pub(super) fn met(&self) -> Met {
        lock(&self.met).clone()
    }

    /// A promise was broken. The first violation ends the schedule.
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

/// Locks what only one thread ever locks: to wait for it would be to wait for ever.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    match mutex.try_lock() {
        Ok(guard) => guard,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => panic!("the simulation locks a value twice"),
    }
}
