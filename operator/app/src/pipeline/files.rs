//! Files as a source: each file is a lane, or a part of one, and its chain records the progress.

use std::collections::VecDeque;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use anyhow::bail;
use lethe_connectors::files::{
    FileError, FilePayload, FileSourceConfig, MessageFile, MessageFilesConfig, Names, Slot,
};
use lethe_connectors::source::Lanes as _;
use lethe_connectors::source::{Begin, Command, LaneError, LogRange, Partition, RawRecord};
use lethe_core::{Coordinates, Record};

use super::Pipeline;
use super::incoming::Incoming;
use super::names;
use crate::config::{Config, SourceConfig};
use crate::exit::Stopped;

/// The number of files with open lanes: the next file is read while one is drained.
const OPEN_FILES: usize = 4;
/// How long a lane may drain at its file's end; the rest would not be read again soon.
const FINAL_DRAIN: Duration = Duration::from_secs(24 * 3600);
/// How long to wait for room.
const WAIT: Duration = Duration::from_millis(2);

/// Reads every file to its end. Records that are already in a chain are skipped, so a second run resumes the
/// first.
///
/// # Errors
/// If a file cannot be read, a lane fails, or a chain cannot be continued. Durable rows stay.
pub(crate) fn run(config: &Config, lanes: &Pipeline, inbox: &Receiver<Command>) -> anyhow::Result<()> {
    let mut feeder = Feeder {
        lanes,
        inbox,
        open: VecDeque::new(),
        next: 0,
    };
    let fed = match &config.source {
        Some(SourceConfig::Files(files)) => feeder.notes(config, files),
        Some(SourceConfig::Messages(files)) => feeder.messages(config, files),
        _ => Ok(Fed::default()),
    };
    let open = feeder.open.make_contiguous();
    match fed {
        Ok(Fed { stopped, unreadable }) => {
            let timeout = if stopped {
                config.resources.drain()
            } else {
                FINAL_DRAIN
            };
            finish(lanes, open, timeout, inbox)?;
            if unreadable > 0 {
                bail!(
                    "{unreadable} files could not be read; the log names them by their codes. Fix them and run again"
                );
            }
            Ok(())
        }
        Err(error) => {
            lanes.abandon(open);
            Err(error)
        }
    }
}

/// How reading ended.
#[derive(Default)]
struct Fed {
    /// Whether a stop was requested before the end.
    stopped: bool,
    /// The number of files that could not be read.
    unreadable: u64,
}

/// Passes records to lanes, which it opens as necessary.
struct Feeder<'a> {
    lanes: &'a Pipeline,
    inbox: &'a Receiver<Command>,
    open: VecDeque<Partition>,
    /// Where the chain of the last lane continues.
    next: i64,
}

impl Feeder<'_> {
    /// Feeds the records of files of notes.
    fn notes(&mut self, config: &Config, files: &FileSourceConfig) -> anyhow::Result<Fed> {
        let codes = names::of_notes(config, files, self.lanes)?;
        for record in files.build()? {
            let mut record =
                record.map_err(|error| names::about_code(error, files.input(), codes.as_ref()))?;
            if let Some(codes) = &codes {
                // A file that was added after the names were listed waits for the next run.
                let Some(slot) = codes.slot(&record.at().topic) else {
                    continue;
                };
                rename(&mut record, slot);
            }
            let at = record.at();
            self.enter((at.topic.clone(), at.partition))?;
            if self.hand(Incoming::Read(record))? {
                return Ok(Fed {
                    stopped: true,
                    unreadable: 0,
                });
            }
        }
        Ok(Fed::default())
    }

    /// Feeds the payloads of files of messages.
    fn messages(&mut self, config: &Config, files: &MessageFilesConfig) -> anyhow::Result<Fed> {
        let found = files.find(&config.format, self.lanes.runtime())?;
        tracing::info!(files = found.len(), "files found");
        let files = match files.names {
            Names::Paths => found.named(),
            Names::Codes => names::of_messages(config, found, self.lanes)?,
        };
        let mut fed = Fed::default();
        let mut blocked = None;
        for file in &files {
            let topic = &file.slot().topic;
            if blocked.as_ref() == Some(topic) {
                continue;
            }
            match self.file(file) {
                Ok(false) => {}
                Ok(true) => {
                    fed.stopped = true;
                    return Ok(fed);
                }
                Err(error) => match error.downcast_ref::<FileError>() {
                    Some(FileError::Unreadable { .. }) => {
                        let offset = file.slot().offset;
                        tracing::error!("{error}; its records begin at offset {offset}");
                        fed.unreadable += 1;
                        // Later files of its chain would take its offsets.
                        blocked = Some(topic.clone());
                    }
                    _ => return Err(error),
                },
            }
        }
        Ok(fed)
    }

    /// Feeds the records of a file; returns true if a stop was requested.
    fn file(&mut self, file: &MessageFile) -> anyhow::Result<bool> {
        self.enter((file.slot().topic.clone(), 0))?;
        if file.is_done(self.next) {
            return is_told_to_stop(self.lanes, self.inbox);
        }
        for record in file.records() {
            let FilePayload { at, payload } = record?;
            let incoming = match payload {
                Ok(payload) => Incoming::Raw(RawRecord {
                    at,
                    payload: Some(payload),
                    timestamp: None,
                }),
                Err(why) => Incoming::Read(Record::Quarantined(at, why)),
            };
            if self.hand(incoming)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Opens the lane of a partition, unless it is the last one that was opened.
    fn enter(&mut self, partition: Partition) -> anyhow::Result<()> {
        if self.open.back() == Some(&partition) {
            return Ok(());
        }
        if self.open.len() == OPEN_FILES
            && let Some(oldest) = self.open.pop_front()
        {
            finish(self.lanes, &[oldest], FINAL_DRAIN, self.inbox)?;
        }
        let range = LogRange {
            partition: partition.clone(),
            low: 0,
            high: i64::MAX,
            topic_id: None,
        };
        let begun = self
            .lanes
            .assign(std::slice::from_ref(&range), &|_| Ok(range.clone()))
            .map_err(|error| match error {
                LaneError::Stopped => Stopped.into(),
                LaneError::Failed(why) => anyhow::Error::msg(why),
            })?;
        match begun.first() {
            Some(Begin::At(next)) => self.next = *next,
            _ => bail!(
                "{}: its chain cannot be continued; the log has the reason",
                partition.0
            ),
        }
        self.open.push_back(partition);
        Ok(())
    }

    /// Waits until the lane accepts the record; returns true if a stop was requested.
    fn hand(&self, record: Incoming) -> anyhow::Result<bool> {
        let mut waiting = record;
        loop {
            if is_told_to_stop(self.lanes, self.inbox)? {
                return Ok(true);
            }
            match self.lanes.admit(waiting) {
                Ok(()) => return Ok(false),
                Err(refused) => waiting = refused,
            }
            std::thread::sleep(WAIT);
        }
    }
}

/// Replaces the file's name in a record by its code.
pub(crate) fn rename(record: &mut Record, slot: &Slot) {
    let at: &mut Coordinates = match record {
        Record::Note(event) => &mut event.at,
        Record::Tombstone(at) | Record::Quarantined(at, _) => at,
    };
    at.topic = slot.topic.clone();
}

/// Drains lanes.
fn finish(
    lanes: &Pipeline,
    partitions: &[Partition],
    drain: Duration,
    inbox: &Receiver<Command>,
) -> anyhow::Result<()> {
    let drained = lanes.revoke(partitions, Instant::now() + drain);
    is_told_to_stop(lanes, inbox)?;
    tracing::debug!(lanes = partitions.len(), files = drained.len(), "drained");
    Ok(())
}

fn is_told_to_stop(lanes: &Pipeline, inbox: &Receiver<Command>) -> anyhow::Result<bool> {
    while let Ok(command) = inbox.try_recv() {
        match command {
            Command::Release(_) | Command::Journalled { .. } | Command::Reconnect | Command::Stop => {}
            Command::Fail(error) => bail!(error),
            Command::Reopen((file, _)) => {
                bail!("{file}: another run writes the same chain; wait until it has ended")
            }
        }
    }
    Ok(lanes.stop().is_requested())
}
