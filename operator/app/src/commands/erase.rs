//! `lethe erase`: empties the rows of patients in a dataset, removes their audit and their codes, and records why.

use std::fmt;
use std::io::Write as _;
use std::path::Path;
use std::str::FromStr as _;

use lethe_connectors::erase::{self, Erasures, Found, Match, Plan, Record, Row};
use lethe_connectors::inspect::Place;
use lethe_connectors::sink::ChainId;
use lethe_connectors::store::Store;
use lethe_policy::{Certainty, Patients, Traces, remove_codes};
use serde::Serialize;
use tokio::runtime::Runtime;

use super::documents::read_text;
use super::run::runtime;
use crate::cli::EraseArgs;
use crate::config::{PolicySource, load, refused};
use crate::exit::{Coded, Failure, usage};
use crate::progress::Progress;

/// An erasure's limits, printed at its end.
const BEYOND: &str = "not erased: rows that neither a code nor a kept id leads to (name them with --records); old versions of \
                      objects if the bucket keeps versions; the Kafka log and other sources, from which a stream that still \
                      reads them writes the patient again; messages that `lethe emit` published; backups and copies \
                      (docs/erasure.md)";

/// Erases what the arguments name.
pub(crate) fn run(args: &EraseArgs) -> anyhow::Result<()> {
    let config = load(&args.config)?.with_policy(args.policy.as_ref())?;
    let sink = config
        .sink
        .as_ref()
        .ok_or_else(|| usage("the configuration has no `[sink]`; add it with the dataset's store"))?;
    let given = Given::read(args)?;
    let runtime = runtime()?;
    let store = sink
        .store
        .build()
        .map_err(|error| anyhow::anyhow!("`[sink.store]`: {error}"))?;
    let work = Work {
        runtime: &runtime,
        store: store.as_ref(),
        policy: config.engine.policy.as_ref(),
        args,
    };
    let mut outcome = Outcome {
        dry_run: args.dry_run,
        ..Outcome::default()
    };
    work.check_layout()?;
    let erasures = work.erasures()?;
    if let Some(record) = erasures.unfinished() {
        if args.dry_run {
            tracing::warn!(
                record = record.name(),
                "an erasure is unfinished; a run without --dry-run finishes it first"
            );
        } else {
            tracing::info!(record = record.name(), "finishing an earlier erasure");
            outcome.vault_entries += work.carry_out(record)?;
            outcome.finished = Some(record.name());
        }
    } else if given.is_empty() {
        return Err(usage(
            "nothing to erase: give --patient, --patients or --records; no erasure of this dataset is unfinished",
        ));
    }
    if !given.is_empty() {
        work.erase(&given, sink.encoding.zstd_level, &mut outcome)?;
    }
    report(&outcome, args.json)
}

/// The patients and records to erase.
struct Given {
    patients: Vec<String>,
    records: Vec<(ChainId, i64)>,
}

impl Given {
    fn read(args: &EraseArgs) -> anyhow::Result<Self> {
        let mut patients = args.patients.clone();
        if let Some(path) = &args.patients_file {
            patients.extend(lines(path)?.map(|(_, line)| line));
        }
        for id in &mut patients {
            *id = id.trim().to_owned();
        }
        if patients.iter().any(String::is_empty) {
            return Err(usage("--patient: the id is empty"));
        }
        patients.sort_unstable();
        patients.dedup();
        let reason = args.reason.as_deref().unwrap_or_default();
        if patients.iter().any(|id| reason.contains(id.as_str())) {
            return Err(usage(
                "--reason: it contains a patient id, which the record would keep; name the request instead",
            ));
        }
        let mut records = Vec::new();
        if let Some(path) = &args.records {
            for (number, line) in lines(path)? {
                let wrong = || {
                    usage(format!(
                        "{}: line {number}: expected TOPIC/PARTITION@OFFSET",
                        path.display()
                    ))
                };
                let place = Place::from_str(&line).map_err(|_| wrong())?;
                if place.byte.is_some() || place.field.is_some() {
                    return Err(wrong());
                }
                records.push((place.chain, place.offset));
            }
        }
        Ok(Self { patients, records })
    }

    const fn is_empty(&self) -> bool {
        self.patients.is_empty() && self.records.is_empty()
    }
}

/// Reads the lines of a file or of standard input that are not blank, with their numbers from 1.
fn lines(path: &Path) -> anyhow::Result<impl Iterator<Item = (usize, String)>> {
    let text = read_text(path)?;
    let lines: Vec<_> = (1..)
        .zip(text.lines().map(|line| line.trim().to_owned()))
        .collect();
    Ok(lines.into_iter().filter(|(_, line)| !line.is_empty()))
}

struct Work<'a> {
    runtime: &'a Runtime,
    store: &'a dyn Store,
    policy: Option<&'a PolicySource>,
    args: &'a EraseArgs,
}

impl Work<'_> {
    /// Refuses the dataset of a backfill, whose files cannot be rewritten.
    fn check_layout(&self) -> anyhow::Result<()> {
        let rows = self.runtime.block_on(self.store.list_page("rows", None, 1))?;
        match rows.is_empty() {
            true => Ok(()),
            false => Err(usage(
                "the dataset is a backfill, which `lethe erase` cannot rewrite; run the backfill again to a new dataset, from tables without \
                 the patient",
            )),
        }
    }

    fn erasures(&self) -> anyhow::Result<Erasures> {
        let erasures = self.runtime.block_on(Erasures::read(self.store))?;
        match erasures.faults().first() {
            None => Ok(erasures),
            Some((file, why)) => Err(Coded(
                Failure::Halted,
                format!("{file}: {why}; find the cause before anything is erased"),
            )
            .into()),
        }
    }

    /// Finds the given rows, and erases them unless this is a dry run.
    fn erase(&self, given: &Given, zstd_level: i32, outcome: &mut Outcome) -> anyhow::Result<()> {
        let traces = match given.patients.is_empty() {
            true => None,
            false => Some(self.traces(&given.patients)?),
        };
        let found = self.find(traces.as_ref(), &given.records)?;
        let vault = match (&traces, self.args.keep_vault) {
            (Some(traces), false) => traces.code_digests(),
            _ => Vec::new(),
        };
        outcome.records = found.places().collect();
        outcome.possible = found.possible;
        outcome.already = found.already;
        outcome.vault_codes = vault.len() as u64;
        if found.records() == 0 && vault.is_empty() {
            return Ok(());
        }
        let mut progress = Progress::start("planning", "files", None);
        let plan = Plan {
            reason: self.args.reason.clone().unwrap_or_default(),
            zstd_level,
            vault,
        };
        let erasures = match self.args.dry_run {
            // A dry run only counts, which does not depend on earlier records.
            true => Erasures::default(),
            false => self.erasures()?,
        };
        let record = self
            .runtime
            .block_on(erase::plan(self.store, &erasures, &found, plan, |now| {
                progress.reach(now.files, now.of)
            }));
        progress.finish();
        let record = record.map_err(coded)?;
        outcome.rows = record.rows;
        outcome.files = record.files.len() as u64;
        if self.args.dry_run {
            return Ok(());
        }
        self.runtime
            .block_on(erase::write(self.store, &record))
            .map_err(coded)?;
        outcome.vault_entries += self.carry_out(&record)?;
        outcome.record = Some(record.name());
        Ok(())
    }

    /// Returns the traces that the policy left of the patients.
    fn traces(&self, ids: &[String]) -> anyhow::Result<Traces> {
        let patients = Patients {
            authority: self.args.authority.as_deref(),
            ids,
        };
        match self.policy {
            Some(source) => Traces::new(&source.file, source.origin(), patients).map_err(refused),
            None => Ok(Traces::plain(patients)),
        }
    }

    fn find(&self, traces: Option<&Traces>, records: &[(ChainId, i64)]) -> anyhow::Result<Found> {
        let mut found = Found::default();
        if let Some(traces) = traces {
            let matcher = |row: Row<'_>| {
                traces
                    .find(row.patient_id, row.text, row.message)
                    .map(|how| match how {
                        Certainty::Possible => Match::Possible,
                        Certainty::Certain => Match::Certain,
                    })
            };
            let mut progress = Progress::start("looking for rows", "files", None);
            let looked = erase::find(self.store, &matcher, self.args.possible, |now| {
                progress.reach(now.files, now.of);
            });
            found = self.runtime.block_on(looked)?;
            progress.finish();
            if traces.is_blind() && !found.has_ids {
                return Err(usage(
                    "this dataset does not identify the patient of a row: the policy creates no patient code and keeps no patient id; look \
                     up the patient's records in their source, and name them with --records",
                ));
            }
        }
        if !records.is_empty() {
            let located = self.runtime.block_on(erase::locate(self.store, records))?;
            let located = located.map_err(|at| {
                let place = records.get(at).map(|(chain, offset)| format!("{chain}@{offset}"));
                usage(format!("--records: no row of {}", place.unwrap_or_default()))
            })?;
            found.already += located.already;
            found.parts.extend(located.parts);
            for (file, offsets) in located.offsets {
                found.offsets.entry(file).or_default().extend(offsets);
            }
        }
        Ok(found)
    }

    /// Carries out the unfinished steps of a record; returns the number of entries that were removed from the
    /// vault.
    fn carry_out(&self, record: &Record) -> anyhow::Result<u64> {
        let mut progress = Progress::start("erasing", "files", Some(record.files.len() as u64));
        let replaced = erase::replace(self.store, record, |now| progress.at(now.files));
        self.runtime.block_on(replaced).map_err(coded)?;
        progress.finish();
        let mut removed = 0;
        if !record.vault.is_empty() {
            let policy = self.policy.ok_or_else(|| {
                usage("the erasure must remove codes from the vault, but the configuration has no policy; name it with --policy")
            })?;
            // If the vault is unavailable, running the same command again continues here.
            removed = remove_codes(&policy.file, policy.origin(), &record.vault)?;
        }
        self.runtime
            .block_on(erase::complete(self.store, record, removed))
            .map_err(coded)?;
        Ok(removed)
    }
}

/// Gives errors that need an operator's decision their own exit code.
fn coded(error: erase::EraseError) -> anyhow::Error {
    use erase::EraseError::{Changed, Program, Records};
    match error {
        error @ (Records { .. } | Changed { .. } | Program { .. }) => {
            Coded(Failure::Halted, error.to_string()).into()
        }
        error => error.into(),
    }
}

/// The result of an erasure.
#[derive(Default, Serialize)]
struct Outcome {
    dry_run: bool,
    /// The record of an earlier erasure that is now finished.
    finished: Option<String>,
    /// The record of this one.
    record: Option<String>,
    /// The records that are erased, or would be.
    records: Vec<String>,
    /// Rows that are emptied; more than records if some were replayed.
    rows: u64,
    files: u64,
    /// Records that may belong to the patients, and are not erased.
    possible: u64,
    /// Records that were erased before.
    already: u64,
    /// Codes of the patients in the vault.
    vault_codes: u64,
    /// Codes that were removed from it.
    vault_entries: u64,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(record) = &self.finished {
            writeln!(f, "{record}: finished")?;
        }
        let records = self.records.len();
        let would = if self.dry_run { "would be " } else { "" };
        writeln!(
            f,
            "{records} records {would}erased: {} rows in {} files; {} codes in the vault, {} removed",
            self.rows, self.files, self.vault_codes, self.vault_entries
        )?;
        if self.already > 0 {
            writeln!(f, "{} records were erased before", self.already)?;
        }
        if self.possible > 0 {
            writeln!(
                f,
                "{} more records may belong to the same patients; --possible erases them too",
                self.possible
            )?;
        }
        match (&self.record, self.dry_run) {
            (Some(record), _) => writeln!(f, "recorded in {record}"),
            (None, true) => writeln!(f, "nothing written: this was a dry run"),
            (None, false) => Ok(()),
        }
    }
}

fn report(outcome: &Outcome, json: bool) -> anyhow::Result<()> {
    let mut to = std::io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut to, outcome)?;
        writeln!(to)?;
    } else {
        write!(to, "{outcome}")?;
    }
    tracing::warn!("{BEYOND}");
    Ok(())
}
