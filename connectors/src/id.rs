//! Generates the ids of writers, of their write attempts, and of probes.

use uuid::Uuid;

/// Returns a unique id.
#[cfg(not(feature = "fault-injection"))]
pub(crate) fn new_id() -> Uuid {
    Uuid::new_v4()
}

/// Returns a unique id, or the next one of [`seed_ids`].
#[cfg(feature = "fault-injection")]
pub(crate) fn new_id() -> Uuid {
    SEEDED.with(|seeded| {
        seeded.take().map_or_else(Uuid::new_v4, |(seed, count)| {
            seeded.set(Some((seed, count + 1)));
            let bytes = (u128::from(seed) << 64 | u128::from(count)).to_be_bytes();
            uuid::Builder::from_random_bytes(bytes).into_uuid()
        })
    })
}

#[cfg(feature = "fault-injection")]
thread_local! {
    static SEEDED: std::cell::Cell<Option<(u64, u64)>> = const { std::cell::Cell::new(None) };
}

/// Derives the ids of this thread from a seed, so that a simulated run can be repeated.
#[cfg(feature = "fault-injection")]
pub fn seed_ids(seed: u64) {
    SEEDED.with(|seeded| seeded.set(Some((seed, 0))));
}
