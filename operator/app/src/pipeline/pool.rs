//! Threads that tag and encode, with a bounded queue, to keep this work off the runtime's threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};

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
    jobs: mpsc::Sender<Job>,
    load: Arc<Load>,
    /// Runs jobs on the calling thread, so that nothing depends on thread scheduling.
    #[cfg(test)]
    inline: bool,
}

impl Pool {
    /// Starts `workers` threads; the same number of jobs may wait.
    ///
    /// # Errors
    /// If the system cannot create a thread.
    pub(crate) fn start(workers: usize) -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel::<Job>(workers.max(1));
        let queue = Arc::new(Mutex::new(queue));
        let load = Arc::new(Load::new(workers.max(1)));
        for worker in 0..workers.max(1) {
            let (queue, load) = (Arc::clone(&queue), Arc::clone(&load));
            std::thread::Builder::new()
                .name(format!("tag-{worker}"))
                .spawn(move || {
                    loop {
                        // The lock is held while waiting: idle workers queue for it, and a job wakes one of
                        // them.
                        let job = queue
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .blocking_recv();
                        let Some(job) = job else { break };
                        let _busy = load.enter();
                        job();
                    }
                })?;
        }
        Ok(Self {
            jobs,
            load,
            #[cfg(test)]
            inline: false,
        })
    }

    /// Creates a pool without threads, which runs each job on the calling thread.
    #[cfg(test)]
    pub(crate) fn inline() -> Self {
        Self {
            jobs: mpsc::channel(1).0,
            load: Arc::new(Load::new(1)),
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
        #[cfg(test)]
        if self.inline {
            return catch_unwind(AssertUnwindSafe(work)).map_err(|_| Panicked);
        }
        let (job, result) = answering(work);
        self.jobs.send(job).await.map_err(|_| Panicked)?;
        result.await.map_err(|_| Panicked)
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
