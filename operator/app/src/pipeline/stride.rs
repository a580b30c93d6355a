//! The pace of processing: progress for the lane's board, a time limit, and priority for the workers.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

use lethe_core::Pace;
use rustix::time::{ClockId, clock_gettime};

use super::load::Load;
use crate::telemetry::LaneBoard;

/// The processor time that any batch may take, and the addition per byte of its text. The slowest known text
/// takes less than a hundredth of it.
const LEAST: Duration = Duration::from_secs(300);
const A_BYTE: Duration = Duration::from_millis(1);
/// How long a heavy record that has used more than its share waits before it checks again.
const SLICE: Duration = Duration::from_millis(20);

/// Paces the work of one thread on one batch.
#[derive(Debug)]
pub(super) struct Stride {
    limit: Duration,
    thread: ThreadId,
    /// The thread's processor time when the work began.
    begun: Duration,
    over: AtomicBool,
    /// The limit on bytes of spans, if there is one, and the bytes that were refused; 0 if none were.
    memory: Option<usize>,
    wanted: AtomicUsize,
    board: Option<Arc<LaneBoard>>,
    /// The share in the processors, if this work yields to the workers.
    share: Option<Share>,
}

impl Stride {
    /// Starts the work of this thread on `bytes` of text.
    pub(super) fn begin(bytes: usize, board: Option<&Arc<LaneBoard>>, yields: Option<&Arc<Load>>) -> Self {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        Self::within(LEAST + A_BYTE * bytes, board, yields)
    }

    fn within(limit: Duration, board: Option<&Arc<LaneBoard>>, yields: Option<&Arc<Load>>) -> Self {
        let begun = processor_time();
        Self {
            limit,
            thread: std::thread::current().id(),
            begun,
            over: AtomicBool::new(false),
            memory: None,
            wanted: AtomicUsize::new(0),
            board: board.cloned(),
            share: yields.map(|load| Share::begin(load, begun)),
        }
    }

    /// Limits the bytes of spans.
    pub(super) fn with_memory(self, bytes: Option<usize>) -> Self {
        Self {
            memory: bytes,
            ..self
        }
    }

    /// Returns the bytes of spans that were refused, if that ended the work.
    pub(super) fn over_memory(&self) -> Option<usize> {
        Some(self.wanted.load(Ordering::Relaxed)).filter(|&wanted| wanted > 0)
    }

    /// Returns whether the time limit ended the work.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Waits until this thread has not used more than its share of the processors. If processors are short,
    /// its priority has the same effect; under a quota, as in a container, only this wait does.
    fn give_way(&self, now: Duration) {
        let Some(share) = &self.share else { return };
        while share.owes(now) {
            std::thread::sleep(SLICE);
            self.step();
        }
    }

    fn step(&self) {
        if let Some(board) = &self.board {
            board.stepped();
        }
    }
}

impl Pace for Stride {
    fn advance(&self) -> bool {
        self.step();
        // The clock is that of the working thread. A member's helper threads do not count.
        if std::thread::current().id() == self.thread {
            let now = processor_time();
            if now.saturating_sub(self.begun) > self.limit {
                self.over.store(true, Ordering::Relaxed);
            } else {
                self.give_way(now);
            }
        }
        !self.is_over()
    }

    fn allow(&self, bytes: usize) -> bool {
        let fits = self.memory.is_none_or(|most| bytes <= most);
        if !fits {
            self.wanted.fetch_max(bytes, Ordering::Relaxed);
        }
        fits
    }
}

/// Returns the processor time of this thread. Unlike elapsed time it does not depend on other load, so no
/// note is quarantined because the machine was busy.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// The processor time of a heavy record's thread, compared with what the workers leave to it.
#[derive(Debug)]
struct Share {
    load: Arc<Load>,
    taken: Mutex<Taken>,
}

/// The state at the end of the last window.
#[derive(Debug)]
struct Taken {
    /// The thread's processor time.
    worked: Duration,
    /// The processor time that a heavy record might have used.
    earned: Duration,
    /// The excess. It is still owed if workers were idle for a moment in between.
    owed: Duration,
}

impl Share {
    fn begin(load: &Arc<Load>, worked: Duration) -> Self {
        load.enter_heavy();
        Self {
            taken: Mutex::new(Taken {
                worked,
                earned: load.earned(),
                owed: Duration::ZERO,
            }),
            load: Arc::clone(load),
        }
    }

    /// Returns whether the thread, with this total processor time, has used more than its share.
    fn owes(&self, worked: Duration) -> bool {
        self.settle(worked, self.load.earned())
    }

    fn settle(&self, worked: Duration, earned: Duration) -> bool {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let owed = taken.owed + worked.saturating_sub(taken.worked);
        // Unused time is not saved for later.
        *taken = Taken {
            worked,
            earned,
            owed: owed.saturating_sub(earned.saturating_sub(taken.earned)),
        };
        !taken.owed.is_zero()
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.load.leave_heavy();
    }
}

#[cfg(test)]
mod tests {
    use lethe_core::{NoteBatch, TagError};

    use super::*;

    fn work_for(least: Duration) {
        let begun = processor_time();
        while processor_time().saturating_sub(begun) < least {
            std::hint::black_box((0..10_000).sum::<u64>());
        }
    }

    #[test]
    fn work_over_its_time_is_ended_and_stays_ended() {
        let stride = Arc::new(Stride::within(Duration::ZERO, None, None));
        let batch = NoteBatch::from_texts(["Seen."]).unwrap();
        let batch = batch.paced(Arc::clone(&stride) as Arc<dyn Pace>);
        work_for(Duration::from_millis(1));
        assert_eq!(batch.advance(), Err(TagError::OverBudget));
        assert_eq!(batch.slice(0, 1).advance(), Err(TagError::OverBudget));
        assert!(stride.is_over());
    }

    #[test]
    fn time_that_the_thread_sleeps_does_not_count() {
        let stride = Stride::within(Duration::from_secs(3600), None, None);
        std::thread::sleep(Duration::from_millis(20));
        assert!(processor_time().saturating_sub(stride.begun) < Duration::from_millis(20));
        assert!(stride.advance());
    }

    #[test]
    fn the_limit_grows_with_the_text() {
        let limit = |bytes| Stride::begin(bytes, None, None).limit;
        assert_eq!(limit(0), Duration::from_secs(300));
        assert_eq!(limit(16_000_000), Duration::from_secs(300 + 16_000));
    }

    #[test]
    fn what_is_owed_stays_owed_until_it_is_earned() {
        let millis = Duration::from_millis;
        let load = Arc::new(Load::new(1));
        let share = Share::begin(&load, Duration::ZERO);
        let start = share.taken.lock().unwrap().earned;
        let settle = |worked, earned| share.settle(millis(worked), start + millis(earned));
        assert!(settle(50, 5), "45 ms more than its share");
        assert!(settle(50, 30), "a worker was idle for a moment: 20 ms are left");
        assert!(settle(60, 45), "15 ms");
        assert!(!settle(60, 100), "the workers were idle");
        assert!(settle(61, 100), "unused time is not saved");
    }

    #[test]
    fn it_goes_on_when_the_workers_are_idle_and_leaves_the_load_as_it_was() {
        let load = Arc::new(Load::new(1));
        let stride = Stride::within(Duration::from_secs(3600), None, Some(&load));
        work_for(Duration::from_millis(2));
        assert!(stride.advance(), "no worker is busy: this returns");
        let busy = load.enter();
        work_for(Duration::from_millis(2));
        assert!(
            stride.advance(),
            "it has a part of a busy worker's time: this returns too"
        );
        drop((stride, busy));
    }
}
