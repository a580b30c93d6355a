//! The threads that process notes. Tagging takes only processor time, so it must not run on the threads that
//! serve connections.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use anyhow::Context as _;
use lethe_core::Pace;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::refusal::Refusal;
use super::service::Service;

/// The memory for the spans of a note, in bytes. A text of numbers has many more spans than prose.
const SPANS: usize = 256 << 20;

type Job = Box<dyn FnOnce(&Service) + Send>;

/// A fixed number of threads with one queue. The limit on requests bounds the queue.
pub(super) struct Lanes {
    jobs: Sender<Job>,
    count: usize,
}

impl Lanes {
    /// Starts the threads, which end when the lanes are dropped.
    ///
    /// # Errors
    /// If the system has no more threads.
    pub(super) fn start(service: &Arc<Service>, count: usize) -> anyhow::Result<Self> {
        let (jobs, queue) = channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        for number in 0..count {
            let (queue, service) = (Arc::clone(&queue), Arc::clone(service));
            std::thread::Builder::new()
                .name(format!("lane-{number}"))
                .spawn(move || {
                    while let Some(job) = next(&queue) {
                        // The panic hook has logged it; the request gets no result.
                        drop(catch_unwind(AssertUnwindSafe(|| job(&service))));
                    }
                })
                .context("cannot start a thread for notes")?;
        }
        Ok(Self { jobs, count })
    }

    /// Returns the number of threads.
    pub(super) const fn count(&self) -> usize {
        self.count
    }

    /// Runs work on a lane, and waits for it until a moment.
    ///
    /// # Errors
    /// A refusal if it is not done by then. Work that nobody waits for any more is not begun.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        until: Instant,
        work: impl FnOnce(&Service) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let (give, result) = oneshot::channel();
        let job = move |service: &Service| {
            if !give.is_closed() {
                // A client that has left needs no result.
                drop(give.send(work(service)));
            }
        };
        self.jobs.send(Box::new(job)).map_err(|_| Refusal::internal())?;
        match timeout_at(until, result).await {
            Ok(result) => result.map_err(|_| Refusal::internal()),
            Err(_) => Err(Refusal::busy(
                "timed_out",
                "the request was not answered in time; try again, or start the server with a higher --request-seconds",
            )),
        }
    }
}

fn next(queue: &Mutex<Receiver<Job>>) -> Option<Job> {
    queue.lock().ok()?.recv().ok()
}

/// Ends the work on a note at a moment.
#[derive(Debug)]
pub(super) struct Until(pub(super) Instant);

impl Pace for Until {
    fn advance(&self) -> bool {
        Instant::now() < self.0
    }

    fn allow(&self, bytes: usize) -> bool {
        bytes <= SPANS
    }
}
