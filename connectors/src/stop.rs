//! The stop request: set once, noticed by everything that waits.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// How often a waiting thread checks for a stop.
const LOOK: Duration = Duration::from_millis(20);

/// A stop that may be requested, and the drain limit that starts with the request. Clones share it.
///
/// Instants use tokio's clock, so that a test can pause it.
///
/// ```
/// use std::time::Duration;
/// use lethe_connectors::Stop;
///
/// let stop = Stop::new(Duration::from_secs(3));
/// assert!(!stop.is_requested() && !stop.sleep(Duration::ZERO));
/// stop.request();
/// assert!(stop.is_requested() && stop.sleep(Duration::from_secs(3600)));
/// ```
#[derive(Clone, Debug)]
pub struct Stop {
    requested: Arc<watch::Sender<Option<Instant>>>,
    drain: Duration,
}

impl Stop {
    /// Returns a stop that is not requested yet. Work in progress may continue for `drain` after the request.
    #[must_use]
    pub fn new(drain: Duration) -> Self {
        Self {
            requested: Arc::new(watch::Sender::new(None)),
            drain,
        }
    }

    /// Returns the same stop with another drain limit.
    #[must_use]
    pub fn with_drain(&self, drain: Duration) -> Self {
        Self {
            requested: Arc::clone(&self.requested),
            drain,
        }
    }

    /// Requests the stop. Later requests have no effect.
    pub fn request(&self) {
        self.requested.send_if_modified(|requested| {
            let first = requested.is_none();
            requested.get_or_insert_with(Instant::now);
            first
        });
    }

    /// Returns whether the stop was requested.
    pub fn is_requested(&self) -> bool {
        self.requested.borrow().is_some()
    }

    /// Returns when work in progress must be abandoned; `None` before the request.
    pub fn deadline(&self) -> Option<Instant> {
        self.requested.borrow().map(|requested| requested + self.drain)
    }

    /// Waits for the request.
    pub async fn requested(&self) {
        // The sender lives as long as `self`, so the wait cannot fail.
        drop(self.requested.subscribe().wait_for(Option::is_some).await);
    }

    /// Waits for the request, then for the end of the drain limit.
    pub async fn expired(&self) {
        self.requested().await;
        if let Some(deadline) = self.deadline() {
            tokio::time::sleep_until(deadline).await;
        }
    }

    /// Runs a future until it completes, or until the stop is requested; then returns `None`.
    pub async fn or<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.requested() => None,
            done = work => Some(done),
        }
    }

    /// Blocks the thread for `time`, or until the stop is requested; then returns true.
    pub fn sleep(&self, time: Duration) -> bool {
        let until = std::time::Instant::now() + time;
        while !self.is_requested() {
            let left = until.saturating_duration_since(std::time::Instant::now());
            if left.is_zero() {
                return false;
            }
            std::thread::sleep(left.min(LOOK));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_drain_limit_counts_from_the_first_request() {
        let stop = Stop::new(Duration::from_secs(3600));
        assert_eq!(stop.deadline(), None);
        stop.request();
        let deadline = stop.deadline();
        stop.clone().request();
        assert_eq!(stop.deadline(), deadline);
        assert!(deadline.is_some_and(|deadline| deadline > Instant::now()));
        stop.with_drain(Duration::ZERO).expired().await;
    }

    #[tokio::test]
    async fn a_stop_ends_what_would_wait_for_ever() {
        let stop = Stop::new(Duration::ZERO);
        assert_eq!(stop.or(async { 7 }).await, Some(7));
        let waiting = stop.clone();
        let waiting = tokio::spawn(async move { waiting.or(std::future::pending::<()>()).await });
        stop.request();
        assert_eq!(waiting.await.unwrap(), None);
    }
}
