//! The processes of a schedule: started, killed, frozen, replaced, and restarted when they end.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lethe_connectors::format::FormatConfig;
use lethe_connectors::sink::{Encoding, Roll};
use lethe_connectors::source::Start;
use lethe_connectors::source::commands;
use lethe_core::Engine;
use tokio::runtime::Handle;

use super::broker::Broker;
use super::consumer::{Consumer, beat};
use super::notes::{engine, fingerprints};
use super::process::Life;
use super::store::{Disk, SimulatedStore};
use super::world::{World, lock};
use crate::config::TelemetryConfig;
use crate::pipeline::{
    Budget, Counters, Current, EngineVersion, LaneContext, Limits, Pipeline, Pool, Tallied, Turns,
};
use crate::telemetry::Telemetry;

/// The memory limit of a record, in bytes: no record here comes near it.
const RECORD_BYTES: usize = 64 << 20;
/// The maximum number of processes at the same time.
const MOST: usize = 4;

/// The configuration of all processes of a schedule.
pub(super) struct Settings {
    /// The memory limit of lanes, in bytes.
    pub(super) memory: usize,
    pub(super) drain: Duration,
    pub(super) roll: Roll,
    pub(super) encoding: Encoding,
}

/// All processes.
pub(super) struct Fleet {
    world: Arc<World>,
    disk: Arc<Disk>,
    broker: Arc<Broker>,
    settings: Settings,
    engine: Arc<Engine>,
    telemetry: Arc<Telemetry>,
    slots: Mutex<Vec<Slot>>,
    /// The number of processes so far.
    started: Mutex<u64>,
}

/// A slot for a process, which is restarted until it is given up.
struct Slot {
    life: Arc<Life>,
    given_up: bool,
    ended: bool,
}

impl Fleet {
    pub(super) fn new(
        world: &Arc<World>,
        disk: &Arc<Disk>,
        broker: &Arc<Broker>,
        settings: Settings,
    ) -> Arc<Self> {
        let telemetry = Telemetry::new(&TelemetryConfig::default(), &Handle::current());
        Arc::new(Self {
            world: Arc::clone(world),
            disk: Arc::clone(disk),
            broker: Arc::clone(broker),
            settings,
            engine: engine(),
            telemetry: telemetry.expect("metrics that nobody asks for need nothing"),
            slots: Mutex::default(),
            started: Mutex::new(0),
        })
    }

    /// Adds a process.
    pub(super) fn add(self: &Arc<Self>) {
        if lock(&self.slots).iter().filter(|slot| !slot.given_up).count() >= MOST {
            return;
        }
        let number = {
            let mut started = lock(&self.started);
            *started += 1;
            *started
        };
        let life = Life::new(format!("p{number}.1"), &self.world, self.settings.drain);
        let slot = {
            let mut slots = lock(&self.slots);
            slots.push(Slot {
                life: Arc::clone(&life),
                given_up: false,
                ended: false,
            });
            slots.len() - 1
        };
        tokio::task::spawn_local(Arc::clone(self).keep(slot, number, life));
    }

    /// Runs the lives of a process, one after the other.
    async fn keep(self: Arc<Self>, slot: usize, number: u64, mut life: Arc<Life>) {
        for count in 2.. {
            self.world.note(&life.name, "started", "");
            self.live(&life).await;
            if lock(&self.slots)[slot].given_up {
                lock(&self.slots)[slot].ended = true;
                return;
            }
            self.world.pause(100, 3_000).await;
            let again = Life::new(format!("p{number}.{count}"), &self.world, self.settings.drain);
            let given_up = {
                let slot = &mut lock(&self.slots)[slot];
                slot.life = Arc::clone(&again);
                slot.given_up
            };
            if given_up {
                again.stop.request();
            }
            life = again;
        }
    }

    /// Runs one life to its end, and checks that its memory is released.
    async fn live(self: &Arc<Self>, life: &Arc<Life>) {
        let budget = Budget::new(self.settings.memory);
        let member = Arc::new(AtomicU64::new(0));
        let beating = tokio::spawn(beat(
            Arc::clone(life),
            Arc::clone(&self.broker),
            Arc::clone(&member),
        ));
        let running =
            tokio::task::spawn_local(Arc::clone(self).process(Arc::clone(life), Arc::clone(&budget), member));
        let abort = running.abort_handle();
        tokio::select! {
            biased;
            () = life.died() => {
                beating.abort();
                abort.abort();
            }
            ended = running => {
                beating.abort();
                match ended {
                    Ok(Ok(())) => self.world.note(&life.name, "ended", "in order"),
                    Ok(Err(error)) => self.world.note(&life.name, "ended", error),
                    Err(_) => self.world.broken(format!("{} panicked", life.name)),
                }
            }
        }
        // Aborted tasks are dropped at the next turn of the runtime.
        tokio::time::sleep(Duration::from_millis(2)).await;
        let (_, held) = budget.now();
        if held != 0 {
            self.world.broken(format!(
                "{} ended, and {held} bytes of its budget are not given back",
                life.name
            ));
        }
    }

    async fn process(
        self: Arc<Self>,
        life: Arc<Life>,
        budget: Arc<Budget>,
        member: Arc<AtomicU64>,
    ) -> Result<(), String> {
        let (commands, inbox) = commands();
        let format = FormatConfig::Text(lethe_connectors::format::TextConfig::default());
        let context = LaneContext {
            engine_version: Current::new(Arc::new(EngineVersion {
                engine: Arc::clone(&self.engine),
                fingerprints: fingerprints(),
            })),
            format: Current::new(format.build().map_err(|error| error.to_string())?.into()),
            store: Arc::new(SimulatedStore::new(&self.disk, &life)),
            pool: Pool::inline(),
            turns: Turns::new(Limits::new(RECORD_BYTES)),
            roll: self.settings.roll,
            counters: Counters::new(Tallied::ByTopic),
            telemetry: Arc::clone(&self.telemetry),
            commands,
        };
        let lanes = Pipeline::new(
            context,
            budget,
            Handle::current(),
            Start::Earliest,
            self.settings.encoding,
            life.stop.clone(),
        );
        let drain = self.settings.drain;
        Consumer::new(&life, &self.broker, &lanes, &inbox, drain, member)
            .run()
            .await
    }

    /// Returns a random running process.
    fn one(&self) -> Option<usize> {
        let slots = lock(&self.slots);
        let running: Vec<usize> = (0..slots.len()).filter(|&slot| !slots[slot].given_up).collect();
        (!running.is_empty()).then(|| self.world.dice().pick(&running))
    }

    /// Kills a process at one of its next effects.
    pub(super) fn kill(&self) {
        if let Some(slot) = self.one() {
            let after = self.world.dice().below(40);
            lock(&self.slots)[slot].life.kill(after);
        }
    }

    /// Freezes a process at one of its next effects.
    pub(super) fn freeze(&self) {
        if let Some(slot) = self.one() {
            let (after, time) = {
                let mut dice = self.world.dice();
                (dice.below(40), dice.between(200, 30_000))
            };
            lock(&self.slots)[slot]
                .life
                .freeze(after, Duration::from_millis(time));
        }
    }

    /// Stops a process in order, permanently.
    pub(super) fn shrink(&self) {
        let more = lock(&self.slots).iter().filter(|slot| !slot.given_up).count() > 1;
        if let Some(slot) = self.one().filter(|_| more) {
            self.give_up(slot);
        }
    }

    /// Stops a process in order and starts another.
    pub(super) fn replace(self: &Arc<Self>) {
        if let Some(slot) = self.one() {
            self.give_up(slot);
            self.add();
        }
    }

    fn give_up(&self, slot: usize) {
        let slot = &mut lock(&self.slots)[slot];
        slot.given_up = true;
        slot.life.stop.request();
    }

    /// Ends killing and freezing.
    pub(super) fn calm(&self) {
        for slot in lock(&self.slots).iter() {
            slot.life.calm();
        }
    }

    /// Stops every process in order.
    ///
    /// # Errors
    /// If one does not end.
    pub(super) async fn stop(&self) -> Result<(), String> {
        let count = lock(&self.slots).len();
        (0..count).for_each(|slot| self.give_up(slot));
        for _ in 0..1200 {
            if lock(&self.slots).iter().all(|slot| slot.ended) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err("a process does not end within two minutes of a stop".to_owned())
    }
}
