//! How a lane goes on after a process died with its records in hand: batch by batch, then record by record, each announced.
//!
//! The first time a lane begins where another died, it announces each batch before the work on it. After a death in a batch, the
//! next process works on that batch's records one by one, each alone in the whole process, so that a death is that record's. A
//! record that was alone in hand at three deaths in a row is quarantined. Any record that completes ends the suspicion, and an
//! ordinary stop is no death: a `kill -9` at random would have to strike three times in the moments of one record.

use std::ops::RangeInclusive;
use std::sync::Arc;

use lethe_core::{QuarantineCode, Record};

use super::incoming::Incoming;
use super::marker::{DEATHS, Marker, Plan};

/// Records for which a lane announces its batches after it began where another died.
const CAUTIOUS: usize = 1 << 16;
/// Rows after which it closes its file meanwhile, so that the next process need not come this way again.
const STRETCH: u64 = 4096;

/// Records that are worked on together.
pub(super) struct Part {
    pub(super) records: Vec<Incoming>,
    /// Whether the process works on nothing else meanwhile.
    pub(super) alone: bool,
}

/// A lane's care.
pub(crate) struct Careful {
    marker: Arc<Marker>,
    /// None before the first records.
    plan: Option<Plan>,
    /// Records that are still to be announced, batch by batch.
    left: usize,
    /// Whether the last part was alone.
    alone: bool,
}

impl Careful {
    /// The care of a lane with this mark.
    pub(crate) const fn new(marker: Arc<Marker>) -> Self {
        Self {
            marker,
            plan: None,
            left: 0,
            alone: false,
        }
    }

    /// Finds out how to go on at `tail`, once.
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
                "the process before this one ended with records from here in hand; they are announced before the work on them"
            );
        }
        self.plan = Some(plan);
    }

    /// Records in the parts in which they are to be worked on, in order. A record that killed the process often enough is
    /// quarantined.
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

    /// Announces what is worked on next, where that is called for.
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
                tracing::info!("no record of this lane killed the process; it goes on as usual");
            }
        }
    }

    /// A part is done. The end of one that was alone is written at once: from now on a death is another record's.
    pub(super) async fn done(&self, alone: bool) {
        if alone {
            self.marker.done().await;
        }
    }

    /// Whether the lane closes its file of so many rows before the work on this part, so that a death costs nothing of them:
    /// before and after records that are alone, and after each stretch.
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

/// Adds a record to the last part, unless that is one that is alone.
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
        // Nothing becomes durable: each process begins at 0.
        while !work(&mut lane(&store, 0).await, 7, 0..=19).await {
            deaths += 1;
            assert!(deaths < 10, "it is never found");
        }
        // One that nothing was known of, one in the batch, three with the record alone.
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
