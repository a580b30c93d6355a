//! The stream: one lane a partition, from the consumer to the store.
//!
//! The consumer's thread calls in here as [`Lanes`]; lanes are tasks; tagging runs on the pool's threads.

mod budget;
mod counters;
mod edition;
pub(crate) mod files;
mod lane;
mod names;
mod patience;
mod pool;
mod transform;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt as _;

use lethe_connectors::kafka::Start;
use lethe_connectors::kafka::source::{Again, Begin, Lanes, LogRange, Partition, RawRecord};
use lethe_connectors::sink::{ChainError, ChainId, Encoding, LaneWriter, Receipt, check_dataset, read_tail};
use tokio::runtime::Handle;
use tokio::sync::{OnceCell, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::telemetry::{Board, LaneBoard, Measures};

pub(crate) use budget::Budget;
pub(crate) use counters::{Counters, Tallied};
pub(crate) use edition::{Current, Edition};
pub(crate) use files::rename;
pub(crate) use lane::{Incoming, Shop};
pub(crate) use names::about_code;
pub(crate) use pool::Pool;
pub(crate) use transform::{Fault, process, redact, told};

use budget::Share;
use lane::{Control, Lane, Open};
use patience::patiently;

/// Records that a lane's queue holds at most. Memory is the budget's to limit.
const QUEUE_RECORDS: usize = 4096;

/// How many chains are opened at the same time.
const OPENING: usize = 16;

/// All lanes of the program.
pub(crate) struct Pipeline {
    shop: Arc<Shop>,
    budget: Arc<Budget>,
    runtime: Handle,
    start: Start,
    encoding: Encoding,
    lanes: Mutex<BTreeMap<Partition, Handles>>,
    /// Set once the policy was compared with those of the output's chains.
    checked: OnceCell<()>,
}

/// The consumer's ends of a lane.
struct Handles {
    queue: mpsc::Sender<Incoming>,
    control: mpsc::UnboundedSender<Control>,
    share: Arc<Share>,
    board: Arc<LaneBoard>,
    task: JoinHandle<()>,
    /// The first offset that its chain does not have.
    next: i64,
}

impl Drop for Handles {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Pipeline {
    /// A pipeline without lanes.
    pub(crate) fn new(
        shop: Shop,
        budget: Arc<Budget>,
        runtime: Handle,
        start: Start,
        encoding: Encoding,
    ) -> Self {
        Self {
            shop: Arc::new(shop),
            budget,
            runtime,
            start,
            encoding,
            lanes: Mutex::default(),
            checked: OnceCell::new(),
        }
    }

    /// What lanes need of the program.
    pub(crate) fn shop(&self) -> &Shop {
        &self.shop
    }

    /// What lanes run on.
    pub(crate) const fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// What went through so far.
    pub(crate) fn counters(&self) -> &Counters {
        &self.shop.counters
    }

    /// The most memory that lanes ever held together, in bytes.
    pub(crate) fn peak(&self) -> usize {
        self.budget.peak()
    }

    fn lanes(&self) -> MutexGuard<'_, BTreeMap<Partition, Handles>> {
        // Each change is one insertion or removal: a panic leaves nothing half done.
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares the policy with those of all chains of the output, once in a run.
    async fn check_dataset(&self) -> Result<(), ChainError> {
        let check = || async {
            let fingerprints = &self.shop.edition.get().fingerprints;
            check_dataset(self.shop.store.as_ref(), fingerprints).await
        };
        self.checked.get_or_try_init(check).await.map(|_| ())
    }

    /// Compares the policy with those of all chains of the output before the first lane opens. If the store cannot answer now,
    /// lanes do so as they open.
    ///
    /// # Errors
    /// As [`check_dataset`], but for what may pass.
    pub(crate) async fn check_dataset_at_start(&self) -> Result<(), ChainError> {
        match self.check_dataset().await {
            Err(ChainError::Store(error)) if error.is_transient() => {
                tracing::warn!(%error, "output not compared with the policy yet; lanes try again as they open");
                Ok(())
            }
            checked => checked,
        }
    }

    /// Opens the chain of a partition at its tail, or begins it.
    async fn open_chain(&self, range: &LogRange) -> Result<LaneWriter, ChainError> {
        let start = if self.start == Start::Earliest {
            range.low
        } else {
            range.high
        };
        patiently(self.measures(), || self.check_dataset()).await?;
        patiently(self.measures(), || {
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
    async fn tail(&self, range: &LogRange) -> Result<Option<i64>, ChainError> {
        let chain = chain_of(range);
        let tail = patiently(self.measures(), || read_tail(self.shop.store.as_ref(), &chain)).await?;
        let Some(tail) = tail else {
            return Ok((self.start == Start::Earliest).then_some(range.low));
        };
        tail.check_log(&self.shop.edition.get().fingerprints)?;
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
        opened: Result<LaneWriter, ChainError>,
    ) -> Result<Begin, String> {
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
            Err(ChainError::Store(error)) => Err(error.to_string()),
            Err(error) => {
                self.log_broken(range, &error);
                Ok(Begin::Halted)
            }
        }
    }

    /// Opens the chain of each partition and starts its lane.
    pub(crate) async fn open_lanes(
        &self,
        ranges: &[LogRange],
        again: &Again<'_>,
    ) -> Result<Vec<Begin>, String> {
        let opening = futures::stream::iter(ranges.iter().map(|range| self.open_chain(range)))
            .buffered(OPENING)
            .collect::<Vec<_>>();
        let opened = opening.await;
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

    pub(crate) async fn drain_lanes(&self, partitions: &[Partition], deadline: Instant) -> Vec<Receipt> {
        let now = Instant::now();
        // The second half of the time is for the store.
        let until = now + deadline.saturating_duration_since(now) / 2;
        let mut draining = Vec::new();
        for partition in partitions {
            self.measures().rebalance("revoked", 1);
            if let Some(lane) = self.lanes().remove(partition) {
                let (reply, drained) = oneshot::channel();
                drop(lane.control.send(Control::Drain(until, reply)));
                draining.push((partition, lane, drained));
            }
        }
        let mut receipts = Vec::new();
        for (partition, lane, drained) in draining {
            match tokio::time::timeout_at(deadline, drained).await {
                Ok(Ok(receipt)) => receipts.extend(receipt),
                _ => {
                    tracing::warn!(topic = %partition.0, partition = partition.1, "not drained in time; its buffer is dropped and will be read again")
                }
            }
            drop(lane);
            self.board().close(partition);
        }
        receipts
    }

    fn start_lane(&self, partition: &Partition, writer: LaneWriter, end: Option<i64>) {
        let next = writer.next();
        let board = self.board().open(partition, next, end);
        let (queue, records) = mpsc::channel(QUEUE_RECORDS);
        let (control, controls) = mpsc::unbounded_channel();
        let share = Arc::new(self.budget.share());
        let lane = Lane {
            partition: partition.clone(),
            shop: Arc::clone(&self.shop),
            queue: records,
            control: controls,
            share: Arc::clone(&share),
            board: Arc::clone(&board),
            edition: None,
            writer: Some(Box::new(writer)),
            open: Open::now(),
        };
        let task = self.runtime.spawn(lane.run());
        self.lanes().insert(
            partition.clone(),
            Handles {
                queue,
                control,
                share,
                board,
                task,
                next,
            },
        );
    }

    /// Asks the lane that holds the most to close its file, unless one is at it already.
    fn relieve(&self, lanes: &BTreeMap<Partition, Handles>) {
        if let Some(lane) = lanes.values().max_by_key(|lane| lane.share.held())
            && let Some(relief) = self.budget.relief()
        {
            // A lane that has ended needs no flush; the leave goes back with the message.
            drop(lane.control.send(Control::Flush(Some(relief))));
        }
    }

    /// Hands a record to its lane, or gives it back if the lane is full or memory is.
    #[expect(
        clippy::result_large_err,
        reason = "the record itself, given back: boxing it would cost every record that is taken"
    )]
    pub(crate) fn admit(&self, record: Incoming) -> Result<(), Incoming> {
        let at = record.at();
        let lanes = self.lanes();
        let Some(lane) = lanes.get(&(Arc::clone(&at.topic), at.partition)) else {
            // Halted or lost: its offsets are not released, so it is read again.
            return Ok(());
        };
        if at.offset < lane.next {
            return Ok(());
        }
        let bytes = record.weight();
        if !self.budget.fits(bytes) {
            self.relieve(&lanes);
            return Err(record);
        }
        // Booked before it is sent: the lane gives it back as soon as it has it.
        lane.share.take(bytes);
        let (offset, timestamp) = (at.offset, record.timestamp());
        if let Err(refused) = lane.queue.try_send(record) {
            lane.share.give(bytes);
            return Err(refused.into_inner());
        }
        lane.board.queued(offset, timestamp);
        if self.budget.is_tight() {
            self.relieve(&lanes);
        }
        Ok(())
    }

    fn log_broken(&self, range: &LogRange, error: &ChainError) {
        let (topic, partition) = &range.partition;
        tracing::error!("lane {topic}/{partition} halted: {error}");
        self.halted(&range.partition, error.to_string());
    }

    fn log_halt(&self, range: &LogRange, next: i64) {
        let (topic, partition) = &range.partition;
        let (low, high) = (range.low, range.high);
        tracing::error!(
            "lane {topic}/{partition} halted: its chain goes on at offset {next}, and the log holds {low} to {high}. If the records between are \
             lost for good, run `lethe skip --topic {topic} --partition {partition} --to {low} --reason WHY` and restart; if the topic was made \
             anew, write to a new dataset"
        );
        let why = format!("its chain goes on at offset {next}, and the log holds {low} to {high}");
        self.halted(&range.partition, why);
    }

    fn halted(&self, partition: &Partition, why: String) {
        self.shop.counters.halted.fetch_add(1, Relaxed);
        self.measures().halted();
        self.board().halt(partition, why);
    }

    fn board(&self) -> &Board {
        self.shop.telemetry.board()
    }

    fn measures(&self) -> &Measures {
        self.shop.telemetry.measures()
    }
}

fn chain_of(range: &LogRange) -> ChainId {
    ChainId::new(Arc::clone(&range.partition.0), range.partition.1)
}

impl Lanes for Pipeline {
    fn assign(&self, ranges: &[LogRange], again: &Again<'_>) -> Result<Vec<Begin>, String> {
        self.runtime.block_on(self.open_lanes(ranges, again))
    }

    fn offer(&self, record: RawRecord) -> Result<(), RawRecord> {
        self.admit(Incoming::Raw(record))
            .map_err(|refused| match refused {
                Incoming::Raw(record) => record,
                Incoming::Read(_) => unreachable!("what is refused is what was offered"),
            })
    }

    fn has_room(&self, partition: &Partition) -> bool {
        let lanes = self.lanes();
        if self.budget.is_tight() {
            // With every partition paused nothing else would ask.
            self.relieve(&lanes);
            return false;
        }
        // A lane that is gone has room for ever: what is offered to it is passed over.
        lanes
            .get(partition)
            .is_none_or(|lane| lane.queue.capacity() >= QUEUE_RECORDS / 2)
    }

    fn revoke(&self, partitions: &[Partition], deadline: std::time::Instant) -> Vec<Receipt> {
        self.runtime
            .block_on(self.drain_lanes(partitions, deadline.into()))
    }

    fn written(&self, ranges: &[LogRange]) -> Result<Vec<Option<i64>>, String> {
        let asking = futures::stream::iter(ranges.iter().map(|range| self.tail(range)))
            .buffered(OPENING)
            .collect::<Vec<_>>();
        let tails = self.runtime.block_on(asking);
        let mut written = Vec::new();
        for (range, tail) in ranges.iter().zip(tails) {
            written.push(match tail {
                Ok(next) => next,
                Err(ChainError::Store(error)) => return Err(error.to_string()),
                Err(error) => {
                    self.log_broken(range, &error);
                    None
                }
            });
        }
        Ok(written)
    }

    fn flush(&self) {
        for lane in self.lanes().values() {
            // A lane that has ended has nothing to write.
            drop(lane.control.send(Control::Flush(None)));
        }
    }

    fn lose(&self, partitions: &[Partition]) {
        let mut lanes = self.lanes();
        for partition in partitions {
            lanes.remove(partition);
            self.measures().rebalance("lost", 1);
            self.board().close(partition);
        }
    }

    fn halt(&self, range: &LogRange) {
        if let Some(lane) = self.lanes().remove(&range.partition) {
            self.log_halt(range, lane.board.next());
        }
    }

    fn polled(&self) {
        self.board().polled();
    }

    fn log_end(&self, partition: &Partition, high: i64) {
        if let Some(lane) = self.lanes().get(partition) {
            lane.board.log_end(high);
        }
    }
}
