//! The poll loop of a process, on the simulated broker.
//!
//! The program's own code decides what happens to records, which partitions pause and resume, and what may be
//! committed ([`Flows`]), and runs the lanes. Only the order of the calls is mirrored from
//! `connectors/src/kafka/source.rs` and `source/context.rs`: commands, then one poll (a rebalance or a
//! record), then waiting records, then a commit once a second; and the handling of an assignment, a
//! revocation, a loss, a reopening and a position out of range.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use lethe_connectors::sink::Receipt;
use lethe_connectors::source::Lanes as _;
use lethe_connectors::source::flow::{Flow, Flows};
use lethe_connectors::source::{Begin, Command, Halt, LaneError, LogRange, Partition};
use tokio::time::Instant;

use super::broker::{Broker, Fetched, Rebalance, partition};
use super::mutants::Mutant;
use super::process::Life;
use crate::pipeline::Pipeline;

/// How often released offsets are committed.
const COMMIT_EVERY: Duration = Duration::from_secs(1);

/// A consumer of the simulated group.
pub(super) struct Consumer<'a> {
    life: &'a Life,
    broker: &'a Broker,
    lanes: &'a Pipeline,
    inbox: &'a Receiver<Command>,
    drain: Duration,
    flows: Flows,
    /// Shared with the heartbeat thread.
    member: Arc<AtomicU64>,
    /// The position of each assigned partition, and whether it is paused.
    places: BTreeMap<i32, Place>,
}

#[derive(Clone, Copy)]
struct Place {
    position: i64,
    paused: bool,
}

impl<'a> Consumer<'a> {
    pub(super) fn new(
        life: &'a Life,
        broker: &'a Broker,
        lanes: &'a Pipeline,
        inbox: &'a Receiver<Command>,
        drain: Duration,
        member: Arc<AtomicU64>,
    ) -> Self {
        member.store(broker.join(), Relaxed);
        Self {
            life,
            broker,
            lanes,
            inbox,
            drain,
            flows: Flows::default(),
            member,
            places: BTreeMap::new(),
        }
    }

    /// Consumes until the process is asked to stop.
    ///
    /// # Errors
    /// The error that ends the run; its lanes have dropped their records.
    pub(super) async fn run(mut self) -> Result<(), String> {
        let done = match self.consume().await {
            Err(LaneError::Failed(error)) => Err(error),
            Ok(()) | Err(LaneError::Stopped) => Ok(()),
        };
        let held = self.held();
        match &done {
            Ok(()) => {
                let receipts = self.lanes.drain_lanes(&held, Instant::now() + self.drain).await;
                while let Ok(command) = self.inbox.try_recv() {
                    match command {
                        Command::Release(receipt) => self.flows.release(&receipt),
                        Command::Fail(error) => return Err(error),
                        _ => {}
                    }
                }
                self.commit_receipts(&receipts).await;
            }
            Err(_) => self.lanes.abandon(&held),
        }
        self.life.step().await;
        self.broker.leave(self.member());
        done
    }

    async fn consume(&mut self) -> Result<(), LaneError> {
        let mut last_commit = Instant::now();
        loop {
            self.turn().await;
            self.take_commands().await?;
            if self.life.stop.is_requested() {
                return Ok(());
            }
            let held: BTreeSet<i32> = self.places.keys().copied().collect();
            let mut member = self.member();
            let rebalance = self.broker.poll(&mut member, &held);
            self.member.store(member, Relaxed);
            match rebalance {
                Some(rebalance) => self.rebalance(rebalance).await?,
                None => self.fetch().await?,
            }
            let resumed = self.flows.refill(self.lanes);
            for (_, number) in resumed {
                self.pause(number, false);
            }
            if last_commit.elapsed() >= COMMIT_EVERY {
                self.commit().await;
                last_commit = Instant::now();
            }
        }
    }

    /// Waits for the next poll to return. Records come in bursts, followed by a pause.
    async fn turn(&self) {
        self.life.step().await;
        let idle = self.places.iter().all(|(&number, place)| {
            place.paused || !matches!(self.broker.fetch(number, place.position), Fetched::Record(_))
        });
        // A slow reader is overtaken by another process.
        let slow = if self.life.world.weather().ambush { 150 } else { 40 };
        let (low, high) = if idle { (50, 400) } else { (0, slow) };
        self.life.world.pause(low, high).await;
        self.life.thaw().await;
    }

    async fn take_commands(&mut self) -> Result<(), LaneError> {
        while let Ok(command) = self.inbox.try_recv() {
            match command {
                Command::Release(receipt) => self.flows.release(&receipt),
                Command::Reopen(_) if self.life.world.is(Mutant::ForgetToReopen) => {}
                Command::Reopen(partition) => self.reopen(&partition).await?,
                Command::Fail(error) => return Err(LaneError::Failed(error)),
                _ => {}
            }
        }
        Ok(())
    }

    async fn rebalance(&mut self, rebalance: Rebalance) -> Result<(), LaneError> {
        let (who, world) = (&self.life.name, &self.life.world);
        world.note(who, "rebalance", format_args!("{rebalance:?}"));
        world.meet(match &rebalance {
            Rebalance::Assigned(_) => "partitions assigned",
            Rebalance::Revoked(_) => "partitions revoked",
            Rebalance::Lost => "partitions lost",
        });
        match rebalance {
            Rebalance::Assigned(numbers) => {
                let ranges: Vec<LogRange> = numbers.iter().map(|&number| self.broker.range(number)).collect();
                self.life.step().await;
                let begins = self.open(&ranges).await?;
                self.life.step().await;
                for (range, begin) in ranges.iter().zip(begins) {
                    self.place(range, begin);
                }
            }
            Rebalance::Revoked(numbers) => {
                let revoked: Vec<Partition> = numbers.iter().map(|&number| partition(number)).collect();
                let held: Vec<Partition> = revoked
                    .iter()
                    .filter(|partition| self.flows.lanes.contains_key(*partition))
                    .cloned()
                    .collect();
                let receipts = self.lanes.drain_lanes(&held, Instant::now() + self.drain).await;
                self.commit_receipts(&receipts).await;
                self.life.step().await;
                self.flows.remove(&held);
                self.places.retain(|number, _| !numbers.contains(number));
                self.broker.release(self.member(), &numbers);
            }
            Rebalance::Lost => {
                let held = self.held();
                self.lanes.abandon(&held);
                self.flows.remove(&held);
                self.places.clear();
            }
        }
        Ok(())
    }

    async fn open(&self, ranges: &[LogRange]) -> Result<Vec<Begin>, LaneError> {
        let again = |(_, number): &Partition| Ok(self.broker.range(*number));
        self.lanes.open_lanes(ranges, &again).await
    }

    fn place(&mut self, range: &LogRange, begin: Begin) {
        let number = range.partition.1;
        self.life.world.note(
            &self.life.name,
            format_args!("lane {number} opened"),
            format_args!("{begin:?}"),
        );
        let place = match begin {
            Begin::At(position) => {
                self.life.world.lane_opened();
                Place {
                    position,
                    paused: false,
                }
            }
            Begin::Halted => {
                let why = format!("lane {number} halted though its records are there");
                self.life.world.broken(why);
                Place {
                    position: range.high,
                    paused: true,
                }
            }
        };
        self.places.insert(number, place);
        self.flows
            .lanes
            .insert(range.partition.clone(), Flow::new(begin, range));
    }

    /// Reopens a lane at its chain's tail.
    async fn reopen(&mut self, partition: &Partition) -> Result<(), LaneError> {
        if !self.flows.lanes.contains_key(partition) {
            return Ok(());
        }
        self.life.world.meet("lane reopened after a lost race");
        self.lanes.abandon(std::slice::from_ref(partition));
        self.begin_again(partition).await
    }

    /// Opens the lane of an assigned partition that has none, at its chain's tail.
    async fn begin_again(&mut self, partition: &Partition) -> Result<(), LaneError> {
        let range = self.broker.range(partition.1);
        self.life.step().await;
        let begins = self.open(std::slice::from_ref(&range)).await?;
        self.flows.stalled.retain(|stalled| stalled != partition);
        for begin in begins {
            self.place(&range, begin);
        }
        Ok(())
    }

    /// Fetches a record of a partition that is not paused.
    async fn fetch(&mut self) -> Result<(), LaneError> {
        let open: Vec<i32> = self
            .places
            .iter()
            .filter(|(_, place)| !place.paused)
            .map(|(&number, _)| number)
            .collect();
        if open.is_empty() {
            return Ok(());
        }
        let number = self.life.world.dice().pick(&open);
        // One poll returns one record; several polls may follow immediately.
        let records = self.life.world.dice().between(1, 4);
        for _ in 0..records {
            let Some(place) = self.places.get_mut(&number).filter(|place| !place.paused) else {
                return Ok(());
            };
            // librdkafka can deliver a record again after a rebalance.
            if self.life.world.dice().chance(20)
                && let Fetched::Record(record) = self.broker.fetch(number, place.position - 1)
                && record.at.offset < place.position
            {
                self.life.world.meet("record delivered again");
                drop(self.flows.deliver(self.lanes, record));
                continue;
            }
            match self.broker.fetch(number, place.position) {
                Fetched::Record(record) => {
                    place.position = record.at.offset + 1;
                    if let Some((_, number)) = self.flows.deliver(self.lanes, record) {
                        self.pause(number, true);
                    }
                }
                Fetched::OutOfRange => self.out_of_range(number).await?,
                Fetched::Nothing => return Ok(()),
            }
        }
        Ok(())
    }

    fn pause(&mut self, number: i32, on: bool) {
        let what = if on { "paused" } else { "resumed" };
        self.life.world.meet(if on {
            "partition paused"
        } else {
            "partition resumed"
        });
        self.life
            .world
            .note(&self.life.name, format_args!("partition {number}"), what);
        if let Some(place) = self.places.get_mut(&number) {
            place.paused = on;
        }
    }

    /// Handles a position that the log does not have.
    async fn out_of_range(&mut self, number: i32) -> Result<(), LaneError> {
        let range = self.broker.range(number);
        let partition = partition(number);
        self.life.world.meet("position out of range");
        if !self.flows.hold(&partition) {
            return Ok(());
        }
        self.pause(number, true);
        let position = self.places.get(&number).map_or(0, |place| place.position);
        if position >= range.low || self.life.world.is(Mutant::HaltWhereTrimmed) {
            self.lanes.halt(&partition, &Halt::BeyondTheEnd(range));
            return Ok(());
        }
        let lanes = std::slice::from_ref(&partition);
        let receipts = self.lanes.drain_lanes(lanes, Instant::now() + self.drain).await;
        self.commit_receipts(&receipts).await;
        self.begin_again(&partition).await
    }

    async fn commit_receipts(&mut self, receipts: &[Receipt]) {
        receipts.iter().for_each(|receipt| self.flows.release(receipt));
        self.commit().await;
    }

    async fn commit(&mut self) {
        if self.life.world.is(Mutant::CommitBeforeDurable) {
            for lane in self.flows.lanes.values_mut() {
                lane.released = Some(lane.next);
            }
        }
        for ((_, number), next) in self.flows.take_released() {
            self.life.step().await;
            self.broker.commit(&self.life.name, self.member(), number, next);
        }
    }

    fn member(&self) -> u64 {
        self.member.load(Relaxed)
    }

    fn held(&self) -> Vec<Partition> {
        self.flows.lanes.keys().cloned().collect()
    }
}

/// Simulates the heartbeat thread of the consumer: it stops only if the process does.
pub(super) async fn beat(life: Arc<Life>, broker: Arc<Broker>, member: Arc<AtomicU64>) {
    loop {
        life.thaw().await;
        broker.beat(member.load(Relaxed));
        tokio::time::sleep(Duration::from_millis(700)).await;
    }
}
