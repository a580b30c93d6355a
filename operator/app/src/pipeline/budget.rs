//! The memory budget of all lanes, which covers a note from its arrival until it is durable.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The bytes that all lanes hold together, and their limit.
#[derive(Debug)]
pub(crate) struct Budget {
    total: usize,
    /// What the members' caches take of the total.
    caches: AtomicUsize,
    used: AtomicUsize,
    peak: AtomicUsize,
    relieving: AtomicBool,
}

impl Budget {
    /// Creates a budget of `total` bytes, for the lanes and for the members' caches.
    pub(crate) fn new(total: usize) -> Arc<Self> {
        Arc::new(Self {
            total,
            caches: AtomicUsize::new(0),
            used: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            relieving: AtomicBool::new(false),
        })
    }

    /// Returns the limit of all lanes: what the members' caches leave them, but at least half of the total. Caches
    /// have bounds of their own, and lanes must not stand still for them.
    fn limit(&self) -> usize {
        self.total - self.caches.load(Ordering::Relaxed).min(self.total / 2)
    }

    /// Returns whether `bytes` more fit. One record always fits if nothing is held: otherwise a record larger
    /// than the budget would stop its lane forever.
    pub(crate) fn fits(&self, bytes: usize) -> bool {
        let used = self.used.load(Ordering::Relaxed);
        used == 0 || used + bytes <= self.limit()
    }

    /// Returns whether so much is held that files should be closed early.
    pub(crate) fn is_tight(&self) -> bool {
        self.used.load(Ordering::Relaxed) > self.limit() / 4 * 3
    }

    /// Returns permission to make one lane close its file early; `None` while another lane has it.
    pub(crate) fn relief(self: &Arc<Self>) -> Option<Relief> {
        (!self.relieving.swap(true, Ordering::Relaxed)).then(|| Relief(Arc::clone(self)))
    }

    /// Returns the limit and the held bytes.
    pub(crate) fn now(&self) -> (usize, usize) {
        (self.limit(), self.used.load(Ordering::Relaxed))
    }

    /// Returns the most that was ever held.
    pub(crate) fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    /// Returns an empty share for a lane.
    pub(crate) fn share(self: &Arc<Self>) -> Share {
        Share {
            budget: Arc::clone(self),
            held: AtomicUsize::new(0),
        }
    }

    fn change(&self, from: usize, to: usize) {
        let used = if to >= from {
            self.used.fetch_add(to - from, Ordering::Relaxed) + (to - from)
        } else {
            self.used.fetch_sub(from - to, Ordering::Relaxed) - (from - to)
        };
        self.peak.fetch_max(used, Ordering::Relaxed);
    }
}

/// Permission to close a file early. It ends when it is dropped, also with its lane.
#[derive(Debug)]
pub(crate) struct Relief(Arc<Budget>);

impl Drop for Relief {
    fn drop(&mut self) {
        self.0.relieving.store(false, Ordering::Relaxed);
    }
}

/// The bytes that one lane holds. They are released when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    held: AtomicUsize,
}

impl Share {
    /// Takes `bytes` more.
    pub(crate) fn take(&self, bytes: usize) {
        self.held.fetch_add(bytes, Ordering::Relaxed);
        self.budget.change(0, bytes);
    }

    /// Releases `bytes`.
    pub(crate) fn give(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
        self.budget.change(bytes, 0);
    }

    /// Returns the limit of all lanes together.
    pub(crate) fn limit(&self) -> usize {
        self.budget.limit()
    }

    /// Sets what the members' caches take of the memory of all lanes.
    pub(crate) fn set_caches(&self, bytes: usize) {
        self.budget.caches.store(bytes, Ordering::Relaxed);
    }

    /// Returns the held bytes.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.change(self.held(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_share_gives_everything_back() {
        let budget = Budget::new(100);
        let share = budget.share();
        share.take(80);
        assert!(!budget.fits(30) && budget.fits(20) && budget.is_tight());
        share.give(30);
        drop(share);
        assert!(budget.fits(100));
        assert_eq!(budget.peak(), 80);
    }

    #[test]
    fn caches_take_up_to_half_of_the_memory_of_lanes() {
        let budget = Budget::new(100);
        let share = budget.share();
        share.take(1);
        share.set_caches(30);
        assert_eq!(budget.now(), (70, 1));
        assert!(budget.fits(69) && !budget.fits(70));
        share.set_caches(80);
        assert_eq!(budget.now(), (50, 1));
        share.set_caches(0);
        assert!(budget.fits(99));
    }

    #[test]
    fn a_record_larger_than_the_budget_fits_when_nothing_is_held() {
        assert!(Budget::new(10).fits(20));
    }
}
