//! The pace of the work on a record: progress for the lane's board, a limit on its time, and room for the workers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use lethe_core::Pace;
use rustix::time::{ClockId, clock_gettime};

use super::pool::Load;
use crate::telemetry::LaneBoard;

/// Processor time that the work on any batch may take, and what each byte of its text adds. The slowest text that is known
/// costs less than a hundredth of that.
const LEAST: Duration = Duration::from_secs(300);
const A_BYTE: Duration = Duration::from_millis(1);
/// A heavy record takes at most the tenth part of a processor while all workers are busy.
const SHARE: u64 = 10;
/// How long it waits before it looks again whether they are.
const SLICE: Duration = Duration::from_millis(20);

/// Paces the work of one thread on one batch.
#[derive(Debug)]
pub(super) struct Stride {
    limit: Duration,
    thread: ThreadId,
    /// Processor time of the thread when the work began.
    begun: Duration,
    over: AtomicBool,
    /// Bytes that the spans may take, where that is limited, and what they would have taken beyond that; 0 if they did not.
    memory: Option<usize>,
    wanted: AtomicUsize,
    board: Option<Arc<LaneBoard>>,
    /// The pool's load, if this work gives way to it, and when and at which processor time the last window ended.
    yields: Option<(Arc<Load>, Instant, AtomicU64, AtomicU64)>,
}

impl Stride {
    /// Begins the work of this thread on `bytes` of text.
    pub(super) fn begin(bytes: usize, board: Option<&Arc<LaneBoard>>, yields: Option<&Arc<Load>>) -> Self {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        Self::within(LEAST + A_BYTE * bytes, board, yields)
    }

    fn within(limit: Duration, board: Option<&Arc<LaneBoard>>, yields: Option<&Arc<Load>>) -> Self {
        let begun = processor_time();
        let window = |load: &Arc<Load>| {
            let at = AtomicU64::new(micros(begun));
            (Arc::clone(load), Instant::now(), AtomicU64::new(0), at)
        };
        Self {
            limit,
            thread: std::thread::current().id(),
            begun,
            over: AtomicBool::new(false),
            memory: None,
            wanted: AtomicUsize::new(0),
            board: board.cloned(),
            yields: yields.map(window),
        }
    }

    /// The same for work whose spans may take so many bytes.
    pub(super) fn with_memory(self, bytes: Option<usize>) -> Self {
        Self {
            memory: bytes,
            ..self
        }
    }

    /// The bytes that the spans would have taken, if the work was ended because they may not.
    pub(super) fn over_memory(&self) -> Option<usize> {
        Some(self.wanted.load(Ordering::Relaxed)).filter(|&wanted| wanted > 0)
    }

    /// Whether the work was ended because it took too long.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Waits while the workers are busy, as long as this thread has had more than its share of the time since the last window.
    /// Its priority does that where processors are short; where a quota is, in a container, only this does.
    fn give_way(&self, now: Duration) {
        let Some((load, origin, last_wall, last_cpu)) = &self.yields else {
            return;
        };
        let wall = || micros(origin.elapsed());
        let since = wall().saturating_sub(last_wall.load(Ordering::Relaxed));
        let worked = micros(now).saturating_sub(last_cpu.load(Ordering::Relaxed));
        let mut owed = owed(worked, since);
        while !owed.is_zero() && load.is_full() {
            std::thread::sleep(owed.min(SLICE));
            owed = owed.saturating_sub(SLICE);
            self.step();
        }
        last_wall.store(wall(), Ordering::Relaxed);
        last_cpu.store(micros(now), Ordering::Relaxed);
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
        // The clock is that of the thread that does the work. Helpers of a member are not counted.
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

/// Time that this thread has had on a processor. Unlike time on a clock it does not hang on what else the machine does, so that
/// no note is quarantined because the machine was busy.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// How long a thread waits that has worked so many of so many microseconds, to have had no more than its share of them.
const fn owed(worked: u64, since: u64) -> Duration {
    Duration::from_micros((worked * SHARE).saturating_sub(since))
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
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
    fn it_owes_the_workers_what_it_has_had_above_a_tenth() {
        assert_eq!(owed(50, 100), Duration::from_micros(400));
        assert_eq!(owed(10, 100), Duration::ZERO);
        assert_eq!(owed(5, 100), Duration::ZERO);
    }

    #[test]
    fn it_goes_on_at_once_when_a_worker_becomes_idle() {
        let load = Arc::new(Load::new(1));
        let stride = Stride::within(Duration::from_secs(3600), None, Some(&load));
        work_for(Duration::from_millis(2));
        assert!(stride.advance(), "no worker is busy: this returns");
        let busy = load.enter();
        assert!(load.is_full());
        drop(busy);
        assert!(!load.is_full());
    }
}
