//! The logs of numbered records, and the group of consumers that read them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lethe_connectors::sink::ChainId;
use lethe_connectors::source::{LogRange, Partition, Payload, RawRecord};
use lethe_core::Coordinates;
use tokio::time::Instant;

use super::store::Disk;
use super::world::{World, lock};

/// The only topic.
pub(super) const TOPIC: &str = "notes";

/// The content of an offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// A transaction's marker, or a record that compaction removed: no reader sees it.
    Marker,
    Tombstone,
    Record(Vec<u8>),
}

#[derive(Clone, Default)]
struct Log {
    low: i64,
    entries: Vec<Entry>,
    committed: Option<i64>,
    /// The planned owner, and the actual one.
    target: Option<u64>,
    owner: Option<u64>,
}

struct Member {
    beat: Instant,
}

struct State {
    logs: Vec<Log>,
    members: BTreeMap<u64, Member>,
    next_member: u64,
    /// Eager: nobody reads until all members have released their partitions.
    settling: bool,
}

/// What a member learns when it polls.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rebalance {
    Assigned(Vec<i32>),
    Revoked(Vec<i32>),
    /// The group expired the member; it has joined again.
    Lost,
}

/// The result of a fetch.
pub(super) enum Fetched {
    Record(RawRecord),
    OutOfRange,
    Nothing,
}

/// The cluster, as every process sees it.
pub(super) struct Broker {
    world: Arc<World>,
    disk: Arc<Disk>,
    eager: bool,
    session: Duration,
    state: Mutex<State>,
}

pub(super) fn partition(number: i32) -> Partition {
    (TOPIC.into(), number)
}

impl Broker {
    pub(super) fn new(world: &Arc<World>, disk: &Arc<Disk>, partitions: i32) -> Arc<Self> {
        let (eager, session) = {
            let mut dice = world.dice();
            (
                dice.chance(400),
                Duration::from_millis(dice.between(2_000, 6_000)),
            )
        };
        Arc::new(Self {
            world: Arc::clone(world),
            disk: Arc::clone(disk),
            eager,
            session,
            state: Mutex::new(State {
                logs: vec![Log::default(); partitions as usize],
                members: BTreeMap::new(),
                next_member: 1,
                settling: false,
            }),
        })
    }

    pub(super) fn append(&self, number: i32, entry: Entry) {
        lock(&self.state).logs[number as usize].entries.push(entry);
    }

    /// Makes a log begin later than at 0, as if its first records had been deleted long ago.
    pub(super) fn begin_at(&self, number: i32, low: i64) {
        let mut state = lock(&self.state);
        let log = &mut state.logs[number as usize];
        log.entries = vec![Entry::Marker; low as usize];
        log.low = low;
    }

    /// Deletes some or all durable records, as retention does.
    pub(super) fn trim(&self, number: i32) {
        let durable = self.disk.durable(&chain(number)).unwrap_or(0);
        let mut state = lock(&self.state);
        let log = &mut state.logs[number as usize];
        if durable > log.low {
            self.world.meet("log trimmed");
            log.low = self.world.dice().between(log.low as u64, durable as u64) as i64;
            self.world.note(
                "broker",
                format_args!("log {number} trimmed"),
                format_args!("begins at {}", log.low),
            );
        }
    }

    /// Deletes all durable records, if retention is that short.
    fn retain(&self, number: i32) {
        if !self.world.weather().ambush {
            return;
        }
        let durable = self.disk.durable(&chain(number)).unwrap_or(0);
        let mut state = lock(&self.state);
        let log = &mut state.logs[number as usize];
        log.low = log.low.max(durable);
    }

    /// Returns the entries of a log that were never trimmed or are durable.
    pub(super) fn entries(&self, number: i32) -> Vec<Entry> {
        lock(&self.state).logs[number as usize].entries.clone()
    }

    pub(super) fn range(&self, number: i32) -> LogRange {
        self.retain(number);
        let state = lock(&self.state);
        let log = &state.logs[number as usize];
        LogRange {
            partition: partition(number),
            low: log.low,
            high: log.entries.len() as i64,
            topic_id: None,
        }
    }

    /// Returns the first record at or after a position.
    pub(super) fn fetch(&self, number: i32, position: i64) -> Fetched {
        self.retain(number);
        let state = lock(&self.state);
        let log = &state.logs[number as usize];
        if position < log.low || position > log.entries.len() as i64 {
            return Fetched::OutOfRange;
        }
        for offset in position..log.entries.len() as i64 {
            let payload = match &log.entries[offset as usize] {
                Entry::Marker => continue,
                Entry::Tombstone => None,
                Entry::Record(bytes) => Some(Payload(bytes.clone())),
            };
            return Fetched::Record(RawRecord {
                at: Coordinates {
                    topic: TOPIC.into(),
                    partition: number,
                    offset,
                },
                payload,
                timestamp: None,
            });
        }
        Fetched::Nothing
    }

    /// Commits an offset for a member; refused if it does not own the partition.
    pub(super) fn commit(&self, who: &str, member: u64, number: i32, next: i64) {
        let durable = self.disk.durable(&chain(number)).unwrap_or(0);
        let mut state = lock(&self.state);
        let log = &mut state.logs[number as usize];
        let accepted = log.owner == Some(member);
        if accepted {
            log.committed = Some(next);
        }
        drop(state);
        self.world.meet(if accepted {
            "commit accepted"
        } else {
            "commit refused"
        });
        let outcome = if accepted { "committed" } else { "refused" };
        self.world
            .note(who, format_args!("commit {number} at {next}"), outcome);
        if next > durable {
            self.world.broken(format!(
                "offset {next} of {number} was committed, and {durable} is durable"
            ));
        }
    }

    pub(super) fn join(&self) -> u64 {
        let mut state = lock(&self.state);
        let id = state.next_member;
        state.next_member += 1;
        state.members.insert(id, Member { beat: Instant::now() });
        self.plan(&mut state);
        id
    }

    pub(super) fn leave(&self, member: u64) {
        let mut state = lock(&self.state);
        if state.members.remove(&member).is_some() {
            self.forget(&mut state, member);
        }
    }

    /// Records a heartbeat of a member's background thread.
    pub(super) fn beat(&self, member: u64) {
        let mut state = lock(&self.state);
        self.expire(&mut state, Some(member));
        if let Some(member) = state.members.get_mut(&member) {
            member.beat = Instant::now();
        }
    }

    /// Returns what a member that holds these partitions must do next. `member` changes if the group had
    /// expired it.
    pub(super) fn poll(&self, member: &mut u64, held: &BTreeSet<i32>) -> Option<Rebalance> {
        let mut state = lock(&self.state);
        self.expire(&mut state, None);
        if !state.members.contains_key(member) {
            drop(state);
            *member = self.join();
            return Some(Rebalance::Lost);
        }
        let revoked: Vec<i32> = held
            .iter()
            .copied()
            .filter(|&number| {
                (self.eager && state.settling) || state.logs[number as usize].target != Some(*member)
            })
            .collect();
        if !revoked.is_empty() {
            return Some(Rebalance::Revoked(revoked));
        }
        if self.eager && state.settling {
            if state.logs.iter().any(|log| log.owner.is_some()) {
                return None;
            }
            state.settling = false;
        }
        let mut assigned = Vec::new();
        for (number, log) in (0..).zip(&mut state.logs) {
            if log.target == Some(*member) && log.owner.is_none() {
                log.owner = Some(*member);
                assigned.push(number);
            }
        }
        (!assigned.is_empty()).then_some(Rebalance::Assigned(assigned))
    }

    /// Records that a member has released partitions.
    pub(super) fn release(&self, member: u64, numbers: &[i32]) {
        let mut state = lock(&self.state);
        for &number in numbers {
            let log = &mut state.logs[number as usize];
            if log.owner == Some(member) {
                log.owner = None;
            }
        }
    }

    /// Expires members that have been silent for a session; `speaking` is exempt if it was in time.
    fn expire(&self, state: &mut State, speaking: Option<u64>) {
        let now = Instant::now();
        let dead: Vec<u64> = state
            .members
            .iter()
            .filter(|&(_, member)| now - member.beat > self.session)
            .map(|(&id, _)| id)
            .collect();
        for id in dead {
            if Some(id) == speaking && !self.world.dice().chance(700) {
                // Its heartbeat was faster than the broker's clock.
                continue;
            }
            state.members.remove(&id);
            self.world.meet("member taken for dead");
            self.world
                .note("broker", format_args!("member {id}"), "taken for dead");
            self.forget(state, id);
        }
    }

    fn forget(&self, state: &mut State, member: u64) {
        for log in &mut state.logs {
            if log.owner == Some(member) {
                log.owner = None;
            }
        }
        self.plan(state);
    }

    /// Reassigns the partitions.
    fn plan(&self, state: &mut State) {
        state.settling = true;
        let members: Vec<u64> = state.members.keys().copied().collect();
        let mut dice = self.world.dice();
        for log in &mut state.logs {
            let stays = log.target.is_some_and(|target| members.contains(&target));
            if members.is_empty() {
                log.target = None;
            } else if !stays || dice.chance(400) {
                log.target = Some(dice.pick(&members));
            }
        }
        let targets: Vec<Option<u64>> = state.logs.iter().map(|log| log.target).collect();
        drop(dice);
        self.world
            .note("broker", "partitions dealt out", format_args!("{targets:?}"));
    }
}

/// Returns a partition's chain.
pub(super) fn chain(number: i32) -> ChainId {
    ChainId::new(TOPIC, number)
}
