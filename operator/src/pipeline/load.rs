//! How busy the workers are, and what that leaves to heavy records.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Heavy records together take at most this part of the time of all workers while these are busy.
const SHARE: u32 = 20;

/// How busy the workers are.
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
    /// What each heavy record at work might have taken so far.
    earned: Duration,
}

impl Load {
    /// The load of so many workers, none of them busy.
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

    /// One more worker is busy, as long as the answer lives.
    pub(super) fn enter(&self) -> Busy<'_> {
        self.now().busy += 1;
        Busy(self)
    }

    /// One more heavy record is worked on, until [`Self::leave_heavy`].
    pub(super) fn enter_heavy(&self) {
        self.now().heavy += 1;
    }

    /// One heavy record less is worked on.
    pub(super) fn leave_heavy(&self) {
        self.now().heavy -= 1;
    }

    /// The processor time that each heavy record at work might have taken since the pool began: what the workers left idle, and
    /// a part of all of their time, shared among these records.
    pub(super) fn earned(&self) -> Duration {
        self.now().earned
    }

    /// The state, up to this moment.
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

/// What each of so many heavy records may take of a time in which so many of the workers are idle.
fn earned(passed: Duration, workers: u32, idle: u32, heavy: u32) -> Duration {
    (passed * idle + passed * workers / SHARE) / heavy.max(1)
}

/// A worker that is busy.
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
        // No bound on the clock: whatever the time that passed, the shares of it are known.
        assert!(idle > 0.5 && occupied < 0.1, "{idle} {occupied}");
    }
}
