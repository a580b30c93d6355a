//! Batches in progress: workers process several batches of one lane at the same time, and the lane adds their
//! rows to the open file in the order of offsets.
//!
//! A row depends on its record and on the engine version alone, so the order in which workers finish has no
//! effect on it. If a batch cannot be processed as a whole, the lane processes it in steps once the rows of
//! earlier batches are in the file; the rows of later ones wait.

use std::collections::VecDeque;
use std::sync::Arc;

use lethe_connectors::sink::{LaneWriter, PushError};
use lethe_core::Processed;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::Instant;

use super::careful::Part;
use super::engine_version::EngineVersion;
use super::incoming::Incoming;
use super::lane::{BATCH_BYTES, End, Lane, LaneContext};
use super::pool::{Panicked, Seat};
use super::transform::{Terms, TransformError, transform};
use crate::telemetry::{Stage, Work};

/// A batch in progress. It ends when it is dropped; what a worker has begun of it has no effect then.
pub(crate) struct Batch {
    task: JoinHandle<Phase>,
    engine_version: Arc<EngineVersion>,
    /// The offset of its first record.
    first: i64,
    count: usize,
    /// Its part of the lane's share.
    bytes: usize,
    /// The timestamp of its last record.
    latest: Option<i64>,
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What a worker has done with a batch; `None` if it panicked.
type Phase = Option<Done>;

/// The phases of a batch.
pub(super) enum Done {
    /// Its rows, or why it has none, and where its time went.
    Transformed(Result<Processed, TransformError>, Work),
    Pushed(Pushed),
}

/// A batch whose rows were added to the open file.
pub(super) struct Pushed {
    writer: Box<LaneWriter>,
    /// Whether they are the first of the file.
    was_empty: bool,
    result: Result<(), PushError>,
    work: Work,
}

/// Waits for the next phase of the first batch in progress, and forever if no batch is in progress.
pub(super) async fn head(ahead: &mut VecDeque<Batch>) -> Result<Phase, JoinError> {
    match ahead.front_mut() {
        Some(batch) => (&mut batch.task).await,
        None => std::future::pending().await,
    }
}

impl Lane {
    /// Returns whether another batch may begin. The first always may; further ones if workers are free and if
    /// the lane's batches hold at most a quarter of the memory of all lanes.
    pub(super) fn has_room(&self) -> bool {
        let pool = &self.context.pool;
        let bytes: usize = self.ahead.iter().map(|batch| batch.bytes).sum();
        self.ahead.is_empty()
            || (self.ahead.len() < pool.most_ahead()
                && bytes + BATCH_BYTES <= self.share.limit() / 4
                && pool.has_room())
    }

    /// Begins to process records. If they need precautions, it first completes all earlier ones, and then these.
    pub(super) async fn begin(&mut self, records: Vec<Incoming>) -> Result<(), End> {
        let (place, bytes) = (self.place(), records.iter().map(Incoming::weight).sum());
        self.measures().batch(records.len(), bytes);
        if let Some(first) = records.first() {
            self.careful.begin(&place, first.at().offset).await;
        }
        let mut parts = self.careful.parts(&place, records);
        if let [part] = parts.as_slice()
            && !part.alone
            && self.careful.is_plain()
            && self.heavy(part).is_none()
            && let Some(part) = parts.pop()
        {
            let batch = self.launch(part.records, bytes);
            self.ahead.push_back(batch);
            return Ok(());
        }
        let mut result = self.settle().await;
        if result.is_ok() {
            let now = self.context.engine_version.get();
            result = self.steps(parts, &now).await;
        }
        self.share.give(bytes);
        result
    }

    /// Sends an ordinary batch to the workers.
    fn launch(&self, records: Vec<Incoming>, bytes: usize) -> Batch {
        let engine_version = self.context.engine_version.get();
        let limits = self.context.turns.limits().of(&engine_version.engine);
        let terms = Terms {
            parts: true,
            board: Some(Arc::clone(&self.board)),
            ..Terms::whole(limits)
        };
        Batch {
            first: records.first().map_or(0, |record| record.at().offset),
            count: records.len(),
            bytes,
            latest: records.last().and_then(Incoming::timestamp),
            task: tokio::spawn(work(
                Arc::clone(&self.context),
                Arc::clone(&engine_version),
                records,
                terms,
                self.context.pool.seat(),
            )),
            engine_version,
        }
    }

    /// Adds the rows of all batches in progress to the open file.
    pub(super) async fn settle(&mut self) -> Result<(), End> {
        while !self.ahead.is_empty() {
            let done = head(&mut self.ahead).await;
            self.advance(done).await?;
        }
        Ok(())
    }

    /// Waits for the writer, if a worker adds rows of the first batch to it.
    pub(super) async fn pushed(&mut self) -> Result<(), End> {
        if self.writer.is_some() || self.ahead.is_empty() {
            return Ok(());
        }
        let done = head(&mut self.ahead).await.ok().flatten();
        match (self.ahead.pop_front(), done) {
            (Some(batch), Some(Done::Pushed(pushed))) => self.add(&batch, pushed),
            _ => Err(End::Failed(Panicked.to_string())),
        }
    }

    /// Continues with the first batch in progress, which has ended a phase.
    pub(super) async fn advance(&mut self, done: Result<Phase, JoinError>) -> Result<(), End> {
        let Some(batch) = self.ahead.pop_front() else {
            return Ok(());
        };
        match done.ok().flatten() {
            Some(Done::Transformed(Ok(processed), work)) => self.push(batch, processed, work).await,
            Some(Done::Transformed(Err(TransformError::Parts(parts)), _)) => self.split(batch, parts).await,
            // It is tried again, and waits between further attempts.
            Some(Done::Transformed(Err(TransformError::Away(records, _)), _)) => {
                self.split(batch, vec![records]).await
            }
            Some(Done::Transformed(Err(TransformError::Broken(error)), _)) => {
                Err(End::Failed(format!("{}: {error}", self.place())))
            }
            Some(Done::Pushed(pushed)) => self.add(&batch, pushed),
            None => Err(End::Failed(Panicked.to_string())),
        }
    }

    /// Processes a batch in parts, one after the other.
    async fn split(&mut self, batch: Batch, parts: Vec<Vec<Incoming>>) -> Result<(), End> {
        let alone = false;
        let parts = parts.into_iter().map(|records| Part { records, alone });
        self.steps(parts.collect(), &batch.engine_version).await?;
        self.share.give(batch.bytes);
        Ok(())
    }

    /// Sends the rows of a batch to a worker, which adds them to the open file. The batch stays the first.
    async fn push(&mut self, mut batch: Batch, processed: Processed, mut work: Work) -> Result<(), End> {
        self.follow(&batch.engine_version).await?;
        let Some(mut writer) = self.writer.take() else {
            return Err(End::Failed("a lane without a writer received records".to_owned()));
        };
        let job = move || {
            let (begun, was_empty) = (Instant::now(), writer.rows() == 0);
            let result = writer.push(&processed.redacted, &processed.audit);
            work.stages.push((Stage::Encode, begun.elapsed()));
            Done::Pushed(Pushed {
                writer,
                was_empty,
                result,
                work,
            })
        };
        let context = Arc::clone(&self.context);
        batch.task = tokio::spawn(async move { context.pool.run_next(job).await.ok() });
        self.ahead.push_front(batch);
        Ok(())
    }

    /// Records that the rows of a batch are in the open file.
    fn add(&mut self, batch: &Batch, pushed: Pushed) -> Result<(), End> {
        let buffered = pushed.writer.buffered_bytes();
        self.writer = Some(pushed.writer);
        self.rebook(buffered);
        self.share.give(batch.bytes);
        self.share
            .set_caches(batch.engine_version.engine.all_cache_bytes());
        self.board.redacted(batch.count, batch.latest);
        self.told("batch", &pushed.work, batch.first, batch.count);
        self.open.added(pushed.was_empty);
        let added = pushed.result;
        added.map_err(|error| End::Failed(format!("{}: {error}", self.place())))
    }
}

/// Processes a batch on a worker, with others but not while a record is processed alone.
async fn work(
    context: Arc<LaneContext>,
    engine_version: Arc<EngineVersion>,
    records: Vec<Incoming>,
    terms: Terms,
    seat: Seat,
) -> Phase {
    let mut work = Work::new();
    let sent = Instant::now();
    let floor = context.turns.floor(false).await;
    let shared = Arc::clone(&context);
    let job = move || {
        work.stages.push((Stage::Queue, sent.elapsed()));
        let result = transform(&shared, &engine_version, records, &terms, &mut work);
        // Held until the end of the work, and no longer: the lane may need the floor before it takes the rows.
        drop((floor, seat));
        Done::Transformed(result, work)
    };
    context.pool.run(job).await.ok()
}

#[cfg(test)]
mod tests;
