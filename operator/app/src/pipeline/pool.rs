//! Threads that tag and encode, to keep this work off the runtime's threads.
//!
//! Each caller bounds the number of its jobs.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};

use super::load::Load;

type Job = Box<dyn FnOnce() + Send>;

/// How far the priority of a heavy job is below that of the workers (`nice`). With two busy processors, two
/// such threads get less than a tenth of them, and still make progress.
const NICE: i32 = 10;

/// A job panicked. Its data is gone, and the message of the panic is withheld.
#[derive(Debug, thiserror::Error)]
#[error("a worker panicked")]
pub(crate) struct Panicked;

/// A fixed set of worker threads, and a thread for each heavy job. They end when the pool is dropped.
pub(crate) struct Pool {
    queue: Arc<Queue>,
    workers: usize,
    load: Arc<Load>,
    seats: Arc<Seats>,
    /// Runs jobs on the calling thread, so that nothing depends on thread scheduling.
    #[cfg(test)]
    inline: bool,
}

impl Pool {
    /// Starts `workers` threads.
    ///
    /// # Errors
    /// If the system cannot create a thread.
    pub(crate) fn start(workers: usize) -> std::io::Result<Self> {
        let pool = Self {
            queue: Arc::default(),
            workers: workers.max(1),
            load: Arc::new(Load::new(workers.max(1))),
            seats: Arc::default(),
            #[cfg(test)]
            inline: false,
        };
        for worker in 0..pool.workers {
            let (queue, load) = (Arc::clone(&pool.queue), Arc::clone(&pool.load));
            std::thread::Builder::new()
                .name(format!("tag-{worker}"))
                .spawn(move || {
                    while let Some(job) = queue.next() {
                        let _busy = load.enter();
                        job();
                    }
                })?;
        }
        Ok(pool)
    }

    /// Creates a pool without threads, which runs each job on the calling thread, and has room for the batches
    /// of two.
    #[cfg(test)]
    pub(crate) fn inline() -> Self {
        Self {
            queue: Arc::default(),
            workers: 2,
            load: Arc::new(Load::new(1)),
            seats: Arc::default(),
            inline: true,
        }
    }

    /// Runs `work` on a worker and waits for its result.
    ///
    /// # Errors
    /// [`Panicked`] if it panicked.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        self.queued(work, |waiting, job| waiting.jobs.push_back(job))
            .await
    }

    /// Runs `work` on the next free worker, before the jobs that wait, and waits for its result. It is for
    /// short work that rows wait for.
    ///
    /// # Errors
    /// As [`Pool::run`].
    pub(super) async fn run_next<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        self.queued(work, |waiting, job| waiting.urgent.push_back(job))
            .await
    }

    async fn queued<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
        add: impl FnOnce(&mut Waiting, Job),
    ) -> Result<T, Panicked> {
        #[cfg(test)]
        if self.inline {
            return catch_unwind(AssertUnwindSafe(work)).map_err(|_| Panicked);
        }
        let (job, result) = answering(work);
        add(&mut self.queue.waiting(), job);
        self.queue.ready.notify_one();
        result.await.map_err(|_| Panicked)
    }

    /// Counts one more batch until the result is dropped.
    pub(super) fn seat(&self) -> Seat {
        self.seats.taken.fetch_add(1, Ordering::Relaxed);
        Seat(Arc::clone(&self.seats))
    }

    /// Returns whether a lane should begin a further batch while it has one in progress: there are batches
    /// for fewer than all workers, and one that waits. So a lane alone occupies every worker, and many lanes
    /// have one batch each.
    pub(super) fn has_room(&self) -> bool {
        self.seats.taken.load(Ordering::Relaxed) <= self.workers
    }

    /// Waits until a batch leaves its worker.
    pub(super) async fn freed(&self) {
        self.seats.freed.notified().await;
    }

    /// Returns the maximum number of batches that one lane has in progress, including finished ones whose
    /// turn has not come.
    pub(super) const fn most_ahead(&self) -> usize {
        self.workers * 2 + 2
    }

    /// Runs `work` on a thread of its own, with a lower priority than the workers if the system allows it,
    /// and waits for its result. The caller limits their number ([`Turns`](super::Turns)).
    ///
    /// # Errors
    /// [`Panicked`] if it panicked, or if the system cannot create a thread.
    pub(crate) async fn run_heavy<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        #[cfg(test)]
        if self.inline {
            return catch_unwind(AssertUnwindSafe(work)).map_err(|_| Panicked);
        }
        let (job, result) = answering(work);
        let thread = std::thread::Builder::new().name("tag-heavy".to_owned());
        let run = move || {
            // On Linux each thread has its own priority. Without a lower one the record slows others down,
            // but the result is the same.
            if let Err(error) = rustix::process::nice(NICE) {
                tracing::debug!(%error, "heavy records run with the normal priority");
            }
            job();
        };
        thread.spawn(run).map_err(|_| Panicked)?;
        result.await.map_err(|_| Panicked)
    }

    /// Returns the load of the workers.
    pub(super) const fn load(&self) -> &Arc<Load> {
        &self.load
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.queue.waiting().closed = true;
        self.queue.ready.notify_all();
    }
}

/// The batches that wait for a worker or run on one.
#[derive(Debug, Default)]
struct Seats {
    taken: AtomicUsize,
    freed: Notify,
}

/// One of these batches. It ends when it is dropped.
#[derive(Debug)]
pub(super) struct Seat(Arc<Seats>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
        self.0.freed.notify_waiters();
    }
}

/// The jobs that wait for a worker.
#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    ready: Condvar,
}

#[derive(Default)]
struct Waiting {
    /// Jobs that run before the others.
    urgent: VecDeque<Job>,
    jobs: VecDeque<Job>,
    /// Whether the pool was dropped: no further job comes.
    closed: bool,
}

impl Queue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // Each change is one assignment or one call of a queue, so a panic leaves a consistent state.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a job; `None` at the end of the pool.
    fn next(&self) -> Option<Job> {
        let mut waiting = self.waiting();
        loop {
            let job = waiting.urgent.pop_front().or_else(|| waiting.jobs.pop_front());
            if job.is_some() || waiting.closed {
                return job;
            }
            waiting = self.ready.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Returns a job that sends its result, unless it panics.
fn answering<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> (Job, oneshot::Receiver<T>) {
    let (give, result) = oneshot::channel();
    let job = move || {
        if let Ok(value) = catch_unwind(AssertUnwindSafe(work)) {
            // If the lane was dropped, nobody waits for the result.
            drop(give.send(value));
        }
    };
    (Box::new(job), result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_reported_and_the_worker_lives_on() {
        let pool = Pool::start(1).unwrap();
        assert!(pool.run(|| panic!("as asked")).await.is_err());
        assert_eq!(pool.run(|| 2 + 2).await.unwrap(), 4);
    }

    #[tokio::test]
    async fn a_heavy_job_runs_while_every_worker_is_busy() {
        let pool = Pool::start(1).unwrap();
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let busy = pool.run(move || wait.recv().is_ok());
        tokio::pin!(busy);
        assert!(futures::poll!(&mut busy).is_pending());
        assert_eq!(pool.run_heavy(|| 2 + 2).await.unwrap(), 4);
        assert!(pool.run_heavy(|| panic!("as asked")).await.is_err());
        done.send(()).unwrap();
        assert!(busy.await.unwrap());
    }

    #[tokio::test]
    async fn an_urgent_job_runs_before_those_that_wait() {
        let pool = Pool::start(1).unwrap();
        let (begin, wait) = std::sync::mpsc::channel::<()>();
        let order = Arc::new(Mutex::new(Vec::new()));
        let note = |name: &'static str| {
            let order = Arc::clone(&order);
            move || order.lock().unwrap().push(name)
        };
        let busy = pool.run(move || wait.recv().is_ok());
        let (first, second, urgent) = (
            pool.run(note("first")),
            pool.run(note("second")),
            pool.run_next(note("urgent")),
        );
        tokio::pin!(busy, first, second, urgent);
        assert!(futures::poll!(&mut busy).is_pending());
        assert!(futures::poll!(&mut first).is_pending());
        assert!(futures::poll!(&mut second).is_pending());
        assert!(futures::poll!(&mut urgent).is_pending());
        begin.send(()).unwrap();
        second.await.unwrap();
        assert_eq!(*order.lock().unwrap(), ["urgent", "first", "second"]);
    }

    #[test]
    fn there_is_room_for_every_worker_and_one_batch_that_waits() {
        let pool = Pool::start(2).unwrap();
        let seats = [pool.seat(), pool.seat()];
        assert!(pool.has_room());
        let third = pool.seat();
        assert!(!pool.has_room());
        drop(third);
        assert!(pool.has_room());
        drop(seats);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_heavy_job_has_a_lower_priority_and_its_neighbours_keep_theirs() {
        let priority = || rustix::process::getpriority_process(None).unwrap();
        let pool = Pool::start(1).unwrap();
        let before = pool.run(priority).await.unwrap();
        assert_eq!(pool.run_heavy(priority).await.unwrap(), (before + NICE).min(19));
        assert_eq!(pool.run(priority).await.unwrap(), before);
    }
}
