//! `lethe adapt corrections`: learns a stream's corrections and publishes versions, which the stream loads.

#[cfg(feature = "kafka")]
mod kafka;
mod worker;

use std::path::Path;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use lethe_adapt::corrections::{At, CorrectionsError, Setup, Site, StateError};
use lethe_connectors::Stop;
use lethe_connectors::files::Follow;
use lethe_connectors::source::{Command, commands};

use crate::cli::CorrectionsArgs;
use crate::commands::run::runtime;
use crate::config::{Config, CorrectionSource, CorrectionsConfig, load};
use crate::exit::usage;
use crate::signals::{Overrun, stop_on_signal};
use worker::Worker;

/// How long to wait for the next line.
const PAUSE: Duration = Duration::from_millis(200);
/// The number of lines that are made durable together.
const LOT: usize = 256;
/// The maximum bytes of a line: a note of 16 MiB, six bytes per character in JSON, and room for the rest.
const LINE: usize = 97 << 20;

/// Learns corrections until it is stopped, or until the end of the existing ones.
pub(crate) fn run(args: &CorrectionsArgs) -> anyhow::Result<()> {
    let config = load(&args.config)?;
    let corrections = config.corrections.as_ref().ok_or_else(|| {
        usage("the configuration has no `[corrections]`; add it with the source of corrections")
    })?;
    corrections.check(&config)?;
    let runtime = runtime()?;
    let (sender, inbox) = commands();
    let stop = Stop::new(config.resources.drain());
    stop_on_signal(&runtime, sender.clone(), &stop, Overrun::Wait)?;
    let site = site(&config, corrections)?;
    let mut worker = Worker::new(site, corrections.batch, corrections.max_wait());
    worker.begin()?;
    match &corrections.from {
        #[cfg(not(feature = "kafka"))]
        CorrectionSource::Kafka(absent) => match *absent {},
        #[cfg(feature = "kafka")]
        CorrectionSource::Kafka { .. } => {
            // The check above ensures that there is a cluster.
            let Some(kafka) = corrections.kafka(&config)? else {
                return Ok(());
            };
            kafka::learn(&kafka, &config, worker, sender, &inbox, &stop, args.until_end)
        }
        CorrectionSource::Jsonl { input } => {
            let name = config.engine.written.path(input).display().to_string();
            follow(input, name, worker, &inbox, args.until_end)
        }
    }
}

/// Opens the state folder.
fn site(config: &Config, corrections: &CorrectionsConfig) -> anyhow::Result<Site> {
    let held_out = match &corrections.held_out {
        Some(path) => lethe_corpus::read(path, None)
            .map_err(|error| usage(format!("key `corrections.held_out`: {error}")))?,
        None => Vec::new(),
    };
    let setup = Setup {
        state: corrections.state.clone(),
        versions: config.engine.bundle.clone().unwrap_or_default(),
        dictionary: config.engine.dictionary()?.get(),
        first: corrections.first.clone(),
        keep_share: corrections.keep_share,
        held_out,
    };
    Site::open(setup).map_err(|error| match error {
        error @ (CorrectionsError::First { .. } | CorrectionsError::State(StateError::Begun { .. })) => {
            usage(format!("`[corrections]`: {error}"))
        }
        error @ CorrectionsError::Gold { .. } => usage(format!("key `corrections.held_out`: {error}")),
        error => error.into(),
    })
}

/// Learns the lines of a file. The journal knows it by the path `file`, as the configuration has it.
fn follow(
    path: &Path,
    file: String,
    mut worker: Worker,
    inbox: &Receiver<Command>,
    until_end: bool,
) -> anyhow::Result<()> {
    let (line, next) = worker.positions().line(&file);
    let mut follow = Follow::new(path, line, next, LINE);
    loop {
        let mut lot = Vec::new();
        while lot.len() < LOT
            && let Some(read) = follow.line(until_end)?
        {
            let at = At::Line {
                file: file.clone(),
                line: read.line,
                next: read.next,
            };
            // A line over the size limit has no bytes, like a record without a payload.
            lot.push((at, read.bytes));
        }
        let end = lot.is_empty();
        worker.take(&lot)?;
        if end && until_end {
            return worker.finish();
        }
        worker.tick()?;
        let until = Instant::now() + if end { PAUSE } else { Duration::ZERO };
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match inbox.recv_timeout(left) {
                Ok(Command::Stop) => return Ok(()),
                Ok(_) => {}
                Err(_) => break,
            }
        }
    }
}
