//! A step of a lane: turns records into rows of the open file, in parts that fit the memory limits and the
//! precautions, one after the other. Ordinary batches need no such step (`ahead.rs`).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use lethe_connectors::Backoff;
use lethe_connectors::source::Command;

use super::careful::Part;
use super::cost::{Cost, HEAVY};
use super::engine_version::EngineVersion;
use super::incoming::Incoming;
use super::lane::{End, Lane};
use super::transform::{Terms, TransformError, transform};
use crate::telemetry::{Closing, Stage, Work};

impl Lane {
    /// Adds parts to the open file one after the other, in order, with rows of this engine version.
    pub(super) async fn steps(
        &mut self,
        parts: Vec<Part>,
        engine_version: &Arc<EngineVersion>,
    ) -> Result<(), End> {
        let place = self.place();
        let mut parts = VecDeque::from(parts);
        while let Some(part) = parts.pop_front() {
            let rows = self.writer.as_ref().map_or(0, |writer| writer.rows());
            if self.careful.closes(&part, rows)
                && let Some(receipt) = self.commit(Closing::Asked).await?
            {
                self.tell(Command::Release(receipt));
            }
            let alone = part.alone;
            if let Some(smaller) = self.part(part, engine_version, &place).await? {
                let smaller = smaller.into_iter().rev();
                smaller.for_each(|records| parts.push_front(Part { records, alone }));
            }
        }
        Ok(())
    }

    /// Processes one part, and retries while a service that it needs is unavailable. Returns it in smaller
    /// parts if it takes too much memory as a whole.
    async fn part(
        &mut self,
        part: Part,
        engine_version: &Arc<EngineVersion>,
        place: &str,
    ) -> Result<Option<Vec<Vec<Incoming>>>, End> {
        self.follow(engine_version).await?;
        let Some(mut writer) = self.writer.take() else {
            return Err(End::Failed("a lane without a writer received records".to_owned()));
        };
        let was_empty = writer.rows() == 0;
        let mut backoff = Backoff::new(place);
        let alone = part.alone;
        let (count, first) = (
            part.records.len(),
            part.records.first().map_or(0, |record| record.at().offset),
        );
        let latest = part.records.last().and_then(Incoming::timestamp);
        let sent = Instant::now();
        let mut work = Work::new();
        let mut part = part;
        let result = loop {
            let floor = self.context.turns.floor(alone).await;
            self.careful.announce(&part).await;
            let cost = self.heavy(&part);
            let turn = match cost {
                Some(cost) => self.context.turns.take(cost).await,
                None => None,
            };
            let limits = self.context.turns.limits().of(&engine_version.engine);
            let terms = Terms {
                limits,
                memory: cost.map_or(limits.record, |cost| limits.turn(cost)),
                parts: true,
                board: Some(Arc::clone(&self.board)),
                yields: cost.map(|_| Arc::clone(self.context.pool.load())),
            };
            let (context, engine_version, records) = (
                Arc::clone(&self.context),
                Arc::clone(engine_version),
                part.records,
            );
            let seat = cost.is_none().then(|| self.context.pool.seat());
            let job = move || {
                work.stages.push((Stage::Queue, sent.elapsed()));
                let result =
                    transform(&context, &engine_version, records, &terms, &mut work).and_then(|processed| {
                        let begun = Instant::now();
                        let pushed = writer.push(&processed.redacted, &processed.audit);
                        work.stages.push((Stage::Encode, begun.elapsed()));
                        pushed.map_err(|error| TransformError::Broken(error.to_string()))
                    });
                // Held until the end of the work, even if the lane is dropped before.
                drop((turn, seat));
                (writer, work, result, floor)
            };
            let done = match cost {
                Some(_) => self.context.pool.run_heavy(job).await,
                None => self.context.pool.run(job).await,
            };
            let (back, worked, result, floor) = done.map_err(|error| End::Failed(error.to_string()))?;
            (writer, work) = (back, worked);
            self.careful.done(alone).await;
            drop(floor);
            match result {
                Ok(()) => break Ok(None),
                Err(TransformError::Broken(error)) => break Err(error),
                Err(TransformError::Parts(parts)) => break Ok(Some(parts)),
                Err(TransformError::Away(again, why)) => {
                    let wait = backoff.pause().unwrap_or_default();
                    tracing::warn!(%place, why, "trying again in {} ms", wait.as_millis());
                    self.measures().retry("redact");
                    self.board.waits(true);
                    tokio::time::sleep(wait).await;
                    part = Part {
                        records: again,
                        alone,
                    };
                }
            }
        };
        let buffered = writer.buffered_bytes();
        self.writer = Some(writer);
        self.rebook(buffered);
        match &result {
            Ok(Some(_)) => self.board.stepped(),
            _ => self.board.redacted(count, latest),
        }
        self.told("batch", &work, first, count);
        self.open.added(was_empty);
        result.map_err(|error| End::Failed(format!("{place}: {error}")))
    }

    /// Returns the memory of a part that needs a turn; `None` for an ordinary batch. Before a payload is
    /// decoded only its size is known; one that is too large for any turn is quarantined without decoding,
    /// which costs nothing.
    pub(super) fn heavy(&self, part: &Part) -> Option<usize> {
        let [record] = part.records.as_slice() else {
            return None;
        };
        match record {
            Incoming::Heavy(heavy) => Some(heavy.cost),
            Incoming::Read(_) if record.size() > HEAVY => Some(0),
            Incoming::Read(_) => None,
            Incoming::Raw(_) => match self.context.turns.limits().of_payload(record.size()) {
                Cost::Heavy(cost) => Some(cost),
                Cost::Light | Cost::Over => None,
            },
        }
    }
}
