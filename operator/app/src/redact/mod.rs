//! Redacts files of any kind: `lethe redact`.
//!
//! `inputs.rs` finds the files, locally or in a bucket (`origin.rs`), `kind.rs` recognises them, `file.rs` redacts one, `target.rs` writes it, and
//! `ledger.rs` records it. Files are independent: one that cannot be read or redacted is named with the reason,
//! and all others are finished.

mod counts;
mod file;
mod globs;
mod inputs;
mod item;
mod kind;
mod ledger;
mod messages;
mod origin;
mod table;
mod target;

use std::collections::{BTreeSet, HashSet};
use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};

use anyhow::Context as _;
use lethe_connectors::format::FormatConfig;
use lethe_connectors::tables::TableColumns;

use crate::clinical::ClinicalTerms;
use crate::config::BuiltEngine;
use crate::gate::Gate;
use crate::interrupt;
use crate::progress::Progress;
use ledger::Entry;
use target::{Draft, Place};

pub(crate) use counts::Counts;
pub(crate) use file::{only_item, open_table, read_item, read_note};
pub(crate) use inputs::{Found, Inputs};
pub(crate) use item::Item;
pub(crate) use kind::FileKind;
pub(crate) use ledger::{FILE as RECORD, Header, Ledger, read as read_record};
pub(crate) use origin::is_url;
pub(crate) use table::label_of;
pub(crate) use target::Target;

/// What all files of a run share.
pub(crate) struct Job {
    pub(crate) built: BuiltEngine,
    /// The clinical terms to count; `None` if the dictionary has none.
    pub(crate) terms: Option<ClinicalTerms>,
    /// Which keys of JSON lines leave.
    pub(crate) gate: Gate,
    /// The columns of tables; `None` to guess them for each table.
    pub(crate) columns: Option<TableColumns>,
    /// The columns of tables that were left empty.
    pub(crate) dropped: Mutex<BTreeSet<String>>,
    /// The guesses of columns that were logged.
    pub(crate) guesses: Mutex<BTreeSet<String>>,
    /// The settings of messages.
    pub(crate) format: FormatConfig,
    /// Whether refused messages are skipped.
    pub(crate) skip_refused: bool,
    pub(crate) target: Target,
    pub(crate) overwrite: bool,
    /// Threads for the notes of one file.
    pub(crate) workers: usize,
    /// The bytes of all files that are read so far.
    pub(crate) read: Arc<AtomicU64>,
}

impl Job {
    /// Notes columns that are left empty.
    fn dropped(&self, columns: &[&str]) {
        if let Ok(mut dropped) = self.dropped.lock() {
            dropped.extend(columns.iter().map(|&name| name.to_owned()));
        }
    }

    /// Returns whether no table had this guess before.
    fn is_first(&self, guess: &str) -> bool {
        self.guesses
            .lock()
            .is_ok_and(|mut guesses| guesses.insert(guess.to_owned()))
    }

    /// Logs the columns that were left empty, with how to keep them.
    pub(crate) fn report_dropped(&self) {
        let Ok(dropped) = self.dropped.lock() else { return };
        if dropped.is_empty() {
            return;
        }
        let names: Vec<String> = dropped.iter().map(|name| format!("`{name}`")).collect();
        tracing::warn!(
            "columns left empty: {}; keep one with --keep COLUMN if it cannot identify anybody",
            names.join(", ")
        );
    }
}

/// The result of a run.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    /// The counts of the files that were redacted.
    pub(crate) counts: Counts,
    /// The number of these files.
    pub(crate) files: u64,
    /// Files whose output existed.
    pub(crate) kept: u64,
    /// Files that could not be redacted, with the reasons.
    pub(crate) failed: Vec<(String, String)>,
    /// What is complete of a file that the user interrupted.
    pub(crate) interrupted: Option<String>,
}

/// Redacts the inputs on `threads` threads, each a file at a time. The record of a folder receives each result.
///
/// # Errors
/// If the record cannot be written, or a worker panicked. Files that cannot be redacted are no errors but a part
/// of the summary.
pub(crate) fn run(
    job: &Job,
    inputs: &Inputs,
    ledger: Option<Ledger>,
    threads: usize,
) -> anyhow::Result<Summary> {
    let state = Mutex::new(State {
        summary: Summary::default(),
        ledger,
        progress: Progress::start("redacting", "MiB", inputs.bytes().map(|bytes| bytes >> 20)),
        notes: 0,
        settled: HashSet::new(),
        several: inputs.may_be_several(),
        broken: None,
    });
    let (send, receive) = sync_channel::<Found>(threads);
    let receive = Mutex::new(receive);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(found) = next(&receive) {
                    if !settle(job, found, &state) {
                        break;
                    }
                }
            });
        }
        let mut outputs = HashSet::new();
        inputs.each(&mut |found| {
            let found = match found {
                Found::Item(item) if !outputs.insert(item.output_name()) => Found::Bad(
                    item.name,
                    "would be written over the output of another input; redact the two in separate runs"
                        .to_owned(),
                ),
                found => found,
            };
            let broken = state.lock().is_ok_and(|state| state.broken.is_some());
            !broken && !interrupt::is_requested() && send.send(found).is_ok()
        });
        drop(send);
    });
    let state = state.into_inner().ok().context("a worker panicked")?;
    state.progress.finish();
    match state.broken {
        Some(error) => Err(error),
        None => Ok(state.summary),
    }
}

struct State {
    summary: Summary,
    ledger: Option<Ledger>,
    progress: Progress,
    /// Notes so far, also of files that are not finished.
    notes: u64,
    /// The names of the inputs so far.
    settled: HashSet<String>,
    /// Whether there may be several inputs.
    several: bool,
    /// Why the run must end early.
    broken: Option<anyhow::Error>,
}

impl State {
    fn show(&mut self, job: &Job, notes: u64) {
        self.notes += notes;
        self.progress
            .say(format!("{} notes, {} files", self.notes, self.summary.files));
        self.progress.at(job.read.load(Relaxed) >> 20);
    }
}

fn next(receive: &Mutex<Receiver<Found>>) -> Option<Found> {
    receive.lock().ok()?.recv().ok()
}

/// Redacts one file and adds its result; returns false if the run must end early.
fn settle(job: &Job, found: Found, state: &Mutex<State>) -> bool {
    let (name, result, item) = match found {
        Found::Bad(name, why) => (name, Err(why), None),
        Found::Item(item) => (item.name.clone(), one(job, &item, state), Some(item)),
    };
    let Ok(mut state) = state.lock() else { return false };
    state.show(job, 0);
    // An input that is named twice is recorded once.
    let is_first = state.settled.insert(name.clone());
    let entry = |size, counts: Option<&Counts>, error| {
        let (counts, input) = (counts.cloned(), name.clone());
        match &item {
            Some(item) => Some(Entry {
                input,
                output: item.output_name(),
                format: item.kind.name().to_owned(),
                stamp: item.stamp,
                size,
                counts,
                error,
            }),
            None => is_first.then(|| Entry::unrecognised(input, error)),
        }
    };
    let entry = match result {
        Ok(Written::Kept) => {
            state.summary.kept += 1;
            None
        }
        Ok(Written::New(size, counts)) => {
            state.summary.files += 1;
            state.summary.counts.add(&counts);
            entry(size, Some(&counts), None)
        }
        // Not a fault of the file: nothing of it was written, and the next run redacts it.
        Err(why) if interrupt::is_requested() => {
            state.summary.interrupted = Some(why);
            None
        }
        Err(why) => {
            let why = without_name(&name, why);
            // Named at once: the rest may take hours. The only one is named at the end.
            if state.several {
                tracing::error!("{name}: {why}");
            }
            state.summary.failed.push((name.clone(), why.clone()));
            entry(0, None, Some(why))
        }
    };
    let added = match (&mut state.ledger, entry) {
        (Some(ledger), Some(entry)) => ledger.add(entry),
        _ => Ok(()),
    };
    if let Err(error) = added {
        state.broken = Some(error);
        return false;
    }
    true
}

/// Returns an error without the name of the file at its beginning, which readers of lines put there.
fn without_name(name: &str, why: String) -> String {
    let rest = why
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix([',', ':']));
    rest.map_or_else(|| why.clone(), |rest| rest.trim_start().to_owned())
}

/// What happened to a file.
enum Written {
    /// Its output existed.
    Kept,
    /// Its output has this size.
    New(u64, Counts),
}

fn one(job: &Job, item: &Item, state: &Mutex<State>) -> Result<Written, String> {
    let place = job.target.place(item, job.overwrite)?;
    if let (Place::Write(path), Ok(state)) = (&place, state.lock())
        && let Some(ledger) = &state.ledger
        && ledger.is_done(item, path).is_some()
    {
        return Ok(Written::Kept);
    }
    let mut progress = |notes| {
        if let Ok(mut state) = state.lock() {
            state.show(job, notes);
        }
    };
    match place {
        Place::Done => Ok(Written::Kept),
        Place::Stdout => {
            let mut output = BufWriter::new(io::stdout());
            let counts =
                file::redact(job, item, &mut output, &mut progress).map_err(|error| format!("{error:#}"))?;
            output.flush().map_err(|error| error.to_string())?;
            Ok(Written::New(0, counts))
        }
        place => {
            let mut write = || {
                let mut draft = Draft::create(&place, item.packing)?;
                let counts = file::redact(job, item, &mut draft, &mut progress)?;
                Ok((draft.keep()?, counts))
            };
            let (size, counts) = write().map_err(|error: anyhow::Error| format!("{error:#}"))?;
            Ok(Written::New(size, counts))
        }
    }
}
