//! The assignment of partitions: chains are opened, lanes start, drain and end.
//!
//! No thread blocks here: waits for a store or a lane are asynchronous, measure deadlines by tokio's clock,
//! and end at a stop.

use futures::StreamExt as _;
use lethe_connectors::sink::{ChainError, ChainId, LaneWriter, Receipt, check_dataset, read_tail};
use lethe_connectors::source::Start;
use lethe_connectors::source::{Again, Begin, LaneError, LogRange, Partition};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::lane::Control;
use super::retry::{RetryError, probe, until_answered};
use super::{Handles, Pipeline};

/// The number of chains that are opened in parallel.
const OPENING: usize = 16;

impl Pipeline {
    /// Opens the chain of each partition at its tail, or creates it, and starts its lane. Returns where each
    /// begins, in the same order.
    ///
    /// Waits for an unavailable store. `again` is called only if a chain is ahead of its log.
    ///
    /// # Errors
    /// [`LaneError::Stopped`] as soon as the stop is requested, [`LaneError::Failed`] if the store refuses a
    /// request.
    pub(crate) async fn open_lanes(
        &self,
        ranges: &[LogRange],
        again: &Again<'_>,
    ) -> Result<Vec<Begin>, LaneError> {
        let opening = futures::stream::iter(ranges.iter().map(|range| self.open_chain(range)))
            .buffered(OPENING)
            .collect::<Vec<_>>();
        let opened = opening.await;
        // Checked before the first lane starts, so that none is left running.
        if self.stop.is_requested() {
            return Err(LaneError::Stopped);
        }
        let mut begins = Vec::with_capacity(ranges.len());
        for (range, opened) in ranges.iter().zip(opened) {
            begins.push(self.begin(range, again, opened).await?);
        }
        self.measures().rebalance("assigned", ranges.len());
        self.board().ready(true);
        tracing::info!(partitions = ranges.len(), "assigned");
        Ok(begins)
    }

    /// Makes the lanes of partitions process their queues and close their files until the deadline, or until
    /// the drain limit of a stop; then drops the rest. Returns what became durable.
    pub(crate) async fn drain_lanes(&self, partitions: &[Partition], deadline: Instant) -> Vec<Receipt> {
        let deadline = self
            .stop
            .deadline()
            .map_or(deadline, |stopped| stopped.min(deadline));
        let now = Instant::now();
        // The second half of the time is for the store.
        let until = now + deadline.saturating_duration_since(now) / 2;
        let mut draining = Vec::new();
        for partition in partitions {
            self.measures().rebalance("revoked", 1);
            let lane = self.lanes().remove(partition);
            if let Some(lane) = lane {
                let (reply, drained) = oneshot::channel();
                drop(lane.control.send(Control::Drain(until, reply)));
                lane.marker.leave_at(until, &self.runtime);
                draining.push((partition, lane, drained));
            }
        }
        let mut receipts = Vec::new();
        for (partition, lane, drained) in draining {
            let drained = tokio::select! {
                biased;
                drained = drained => drained.ok(),
                () = tokio::time::sleep_until(deadline) => None,
                () = self.stop.expired() => None,
            };
            match drained {
                Some(receipt) => receipts.extend(receipt),
                None => {
                    tracing::warn!(topic = %partition.0, partition = partition.1, "not drained in time; its buffer is dropped and will be read again")
                }
            }
            drop::<Handles>(lane);
            self.board().close(partition);
        }
        receipts
    }

    /// Returns how far the chains of partitions that other processes write have got: one past the last
    /// offset; `None` if no record is due.
    ///
    /// # Errors
    /// As [`Pipeline::open_lanes`].
    pub(crate) async fn tails(&self, ranges: &[LogRange]) -> Result<Vec<Option<i64>>, LaneError> {
        let asking = futures::stream::iter(ranges.iter().map(|range| self.tail(range)))
            .buffered(OPENING)
            .collect::<Vec<_>>();
        let mut written = Vec::new();
        for (range, tail) in ranges.iter().zip(asking.await) {
            written.push(match tail {
                Ok(next) => next,
                Err(RetryError::Refused(error)) if !matches!(error, ChainError::Store(_)) => {
                    self.log_broken(&range.partition, &error);
                    None
                }
                Err(unanswered) => return Err(unanswered.into()),
            });
        }
        Ok(written)
    }

    /// Compares the policy with those of all chains of the output, once per run.
    async fn check_dataset(&self) -> Result<(), ChainError> {
        let check = || async {
            let fingerprints = &self.context.engine_version.get().fingerprints;
            check_dataset(self.context.store.as_ref(), fingerprints).await
        };
        self.checked.get_or_try_init(check).await.map(|_| ())
    }

    /// Checks the output before the first lane opens: probes the store, and compares the policy with those of
    /// all its chains, each once per run. Waits for an unavailable store.
    ///
    /// # Errors
    /// As for [`verify`](lethe_connectors::store::verify) and [`check_dataset`], except for temporary errors;
    /// or if the stop was requested.
    pub(crate) async fn check_output(&self) -> Result<(), RetryError> {
        let store = self.context.store.as_ref();
        self.probed
            .get_or_try_init(|| probe(store, Some(&self.context.telemetry), &self.stop))
            .await?;
        until_answered(Some(&self.context.telemetry), &self.stop, || self.check_dataset()).await
    }

    /// Opens the chain of a partition at its tail, or creates it.
    async fn open_chain(&self, range: &LogRange) -> Result<LaneWriter, RetryError> {
        let start = if self.start == Start::Earliest {
            range.low
        } else {
            range.high
        };
        self.check_output().await?;
        until_answered(Some(&self.context.telemetry), &self.stop, || {
            LaneWriter::open(
                self.context.store.as_ref(),
                chain_of(range),
                start,
                self.fingerprints(range),
                self.encoding,
            )
        })
        .await
    }

    /// Returns where the chain of a partition that another process writes continues; `None` if no record is
    /// due.
    async fn tail(&self, range: &LogRange) -> Result<Option<i64>, RetryError> {
        let chain = chain_of(range);
        let ask = || read_tail(self.context.store.as_ref(), &chain);
        let tail = until_answered(Some(&self.context.telemetry), &self.stop, ask).await?;
        let Some(tail) = tail else {
            return Ok((self.start == Start::Earliest).then_some(range.low));
        };
        tail.check_log(&self.fingerprints(range))
            .map_err(RetryError::Refused)?;
        if tail.next < range.low {
            self.log_out_of_range(range, tail.next);
            return Ok(None);
        }
        Ok(Some(tail.next))
    }

    /// Decides where a lane begins, and starts it unless it halts.
    ///
    /// Range and chain are read at different moments, and another process may write in between. A chain is
    /// behind its log only if it is behind the log's beginning from before the chain was read, and ahead of
    /// it only if it is ahead of the log's end from afterwards.
    async fn begin(
        &self,
        range: &LogRange,
        again: &Again<'_>,
        mut opened: Result<LaneWriter, RetryError>,
    ) -> Result<Begin, LaneError> {
        let mut range = range.clone();
        loop {
            let writer = match opened {
                Ok(writer) => writer,
                Err(RetryError::Refused(error)) if !matches!(error, ChainError::Store(_)) => {
                    self.log_broken(&range.partition, &error);
                    return Ok(Begin::Halted);
                }
                Err(unanswered) => return Err(unanswered.into()),
            };
            let next = writer.next();
            let is_behind = next < range.low;
            let topic_id = range.topic_id.clone();
            if next > range.high {
                range = again(&range.partition)?;
            }
            if range.topic_id != topic_id {
                // The topic was recreated in between; opening the chain again decides what to do.
                opened = self.open_chain(&range).await;
                continue;
            }
            if (range.low..=range.high).contains(&next) {
                self.start_lane(&range, writer);
                return Ok(Begin::At(next));
            }
            if is_behind || next > range.high {
                self.log_out_of_range(&range, next);
                return Ok(Begin::Halted);
            }
            // The log was trimmed after the chain was read, so only records that are in the chain by now can
            // be missing.
            opened = self.open_chain(&range).await;
        }
    }
}

fn chain_of(range: &LogRange) -> ChainId {
    ChainId::new(std::sync::Arc::clone(&range.partition.0), range.partition.1)
}
