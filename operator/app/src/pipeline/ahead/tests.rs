//! Lanes on real worker threads, which finish batches in another order than that of their offsets.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lethe_connectors::Stop;
use lethe_connectors::format::{Diagnosis, Format, Unavailable};
use lethe_connectors::sink::{ChainId, Encoding, Fingerprints, Roll, read_tail};
use lethe_connectors::source::{Begin, LogRange, Partition, Payload, RawRecord, Start, commands};
use lethe_connectors::store::Memory;
use lethe_core::{
    Action, Annotations, Carried, Coordinates, Engine, LabelSet, Merging, NoteBatch, NoteEvent, Redactor,
    TagError, Tagger, Voting, tag_each,
};
use tokio::runtime::Handle;

use super::super::lane::BATCH_RECORDS;
use super::super::{Budget, Counters, Current, Limits, Pipeline, Pool, Tallied, Turns};
use super::*;
use crate::config::TelemetryConfig;
use crate::simulation::{fingerprints, rows};
use crate::telemetry::Telemetry;

const WORKERS: usize = 2;
const BATCH: i64 = BATCH_RECORDS as i64;
const LIMIT: usize = 64 << 20;

/// A member that holds every note that begins with `held`, until it is opened.
#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    open: bool,
    seen: BTreeSet<String>,
}

impl Gate {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) {
        self.state().open = true;
        self.changed.notify_all();
    }

    /// Waits until a worker has had this note.
    async fn saw(&self, text: &str) {
        while !self.state().seen.contains(text) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

impl Tagger for Gate {
    fn name(&self) -> &str {
        "gate"
    }

    fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
        tag_each(batch, |note, _| {
            let mut state = self.state();
            state.seen.insert(note.text.to_owned());
            assert!(!note.text.starts_with("panics"), "as asked");
            while note.text.starts_with("held") && !state.open {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        })
    }

    /// A note of some ten thousand words is heavy.
    fn token_bytes(&self) -> usize {
        4 << 10
    }
}

/// A format of plain text. A payload that begins with `away` needs a service that is away once.
#[derive(Default)]
struct Text(Mutex<BTreeSet<Vec<u8>>>);

impl Format for Text {
    fn read(&self, payload: &[u8]) -> Result<NoteEvent, Diagnosis> {
        Ok(NoteEvent {
            text: String::from_utf8(payload.to_vec()).unwrap().into(),
            ..NoteEvent::default()
        })
    }

    fn prepare(&self, payload: &[u8]) -> Result<(), Unavailable> {
        if payload.starts_with(b"away") && self.0.lock().unwrap().insert(payload.to_vec()) {
            return Err(Unavailable::new("the service is away"));
        }
        Ok(())
    }
}

fn partition() -> Partition {
    ("notes".into(), 0)
}

fn chain() -> ChainId {
    ChainId::new("notes", 0)
}

fn version(gate: &Arc<Gate>, name: &str) -> Arc<EngineVersion> {
    let labels = Arc::new(LabelSet::i2b2_2014());
    let redactor = Redactor::new(&labels, Action::Tag, Carried::default());
    let members: Vec<Arc<dyn Tagger>> = vec![Arc::clone(gate) as _];
    let voting = Arc::new(Voting::default());
    Arc::new(EngineVersion {
        engine: Arc::new(Engine::new(labels, members, voting, Merging::default(), redactor)),
        fingerprints: Fingerprints {
            config: name.into(),
            ..fingerprints()
        },
    })
}

/// A pipeline of one lane.
struct Rig {
    gate: Arc<Gate>,
    store: Arc<Memory>,
    lanes: Arc<Pipeline>,
    budget: Arc<Budget>,
}

impl Rig {
    async fn new(store: &Arc<Memory>) -> Self {
        let (gate, budget) = (Arc::new(Gate::default()), Budget::new(LIMIT));
        let hour = Duration::from_secs(3600);
        let context = LaneContext {
            engine_version: Current::new(version(&gate, "first")),
            format: Current::new(Arc::new(Text::default()) as Arc<dyn Format>),
            store: Arc::clone(store) as _,
            pool: Pool::start(WORKERS).unwrap(),
            turns: Turns::new(Limits::new(300 << 20)),
            roll: Roll {
                max_bytes: u64::MAX,
                max_rows: u64::MAX,
                max_age: hour,
                max_idle: hour,
            },
            counters: Counters::new(Tallied::ByTopic),
            telemetry: Telemetry::new(&TelemetryConfig::default(), &Handle::current()).unwrap(),
            commands: commands().0,
        };
        let lanes = Pipeline::new(
            context,
            Arc::clone(&budget),
            Handle::current(),
            Start::Earliest,
            Encoding::default(),
            Stop::new(hour),
        );
        let range = LogRange {
            partition: partition(),
            low: 0,
            high: 1 << 40,
            topic_id: None,
        };
        let begun = lanes.open_lanes(&[range], &|_| unreachable!()).await.unwrap();
        assert!(matches!(begun[..], [Begin::At(_)]));
        Self {
            gate,
            store: Arc::clone(store),
            lanes: Arc::new(lanes),
            budget,
        }
    }

    /// Passes the records of these offsets to the lane, as its source does.
    async fn feed(&self, offsets: std::ops::Range<i64>, text: &impl Fn(i64) -> String) {
        for offset in offsets {
            let mut record = Incoming::Raw(RawRecord {
                at: Coordinates {
                    topic: "notes".into(),
                    partition: 0,
                    offset,
                },
                payload: Some(Payload(text(offset).into_bytes())),
                timestamp: None,
            });
            while let Err(refused) = self.lanes.admit(record) {
                record = refused;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }

    /// Drains the lane, which has this time.
    async fn drain(&self, time: Duration) {
        self.lanes
            .drain_lanes(&[partition()], Instant::now() + time)
            .await;
    }

    async fn rows(&self) -> Vec<(i64, String, Option<String>)> {
        rows(&self.store, &chain()).await.unwrap()
    }

    /// Checks that each record is one row, in order, and that the memory is released.
    async fn check(&self, records: i64, text: &impl Fn(i64) -> String) {
        let expected = (0..records).map(|offset| (offset, "note".to_owned(), Some(text(offset))));
        assert_eq!(self.rows().await, expected.collect::<Vec<_>>());
        assert!(self.lanes.peak() <= LIMIT);
        assert_eq!(self.budget.now().1, 0, "the lane has ended");
    }
}

const HOUR: Duration = Duration::from_secs(3600);

/// Returns the text of a note; the first is held.
fn first_held(offset: i64) -> String {
    if offset == 0 {
        "held".to_owned()
    } else {
        format!("note {offset}")
    }
}

#[tokio::test]
async fn later_batches_are_done_while_an_earlier_one_is_held_and_rows_stay_in_order() {
    let rig = Rig::new(&Arc::default()).await;
    rig.feed(0..BATCH * 3, &first_held).await;
    // The other worker has the whole second batch while the first record is held.
    rig.gate.saw(&first_held(BATCH * 2 - 1)).await;
    assert!(rig.rows().await.is_empty());
    rig.gate.open();
    rig.drain(HOUR).await;
    rig.check(BATCH * 3, &first_held).await;
}

#[tokio::test]
async fn batches_in_progress_are_bounded() {
    let rig = Rig::new(&Arc::default()).await;
    let most = (WORKERS * 2 + 2) as i64 * BATCH;
    rig.feed(0..most * 3, &first_held).await;
    rig.gate.saw(&first_held(most - 1)).await;
    assert!(i64::try_from(rig.gate.state().seen.len()).unwrap() <= most);
    rig.gate.open();
    rig.drain(HOUR).await;
    rig.check(most * 3, &first_held).await;
}

#[tokio::test]
async fn a_drain_waits_for_the_batches_in_progress() {
    let rig = Rig::new(&Arc::default()).await;
    rig.feed(0..BATCH * 2, &first_held).await;
    rig.gate.saw("held").await;
    let gate = Arc::clone(&rig.gate);
    // The lane has been asked to drain before the gate opens, or after: no row is missing in either case.
    let opening = tokio::spawn(async move { gate.open() });
    rig.drain(HOUR).await;
    opening.await.unwrap();
    rig.check(BATCH * 2, &first_held).await;
}

#[tokio::test]
async fn a_drain_that_ends_early_loses_nothing() {
    let store = Arc::default();
    let rig = Rig::new(&store).await;
    rig.feed(0..BATCH * 2, &first_held).await;
    rig.gate.saw("held").await;
    rig.drain(Duration::ZERO).await;
    rig.gate.open();
    let next = read_tail(store.as_ref(), &chain()).await.unwrap();
    assert!(
        next.is_none(),
        "the first batch was not done, so nothing is durable"
    );
    let rig = Rig::new(&store).await;
    rig.gate.open();
    rig.feed(0..BATCH * 2, &first_held).await;
    rig.drain(HOUR).await;
    rig.check(BATCH * 2, &first_held).await;
}

#[tokio::test]
async fn a_batch_that_is_tried_again_or_split_keeps_its_place() {
    let heavy = "word ".repeat(40_000);
    let text = |offset| match offset {
        0 => "held".to_owned(),
        _ if offset == BATCH + 3 => "away for a moment".to_owned(),
        _ if offset == BATCH * 2 + 5 => heavy.clone(),
        _ => format!("note {offset}"),
    };
    let rig = Rig::new(&Arc::default()).await;
    rig.feed(0..BATCH * 5, &text).await;
    rig.gate.saw("held").await;
    rig.gate.open();
    rig.drain(HOUR).await;
    rig.check(BATCH * 5, &text).await;
}

#[tokio::test]
async fn a_record_that_panics_costs_only_its_own_row() {
    let bad = BATCH + 7;
    let text = |offset| {
        if offset == bad {
            "panics".to_owned()
        } else {
            first_held(offset)
        }
    };
    let rig = Rig::new(&Arc::default()).await;
    rig.feed(0..BATCH * 3, &text).await;
    rig.gate.saw("panics").await;
    rig.gate.open();
    rig.drain(HOUR).await;
    let rows = rig.rows().await;
    assert!(rows.iter().map(|row| row.0).eq(0..BATCH * 3));
    let quarantined = rows.iter().filter(|row| row.1 != "note").map(|row| row.0);
    assert!(quarantined.eq([bad]));
}

#[tokio::test]
async fn a_file_has_one_engine_version_though_batches_of_two_are_in_progress() {
    let rig = Rig::new(&Arc::default()).await;
    rig.feed(0..BATCH, &first_held).await;
    rig.gate.saw("held").await;
    let next = version(&rig.gate, "second");
    rig.lanes.context().engine_version.set(next);
    rig.feed(BATCH..BATCH * 2, &first_held).await;
    rig.gate.saw(&first_held(BATCH * 2 - 1)).await;
    rig.gate.open();
    rig.drain(HOUR).await;
    rig.check(BATCH * 2, &first_held).await;
    let tail = read_tail(rig.store.as_ref(), &chain()).await.unwrap().unwrap();
    assert_eq!(tail.footer.fingerprints.config, "second");
    assert!(tail.first > 0, "the held note is in a file of the first version");
}
