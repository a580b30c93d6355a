//! Threads that tag and encode, behind a bounded queue: no such work on the runtime's own threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};

type Job = Box<dyn FnOnce() + Send>;

/// A job panicked. What it held is gone; what the panic said is withheld.
#[derive(Debug, thiserror::Error)]
#[error("a worker panicked")]
pub(crate) struct Panicked;

/// A fixed set of worker threads. They end when the pool is dropped.
pub(crate) struct Pool {
    jobs: mpsc::Sender<Job>,
    /// Runs jobs where they are given, so that nothing depends on how threads are scheduled.
    #[cfg(test)]
    inline: bool,
}

impl Pool {
    /// Starts `workers` threads; as many jobs again may wait.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub(crate) fn start(workers: usize) -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel::<Job>(workers.max(1));
        let queue = Arc::new(Mutex::new(queue));
        for worker in 0..workers.max(1) {
            let queue = Arc::clone(&queue);
            std::thread::Builder::new()
                .name(format!("tag-{worker}"))
                .spawn(move || {
                    loop {
                        // The lock is held while waiting: idle workers queue up behind it, one job wakes one of them.
                        let job = queue
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .blocking_recv();
                        let Some(job) = job else { break };
                        job();
                    }
                })?;
        }
        Ok(Self {
            jobs,
            #[cfg(test)]
            inline: false,
        })
    }

    /// A pool without threads that runs each job on the thread that gives it.
    #[cfg(test)]
    pub(crate) fn inline() -> Self {
        Self {
            jobs: mpsc::channel(1).0,
            inline: true,
        }
    }

    /// Runs `work` on a worker and waits for its result.
    ///
    /// # Errors
    /// [`Panicked`] if it did.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        #[cfg(test)]
        if self.inline {
            return catch_unwind(AssertUnwindSafe(work)).map_err(|_| Panicked);
        }
        let (give, result) = oneshot::channel();
        let job: Job = Box::new(move || {
            if let Ok(value) = catch_unwind(AssertUnwindSafe(work)) {
                // Nobody waits any more if the lane was dropped.
                drop(give.send(value));
            }
        });
        self.jobs.send(job).await.map_err(|_| Panicked)?;
        result.await.map_err(|_| Panicked)
    }
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
}
