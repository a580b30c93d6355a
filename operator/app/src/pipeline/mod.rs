//! The stream: one lane per partition, from the consumer to the store.
//!
//! The consumer's thread calls `lanes.rs`; `assignment.rs` does the work without blocking a thread; lanes are
//! tasks; tagging runs on the pool's threads.

mod ahead;
mod assignment;
mod budget;
mod careful;
mod cost;
mod counters;
mod engine_version;
pub(crate) mod files;
mod halts;
mod incoming;
mod lane;
mod lanes;
mod load;
mod marker;
mod names;
mod pool;
mod retry;
mod step;
mod stride;
mod transform;
mod turns;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lethe_connectors::Stop;
use lethe_connectors::sink::{Encoding, Fingerprints, LaneWriter};
use lethe_connectors::source::Start;
use lethe_connectors::source::{LogRange, Partition};
use tokio::runtime::Handle;
use tokio::sync::{OnceCell, mpsc};
use tokio::task::JoinHandle;

use crate::telemetry::{Board, LaneBoard, Measures};

pub(crate) use budget::Budget;
pub(crate) use cost::Limits;
pub(crate) use counters::{Counters, Tallied};
pub(crate) use engine_version::{Current, EngineVersion};
pub(crate) use files::rename;
pub(crate) use incoming::Incoming;
pub(crate) use lane::LaneContext;
pub(crate) use marker::{DEATHS, Marker, Marks, Plan};
pub(crate) use names::about_code;
pub(crate) use pool::Pool;
pub(crate) use retry::{RetryError, probe};
pub(crate) use transform::{Terms, TransformError, process, redact, told};
pub(crate) use turns::Turns;

use budget::Share;
use careful::Careful;
use lane::{Control, Lane, Open};

/// The maximum number of records in a lane's queue. The budget limits the memory.
const QUEUE_RECORDS: usize = 4096;

/// All lanes of the program.
pub(crate) struct Pipeline {
    context: Arc<LaneContext>,
    marks: Marks,
    budget: Arc<Budget>,
    runtime: Handle,
    start: Start,
    encoding: Encoding,
    stop: Stop,
    lanes: Mutex<BTreeMap<Partition, Handles>>,
    /// Set once the store was probed.
    probed: OnceCell<()>,
    /// Set once the policy was compared with those of the output's chains.
    checked: OnceCell<()>,
}

/// The consumer's handles of a lane.
struct Handles {
    queue: mpsc::Sender<Incoming>,
    control: mpsc::UnboundedSender<Control>,
    share: Arc<Share>,
    board: Arc<LaneBoard>,
    task: JoinHandle<()>,
    marker: Arc<Marker>,
    runtime: Handle,
    /// The first offset that its chain does not have.
    next: i64,
}

impl Drop for Handles {
    fn drop(&mut self) {
        // The records in hand are interrupted.
        self.marker.leave(&self.runtime);
        self.task.abort();
    }
}

impl Pipeline {
    /// Creates a pipeline without lanes. All its waits end at `stop`.
    pub(crate) fn new(
        context: LaneContext,
        budget: Arc<Budget>,
        runtime: Handle,
        start: Start,
        encoding: Encoding,
        stop: Stop,
    ) -> Self {
        Self {
            marks: Marks::new(Arc::clone(&context.store)),
            context: Arc::new(context),
            budget,
            runtime,
            start,
            encoding,
            stop,
            lanes: Mutex::default(),
            probed: OnceCell::new(),
            checked: OnceCell::new(),
        }
    }

    /// Returns the services that lanes share.
    pub(crate) fn context(&self) -> &LaneContext {
        &self.context
    }

    /// Returns the runtime of the lanes.
    pub(crate) const fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Returns the stop that ends all waits.
    pub(crate) const fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Returns the counts so far.
    pub(crate) fn counters(&self) -> &Counters {
        &self.context.counters
    }

    /// Returns the most memory that lanes ever held together, in bytes.
    pub(crate) fn peak(&self) -> usize {
        self.budget.peak()
    }

    fn lanes(&self) -> MutexGuard<'_, BTreeMap<Partition, Handles>> {
        // Each change is one insertion or removal, so a panic leaves a consistent state.
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the current fingerprints of a log's chain.
    fn fingerprints(&self, range: &LogRange) -> Fingerprints {
        let now = self.context.engine_version.get();
        now.fingerprints.of_topic(range.topic_id.as_deref())
    }

    fn start_lane(&self, range: &LogRange, writer: LaneWriter) {
        let partition = &range.partition;
        // A file's end is known only when it is reached.
        let end = Some(range.high).filter(|&high| high < i64::MAX);
        let next = writer.next();
        let board = self.board().open(partition, next, end);
        let (queue, records) = mpsc::channel(QUEUE_RECORDS);
        let (control, controls) = mpsc::unbounded_channel();
        let share = Arc::new(self.budget.share());
        let marker = self.marks.of_chain(partition);
        let lane = Lane {
            partition: partition.clone(),
            topic_id: range.topic_id.clone(),
            context: Arc::clone(&self.context),
            queue: records,
            backlog: Vec::new(),
            ahead: VecDeque::new(),
            control: controls,
            share: Arc::clone(&share),
            board: Arc::clone(&board),
            engine_version: None,
            writer: Some(Box::new(writer)),
            open: Open::now(),
            careful: Careful::new(Arc::clone(&marker)),
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
                marker,
                runtime: self.runtime.clone(),
                next,
            },
        );
    }

    /// Asks the lane that holds the most to close its file, unless another lane is doing so.
    fn relieve(&self, lanes: &BTreeMap<Partition, Handles>) {
        if let Some(lane) = lanes.values().max_by_key(|lane| lane.share.held())
            && let Some(relief) = self.budget.relief()
        {
            // A lane that has ended needs no flush; dropping the message releases the relief.
            drop(lane.control.send(Control::Flush(Some(relief))));
        }
    }

    /// Passes a record to its lane, or returns it if the lane or the memory is full.
    #[expect(
        clippy::result_large_err,
        reason = "the error is the record itself; boxing it would cost every accepted record"
    )]
    pub(crate) fn admit(&self, record: Incoming) -> Result<(), Incoming> {
        let at = record.at();
        let lanes = self.lanes();
        let Some(lane) = lanes.get(&(Arc::clone(&at.topic), at.partition)) else {
            // The lane halted or was lost. Offsets are not released, so the record is read again.
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
        // Counted before it is sent, since the lane releases it as soon as it has it.
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

    fn board(&self) -> &Board {
        self.context.telemetry.board()
    }

    fn measures(&self) -> &Measures {
        self.context.telemetry.measures()
    }
}
