//! The progress of a backfill, for metrics and the status page.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Units, and an estimate of the remaining time.
#[derive(Debug, Default)]
pub(crate) struct BackfillBoard {
    total: AtomicU64,
    done: AtomicU64,
    /// The bits of a floating-point number of seconds.
    left: AtomicU64,
}

impl BackfillBoard {
    /// Starts a backfill.
    pub(crate) fn begin(&self, total: u64) {
        self.total.store(total, Relaxed);
    }

    /// Counts a unit as done.
    pub(crate) fn unit(&self) {
        self.done.fetch_add(1, Relaxed);
    }

    /// Sets the estimate of the remaining seconds.
    pub(crate) fn left(&self, seconds: f64) {
        self.left.store(seconds.to_bits(), Relaxed);
    }

    /// Returns units by state, and the remaining seconds; `None` without a backfill.
    pub(super) fn now(&self) -> Option<([(&'static str, u64); 2], f64)> {
        let total = self.total.load(Relaxed);
        (total > 0).then(|| {
            (
                [("total", total), ("done", self.done.load(Relaxed))],
                f64::from_bits(self.left.load(Relaxed)),
            )
        })
    }
}
