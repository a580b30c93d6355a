//! A store whose requests take time, overtake each other, fail, and outlive the process that made them.
//!
//! It has S3's guarantees: a create succeeds once, and reads and listings are strongly consistent. So a
//! listing of one page shows one moment between request and response, and one of several pages shows a moment
//! for each page. Beyond that anything may happen: a refusal, a response that is lost after the object was
//! written, a PUT that is carried out long after its sender gave up or died, a 409 although there is no
//! object.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use lethe_connectors::sink::{ChainId, read_footer};
use lethe_connectors::store::{At, End, Memory, Object, Op, Store, StoreError};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::mutants::Mutant;
use super::process::Life;
use super::world::{World, lock};

/// The number of names on a page of a listing.
const PAGE: usize = 3;

/// The stored objects, shared by all processes.
pub(super) struct Disk {
    pub(super) memory: Memory,
    world: Arc<World>,
    /// The end of each chain.
    durable: Mutex<BTreeMap<ChainId, i64>>,
}

impl Disk {
    pub(super) fn new(world: &Arc<World>) -> Arc<Self> {
        Arc::new(Self {
            memory: Memory::default(),
            world: Arc::clone(world),
            durable: Mutex::default(),
        })
    }

    /// Returns one past the last durable offset of a chain; `None` without files.
    pub(super) fn durable(&self, chain: &ChainId) -> Option<i64> {
        lock(&self.durable).get(chain).copied()
    }

    /// Carries out a PUT, and checks that a new file continues its chain and that its audit file exists.
    async fn apply(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        self.memory.create(name, bytes).await?;
        let Some((chain, first)) = ChainId::parse_notes(name) else {
            return Ok(());
        };
        match read_footer(&self.memory, name).await {
            Ok(footer) => {
                let expected = self.durable(&chain).unwrap_or(0);
                if footer.first != first || first != expected {
                    self.world
                        .broken(format!("{name} appeared, and its chain goes on at {expected}"));
                }
                if let Some(audit) = &footer.audit
                    && self.memory.look(audit).await.is_err()
                {
                    self.world
                        .broken(format!("{name} appeared before its audit file"));
                }
                self.world.meet("file written");
                lock(&self.durable).insert(chain, footer.next);
            }
            Err(error) => self.world.broken(format!("{name}: {error}")),
        }
        Ok(())
    }
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Done,
    /// Carried out after seconds.
    Slow,
    /// Refused for now, and not carried out.
    Refused,
    /// Carried out, but the response is lost.
    AnswerLost,
    /// The sender gives up; the request is carried out later.
    CarriedOutLate,
    /// A 409: another PUT of the name is supposedly in progress.
    Conflict,
    /// The store is full.
    Full,
}

/// The store as one process sees it.
pub(super) struct SimulatedStore {
    disk: Arc<Disk>,
    life: Arc<Life>,
}

impl std::fmt::Debug for SimulatedStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SimulatedStore")
    }
}

impl SimulatedStore {
    pub(super) fn new(disk: &Arc<Disk>, life: &Arc<Life>) -> Self {
        Self {
            disk: Arc::clone(disk),
            life: Arc::clone(life),
        }
    }

    fn world(&self) -> &World {
        &self.life.world
    }

    fn fate(&self, op: Op) -> Fate {
        let weather = self.world().weather();
        if Instant::now() < weather.store_away {
            return Fate::Refused;
        }
        let mut dice = self.world().dice();
        if !dice.chance(weather.store_faults) {
            return Fate::Done;
        }
        match op {
            Op::Create if weather.fatal_faults && dice.chance(50) => Fate::Full,
            Op::Create => dice.pick(&[
                Fate::Slow,
                Fate::Refused,
                Fate::AnswerLost,
                Fate::AnswerLost,
                Fate::CarriedOutLate,
                Fate::Conflict,
            ]),
            _ => dice.pick(&[Fate::Slow, Fate::Refused]),
        }
    }

    /// Freezes the process where a zombie does the most harm: when it wakes, it writes what another process
    /// may be writing.
    async fn maybe_freeze(&self) {
        let zombies = self.world().weather().zombies;
        let freeze = self.world().dice().chance(zombies);
        if freeze {
            // An ambush wakes it up once its partitions belong to another process.
            let (low, high) = if self.world().weather().ambush {
                (10_000, 30_000)
            } else {
                (1_000, 15_000)
            };
            let time = self.world().dice().between(low, high);
            self.life.freeze(0, Duration::from_millis(time));
            self.life.step().await;
        }
    }

    /// Returns the latency of a request, in ms.
    fn delay(&self, fate: Fate) -> Duration {
        let mut dice = self.world().dice();
        let (low, high) = match fate {
            Fate::Slow => (500, 5_000),
            Fate::CarriedOutLate => (2_000, 20_000),
            _ => (0, 30),
        };
        Duration::from_millis(dice.between(low, high))
    }

    fn refused(&self, op: Op, name: &str) -> StoreError {
        StoreError::Transient {
            at: At::new(op, self.describe(), name),
            detail: "as the schedule has it".into(),
        }
    }

    /// Makes a read request, which `ask` carries out at one moment.
    async fn reading<T>(
        &self,
        op: Op,
        what: impl Display,
        name: &str,
        ask: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.life.step().await;
        let fate = self.fate(op);
        tokio::time::sleep(self.delay(fate)).await;
        let answer = if fate == Fate::Refused {
            Err(self.refused(op, name))
        } else {
            ask.await
        };
        self.life.step().await;
        let outcome = if answer.is_ok() { "done" } else { "no" };
        self.world()
            .note(&self.life.name, what, format_args!("{outcome} ({fate:?})"));
        answer
    }

    async fn page(&self, folder: &str, after: Option<&str>, limit: usize) -> Result<Vec<Object>, StoreError> {
        let ask = self.disk.memory.list_page(folder, after, limit);
        let what = format_args!("list {folder}").to_string();
        self.reading(Op::List, what, folder, ask).await
    }

    /// Sends a PUT that cannot be cancelled.
    fn send(&self, name: &str, bytes: Bytes, delay: Duration) -> oneshot::Receiver<Result<(), StoreError>> {
        let (answer, answered) = oneshot::channel();
        let (disk, who, name) = (Arc::clone(&self.disk), self.life.name.clone(), name.to_owned());
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            let done = disk.apply(&name, bytes).await;
            let outcome = if done.is_ok() {
                "written"
            } else {
                "the name is taken"
            };
            disk.world
                .note(&who, format_args!("PUT of {name} carried out"), outcome);
            // The sender may have given up or died.
            drop(answer.send(done));
        });
        answered
    }

    /// Applies a broken protocol to a create, if there is one.
    fn mutated(&self, name: &str, bytes: &Bytes, fate: Fate) -> bool {
        let (notes, audit) = (
            ChainId::parse_notes(name).is_some(),
            ChainId::parse_audit(name).is_some(),
        );
        let world = self.world();
        let early =
            (notes && world.is(Mutant::ReleaseBeforeTheFile)) || (audit && world.is(Mutant::AuditAfterNotes));
        if early {
            let delay = self.delay(fate) + Duration::from_millis(self.world().dice().between(0, 400));
            drop(self.send(name, bytes.clone(), delay));
        }
        early
    }
}

#[async_trait]
impl Store for SimulatedStore {
    async fn create(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        self.life.step().await;
        self.maybe_freeze().await;
        let fate = self.fate(Op::Create);
        self.world().meet(match fate {
            Fate::Done => "create done",
            Fate::Slow => "create slow",
            Fate::Refused => "create refused",
            Fate::AnswerLost => "create done, answer lost",
            Fate::CarriedOutLate => "create carried out late",
            Fate::Conflict => "create in conflict",
            Fate::Full => "store full",
        });
        let delay = self.delay(fate);
        let at = || At::new(Op::Create, self.describe(), name);
        let answer = if self.mutated(name, &bytes, fate) {
            Ok(())
        } else {
            match fate {
                Fate::Refused | Fate::Conflict | Fate::Full => {
                    tokio::time::sleep(delay).await;
                    Err(match fate {
                        Fate::Conflict => StoreError::Exists(at()),
                        Fate::Full => StoreError::Full {
                            at: at(),
                            detail: "as the schedule has it".into(),
                        },
                        _ => self.refused(Op::Create, name),
                    })
                }
                Fate::CarriedOutLate => {
                    drop(self.send(name, bytes, delay));
                    self.world().pause(100, 2_000).await;
                    Err(self.refused(Op::Create, name))
                }
                Fate::Done | Fate::Slow | Fate::AnswerLost => match self.send(name, bytes, delay).await {
                    Ok(answer) if fate != Fate::AnswerLost => answer,
                    _ => Err(self.refused(Op::Create, name)),
                },
            }
        };
        self.life.step().await;
        let outcome = match &answer {
            Ok(()) => "done".to_owned(),
            Err(StoreError::Exists(_)) => {
                self.world().meet("name taken");
                "exists".to_owned()
            }
            Err(_) => "no".to_owned(),
        };
        self.world().note(
            &self.life.name,
            format_args!("create {name}"),
            format_args!("{outcome} ({fate:?})"),
        );
        match answer {
            Err(StoreError::Exists(_))
                if self.world().is(Mutant::IgnoreTheFence) && ChainId::parse_notes(name).is_some() =>
            {
                Ok(())
            }
            answer => answer,
        }
    }

    async fn list_after(&self, folder: &str, after: Option<&str>) -> Result<Vec<Object>, StoreError> {
        let mut objects: Vec<Object> = Vec::new();
        loop {
            let last = objects.last().map(|object| object.name.clone());
            let page = self.page(folder, last.as_deref().or(after), PAGE).await?;
            let is_last = page.len() < PAGE;
            objects.extend(page);
            if is_last {
                return Ok(objects);
            }
        }
    }

    async fn list_page(
        &self,
        folder: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Object>, StoreError> {
        self.page(folder, after, limit).await
    }

    async fn read_range(&self, name: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        let ask = self.disk.memory.read_range(name, range);
        self.reading(Op::Read, format!("read {name}"), name, ask).await
    }

    async fn read_tail(&self, name: &str, len: u64) -> Result<End, StoreError> {
        let ask = self.disk.memory.read_tail(name, len);
        self.reading(Op::Read, format!("read the end of {name}"), name, ask)
            .await
    }

    async fn look(&self, name: &str) -> Result<Object, StoreError> {
        let ask = self.disk.memory.look(name);
        self.reading(Op::Read, format!("look at {name}"), name, ask).await
    }

    async fn replace(&self, name: &str, bytes: Bytes, version: &str) -> Result<(), StoreError> {
        // The store's own objects may change; files of readers must not.
        if !name.starts_with(".lethe/") {
            self.world().broken(format!("a stream replaced {name}"));
        }
        let ask = self.disk.memory.replace(name, bytes, version);
        self.reading(Op::Replace, format!("replace {name}"), name, ask)
            .await
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        // The probe of create-only writes removes its object; nothing else may be removed.
        if !name.starts_with(".lethe/") {
            self.world().broken(format!("a stream deleted {name}"));
        }
        self.disk.memory.delete(name).await
    }

    fn describe(&self) -> String {
        "simulated".to_owned()
    }
}
