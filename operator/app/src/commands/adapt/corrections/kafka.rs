//! Corrections from a topic: the consumer of notes reads them too, with a journal instead of chains.
//!
//! The poll thread passes records to a worker, which makes them durable and learns. An offset is committed
//! once its record is in the journal, and reading starts where the journal ends, whatever offset is
//! committed.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lethe_adapt::corrections::{At, Positions};
use lethe_connectors::Stop;
use lethe_connectors::kafka::KafkaConfig;
use lethe_connectors::kafka::source::{self, SourceSettings};
use lethe_connectors::sink::Receipt;
use lethe_connectors::source::{
    Again, Begin, Command, Halt, LaneError, Lanes, LogRange, Partition, RawRecord,
};

use super::worker::Worker;
use crate::brokers::{Login, identity, logs, reload_within};
use crate::config::Config;
use crate::credential_reload::{Part, Secrets};

/// The memory for fetching.
const FETCH: usize = 16 << 20;
/// The bytes of records that may wait for the worker.
const WAITING: usize = 32 << 20;
/// How often the worker checks whether to learn.
const TICK: Duration = Duration::from_millis(200);
/// The number of records that are made durable together.
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
    let login = Login::new(kafka, FETCH, commands.clone())?;
    let settings = SourceSettings {
        credentials: login.current(),
        refused: reload_within(config, kafka),
        topics: kafka.topics.clone(),
        drain: config.resources.drain(),
        statistics: Duration::ZERO,
        stop: stop.clone(),
        until,
    };
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
                // If the reader has already ended, its own error is reported.
                drop(commands.send(Command::Fail(format!("{error:#}"))));
            }
            worked
        });
        let (over, ends) = channel();
        scope.spawn(move || {
            Secrets::of(config, &[Part::Source]).poll(&ends, |_, now, stopped| {
                let kafka = now.corrections.as_ref().map(|corrections| corrections.kafka(now));
                match kafka.transpose()?.flatten() {
                    Some(kafka) => login.renew(&kafka, stopped),
                    None => Ok(()),
                }
            });
        });
        let read = source::run(&settings, Arc::clone(&inlet) as _, inbox);
        drop(over);
        // No more records come, so the worker ends.
        drop(inlet.sender().take());
        let worked = working
            .join()
            .unwrap_or_else(|_| Err(anyhow::anyhow!("learning corrections failed")));
        worked.and(read.map_err(anyhow::Error::from))
    })
}

/// Messages from the poll thread to the worker.
enum Sent {
    Record(RawRecord),
    /// Answered once all records sent before are durable.
    Drain(Sender<()>),
}

/// Receives records from the consumer.
struct Inlet {
    /// The position that the journal has reached.
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
            // A worker that has ended has reported its error.
            drop(sender.send(sent));
        }
    }

    /// Decides where to start reading a partition.
    fn begin(&self, range: &LogRange, again: &Again<'_>) -> Result<Begin, LaneError> {
        let (topic, partition) = &range.partition;
        let Some(next) = self.positions().offset(topic, *partition) else {
            return Ok(Begin::At(range.low));
        };
        if next > range.high && next > again(&range.partition)?.high {
            return Err(LaneError::Failed(format!(
                "{topic}/{partition}: the journal has reached offset {next}, but the log ends at {}: the topic was recreated, or belongs to another cluster; use a new state folder",
                range.high
            )));
        }
        if next < range.low {
            tracing::error!(
                "{topic}/{partition}: offsets {next} to {} are no longer in the log, so their corrections are lost; continuing with the rest",
                range.low
            );
        }
        Ok(Begin::At(next.max(range.low)))
    }
}

/// Returns the memory that a record takes.
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
            tracing::warn!("some records are not in the journal yet and will be read again");
        }
        Vec::new()
    }

    fn written(&self, ranges: &[LogRange]) -> Result<Vec<Option<i64>>, LaneError> {
        // The journal belongs to this process; other members of the group keep their own.
        Ok(vec![None; ranges.len()])
    }

    fn flush(&self) {}

    fn abandon(&self, _: &[Partition]) {}

    fn halt(&self, (topic, partition): &Partition, why: &Halt) {
        match why {
            Halt::BeyondTheEnd(_) => tracing::error!(
                "{topic}/{partition}: the log no longer has the next offset; restart to continue"
            ),
            Halt::Unreadable { offset, why } => {
                tracing::error!("{topic}/{partition}: the batch at offset {offset} cannot be read: {why}")
            }
            Halt::Recreated { before, now } => tracing::error!(
                "{topic}/{partition}: the topic was deleted and recreated (topic id {before}, now {now}); use a new state folder"
            ),
        }
    }
}

/// Makes records durable as they arrive, and learns when a batch is due.
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
                // A reader that has ended commits nothing; the journal has the records.
                drop(commands.send(Command::Journalled { partition, next }));
            }
        }
        for answer in answers {
            // The requester may have given up.
            answer.send(()).unwrap_or_default();
        }
        if next.is_err_and(|error| error == RecvTimeoutError::Disconnected) {
            return if until_end { worker.finish() } else { Ok(()) };
        }
        worker.tick()?;
    }
}
