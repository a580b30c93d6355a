//! Corrections from a topic: the consumer of notes reads them too, with a journal in place of chains.
//!
//! The poll thread hands records to a worker, which makes them durable and learns; an offset is committed once its record is
//! in the journal, and reading begins where the journal ends, whatever is committed.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lethe_adapt::corrections::{At, Positions};
use lethe_connectors::Stop;
use lethe_connectors::kafka::KafkaConfig;
use lethe_connectors::kafka::source::{
    self, Again, Begin, Command, Halt, LaneError, Lanes, LogRange, Partition, RawRecord, SourceSettings,
};
use lethe_connectors::sink::Receipt;

use super::worker::Worker;
use crate::brokers::{credentials, identity, log_in_anew, logs, renewed_within};
use crate::config::Config;
use crate::renewal::{Part, Secrets};

/// Memory for fetching.
const FETCH: usize = 16 << 20;
/// Bytes of records that wait for the worker.
const WAITING: usize = 32 << 20;
/// How often the worker looks whether it is time to learn.
const TICK: Duration = Duration::from_millis(200);
/// Records that are made durable at once.
const LOT: usize = 256;

/// Reads the topic on this thread, and learns on another.
pub(super) fn learn(
    kafka: &KafkaConfig,
    config: &Config,
    worker: Worker,
    commands: Sender<Command>,
    inbox: &Receiver<Command>,
    stop: &Stop,
    until_end: bool,
) -> anyhow::Result<()> {
    identity(kafka, stop, None)?;
    let until = until_end.then(|| logs(kafka, stop, None)).transpose()?;
    let settings = SourceSettings {
        credentials: credentials(kafka, FETCH)?,
        refused: renewed_within(config, kafka),
        topics: kafka.topics.clone(),
        drain: config.resources.drain(),
        statistics: Duration::ZERO,
        stop: stop.clone(),
        until,
    };
    let renewed = commands.clone();
    let (sender, records) = channel();
    let inlet = Arc::new(Inlet {
        positions: Mutex::new(worker.positions().clone()),
        waiting: AtomicUsize::new(0),
        sender: Mutex::new(Some(sender)),
    });
    std::thread::scope(|scope| {
        let own = Arc::clone(&inlet);
        let working = scope.spawn(move || {
            let worked = work(worker, &own, &records, &commands, until_end);
            if let Err(error) = &worked {
                // The reader may be past listening; its own end is reported then.
                drop(commands.send(Command::Fail(format!("{error:#}"))));
            }
            worked
        });
        let (over, ends) = channel();
        scope.spawn(move || {
            Secrets::of(config, &[Part::Source]).watch(&ends, |_, now, stopped| {
                let kafka = now.corrections.as_ref().map(|corrections| corrections.kafka(now));
                match kafka.transpose()?.flatten() {
                    Some(kafka) => log_in_anew(&kafka, FETCH, &renewed, stopped),
                    None => Ok(()),
                }
            });
        });
        let read = source::run(&settings, Arc::clone(&inlet) as _, inbox);
        drop(over);
        // No record comes any more: the worker ends.
        drop(inlet.sender().take());
        let worked = working
            .join()
            .unwrap_or_else(|_| Err(anyhow::anyhow!("learning corrections failed")));
        worked.and(read.map_err(anyhow::Error::from))
    })
}

/// What the poll thread sends the worker.
enum Sent {
    Record(RawRecord),
    /// Answered once everything sent before is durable.
    Drain(Sender<()>),
}

/// Takes records from the consumer.
struct Inlet {
    /// How far the journal goes.
    positions: Mutex<Positions>,
    /// Bytes of records that were sent and are not durable.
    waiting: AtomicUsize,
    sender: Mutex<Option<Sender<Sent>>>,
}

impl Inlet {
    fn sender(&self) -> std::sync::MutexGuard<'_, Option<Sender<Sent>>> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn positions(&self) -> std::sync::MutexGuard<'_, Positions> {
        self.positions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, sent: Sent) {
        if let Some(sender) = self.sender().as_ref() {
            // A worker that has ended has said why.
            drop(sender.send(sent));
        }
    }

    /// Where reading a partition begins.
    fn begin(&self, range: &LogRange, again: &Again<'_>) -> Result<Begin, LaneError> {
        let (topic, partition) = &range.partition;
        let Some(next) = self.positions().offset(topic, *partition) else {
            return Ok(Begin::At(range.low));
        };
        if next > range.high && next > again(&range.partition)?.high {
            return Err(LaneError::Failed(format!(
                "{topic}/{partition}: the journal goes to offset {next}, and the log ends at {}: it was recreated, or is another cluster's; begin another state folder",
                range.high
            )));
        }
        if next < range.low {
            tracing::error!(
                "{topic}/{partition}: offsets {next} to {} are gone from the log, and the corrections with them; going on with what is there",
                range.low
            );
        }
        Ok(Begin::At(next.max(range.low)))
    }
}

/// What a record takes of the memory.
fn size(record: &RawRecord) -> usize {
    record.payload.as_ref().map_or(0, |payload| payload.0.len()) + 256
}

impl Lanes for Inlet {
    fn assign(&self, ranges: &[LogRange], again: &Again<'_>) -> Result<Vec<Begin>, LaneError> {
        ranges.iter().map(|range| self.begin(range, again)).collect()
    }

    fn offer(&self, record: RawRecord) -> Result<(), RawRecord> {
        let waiting = self.waiting.load(SeqCst);
        if waiting > 0 && waiting + size(&record) > WAITING {
            return Err(record);
        }
        self.waiting.fetch_add(size(&record), SeqCst);
        self.send(Sent::Record(record));
        Ok(())
    }

    fn has_room(&self, _: &Partition) -> bool {
        self.waiting.load(SeqCst) < WAITING / 2
    }

    fn revoke(&self, _: &[Partition], deadline: Instant) -> Vec<Receipt> {
        let (answer, drained) = channel();
        self.send(Sent::Drain(answer));
        let left = deadline.saturating_duration_since(Instant::now());
        if drained.recv_timeout(left).is_err() {
            tracing::warn!("not everything that was read is in the journal; the rest is read again");
        }
        Vec::new()
    }

    fn written(&self, ranges: &[LogRange]) -> Result<Vec<Option<i64>>, LaneError> {
        // No other process has this journal: what others of the group read is theirs.
        Ok(vec![None; ranges.len()])
    }

    fn flush(&self) {}

    fn lose(&self, _: &[Partition]) {}

    fn halt(&self, (topic, partition): &Partition, why: &Halt) {
        match why {
            Halt::BeyondTheEnd(_) => tracing::error!(
                "{topic}/{partition}: the log no longer has the offset that comes next; start again to go on"
            ),
            Halt::Unreadable { offset, why } => {
                tracing::error!("{topic}/{partition}: the batch at offset {offset} cannot be read: {why}")
            }
            Halt::MadeAnew { before, now } => tracing::error!(
                "{topic}/{partition}: the topic was deleted and recreated (topic id {before}, now {now}); begin another state folder"
            ),
        }
    }
}

/// Makes records durable as they come, and learns when it is time.
fn work(
    mut worker: Worker,
    inlet: &Inlet,
    records: &Receiver<Sent>,
    commands: &Sender<Command>,
    until_end: bool,
) -> anyhow::Result<()> {
    loop {
        let (mut lot, mut answers, mut bytes) = (Vec::new(), Vec::new(), 0);
        let mut next = records.recv_timeout(TICK);
        while let Ok(sent) = next {
            match sent {
                Sent::Drain(answer) => answers.push(answer),
                Sent::Record(record) => {
                    bytes += size(&record);
                    let at = At::Record {
                        topic: record.at.topic.to_string(),
                        partition: record.at.partition,
                        offset: record.at.offset,
                    };
                    lot.push((at, record.payload.map(|payload| payload.0)));
                }
            }
            if lot.len() >= LOT || !answers.is_empty() {
                next = Err(RecvTimeoutError::Timeout);
                break;
            }
            next = records.try_recv().map_err(|error| match error {
                std::sync::mpsc::TryRecvError::Empty => RecvTimeoutError::Timeout,
                std::sync::mpsc::TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
            });
        }
        worker.take(&lot)?;
        inlet.positions().clone_from(worker.positions());
        inlet.waiting.fetch_sub(bytes, SeqCst);
        for (at, _) in &lot {
            if let At::Record {
                topic,
                partition,
                offset,
            } = at
            {
                let partition = (topic.as_str().into(), *partition);
                let next = offset + 1;
                // A reader that has ended commits nothing: the journal has it.
                drop(commands.send(Command::Journalled { partition, next }));
            }
        }
        for answer in answers {
            // Whoever asked may have given up.
            answer.send(()).unwrap_or_default();
        }
        if next.is_err_and(|error| error == RecvTimeoutError::Disconnected) {
            return if until_end { worker.finish() } else { Ok(()) };
        }
        worker.tick()?;
    }
}
