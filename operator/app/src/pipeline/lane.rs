//! A lane: one partition's records, in order, from payload to durable file.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use lethe_connectors::Backoff;
use lethe_connectors::format::Format;
use lethe_connectors::sink::{CommitError, Due, Held, LaneWriter, Receipt, Roll, SealedFile};
use lethe_connectors::source::{Command, Partition};
use lethe_connectors::store::Store;
use opentelemetry::KeyValue;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::ahead::{Batch, head};
use super::budget::{Relief, Share};
use super::careful::Careful;
use super::counters::Counters;
use super::engine_version::{Current, EngineVersion};
use super::incoming::Incoming;
use super::pool::Pool;
use super::turns::Turns;
use crate::telemetry::{Closing, LaneBoard, Measures, Stage, Telemetry, Work};

/// The maximum number of records that are tagged together.
pub(super) const BATCH_RECORDS: usize = 256;
/// The maximum payload bytes that are tagged together, unless a single record has more.
pub(super) const BATCH_BYTES: usize = 2 << 20;
/// How often a lane checks whether its open file is due.
const TICK: Duration = Duration::from_millis(250);

/// The services that all lanes share.
pub(crate) struct LaneContext {
    pub(crate) engine_version: Current<EngineVersion>,
    pub(crate) format: Current<dyn Format>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) pool: Pool,
    pub(crate) turns: Turns,
    pub(crate) roll: Roll,
    pub(crate) counters: Counters,
    pub(crate) telemetry: Arc<Telemetry>,
    pub(crate) commands: std::sync::mpsc::Sender<Command>,
}

/// Reports what became durable while a lane drained.
pub(crate) type Reply = oneshot::Sender<Option<Receipt>>;

/// Commands to a lane, besides records.
pub(crate) enum Control {
    /// Close the open file: because memory is tight, for which the relief is, or because a reader waits for
    /// it.
    Flush(Option<Relief>),
    /// Process the queue until this moment, close the open file, report what became durable, end.
    Drain(Instant, Reply),
}

/// A lane. It runs until it is drained or dropped; offsets of records that it still holds were never
/// released.
pub(crate) struct Lane {
    pub(crate) partition: Partition,
    /// The topic's id when the lane began, if it has one.
    pub(crate) topic_id: Option<Arc<str>>,
    pub(crate) context: Arc<LaneContext>,
    pub(crate) queue: mpsc::Receiver<Incoming>,
    /// Records from the queue that are in no batch yet.
    pub(crate) backlog: Vec<Incoming>,
    /// The batches in progress, in order.
    pub(crate) ahead: VecDeque<Batch>,
    pub(crate) control: mpsc::UnboundedReceiver<Control>,
    pub(crate) share: Arc<Share>,
    pub(crate) board: Arc<LaneBoard>,
    /// The engine version of the open file's rows; `None` before the first.
    pub(crate) engine_version: Option<Arc<EngineVersion>>,
    pub(crate) writer: Option<Box<LaneWriter>>,
    pub(crate) open: Open,
    pub(crate) careful: Careful,
}

/// The state of the open file.
#[derive(Clone, Copy)]
pub(crate) struct Open {
    since: Instant,
    last_row: Instant,
    /// The writer's buffers as a part of the lane's share.
    buffered: usize,
}

impl Open {
    pub(crate) fn now() -> Self {
        let now = Instant::now();
        Self {
            since: now,
            last_row: now,
            buffered: 0,
        }
    }

    /// Records that a row was added, which may be the first.
    pub(super) fn added(&mut self, was_empty: bool) {
        let now = Instant::now();
        self.last_row = now;
        if was_empty {
            self.since = now;
        }
    }
}

/// Why a lane ends early.
pub(super) enum End {
    /// Another writer created the file first.
    Lost,
    /// Neither the lane nor the program can continue.
    Failed(String),
}

impl Lane {
    /// Runs the lane to its end.
    pub(crate) async fn run(mut self) {
        // Kept until the lane's end is reported: when the reply is dropped, its receiver must find the
        // failure.
        let mut reply = None;
        match self.work(&mut reply).await {
            Ok(()) => {}
            Err(End::Lost) => {
                tracing::warn!(topic = %self.partition.0, partition = self.partition.1, "another writer's file came first; its buffer is dropped and read again from the chain's tail");
                self.measures().fenced();
                self.tell(Command::Reopen(self.partition.clone()));
            }
            Err(End::Failed(error)) => self.tell(Command::Fail(error)),
        }
    }

    pub(super) fn measures(&self) -> &Measures {
        self.context.telemetry.measures()
    }

    pub(super) fn tell(&self, command: Command) {
        // The receiver is gone only when the program ends.
        drop(self.context.commands.send(command));
    }

    async fn work(&mut self, asked: &mut Option<Reply>) -> Result<(), End> {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let has_room = self.has_room();
            tokio::select! {
                biased;
                control = self.control.recv() => match control {
                    Some(Control::Flush(relief)) => {
                        let why = if relief.is_some() { Closing::Memory } else { Closing::Asked };
                        if relief.is_none() {
                            self.settle().await?;
                        }
                        let receipt = self.commit(why).await?;
                        drop(relief);
                        receipt.into_iter().for_each(|receipt| self.tell(Command::Release(receipt)));
                    }
                    Some(Control::Drain(until, reply)) => {
                        *asked = Some(reply);
                        self.work_off(until).await?;
                        let receipt = self.commit(Closing::Drain).await?;
                        if let Some(reply) = asked.take() {
                            // The deadline has passed, so nobody receives the reply.
                            drop(reply.send(receipt));
                        }
                        return Ok(());
                    }
                    None => return Ok(()),
                },
                _ = tick.tick() => {}
                () = self.context.pool.freed(), if !has_room => {}
                done = head(&mut self.ahead), if !self.ahead.is_empty() => self.advance(done).await?,
                received = receive(&mut self.queue, &mut self.backlog), if has_room => {
                    if !received {
                        return Ok(());
                    }
                    self.next().await?;
                }
            }
            if let Some(due) = self.due()
                && let Some(receipt) = self.commit(Closing::Due(due)).await?
            {
                self.tell(Command::Release(receipt));
            }
        }
    }

    /// Processes the queue as far as time allows. Offsets of the remaining records were never released.
    async fn work_off(&mut self, until: Instant) -> Result<(), End> {
        while Instant::now() < until {
            if self.has_room() {
                let room = BATCH_RECORDS.saturating_sub(self.backlog.len());
                let more = std::iter::from_fn(|| self.queue.try_recv().ok()).take(room);
                self.backlog.extend(more);
                if !self.backlog.is_empty() {
                    self.next().await?;
                    continue;
                }
            }
            if self.ahead.is_empty() {
                break;
            }
            let done = head(&mut self.ahead).await;
            self.advance(done).await?;
        }
        self.settle().await
    }

    fn due(&self) -> Option<Due> {
        let writer = self.writer.as_ref()?;
        self.context.roll.due(&Held {
            bytes: writer.encoded_bytes(),
            rows: writer.rows(),
            skipped: writer.skipped(),
            age: self.open.since.elapsed(),
            idle: self.open.last_row.elapsed(),
        })
    }

    /// Begins the next batch of the backlog, whose size is bounded.
    async fn next(&mut self) -> Result<(), End> {
        let mut bytes = 0;
        let fit = self.backlog.iter().take(BATCH_RECORDS).take_while(|record| {
            let is_first = bytes == 0;
            bytes += record.weight();
            is_first || bytes <= BATCH_BYTES
        });
        let count = fit.count();
        let batch: Vec<_> = self.backlog.drain(..count).collect();
        self.begin(batch).await
    }

    /// Makes the following rows those of this engine version. If the open file has another one, closes that
    /// file first.
    pub(super) async fn follow(&mut self, version: &Arc<EngineVersion>) -> Result<(), End> {
        if self
            .engine_version
            .as_ref()
            .is_some_and(|before| Arc::ptr_eq(before, version))
        {
            return Ok(());
        }
        if let Some(receipt) = self.commit(Closing::EngineVersion).await? {
            self.tell(Command::Release(receipt));
        }
        if let Some(writer) = &mut self.writer {
            writer
                .follow(version.fingerprints.of_topic(self.topic_id.as_deref()))
                .map_err(|error| End::Failed(error.to_string()))?;
        }
        self.engine_version = Some(Arc::clone(version));
        Ok(())
    }

    /// Returns the name of its partition for logs.
    pub(super) fn place(&self) -> String {
        format!("{}/{}", self.partition.0, self.partition.1)
    }

    /// Reports where the time of a batch or a file went.
    pub(super) fn told(&self, what: &'static str, work: &Work, first: i64, records: usize) {
        for &(stage, took) in &work.stages {
            self.measures().stage(stage, took);
        }
        let (topic, partition) = &self.partition;
        let number = |name: &'static str, value: i64| KeyValue::new(name, value);
        let attributes = vec![
            KeyValue::new("topic", topic.to_string()),
            number("partition", i64::from(*partition)),
            number("offset", first),
            number("records", i64::try_from(records).unwrap_or(i64::MAX)),
        ];
        self.context.telemetry.traces().tell(what, work, attributes);
    }

    /// Updates the share to the writer's buffers.
    pub(super) fn rebook(&mut self, buffered: usize) {
        self.share.take(buffered);
        self.share.give(self.open.buffered);
        self.open.buffered = buffered;
    }

    /// Makes the open file durable, waiting for the store as long as necessary. `None` if it has no rows.
    pub(super) async fn commit(&mut self, why: Closing) -> Result<Option<Receipt>, End> {
        self.pushed().await?;
        let Some(mut writer) = self.writer.take() else {
            return Ok(None);
        };
        let (begun, mut work) = (Instant::now(), Work::new());
        let (first, rows) = (writer.first(), writer.rows());
        let sealed = self.context.pool.run_next(move || {
            let begun = Instant::now();
            let sealed = writer.seal();
            (writer, sealed, begun.elapsed())
        });
        let (writer, sealed, took) = sealed.await.map_err(|error| End::Failed(error.to_string()))?;
        self.writer = Some(writer);
        let place = self.place();
        let sealed = sealed.map_err(|error| End::Failed(format!("{place}: {error}")))?;
        let Some(sealed) = sealed else { return Ok(None) };
        let (context, board) = (Arc::clone(&self.context), Arc::clone(&self.board));
        work.stages.push((Stage::Seal, took));
        let sent = Instant::now();
        let receipt = upload(&context, &board, &place, &sealed).await?;
        work.stages.push((Stage::Store, sent.elapsed()));
        if let Some(writer) = &mut self.writer {
            writer
                .committed(&receipt)
                .map_err(|error| End::Failed(format!("{place}: {error}")))?;
        }
        self.rebook(0);
        self.context.counters.file(receipt.bytes());
        self.measures().file(why, receipt.bytes(), begun.elapsed());
        self.board.durable(receipt.next());
        self.told("file", &work, first, usize::try_from(rows).unwrap_or(usize::MAX));
        tracing::debug!(%place, next = receipt.next(), head = receipt.digest(), "file committed");
        Ok(Some(receipt))
    }
}

/// Waits until the backlog has records; returns false if the queue has ended.
async fn receive(queue: &mut mpsc::Receiver<Incoming>, backlog: &mut Vec<Incoming>) -> bool {
    !backlog.is_empty() || queue.recv_many(backlog, BATCH_RECORDS).await > 0
}

/// Writes a file, and retries while the store is temporarily unavailable.
async fn upload(
    context: &LaneContext,
    board: &LaneBoard,
    place: &str,
    sealed: &SealedFile,
) -> Result<Receipt, End> {
    let mut backoff = Backoff::new(place);
    loop {
        board.uploads(true);
        let uploaded = sealed.upload(context.store.as_ref()).await;
        board.uploads(false);
        match uploaded {
            Ok(receipt) => return Ok(receipt),
            Err(CommitError::Lost { .. }) => return Err(End::Lost),
            Err(CommitError::Transient(error)) => {
                let wait = backoff.pause().unwrap_or_default();
                tracing::warn!(%place, %error, "store; trying again in {} ms", wait.as_millis());
                context.telemetry.measures().retry("commit");
                board.waits(true);
                tokio::time::sleep(wait).await;
            }
            Err(error) => return Err(End::Failed(format!("{place}: {error}"))),
        }
    }
}
