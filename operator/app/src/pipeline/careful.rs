//! Finds the record that kills the process: after a death with records in hand, a lane announces batches
//! first, then single records.
//!
//! A lane that begins where another one died first announces each batch before it processes it. After a death
//! in a batch, the next process works on that batch's records one by one, each alone in the whole process, so
//! that a death is due to that record. A record that was alone in hand at three deaths in a row is
//! quarantined. A record that completes is no longer suspected, and an ordinary stop does not count as a
//! death: a random `kill -9` would have to hit the same record three times.

use std::ops::RangeInclusive;
use std::sync::Arc;

use lethe_core::{QuarantineCode, Record};

use super::incoming::Incoming;
use super::marker::{DEATHS, Marker, Plan};

/// The number of records for which a lane announces its batches after it began where another one died.
const CAUTIOUS: usize = 1 << 16;
/// The number of rows after which it then closes its file, so that the next process need not repeat them.
const STRETCH: u64 = 4096;

/// Records that are processed together.
pub(super) struct Part {
    pub(super) records: Vec<Incoming>,
    /// Whether the process works on nothing else at the same time.
    pub(super) alone: bool,
}

/// The precautions of a lane.
pub(crate) struct Careful {
    marker: Arc<Marker>,
    /// `None` before the first records.
    plan: Option<Plan>,
    /// The number of records that are still announced in batches.
    left: usize,
    /// Whether the last part was a single record.
    alone: bool,
}

impl Careful {
    /// Creates the precautions of a lane with this marker.
    pub(crate) const fn new(marker: Arc<Marker>) -> Self {
        Self {
            marker,
            plan: None,
            left: 0,
            alone: false,
        }
    }

    /// Reads the marker once, to plan how to continue at `tail`.
    pub(super) async fn begin(&mut self, place: &str, tail: i64) {
        if self.plan.is_some() {
            return;
        }
        let plan = self.marker.begin(tail).await;
        if plan.cautious {
            self.left = CAUTIOUS;
            tracing::warn!(
                %place,
                offset = tail,
                "the previous process died with records from this offset on in hand; they are announced before they are processed"
            );
        }
        self.plan = Some(plan);
    }

    /// Splits records into the parts in which they are processed, in order. A record that has killed the
    /// process too often is quarantined.
    pub(super) fn parts(&self, place: &str, records: Vec<Incoming>) -> Vec<Part> {
        let Some((range, deaths)) = self.singly() else {
            return vec![Part {
                records,
                alone: false,
            }];
        };
        let mut parts: Vec<Part> = Vec::new();
        for record in records {
            let offset = record.at().offset;
            if offset == *range.start() && deaths >= DEATHS {
                tracing::error!(%place, offset, "quarantined: the process died {deaths} times while it worked on this record alone");
                let pill = Record::Quarantined(record.at().clone(), QuarantineCode::PoisonPill.into());
                join(&mut parts, Incoming::Read(pill));
            } else if range.contains(&offset) {
                parts.push(Part {
                    records: vec![record],
                    alone: true,
                });
            } else {
                join(&mut parts, record);
            }
        }
        parts
    }

    /// Returns whether nothing is suspected, so that a lane may have several batches in progress. The marker
    /// announces one part at a time.
    pub(super) const fn is_plain(&self) -> bool {
        self.left == 0 && !self.alone
    }

    /// Announces the next part if necessary.
    pub(super) async fn announce(&mut self, part: &Part) {
        let (Some(first), Some(last)) = (part.records.first(), part.records.last()) else {
            return;
        };
        let offsets = first.at().offset..=last.at().offset;
        if part.alone {
            let known = self
                .singly()
                .filter(|(range, _)| range.start() == offsets.start());
            let deaths = known.map_or(0, |(_, deaths)| deaths);
            self.marker.announce(offsets, Some(deaths)).await;
        } else if self.left > 0 {
            self.left = self.left.saturating_sub(part.records.len());
            self.marker.announce(offsets, None).await;
            if self.left == 0 {
                tracing::info!("no record of this lane killed the process; batches are no longer announced");
            }
        }
    }

    /// Marks a part as done. The end of a single record is written immediately: a later death is due to
    /// another record.
    pub(super) async fn done(&self, alone: bool) {
        if alone {
            self.marker.done().await;
        }
    }

    /// Returns whether the lane closes its file of `rows` rows before this part, so that a death does not
    /// cost them: before and after single records, and after each stretch.
    pub(super) const fn closes(&mut self, part: &Part, rows: u64) -> bool {
        let turns = part.alone != self.alone;
        self.alone = part.alone;
        turns || (self.left > 0 && rows >= STRETCH)
    }

    fn singly(&self) -> Option<(&RangeInclusive<i64>, u32)> {
        let plan = self.plan.as_ref()?;
        Some((plan.singly.as_ref()?, plan.deaths))
    }
}

/// Adds a record to the last part, unless that is a single record.
fn join(parts: &mut Vec<Part>, record: Incoming) {
    match parts.last_mut() {
        Some(part) if !part.alone => part.records.push(record),
        _ => parts.push(Part {
            records: vec![record],
            alone: false,
        }),
    }
}

#[cfg(test)]
mod tests {
    use lethe_connectors::store::{Memory, Store};
    use lethe_core::{Coordinates, NoteEvent};

    use super::super::marker::Marks;
    use super::*;

    fn records(offsets: RangeInclusive<i64>) -> Vec<Incoming> {
        let note = |offset| {
            let at = Coordinates {
                topic: "notes".into(),
                partition: 0,
                offset,
            };
            Incoming::Read(Record::Note(NoteEvent {
                at,
                ..NoteEvent::default()
            }))
        };
        offsets.map(note).collect()
    }

    fn shape(parts: &[Part]) -> Vec<(i64, usize, bool)> {
        let shape = |part: &Part| (part.records[0].at().offset, part.records.len(), part.alone);
        parts.iter().map(shape).collect()
    }

    async fn lane(store: &Arc<dyn Store>, tail: i64) -> Careful {
        let marker = Marks::new(Arc::clone(store)).of_chain(&("notes".into(), 0));
        let mut careful = Careful::new(marker);
        careful.begin("notes/0", tail).await;
        careful
    }

    async fn work(lane: &mut Careful, until: i64, offsets: RangeInclusive<i64>) -> bool {
        for part in lane.parts("notes/0", records(offsets)) {
            lane.announce(&part).await;
            let kills = |record: &Incoming| {
                record.at().offset == until && !matches!(record, Incoming::Read(Record::Quarantined(..)))
            };
            if part.records.iter().any(kills) {
                return false;
            }
            lane.done(part.alone).await;
        }
        true
    }

    #[tokio::test]
    async fn a_record_that_kills_every_process_is_found_and_quarantined() {
        let store: Arc<dyn Store> = Arc::new(Memory::default());
        let mut deaths = 0;
        // Nothing becomes durable, so each process begins at 0.
        while !work(&mut lane(&store, 0).await, 7, 0..=19).await {
            deaths += 1;
            assert!(deaths < 10, "it is never found");
        }
        // One death without any knowledge, one in the batch, three with the record alone.
        assert_eq!(deaths, 5);
        let parts = lane(&store, 20).await.parts("notes/0", records(20..=29));
        assert_eq!(
            shape(&parts),
            [(20, 10, false)],
            "what completed ends the suspicion"
        );
    }

    #[tokio::test]
    async fn records_outside_the_range_stay_together() {
        let store: Arc<dyn Store> = Arc::new(Memory::default());
        lane(&store, 0).await;
        let mut second = lane(&store, 0).await;
        let batch = Part {
            records: records(4..=6),
            alone: false,
        };
        second.announce(&batch).await;
        let third = lane(&store, 0).await;
        assert_eq!(
            shape(&third.parts("notes/0", records(0..=9))),
            [
                (0, 4, false),
                (4, 1, true),
                (5, 1, true),
                (6, 1, true),
                (7, 3, false)
            ]
        );
    }

    #[tokio::test]
    async fn kills_at_different_records_quarantine_nothing() {
        let store: Arc<dyn Store> = Arc::new(Memory::default());
        for struck in [3, 4, 5, 4, 3, 5, 3, 4, 5] {
            let mut lane = lane(&store, 0).await;
            for part in lane.parts("notes/0", records(0..=9)) {
                let quarantined =
                    |record: &Incoming| matches!(record, Incoming::Read(Record::Quarantined(..)));
                assert!(!part.records.iter().any(quarantined));
                lane.announce(&part).await;
                if part.records.iter().any(|record| record.at().offset == struck) {
                    break;
                }
                lane.done(part.alone).await;
            }
        }
    }
}
