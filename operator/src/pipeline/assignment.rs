//! Partitions come and go: chains are opened, lanes begin, drain and end.
//!
//! No thread blocks in here: what waits for a store or a lane is asynchronous, compares deadlines by tokio's clock, and
//! hears the stop.

use futures::StreamExt as _;
use lethe_connectors::kafka::Start;
use lethe_connectors::kafka::source::{Again, Begin, LaneError, LogRange, Partition};
use lethe_connectors::sink::{ChainError, ChainId, LaneWriter, Receipt, check_dataset, read_tail};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::lane::Control;
use super::patience::{Unanswered, until_answered};
use super::{Handles, Pipeline};

/// How many chains are opened at the same time.
const OPENING: usize = 16;

impl Pipeline {
    /// Opens the chain of each partition at its tail, or begins it, and starts its lane; says where each begins, in the same
    /// order.
    ///
    /// A store that cannot answer now is waited for. `again` is called only where a chain is ahead of its log.
    ///
    /// # Errors
    /// [`LaneError::Stopped`] as soon as the stop is requested, [`LaneError::Failed`] if the store refuses.
    pub(crate) async fn open_lanes(
        &self,
        ranges: &[LogRange],
        again: &Again<'_>,
    ) -> Result<Vec<Begin>, LaneError> {
        let opening = futures::stream::iter(ranges.iter().map(|range| self.open_chain(range)))
            .buffered(OPENING)
            .collect::<Vec<_>>();
        let opened = opening.await;
        // Before the first lane is started, so that none is left running.
        if self.stop.is_requested() {
            return Err(LaneError::Stopped);
        }
        let begins = ranges
            .iter()
            .zip(opened)
            .map(|(range, opened)| self.begin(range, again, opened))
            .collect::<Result<Vec<_>, _>>()?;
        self.measures().rebalance("assigned", ranges.len());
        self.board().ready(true);
        tracing::info!(partitions = ranges.len(), "assigned");
        Ok(begins)
    }

    /// Has the lanes of partitions work off what they hold and close their files until the deadline, or until the drain limit
    /// of a stop; then drops what is left. Returns what became durable.
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

    /// How far the chains of partitions that other processes write go: one past the last offset; `None` where nothing is owed.
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
                Err(Unanswered::Refused(error)) if !matches!(error, ChainError::Store(_)) => {
                    self.log_broken(range, &error);
                    None
                }
                Err(unanswered) => return Err(unanswered.into()),
            });
        }
        Ok(written)
    }

    /// Compares the policy with those of all chains of the output, once in a run.
    async fn check_dataset(&self) -> Result<(), ChainError> {
        let check = || async {
            let fingerprints = &self.shop.edition.get().fingerprints;
            check_dataset(self.shop.store.as_ref(), fingerprints).await
        };
        self.checked.get_or_try_init(check).await.map(|_| ())
    }

    /// Checks the output before the first lane opens: the policy is compared with those of all its chains. A store that cannot
    /// answer now is waited for.
    ///
    /// # Errors
    /// As [`check_dataset`], but for what may pass; or that the stop was requested.
    pub(crate) async fn check_dataset_at_start(&self) -> Result<(), Unanswered> {
        until_answered(&self.shop.telemetry, &self.stop, || self.check_dataset()).await
    }

    /// Opens the chain of a partition at its tail, or begins it.
    async fn open_chain(&self, range: &LogRange) -> Result<LaneWriter, Unanswered> {
        let start = if self.start == Start::Earliest {
            range.low
        } else {
            range.high
        };
        self.check_dataset_at_start().await?;
        until_answered(&self.shop.telemetry, &self.stop, || {
            LaneWriter::open(
                self.shop.store.as_ref(),
                chain_of(range),
                start,
                self.shop.edition.get().fingerprints.clone(),
                self.encoding,
            )
        })
        .await
    }

    /// Where the chain of a partition that this process does not write goes on; none if no record is owed.
    async fn tail(&self, range: &LogRange) -> Result<Option<i64>, Unanswered> {
        let chain = chain_of(range);
        let ask = || read_tail(self.shop.store.as_ref(), &chain);
        let tail = until_answered(&self.shop.telemetry, &self.stop, ask).await?;
        let Some(tail) = tail else {
            return Ok((self.start == Start::Earliest).then_some(range.low));
        };
        tail.check_log(&self.shop.edition.get().fingerprints)
            .map_err(Unanswered::Refused)?;
        if tail.next < range.low {
            self.log_halt(range, tail.next);
            return Ok(None);
        }
        Ok(Some(tail.next))
    }

    /// Decides where a lane begins, and starts it unless it halts.
    fn begin(
        &self,
        range: &LogRange,
        again: &Again<'_>,
        opened: Result<LaneWriter, Unanswered>,
    ) -> Result<Begin, LaneError> {
        match opened {
            Ok(writer) => {
                let next = writer.next();
                let newer = (next > range.high).then(|| again(&range.partition)).transpose()?;
                let range = newer.as_ref().unwrap_or(range);
                if !(range.low..=range.high).contains(&next) {
                    self.log_halt(range, next);
                    return Ok(Begin::Halted);
                }
                // A file's end is known when it is reached.
                let end = Some(range.high).filter(|&high| high < i64::MAX);
                self.start_lane(&range.partition, writer, end);
                Ok(Begin::At(next))
            }
            Err(Unanswered::Refused(error)) if !matches!(error, ChainError::Store(_)) => {
                self.log_broken(range, &error);
                Ok(Begin::Halted)
            }
            Err(unanswered) => Err(unanswered.into()),
        }
    }
}

fn chain_of(range: &LogRange) -> ChainId {
    ChainId::new(std::sync::Arc::clone(&range.partition.0), range.partition.1)
}
