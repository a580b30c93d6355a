//! Scheduling of records: heavy records take turns, so that together they stay within the memory of one
//! record, and a record that may kill the process is processed alone.

use std::sync::Arc;

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, OwnedSemaphorePermit, RwLock, Semaphore};

use super::cost::Limits;

/// Permits are counted in KiB, so that a 32-bit count covers any budget.
const UNIT: usize = 1 << 10;

/// The memory of heavy records in hand.
#[derive(Debug)]
pub(crate) struct Turns {
    limits: Limits,
    memory: Arc<Semaphore>,
    units: u32,
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
pub(crate) type Turn = OwnedSemaphorePermit;

impl Turns {
    /// Creates turns within these limits.
    pub(crate) fn new(limits: Limits) -> Self {
        let units = u32::try_from(limits.record / UNIT)
            .unwrap_or(u32::MAX >> 3)
            .clamp(1, u32::MAX >> 3);
        Self {
            limits,
            memory: Arc::new(Semaphore::new(units as usize)),
            units,
            floor: Arc::default(),
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
    pub(crate) async fn take(&self, bytes: usize) -> Option<Turn> {
        let units = u32::try_from(self.limits.turn(bytes).div_ceil(UNIT)).unwrap_or(u32::MAX);
        let units = units.min(self.units);
        // The semaphore is never closed.
        Arc::clone(&self.memory).acquire_many_owned(units).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn two_light_turns_fit_and_a_third_waits() {
        let turns = Turns::new(Limits::new(100 << 20));
        let first = turns.take(1).await;
        let _second = turns.take(30 << 20).await;
        let waits = turns.take(1);
        tokio::pin!(waits);
        assert!(futures::poll!(&mut waits).is_pending());
        drop(first);
        assert!(waits.await.is_some());
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
