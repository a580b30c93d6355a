//! The stream: one lane a partition, from the consumer to the store.
//!
//! `lanes.rs` is what the consumer's thread calls; `assignment.rs` does the work of it without blocking a thread; lanes are
//! tasks; tagging runs on the pool's threads.

mod assignment;
mod budget;
mod careful;
mod cost;
mod counters;
mod edition;
pub(crate) mod files;
mod halts;
mod incoming;
mod lane;
mod lanes;
mod load;
mod marker;
mod names;
mod patience;
mod pool;
mod step;
mod stride;
mod transform;
mod turns;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lethe_connectors::Stop;
use lethe_connectors::kafka::Start;
use lethe_connectors::kafka::source::{LogRange, Partition};
use lethe_connectors::sink::{Encoding, Fingerprints, LaneWriter};
use tokio::runtime::Handle;
use tokio::sync::{OnceCell, mpsc};
use tokio::task::JoinHandle;

use crate::telemetry::{Board, LaneBoard, Measures};

pub(crate) use budget::Budget;
pub(crate) use cost::Limits;
pub(crate) use counters::{Counters, Tallied};
pub(crate) use edition::{Current, Edition};
pub(crate) use files::rename;
pub(crate) use incoming::Incoming;
pub(crate) use lane::Shop;
pub(crate) use marker::{DEATHS, Marker, Marks, Plan};
pub(crate) use names::about_code;
pub(crate) use patience::{Unanswered, probe};
pub(crate) use pool::Pool;
pub(crate) use transform::{Fault, Terms, process, redact, told};
pub(crate) use turns::Turns;

use budget::Share;
use careful::Careful;
use lane::{Control, Lane, Open};

/// Records that a lane's queue holds at most. Memory is the budget's to limit.
const QUEUE_RECORDS: usize = 4096;

/// All lanes of the program.
pub(crate) struct Pipeline {
    shop: Arc<Shop>,
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

/// The consumer's ends of a lane.
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
        // What it has in hand is broken off.
        self.marker.leave(&self.runtime);
        self.task.abort();
    }
}

impl Pipeline {
    /// A pipeline without lanes. Whatever it waits for, it hears `stop`.
    pub(crate) fn new(
        shop: Shop,
        budget: Arc<Budget>,
        runtime: Handle,
        start: Start,
        encoding: Encoding,
        stop: Stop,
    ) -> Self {
        Self {
            marks: Marks::new(Arc::clone(&shop.store)),
            shop: Arc::new(shop),
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

    /// What lanes need of the program.
    pub(crate) fn shop(&self) -> &Shop {
        &self.shop
    }

    /// What lanes run on.
    pub(crate) const fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// The stop that everything in here hears.
    pub(crate) const fn stop(&self) -> &Stop {
        &self.stop
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

    /// What files of a log's chain follow from now.
    fn fingerprints(&self, range: &LogRange) -> Fingerprints {
        let now = self.shop.edition.get();
        now.fingerprints.of_topic(range.topic_id.as_deref())
    }

    fn start_lane(&self, range: &LogRange, writer: LaneWriter) {
        let partition = &range.partition;
        // A file's end is known when it is reached.
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
            shop: Arc::clone(&self.shop),
            queue: records,
            control: controls,
            share: Arc::clone(&share),
            board: Arc::clone(&board),
            edition: None,
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

    fn board(&self) -> &Board {
        self.shop.telemetry.board()
    }

    fn measures(&self) -> &Measures {
        self.shop.telemetry.measures()
    }
}
