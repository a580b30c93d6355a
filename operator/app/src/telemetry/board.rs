//! The current state: each lane's position, whether the process makes progress, and the engine. The pipeline
//! writes it; metrics, probes and the status page read it.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lethe_connectors::source::Partition;
use lethe_core::Lookups;

use super::{BackfillBoard, HaltCode, Halted};

/// The visible state of one lane.
#[derive(Debug)]
pub(crate) struct LaneBoard {
    /// The first offset that is not durable.
    next: AtomicI64,
    /// One past the last offset of the log; negative while it is unknown.
    end: AtomicI64,
    /// The approximate time of the oldest record that is not durable, and of the last one that was redacted,
    /// in ms since 1970; 0 if unknown.
    since: AtomicI64,
    latest: AtomicI64,
    /// Records in the queue.
    queued: AtomicI64,
    /// When it last made progress, in ms since the board was created.
    moved: AtomicU64,
    /// Whether it waits for a store or another service: it cannot make progress, and a restart would not
    /// help.
    waits: AtomicBool,
    /// Whether a file is being uploaded to the store.
    uploads: AtomicBool,
    clock: Clock,
}

/// Time since a moment, in ms, which fits an atomic.
#[derive(Clone, Copy, Debug)]
struct Clock(Instant);

impl Clock {
    fn now(self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl LaneBoard {
    fn new(next: i64, end: i64, clock: Clock) -> Self {
        Self {
            next: AtomicI64::new(next),
            end: AtomicI64::new(end),
            since: AtomicI64::new(0),
            latest: AtomicI64::new(0),
            queued: AtomicI64::new(0),
            moved: AtomicU64::new(clock.now()),
            waits: AtomicBool::new(false),
            uploads: AtomicBool::new(false),
            clock,
        }
    }

    /// Records that a record is in the queue.
    pub(crate) fn queued(&self, offset: i64, timestamp: Option<i64>) {
        if self.queued.fetch_add(1, Relaxed) == 0 {
            // A lane that waited for records has not been stuck.
            self.moved.store(self.clock.now(), Relaxed);
        }
        if offset <= self.next.load(Relaxed) || self.since.load(Relaxed) == 0 {
            self.since.store(timestamp.unwrap_or_else(unix_ms), Relaxed);
        }
    }

    /// Records that records have left the queue and are redacted, with the last one's time.
    pub(crate) fn redacted(&self, records: usize, timestamp: Option<i64>) {
        self.queued
            .fetch_sub(i64::try_from(records).unwrap_or(0), Relaxed);
        self.latest.store(timestamp.unwrap_or_else(unix_ms), Relaxed);
        self.got_on();
    }

    /// Records that a file is durable, with the next offset.
    pub(crate) fn durable(&self, next: i64) {
        self.next.store(next, Relaxed);
        self.since.store(self.latest.load(Relaxed), Relaxed);
        self.got_on();
    }

    /// Returns the first offset that is not durable.
    pub(crate) fn next(&self) -> i64 {
        self.next.load(Relaxed)
    }

    /// Sets the current end of the log.
    pub(crate) fn log_end(&self, end: i64) {
        self.end.store(end, Relaxed);
    }

    /// Records progress: a window of a long record, or a part of a batch, is done.
    pub(crate) fn stepped(&self) {
        self.moved.store(self.clock.now(), Relaxed);
    }

    /// Sets whether a file is being uploaded. The store limits the time that this takes, so it counts as
    /// progress.
    pub(crate) fn uploads(&self, uploads: bool) {
        self.uploads.store(uploads, Relaxed);
        self.stepped();
    }

    /// Sets whether it waits for an unavailable service.
    pub(crate) fn waits(&self, waits: bool) {
        self.waits.store(waits, Relaxed);
    }

    fn got_on(&self) {
        self.waits.store(false, Relaxed);
        self.moved.store(self.clock.now(), Relaxed);
    }

    /// Returns the current state.
    fn look(&self) -> LaneNow {
        let (next, end) = (self.next.load(Relaxed), self.end.load(Relaxed));
        // Records that arrived after the last report of the log's end may already be durable.
        let lag = (end >= 0).then(|| u64::try_from(end.saturating_sub(next)).unwrap_or(0));
        let since = self.since.load(Relaxed);
        let age = match lag {
            Some(1..) if since > 0 => Duration::from_millis(u64::try_from(unix_ms() - since).unwrap_or(0)),
            _ => Duration::ZERO,
        };
        LaneNow {
            next,
            lag,
            age,
            queued: u64::try_from(self.queued.load(Relaxed)).unwrap_or(0),
            waits: self.waits.load(Relaxed),
            uploads: self.uploads.load(Relaxed),
            still: Duration::from_millis(self.clock.now().saturating_sub(self.moved.load(Relaxed))),
        }
    }
}

/// The state of a lane at one moment.
#[derive(Clone, Debug)]
pub(crate) struct LaneNow {
    /// The first offset that is not durable.
    pub(crate) next: i64,
    /// Records that are not durable; `None` while the end of the log is unknown.
    pub(crate) lag: Option<u64>,
    /// The age of the oldest of them, if it is known.
    pub(crate) age: Duration,
    pub(crate) queued: u64,
    pub(crate) waits: bool,
    /// Whether a file is being uploaded to the store.
    uploads: bool,
    /// The time without progress.
    still: Duration,
}

/// The engine that redacts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Build {
    pub(crate) bundle: String,
    pub(crate) policy: String,
    pub(crate) members: Vec<String>,
}

/// The current state of the process.
#[derive(Debug)]
pub(crate) struct Board {
    clock: Clock,
    /// The time without progress after which the process counts as dead.
    stall: Duration,
    /// When the consumer last polled, in ms since the board was created.
    polled: AtomicU64,
    /// Whether there is a consumer that polls.
    polls: AtomicBool,
    ready: AtomicBool,
    lanes: Mutex<BTreeMap<Partition, Arc<LaneBoard>>>,
    halted: Mutex<BTreeMap<Partition, Halted>>,
    build: Mutex<Build>,
    memory: Mutex<Sampler<(usize, usize)>>,
    caches: Mutex<Sampler<MemberCaches>>,
    backfill: Arc<BackfillBoard>,
}

/// What members tell of their caches, by name.
#[derive(Debug, Default)]
pub(crate) struct MemberCaches {
    /// The look-ups of members that count them.
    pub(crate) lookups: Vec<(String, Lookups)>,
    /// The bytes of members that have caches.
    pub(crate) bytes: Vec<(String, usize)>,
}

/// Reads a value from its owner; the default until there is an owner.
struct Sampler<T>(Option<Box<dyn Fn() -> T + Send>>);

impl<T> Default for Sampler<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Default> Sampler<T> {
    fn ask(&self) -> T {
        self.0.as_ref().map_or_else(T::default, |ask| ask())
    }
}

impl<T> std::fmt::Debug for Sampler<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Watch" } else { "nobody" })
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change is one insertion or removal, so a panic leaves a consistent state.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Board {
    /// Creates a board without lanes. A lane without progress for `stall` counts as dead.
    pub(crate) fn new(stall: Duration) -> Self {
        Self {
            clock: Clock(Instant::now()),
            stall,
            polled: AtomicU64::new(0),
            polls: AtomicBool::new(false),
            ready: AtomicBool::new(false),
            lanes: Mutex::default(),
            halted: Mutex::default(),
            build: Mutex::default(),
            memory: Mutex::default(),
            caches: Mutex::default(),
            backfill: Arc::default(),
        }
    }

    /// Records progress of the reader: the consumer polled, or a backfill read more.
    pub(crate) fn polled(&self) {
        self.polled.store(self.clock.now(), Relaxed);
        self.polls.store(true, Relaxed);
    }

    /// Records that the reader waits for a store or a broker, which counts as progress: a restart would wait
    /// as well.
    pub(crate) fn still_reading(&self) {
        self.polled.store(self.clock.now(), Relaxed);
    }

    /// Sets whether the program can take records; false when it stops.
    pub(crate) fn ready(&self, ready: bool) {
        self.ready.store(ready, Relaxed);
    }

    /// Adds a lane that begins at `next`; its log ends at `end`, if that is known.
    pub(crate) fn open(&self, partition: &Partition, next: i64, end: Option<i64>) -> Arc<LaneBoard> {
        let lane = Arc::new(LaneBoard::new(next, end.unwrap_or(-1), self.clock));
        held(&self.halted).remove(partition);
        held(&self.lanes).insert(partition.clone(), Arc::clone(&lane));
        lane
    }

    /// Removes a lane.
    pub(crate) fn close(&self, partition: &Partition) {
        held(&self.lanes).remove(partition);
        held(&self.halted).remove(partition);
    }

    /// Records that a lane halted, and why: a text without anything from a note.
    pub(crate) fn halt(&self, partition: &Partition, code: HaltCode, why: String) {
        held(&self.lanes).remove(partition);
        held(&self.halted).insert(partition.clone(), Halted { code, why });
    }

    /// Returns the current state of every lane.
    pub(crate) fn lanes(&self) -> Vec<(Partition, LaneNow)> {
        let lanes = held(&self.lanes);
        lanes
            .iter()
            .map(|(partition, lane)| (partition.clone(), lane.look()))
            .collect()
    }

    /// Returns every halted lane, and why.
    pub(crate) fn halts(&self) -> Vec<(Partition, Halted)> {
        let halted = held(&self.halted);
        halted
            .iter()
            .map(|(partition, halted)| (partition.clone(), halted.clone()))
            .collect()
    }

    /// Sets the engine that redacts from now on.
    pub(crate) fn built(&self, build: Build) {
        *held(&self.build) = build;
    }

    /// Returns the engine that redacts.
    pub(crate) fn build(&self) -> Build {
        held(&self.build).clone()
    }

    /// Sets the source of the lanes' memory: the limit and the held bytes.
    pub(crate) fn sample_memory(&self, ask: impl Fn() -> (usize, usize) + Send + 'static) {
        *held(&self.memory) = Sampler(Some(Box::new(ask)));
    }

    /// Returns the limit of the lanes' memory and the held bytes.
    pub(crate) fn memory(&self) -> (usize, usize) {
        held(&self.memory).ask()
    }

    /// Sets the source of what members tell of their caches.
    pub(crate) fn sample_caches(&self, ask: impl Fn() -> MemberCaches + Send + 'static) {
        *held(&self.caches) = Sampler(Some(Box::new(ask)));
    }

    /// Returns what members tell of their caches.
    pub(crate) fn caches(&self) -> MemberCaches {
        held(&self.caches).ask()
    }

    /// Returns the state of the backfill.
    pub(crate) const fn backfill(&self) -> &Arc<BackfillBoard> {
        &self.backfill
    }

    /// Returns how long the program has been running.
    pub(crate) fn uptime(&self) -> Duration {
        self.clock.0.elapsed()
    }

    /// Returns whether the process makes progress. Waiting for a store counts as progress, since a restart
    /// would wait as well.
    ///
    /// # Errors
    /// The part without progress, and for how long.
    pub(crate) fn check_live(&self) -> Result<(), String> {
        let since = Duration::from_millis(self.clock.now().saturating_sub(self.polled.load(Relaxed)));
        if self.polls.load(Relaxed) && since > self.stall {
            return Err(format!(
                "the reader has made no progress for {} s",
                since.as_secs()
            ));
        }
        for ((topic, partition), lane) in self.lanes() {
            if lane.queued > 0 && !lane.waits && !lane.uploads && lane.still > self.stall {
                let seconds = lane.still.as_secs();
                return Err(format!(
                    "lane {topic}/{partition} has {} records waiting and has made no progress for {seconds} s",
                    lane.queued
                ));
            }
        }
        Ok(())
    }

    /// Returns whether the program can take records: it has been assigned partitions, is not stopping, and
    /// not all of its lanes are halted.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Relaxed) && !self.is_halted()
    }

    /// Returns whether every lane of this process is halted.
    pub(crate) fn is_halted(&self) -> bool {
        held(&self.lanes).is_empty() && !held(&self.halted).is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Partition {
        ("notes".into(), 3)
    }

    #[test]
    fn lag_is_what_is_not_durable_and_its_age_the_oldest_records() {
        let board = Board::new(Duration::from_secs(60));
        let lane = board.open(&place(), 10, None);
        let now = |board: &Board| board.lanes().remove(0).1;
        assert_eq!((now(&board).lag, now(&board).age), (None, Duration::ZERO));
        lane.log_end(12);
        lane.queued(10, Some(unix_ms() - 90_000));
        lane.queued(11, Some(unix_ms() - 5_000));
        let seen = now(&board);
        assert_eq!((seen.lag, seen.queued), (Some(2), 2));
        assert!((85..95).contains(&seen.age.as_secs()), "{:?}", seen.age);
        lane.redacted(2, Some(unix_ms() - 5_000));
        assert!(now(&board).age.as_secs() > 80, "redacted does not mean durable");
        lane.durable(12);
        assert_eq!((now(&board).lag, now(&board).age), (Some(0), Duration::ZERO));
        lane.durable(15);
        assert_eq!(now(&board).lag, Some(0), "more is durable than was reported");
        // After a quiet time, the age of the next record is its own, not that of the one before it.
        lane.log_end(16);
        lane.queued(15, Some(unix_ms() - 1_000));
        assert!(now(&board).age.as_secs() < 80);
        board.close(&place());
        assert!(board.lanes().is_empty());
    }

    #[test]
    fn who_stands_still_is_dead_unless_it_waits_for_what_is_away() {
        let board = Board::new(Duration::ZERO);
        assert_eq!(board.check_live(), Ok(()));
        let lane = board.open(&place(), 0, Some(5));
        lane.queued(0, None);
        std::thread::sleep(Duration::from_millis(3));
        assert!(
            board
                .check_live()
                .unwrap_err()
                .contains("lane notes/3 has 1 records waiting")
        );
        lane.waits(true);
        assert_eq!(board.check_live(), Ok(()));
        lane.redacted(1, None);
        std::thread::sleep(Duration::from_millis(3));
        assert_eq!(
            board.check_live(),
            Ok(()),
            "an empty queue does not count as stuck"
        );
        board.polled();
        std::thread::sleep(Duration::from_millis(3));
        assert!(board.check_live().unwrap_err().contains("the reader"));
    }

    #[test]
    fn a_long_record_that_makes_progress_is_alive_and_one_that_makes_none_is_not() {
        // Nothing in this test takes an hour, and each wait is longer than the resolution of the clock.
        let is_live = |stall: Duration, step: &dyn Fn(&LaneBoard)| {
            let board = Board::new(stall);
            let lane = board.open(&place(), 0, Some(1));
            lane.queued(0, None);
            lane.moved.store(0, Relaxed);
            std::thread::sleep(Duration::from_millis(3));
            step(&lane);
            board.check_live().is_ok()
        };
        let hour = Duration::from_secs(3600);
        assert!(is_live(hour, &|lane| lane.stepped()));
        assert!(!is_live(Duration::ZERO, &|_| {}));
        assert!(
            is_live(Duration::ZERO, &|lane| lane.uploads(true)),
            "a file is uploaded"
        );
        assert!(!is_live(Duration::ZERO, &|lane| {
            lane.uploads(true);
            lane.uploads(false);
            lane.moved.store(0, Relaxed);
        }));
    }

    #[test]
    fn progress_is_counted_from_the_last_step() {
        let board = Board::new(Duration::from_secs(3600));
        let lane = board.open(&place(), 0, Some(1));
        lane.queued(0, None);
        lane.moved.store(0, Relaxed);
        std::thread::sleep(Duration::from_millis(20));
        let before = board.lanes().remove(0).1.still;
        lane.stepped();
        let after = board.lanes().remove(0).1.still;
        assert!(
            before >= Duration::from_millis(20) && after < before,
            "{before:?} {after:?}"
        );
    }

    #[test]
    fn a_halted_lane_is_told_until_it_is_opened_again() {
        let board = Board::new(Duration::from_secs(1));
        board.open(&place(), 0, None);
        board.ready(true);
        let halt = |partition: &Partition| {
            board.halt(partition, HaltCode::OutOfRange, "it goes on elsewhere".to_owned())
        };
        halt(&place());
        assert_eq!((board.lanes().len(), board.halts().len()), (0, 1));
        assert!(!board.is_ready(), "its only lane is halted");
        assert_eq!(board.check_live(), Ok(()), "a restart would not help");
        board.open(&place(), 0, None);
        assert_eq!((board.lanes().len(), board.halts().len()), (1, 0));
        halt(&("notes".into(), 4));
        assert!(board.is_ready(), "the other lane continues");
    }
}
