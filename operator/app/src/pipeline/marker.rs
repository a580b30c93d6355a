//! Markers: a lane writes to the store which records it has in hand, so that the next process finds them
//! after a death.
//!
//! A record can kill the process that works on it: it takes more memory than estimated, or a library aborts.
//! After a restart the process reads the same record and dies again. So the store keeps one small object per
//! chain, under a name that is never listed ([`Store::list_after`]). A lane writes it once when it takes its
//! first records, and from then on only if the previous lane did not end in order at the same offset
//! ([`Careful`](super::careful::Careful)).
//!
//! Markers are hints. Files of a chain are created once, whatever a marker contains, so neither a lost marker
//! nor one that several writers overwrite can lose or duplicate a row. If a store refuses markers, its lanes
//! lack this protection.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use lethe_connectors::sink::ChainId;
use lethe_connectors::source::Partition;
use lethe_connectors::store::{Store, StoreError};
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::time::Instant;

/// The number of deaths with a record alone in hand after which it is quarantined.
pub(crate) const DEATHS: u32 = 3;
/// How long a lane waits for the store to read or write a marker.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The version of a marker's format. A marker of another version is ignored and replaced.
const FORMAT: u32 = 1;

/// The records that a lane has in hand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    format: u32,
    /// The process that wrote it. If a lane finds a marker of its own process, nothing died: the group moved
    /// the partition away and back.
    #[serde(default)]
    process: String,
    /// The end of the chain when the lane began.
    tail: i64,
    /// The number of lanes in a row that began at this tail and did not get past it.
    deaths: u32,
    /// The announced records, if records are announced.
    hand: Option<Hand>,
    /// Records that are known to kill the process and are not durable yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    poison: Vec<i64>,
}

/// Records that are being processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hand {
    first: i64,
    last: i64,
    /// Whether this is one record, and the process works on no other.
    alone: bool,
    /// The number of earlier deaths with this record alone in hand.
    deaths: u32,
    /// Whether the work was interrupted or has not begun, so that its end is not a death.
    interrupted: bool,
}

/// A lane's plan, which follows from the marker that it found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Whether batches are announced.
    pub(super) cautious: bool,
    /// The offsets whose records are processed one by one.
    pub(crate) singly: Option<RangeInclusive<i64>>,
    /// The number of deaths with the first of them alone in hand.
    pub(crate) deaths: u32,
    mark: Mark,
}

impl Plan {
    /// Returns the plan of a lane that begins at `tail`, from the marker that it found, if any.
    pub(super) fn of(found: Option<&Mark>, tail: i64, process: &str) -> Self {
        let mut mark = Mark {
            format: FORMAT,
            process: process.to_owned(),
            tail,
            deaths: 0,
            hand: None,
            poison: Vec::new(),
        };
        let Some(found) = found.filter(|found| found.format == FORMAT) else {
            return Self::plain(mark);
        };
        let died = found.process != process;
        mark.deaths = match found.tail == tail {
            true => found.deaths.saturating_add(u32::from(died)),
            false => 0,
        };
        mark.poison = found.poison.clone();
        mark.poison.retain(|&offset| offset >= tail);
        match found.hand {
            // A batch that this process had in hand when it lost the partition is not suspected.
            Some(hand) if hand.last >= tail && (died || hand.alone || hand.interrupted) => {
                let counts = died && hand.alone && !hand.interrupted;
                let deaths = hand.deaths + u32::from(counts);
                let first = hand.first.max(tail);
                // Until the records are processed again, the next process must find the same marker.
                mark.hand = Some(Hand {
                    first,
                    deaths,
                    interrupted: true,
                    ..hand
                });
                Self {
                    cautious: true,
                    singly: Some(first..=hand.last),
                    deaths,
                    mark,
                }
            }
            _ => Self {
                cautious: mark.deaths > 0,
                ..Self::plain(mark)
            },
        }
    }

    /// Returns the records that are known to kill the process.
    pub(crate) fn poison(&self) -> &[i64] {
        &self.mark.poison
    }

    const fn plain(mark: Mark) -> Self {
        Self {
            cautious: false,
            singly: None,
            deaths: 0,
            mark,
        }
    }
}

/// The markers of one process in a store.
#[derive(Clone, Debug)]
pub(crate) struct Marks {
    store: Arc<dyn Store>,
    process: Arc<str>,
}

impl Marks {
    /// Creates the markers of a new process.
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        let process = uuid::Uuid::new_v4().to_string().into();
        Self { store, process }
    }

    /// Returns the marker of a partition's chain.
    pub(crate) fn of_chain(&self, partition: &Partition) -> Arc<Marker> {
        let chain = ChainId::new(Arc::clone(&partition.0), partition.1);
        self.of(&chain.notes_folder())
    }

    /// Returns the marker of this name, for consecutive rows that one process at a time works on.
    pub(crate) fn of(&self, name: &str) -> Arc<Marker> {
        Arc::new(Marker {
            of: self.clone(),
            name: format!(".lethe/in-hand/{name}"),
            mark: Mutex::default(),
            leaving: AtomicBool::new(false),
            writing: tokio::sync::Mutex::default(),
        })
    }
}

/// The marker of one chain in the store.
#[derive(Debug)]
pub(crate) struct Marker {
    of: Marks,
    name: String,
    /// The marker to write; `None` before the lane's first records.
    mark: Mutex<Option<Mark>>,
    /// Whether the partition is being taken away, so that unfinished records did not kill the process.
    leaving: AtomicBool,
    /// Held during a write, so that the last state is the one that stays.
    writing: tokio::sync::Mutex<()>,
}

impl Marker {
    /// Reads the previous lane's marker, and returns the plan for continuing at `tail`.
    pub(crate) async fn begin(&self, tail: i64) -> Plan {
        let found = match tokio::time::timeout(TIMEOUT, self.of.store.read(&self.name)).await {
            // An invalid marker is replaced.
            Ok(Ok(bytes)) => serde_json::from_slice::<Mark>(&bytes).ok(),
            Ok(Err(StoreError::NotFound(_))) => None,
            Ok(Err(error)) => {
                self.warn(&error);
                None
            }
            Err(_) => None,
        };
        let plan = Plan::of(found.as_ref(), tail, &self.of.process);
        self.set(plan.mark.clone()).await;
        plan
    }

    /// Announces the next records. `alone` is the number of deaths with this single record in hand; `None` if
    /// the process works on others too.
    pub(crate) async fn announce(&self, offsets: RangeInclusive<i64>, alone: Option<u32>) {
        self.set_hand(Some(Hand {
            first: *offsets.start(),
            last: *offsets.end(),
            alone: alone.is_some(),
            deaths: alone.unwrap_or(0),
            interrupted: false,
        }))
        .await;
    }

    /// Records that a record kills the process. This stays in the marker until the record is durable.
    pub(crate) async fn condemn(&self, offset: i64) {
        if let Some(mut mark) = self.get() {
            mark.poison.push(offset);
            self.set(mark).await;
        }
    }

    /// Marks the announced records as done.
    pub(crate) async fn done(&self) {
        self.set_hand(None).await;
    }

    /// Records that the partition is being taken away, or that the process ends: records in hand may stay
    /// unfinished without being suspected. Returns immediately; writes only if a single record is announced.
    pub(crate) fn leave(self: &Arc<Self>, runtime: &Handle) {
        let was = self.leaving.swap(true, Ordering::Relaxed);
        let is_alone = |mark: &Mark| mark.hand.is_some_and(|hand| hand.alone && !hand.interrupted);
        if !was && self.get().as_ref().is_some_and(is_alone) {
            let marker = Arc::clone(self);
            runtime.spawn(async move { marker.write().await });
        }
    }

    /// Does the same at a given moment, when a draining lane interrupts its work. Before it, a death counts.
    pub(crate) fn leave_at(self: &Arc<Self>, moment: Instant, runtime: &Handle) {
        let (marker, on) = (Arc::downgrade(self), runtime.clone());
        runtime.spawn(async move {
            tokio::time::sleep_until(moment).await;
            if let Some(marker) = marker.upgrade() {
                marker.leave(&on);
            }
        });
    }

    fn get(&self) -> Option<Mark> {
        // Each change is one assignment, so a panic leaves a consistent state.
        self.mark.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn set(&self, mark: Mark) {
        *self.mark.lock().unwrap_or_else(PoisonError::into_inner) = Some(mark);
        self.write().await;
    }

    async fn set_hand(&self, hand: Option<Hand>) {
        if let Some(mark) = self.get() {
            self.set(Mark { hand, ..mark }).await;
        }
    }

    /// Writes the current marker. A failure is only logged: a lane must not wait for a hint.
    async fn write(&self) {
        match tokio::time::timeout(TIMEOUT, self.put()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.warn(&error),
            Err(_) => tracing::warn!(
                name = self.name,
                "the store does not respond; the marker was not written"
            ),
        }
    }

    async fn put(&self) -> Result<(), StoreError> {
        let _turn = self.writing.lock().await;
        let Some(mut mark) = self.get() else {
            return Ok(());
        };
        if let Some(hand) = &mut mark.hand {
            hand.interrupted |= self.leaving.load(Ordering::Relaxed);
        }
        let bytes = Bytes::from(serde_json::to_vec(&mark).unwrap_or_default());
        match self.of.store.look(&self.name).await {
            // If two writers do this at the same moment, one fails, and either marker may stay.
            Ok(object) => self.of.store.replace(&self.name, bytes, &object.version).await,
            Err(StoreError::NotFound(_)) => self.of.store.create(&self.name, bytes).await,
            Err(error) => Err(error),
        }
    }

    fn warn(&self, error: &StoreError) {
        tracing::warn!(%error, "cannot read or write the marker of records in hand; a record that kills the process would not be identified");
    }
}

#[cfg(test)]
mod tests {
    use lethe_connectors::store::Memory;

    use super::*;

    /// Returns the marker of a chain in a new process.
    fn marker(store: &Arc<dyn Store>) -> Arc<Marker> {
        Marks::new(Arc::clone(store)).of_chain(&("notes".into(), 3))
    }

    fn store() -> Arc<dyn Store> {
        Arc::new(Memory::default())
    }

    #[tokio::test]
    async fn a_lane_that_got_on_or_began_nothing_leaves_no_suspicion() {
        let store = store();
        assert!(!marker(&store).begin(5).await.cautious, "the first lane");
        assert!(
            !marker(&store).begin(9).await.cautious,
            "the previous lane made progress"
        );
        let plan = marker(&store).begin(9).await;
        assert!(plan.cautious && plan.singly.is_none(), "it did not get past 9");
        assert!(store.list("").await.unwrap().is_empty(), "marks are not listed");
    }

    #[tokio::test]
    async fn a_batch_in_hand_is_worked_on_record_by_record() {
        let store = store();
        let lane = marker(&store);
        lane.begin(5).await;
        lane.announce(7..=40, None).await;
        let plan = marker(&store).begin(9).await;
        assert_eq!((plan.singly, plan.deaths), (Some(9..=40), 0));
        // A process that was killed before this point leaves the same state for the next one.
        assert_eq!(marker(&store).begin(9).await.singly, Some(9..=40));
        assert_eq!(
            marker(&store).begin(41).await.singly,
            None,
            "all of it is durable"
        );
    }

    #[tokio::test]
    async fn only_deaths_in_a_row_with_the_record_alone_are_counted() {
        let store = store();
        for deaths in 0..DEATHS {
            let lane = marker(&store);
            assert_eq!(lane.begin(5).await.deaths, deaths);
            lane.announce(5..=5, Some(deaths)).await;
        }
        let lane = marker(&store);
        let plan = lane.begin(5).await;
        assert_eq!((plan.singly, plan.deaths), (Some(5..=5), DEATHS));
        // The record completes after all, which clears the suspicion.
        lane.done().await;
        assert_eq!(marker(&store).begin(5).await.deaths, 0);
    }

    #[tokio::test]
    async fn a_death_before_the_record_is_in_hand_again_does_not_count() {
        let store = store();
        let lane = marker(&store);
        lane.begin(5).await;
        lane.announce(5..=5, Some(0)).await;
        for _ in 0..4 {
            assert_eq!(marker(&store).begin(5).await.deaths, 1);
        }
    }

    #[tokio::test]
    async fn a_record_that_is_broken_off_because_the_process_leaves_did_not_die() {
        let store = store();
        let lane = marker(&store);
        lane.begin(5).await;
        lane.announce(5..=5, Some(1)).await;
        lane.leave(&Handle::current());
        while !std::str::from_utf8(&store.read(&lane.name).await.unwrap())
            .unwrap()
            .contains("\"interrupted\":true")
        {
            tokio::task::yield_now().await;
        }
        let plan = marker(&store).begin(5).await;
        assert_eq!((plan.singly, plan.deaths), (Some(5..=5), 1));
    }

    #[tokio::test]
    async fn a_process_that_loses_a_partition_and_gets_it_back_did_not_die() {
        let store = store();
        let marks = Marks::new(Arc::clone(&store));
        let again = || marks.of_chain(&("notes".into(), 3));
        again().begin(5).await;
        for _ in 0..DEATHS {
            let lane = again();
            let plan = lane.begin(5).await;
            assert!(!plan.cautious && plan.singly.is_none());
            lane.announce(5..=40, None).await;
        }
        // Another process cannot know whether this one is alive.
        assert_eq!(marker(&store).begin(5).await.singly, Some(5..=40));
        // The records of a dead process stay suspected, and losing the partition does not count as another
        // death.
        for _ in 0..2 {
            let lane = again();
            let plan = lane.begin(5).await;
            assert_eq!((plan.singly, plan.deaths), (Some(5..=40), 0));
        }
        let lane = again();
        lane.begin(5).await;
        lane.announce(5..=5, Some(1)).await;
        assert_eq!(again().begin(5).await.deaths, 1);
    }

    #[tokio::test]
    async fn what_is_no_mark_is_replaced() {
        let store = store();
        let lane = marker(&store);
        let create = |bytes: &'static [u8]| store.create(&lane.name, Bytes::from_static(bytes));
        create(b"not a mark").await.unwrap();
        assert!(!lane.begin(5).await.cautious);
        assert!(marker(&store).begin(5).await.cautious, "now there is one");
    }
}
