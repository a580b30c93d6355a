//! Scheduling of records: heavy records take turns, so that together they stay within the memory of one
//! record, and a record that may kill the process is processed alone.

use std::sync::Arc;

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, OwnedSemaphorePermit, RwLock, Semaphore};

use super::budget::{Budget, Share};
use super::cost::Limits;

/// Permits are counted in KiB, so that a 32-bit count covers any budget.
const UNIT: usize = 1 << 10;

/// The memory of heavy records in hand.
#[derive(Debug)]
pub(crate) struct Turns {
    limits: Limits,
    memory: Arc<Semaphore>,
    units: u32,
    /// The budget of the lanes, from which a record borrows that takes more than is reserved.
    lanes: Option<Arc<Budget>>,
    /// Shared by all workers; held exclusively by one whose record may kill the process.
    floor: Arc<RwLock<()>>,
}

/// The right to process records, with others or alone. It ends when it is dropped.
#[expect(dead_code, reason = "guards are held, not read")]
pub(crate) enum Floor {
    /// Others work at the same time.
    Shared(OwnedRwLockReadGuard<()>),
    /// Nobody else works.
    Alone(OwnedRwLockWriteGuard<()>),
}

/// A heavy record's turn. It ends when it is dropped.
#[expect(dead_code, reason = "guards are held, not read")]
pub(crate) struct Turn {
    permit: OwnedSemaphorePermit,
    borrowed: Option<Share>,
}

impl Turns {
    /// Creates turns within these limits.
    pub(crate) fn new(limits: Limits) -> Self {
        let units = u32::try_from(limits.reserved / UNIT)
            .unwrap_or(u32::MAX >> 3)
            .clamp(1, u32::MAX >> 3);
        Self {
            limits,
            memory: Arc::new(Semaphore::new(units as usize)),
            units,
            lanes: None,
            floor: Arc::default(),
        }
    }

    /// Lets records that take more memory than is reserved borrow it from the lanes.
    #[must_use]
    pub(crate) fn borrowing(self, lanes: Arc<Budget>) -> Self {
        Self {
            lanes: Some(lanes),
            ..self
        }
    }

    /// Waits until this lane may work: with others, or alone once the others have finished their records.
    pub(crate) async fn floor(&self, alone: bool) -> Floor {
        let floor = Arc::clone(&self.floor);
        match alone {
            true => Floor::Alone(floor.write_owned().await),
            false => Floor::Shared(floor.read_owned().await),
        }
    }

    /// Returns the limits of records.
    pub(crate) const fn limits(&self) -> Limits {
        self.limits
    }

    /// Waits until `bytes` are free, in the order of requests. At most two records have a turn at a time,
    /// however small: they share the processors with the workers, and must not crowd them out.
    ///
    /// A record that takes more than is reserved borrows the rest from the lanes. It does not wait for them, since one
    /// of them may wait for its turn: they pause and close their files while members tag the record, whose spans take
    /// the memory at the end.
    pub(crate) async fn take(&self, bytes: usize) -> Option<Turn> {
        let turn = self.limits.turn(bytes);
        let units = u32::try_from(turn.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let units = units.min(self.units);
        // The semaphore is never closed.
        let permit = Arc::clone(&self.memory).acquire_many_owned(units).await.ok()?;
        let borrowed = turn.saturating_sub(self.limits.reserved);
        let lanes = self.lanes.as_ref().filter(|_| borrowed > 0);
        let borrowed = lanes.map(|lanes| {
            let share = lanes.share();
            share.take(borrowed);
            share
        });
        Some(Turn { permit, borrowed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn two_light_turns_fit_and_a_third_waits() {
        let turns = Turns::new(Limits::new(100 << 20));
        let first = turns.take(1).await;
        let _second = turns.take(12 << 20).await;
        let waits = turns.take(1);
        tokio::pin!(waits);
        assert!(futures::poll!(&mut waits).is_pending());
        drop(first);
        assert!(waits.await.is_some());
    }

    #[tokio::test]
    async fn a_record_borrows_from_the_lanes_what_is_not_reserved() {
        let lanes = Budget::new(100 << 20);
        let limits = Limits::new(100 << 20).reserving(60 << 20);
        let turns = Turns::new(limits).borrowing(Arc::clone(&lanes));
        let held = || lanes.now().1 >> 20;
        let reserved = turns.take(15 << 20).await;
        assert_eq!(held(), 0);
        drop(reserved);
        let all = turns.take(30 << 20).await;
        assert_eq!(held(), 40);
        let waits = turns.take(1);
        tokio::pin!(waits);
        assert!(futures::poll!(&mut waits).is_pending());
        drop(all);
        assert_eq!(held(), 0);
    }

    #[tokio::test]
    async fn a_record_that_takes_everything_waits_for_everybody() {
        let turns = Turns::new(Limits::new(100 << 20));
        let first = turns.take(1).await;
        let waits = turns.take(100 << 20);
        tokio::pin!(waits);
        assert!(futures::poll!(&mut waits).is_pending());
        drop(first);
        assert!(waits.await.is_some());
    }

    #[tokio::test]
    async fn a_lane_that_works_alone_waits_for_the_others_and_they_for_it() {
        let turns = Turns::new(Limits::new(1 << 20));
        let (first, second) = (turns.floor(false).await, turns.floor(false).await);
        let alone = turns.floor(true);
        tokio::pin!(alone);
        assert!(futures::poll!(&mut alone).is_pending());
        drop((first, second));
        let alone = alone.await;
        assert!(matches!(alone, Floor::Alone(_)));
        let other = turns.floor(false);
        tokio::pin!(other);
        assert!(futures::poll!(&mut other).is_pending());
        drop(alone);
        assert!(matches!(other.await, Floor::Shared(_)));
    }
}
