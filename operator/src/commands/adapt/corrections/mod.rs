//! `lethe adapt corrections`: corrections beside the stream, from their arrival to a version that the stream takes up.

mod kafka;
mod worker;

use std::path::Path;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use lethe_adapt::corrections::{At, CorrectionsError, Setup, Site, StateError};
use lethe_connectors::Stop;
use lethe_connectors::files::Follow;
use lethe_connectors::kafka::source::{Command, commands};

use crate::cli::CorrectionsArgs;
use crate::commands::run::runtime;
use crate::config::{Config, CorrectionSource, CorrectionsConfig, load};
use crate::exit::usage;
use crate::signals::{Overrun, stop_on_signal};
use worker::Worker;

/// How long it is waited for a line that is not there yet.
const PAUSE: Duration = Duration::from_millis(200);
/// Lines that are taken at once: each such lot is made durable as a whole.
const LOT: usize = 256;
/// Bytes that a line of corrections has at most: a note of 16 MiB, in JSON six bytes a character, and room for the rest.
const LINE: usize = 97 << 20;

/// Learns corrections until it is told to stop, or until the end of what is there.
pub(crate) fn run(args: &CorrectionsArgs) -> anyhow::Result<()> {
    let config = load(&args.config)?;
    let corrections = config
        .corrections
        .as_ref()
        .ok_or_else(|| usage("there is no `[corrections]`: say where corrections come from"))?;
    corrections.check(&config)?;
    let runtime = runtime()?;
    let (sender, inbox) = commands();
    let stop = Stop::new(config.resources.drain());
    stop_on_signal(&runtime, sender.clone(), &stop, Overrun::Wait)?;
    let site = site(&config, corrections)?;
    let mut worker = Worker::new(site, corrections.batch, corrections.max_wait());
    worker.begin()?;
    match &corrections.from {
        CorrectionSource::Kafka { .. } => {
            // It was checked above that there is a cluster.
            let Some(kafka) = corrections.kafka(&config)? else {
                return Ok(());
            };
            kafka::learn(&kafka, &config, worker, sender, &inbox, &stop, args.until_end)
        }
        CorrectionSource::Jsonl { input } => follow(input, worker, &inbox, args.until_end),
    }
}

/// Opens the state folder.
fn site(config: &Config, corrections: &CorrectionsConfig) -> anyhow::Result<Site> {
    let kept_back = match &corrections.kept_back {
        Some(path) => lethe_corpus::read(path, None)
            .map_err(|error| usage(format!("key `corrections.kept_back`: {error}")))?,
        None => Vec::new(),
    };
    let setup = Setup {
        state: corrections.state.clone(),
        versions: config.engine.bundle.clone().unwrap_or_default(),
        dictionary: config.engine.dictionary()?,
        first: corrections.first.clone(),
        keep_share: corrections.keep_share,
        kept_back,
    };
    Site::open(setup).map_err(|error| match error {
        error @ (CorrectionsError::First { .. } | CorrectionsError::State(StateError::Begun { .. })) => {
            usage(format!("`[corrections]`: {error}"))
        }
        error @ CorrectionsError::Gold { .. } => usage(format!("key `corrections.kept_back`: {error}")),
        error => error.into(),
    })
}

/// Learns the lines of a file.
fn follow(path: &Path, mut worker: Worker, inbox: &Receiver<Command>, until_end: bool) -> anyhow::Result<()> {
    let file = path.display().to_string();
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
            // A line over the limit is as one that has no payload, but for what is said of it.
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
