//! Files as a source: each file is a lane, and its chain says how far it got.

use std::collections::VecDeque;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use anyhow::bail;
use lethe_connectors::files::FileSourceConfig;
use lethe_connectors::kafka::source::{Begin, Command, Lanes as _, LogRange, Partition};

use super::Pipeline;
use super::lane::Incoming;

/// Files whose lanes are open at the same time: while one is being drained the next is read.
const OPEN_FILES: usize = 4;
/// How long a lane may take to drain at its file's end: nobody reads the rest again soon.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);
/// How long to wait for room.
const WAIT: Duration = Duration::from_millis(2);

/// Reads every file to its end. Records that a chain has already are passed over, so a second run resumes the first.
///
/// # Errors
/// If a file cannot be read, a lane fails, or a chain cannot be continued. What is durable stays so.
pub(crate) fn run(
    config: &FileSourceConfig,
    drain: Duration,
    lanes: &Pipeline,
    inbox: &Receiver<Command>,
) -> anyhow::Result<()> {
    let mut open: VecDeque<Partition> = VecDeque::new();
    let result = feed(config, lanes, inbox, &mut open);
    match &result {
        Ok(stopped) => finish(
            lanes,
            open.make_contiguous(),
            if *stopped { drain } else { PATIENCE },
            inbox,
        ),
        Err(_) => {
            lanes.lose(open.make_contiguous());
            result.map(drop)
        }
    }
}

/// Hands every record to its file's lane; true if told to stop before the end.
fn feed(
    config: &FileSourceConfig,
    lanes: &Pipeline,
    inbox: &Receiver<Command>,
    open: &mut VecDeque<Partition>,
) -> anyhow::Result<bool> {
    for record in config.build()? {
        let record = record?;
        let partition = (record.at().topic.clone(), record.at().partition);
        if open.back() != Some(&partition) {
            if open.len() == OPEN_FILES
                && let Some(oldest) = open.pop_front()
            {
                finish(lanes, &[oldest], PATIENCE, inbox)?;
            }
            let range = LogRange {
                partition: partition.clone(),
                low: 0,
                high: i64::MAX,
            };
            if lanes
                .assign(std::slice::from_ref(&range), &|_| Ok(range.clone()))
                .map_err(anyhow::Error::msg)?
                .contains(&Begin::Halted)
            {
                bail!("{}: its chain cannot be continued; the log says why", partition.0);
            }
            open.push_back(partition);
        }
        let mut waiting = Incoming::Read(record);
        loop {
            if is_told_to_stop(inbox)? {
                return Ok(true);
            }
            match lanes.admit(waiting) {
                Ok(()) => break,
                Err(refused) => waiting = refused,
            }
            std::thread::sleep(WAIT);
        }
    }
    Ok(false)
}

/// Drains lanes.
fn finish(
    lanes: &Pipeline,
    partitions: &[Partition],
    drain: Duration,
    inbox: &Receiver<Command>,
) -> anyhow::Result<()> {
    let drained = lanes.revoke(partitions, Instant::now() + drain);
    is_told_to_stop(inbox)?;
    tracing::debug!(lanes = partitions.len(), files = drained.len(), "drained");
    Ok(())
}

fn is_told_to_stop(inbox: &Receiver<Command>) -> anyhow::Result<bool> {
    while let Ok(command) = inbox.try_recv() {
        match command {
            Command::Release(_) | Command::Journalled { .. } | Command::Renew(_) => {}
            Command::Stop => return Ok(true),
            Command::Fail(error) => bail!(error),
            Command::Reopen((file, _)) => {
                bail!("{file}: another run writes the same chain; let one of them end")
            }
        }
    }
    Ok(false)
}
