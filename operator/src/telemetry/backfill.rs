//! Where a backfill stands, for whoever looks.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Units, and about how long the rest will take.
#[derive(Debug, Default)]
pub(crate) struct BackfillBoard {
    total: AtomicU64,
    done: AtomicU64,
    /// Bits of a number of seconds.
    left: AtomicU64,
}

impl BackfillBoard {
    /// A backfill begins.
    pub(crate) fn begin(&self, total: u64) {
        self.total.store(total, Relaxed);
    }

    /// A unit is done.
    pub(crate) fn unit(&self) {
        self.done.fetch_add(1, Relaxed);
    }

    /// About so many seconds are left.
    pub(crate) fn left(&self, seconds: f64) {
        self.left.store(seconds.to_bits(), Relaxed);
    }

    /// Units by state, and seconds left; none if there is no backfill.
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
