//! The load of the workers, and the processor time that it leaves to heavy records.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The divisor of all workers' time that gives the share of heavy records while workers are busy.
const SHARE: u32 = 20;

/// The load of the workers.
#[derive(Debug)]
pub(crate) struct Load {
    workers: u32,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    at: Instant,
    busy: u32,
    heavy: u32,
    /// The processor time that each heavy record in progress might have used so far.
    earned: Duration,
}

impl Load {
    /// Creates the load of this many idle workers.
    pub(super) fn new(workers: usize) -> Self {
        Self {
            workers: u32::try_from(workers).unwrap_or(u32::MAX),
            state: Mutex::new(State {
                at: Instant::now(),
                busy: 0,
                heavy: 0,
                earned: Duration::ZERO,
            }),
        }
    }

    /// Counts one more busy worker until the result is dropped.
    pub(super) fn enter(&self) -> Busy<'_> {
        self.now().busy += 1;
        Busy(self)
    }

    /// Counts one more heavy record, until [`Self::leave_heavy`].
    pub(super) fn enter_heavy(&self) {
        self.now().heavy += 1;
    }

    /// Counts one heavy record less.
    pub(super) fn leave_heavy(&self) {
        self.now().heavy -= 1;
    }

    /// Returns the processor time that each heavy record might have used since the pool began: the workers'
    /// idle time and a part of all of their time, shared among these records.
    pub(super) fn earned(&self) -> Duration {
        self.now().earned
    }

    /// Updates the state to the current moment.
    fn now(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let idle = self.workers.saturating_sub(state.busy);
        let passed = now.saturating_duration_since(state.at);
        let earned = earned(passed, self.workers, idle, state.heavy);
        state.earned += earned;
        state.at = now;
        state
    }
}

/// Returns the share of each heavy record in a period during which some of the workers are idle.
fn earned(passed: Duration, workers: u32, idle: u32, heavy: u32) -> Duration {
    (passed * idle + passed * workers / SHARE) / heavy.max(1)
}

/// A busy worker.
pub(super) struct Busy<'a>(&'a Load);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.now().busy -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heavy_records_share_what_is_idle_and_a_twentieth_of_the_workers() {
        let second = Duration::from_secs(1);
        let millis = |workers, idle, heavy| earned(second, workers, idle, heavy).as_millis();
        assert_eq!(millis(2, 0, 1), 100);
        assert_eq!(millis(2, 0, 2), 50);
        assert_eq!(millis(2, 1, 1), 1100);
        assert_eq!(millis(1, 0, 1), 50);
        assert_eq!(millis(40, 40, 2), 21_000);
    }

    #[test]
    fn what_is_earned_grows_with_idle_workers_and_less_with_busy_ones() {
        let load = Load::new(1);
        let over = |load: &Load| {
            let (begun, before) = (Instant::now(), load.earned());
            std::thread::sleep(Duration::from_millis(20));
            let gained = load.earned() - before;
            gained.as_secs_f64() / begun.elapsed().as_secs_f64()
        };
        let idle = over(&load);
        let busy = load.enter();
        let occupied = over(&load);
        drop(busy);
        // No bound on the clock: the shares hold for any elapsed time.
        assert!(idle > 0.5 && occupied < 0.1, "{idle} {occupied}");
    }
}
