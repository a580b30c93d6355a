//! One schedule: everything that a seed determines, from the first record to the last check.

use std::sync::Arc;
use std::time::Duration;

use lethe_connectors::seed_ids;
use lethe_connectors::sink::{Encoding, Roll};
use tokio::time::Instant;

use super::broker::{Broker, Entry, chain};
use super::checker::check;
use super::fleet::{Fleet, Settings};
use super::mutants::Mutant;
use super::notes::entry;
use super::store::Disk;
use super::world::{Met, World};

/// How long records come and faults happen.
const STORM: u64 = 20_000;
/// How long writing everything may take afterwards.
const CALM: Duration = Duration::from_secs(3600);

/// The end of a schedule.
pub(super) struct Outcome {
    /// The violation, if any.
    pub(super) violation: Option<String>,
    pub(super) trace: Vec<String>,
    pub(super) met: Met,
}

/// Runs the schedule of a seed on this thread.
pub(super) fn run(seed: u64, mutant: Option<Mutant>, traced: bool) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without threads needs nothing of the system");
    seed_ids(seed);
    // A consumer stays on its thread, as in the program.
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let world = Arc::new(World::new(seed, mutant, traced));
        let schedule = Schedule::new(&world);
        if let Err(violation) = schedule.play().await {
            world.broken(violation);
        }
        Outcome {
            violation: world.violation(),
            trace: world.trace(),
            met: world.met(),
        }
    })
}

struct Schedule {
    world: Arc<World>,
    disk: Arc<Disk>,
    broker: Arc<Broker>,
    fleet: Arc<Fleet>,
    /// The first offset of each log.
    begins: Vec<i64>,
}

impl Schedule {
    fn new(world: &Arc<World>) -> Self {
        let disk = Disk::new(world);
        let partitions = world.dice().between(1, 3) as i32;
        let broker = Broker::new(world, &disk, partitions);
        let begins: Vec<i64> = (0..partitions)
            .map(|_| {
                let mut dice = world.dice();
                if dice.chance(250) {
                    dice.between(1, 9) as i64
                } else {
                    0
                }
            })
            .collect();
        for (number, &begin) in (0..).zip(&begins) {
            broker.begin_at(number, begin);
        }
        let settings = {
            let mut dice = world.dice();
            let fault_rate = dice.pick(&[0, 50, 200, 400]);
            let fatal = dice.chance(300);
            let zombies = dice.pick(&[0, 30, 100]);
            let ambush = dice.chance(200);
            world.change_weather(|weather| {
                weather.store_faults = fault_rate;
                weather.zombies = if ambush { 200 } else { zombies };
                weather.fatal_faults = fatal;
                weather.ambush = ambush;
            });
            Settings {
                // From less than one note to more than all of them.
                memory: dice.pick(&[600, 4_000, 20_000, 1 << 20]),
                drain: Duration::from_millis(dice.between(500, 5_000)),
                roll: Roll {
                    max_bytes: dice.pick(&[3_000, 64 << 20]),
                    max_rows: dice.between(1, 12),
                    max_age: Duration::from_millis(dice.between(200, 5_000)),
                    max_idle: Duration::from_millis(dice.between(100, 2_000)),
                },
                encoding: Encoding {
                    zstd_level: 0,
                    ..Encoding::default()
                },
            }
        };
        let fleet = Fleet::new(world, &disk, &broker, settings);
        Self {
            world: Arc::clone(world),
            disk,
            broker,
            fleet,
            begins,
        }
    }

    async fn play(&self) -> Result<(), String> {
        let processes = self.world.dice().between(1, 3);
        for _ in 0..processes {
            self.fleet.add();
        }
        self.storm().await;
        self.world
            .change_weather(|weather| (weather.store_faults, weather.zombies) = (0, 0));
        self.fleet.calm();
        let calm = Instant::now();
        while !self.is_written() {
            if self.world.violation().is_some() {
                return Ok(());
            }
            if calm.elapsed() > CALM {
                return Err(format!(
                    "not everything is written after an hour: {}",
                    self.places()
                ));
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        // The offsets of the last files are still to be released.
        tokio::time::sleep(Duration::from_secs(3)).await;
        self.fleet.stop().await?;
        // By now, the requests of dead processes have been carried out.
        tokio::time::sleep(Duration::from_secs(30)).await;
        if self.world.violation().is_none() {
            check(&self.disk, &self.broker, &self.begins).await?;
        }
        Ok(())
    }

    /// Produces records and faults.
    async fn storm(&self) {
        let (records, events) = {
            let mut dice = self.world.dice();
            (dice.between(5, 40), dice.below(9))
        };
        let mut happenings: Vec<(u64, Happening)> = {
            let mut dice = self.world.dice();
            let window = dice.pick(&[100, 5_000, STORM]);
            let mut all = Vec::new();
            for _ in 0..records {
                all.push((dice.below(window), Happening::Record));
            }
            for _ in 0..events {
                all.push((dice.below(STORM), dice.pick(&Happening::ALL)));
            }
            all
        };
        happenings.sort_by_key(|&(at, _)| at);
        let began = Instant::now();
        for (at, happening) in happenings {
            tokio::time::sleep_until(began + Duration::from_millis(at)).await;
            if self.world.violation().is_some() {
                return;
            }
            self.happen(happening).await;
        }
        tokio::time::sleep_until(began + Duration::from_millis(STORM)).await;
    }

    async fn happen(&self, happening: Happening) {
        let world = &self.world;
        if happening != Happening::Record {
            world.note("world", format_args!("{happening:?}"), "");
        }
        match happening {
            Happening::Record => {
                let mut dice = world.dice();
                let number = dice.below(self.begins.len() as u64) as i32;
                let offset = self.broker.range(number).high as usize;
                let entry = entry(&mut dice, number, offset);
                self.broker.append(number, entry);
            }
            Happening::Kill => self.fleet.kill(),
            Happening::Freeze => self.fleet.freeze(),
            Happening::Replace => self.fleet.replace(),
            Happening::Grow => self.fleet.add(),
            Happening::Shrink => self.fleet.shrink(),
            Happening::Trim => {
                let number = world.dice().below(self.begins.len() as u64) as i32;
                self.broker.trim(number);
            }
            Happening::Outage => {
                world.meet("store away");
                let time = Duration::from_millis(world.dice().between(500, 15_000));
                world.change_weather(|weather| weather.store_away = Instant::now() + time);
            }
            Happening::ClockJump => {
                world.meet("clock jumped");
                let time = Duration::from_millis(world.dice().between(1_000, 600_000));
                tokio::time::advance(time).await;
            }
        }
    }

    /// Returns one past the last record of each partition, and the end of its chain.
    fn progress(&self) -> Vec<(i64, i64)> {
        (0..)
            .zip(&self.begins)
            .map(|(number, &begin)| {
                let entries = self.broker.entries(number);
                let records = entries.iter().rposition(|entry| *entry != Entry::Marker);
                let due = records.map_or(begin, |last| last as i64 + 1);
                (due, self.disk.durable(&chain(number)).unwrap_or(0))
            })
            .collect()
    }

    fn is_written(&self) -> bool {
        self.progress().iter().all(|&(due, durable)| durable >= due)
    }

    fn places(&self) -> String {
        format!("(due, durable) of each partition: {:?}", self.progress())
    }
}

/// The possible events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Happening {
    Record,
    Kill,
    Freeze,
    /// A process is stopped in order, and another one replaces it.
    Replace,
    Grow,
    Shrink,
    Trim,
    Outage,
    /// The machine sleeps: every timer has passed at once.
    ClockJump,
}

impl Happening {
    const ALL: [Self; 11] = [
        Self::Kill,
        Self::Kill,
        Self::Kill,
        Self::Freeze,
        Self::Freeze,
        Self::Replace,
        Self::Grow,
        Self::Shrink,
        Self::Trim,
        Self::Outage,
        Self::ClockJump,
    ];
}
