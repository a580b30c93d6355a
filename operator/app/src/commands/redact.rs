//! `lethe redact`: redacts files, folders and archives.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use lethe_connectors::tables::TableColumns;
use lethe_core::fingerprint;
use serde_json::json;

use super::documents::{built, cores};
use crate::cli::RedactArgs;
use crate::clinical::ClinicalTerms;
use crate::config::{BuiltEngine, is_strict, load};
use crate::exit::{Coded, Failure, usage};
use crate::gate::Gate;
use crate::interrupt::{self, interrupted};
use crate::profile::known_kind;
use crate::redact::{
    FileKind, Header, Inputs, Job, Ledger, Summary, Target, is_url, label_of, run as redact,
};

/// Redacts the files of the command line.
pub(crate) fn run(args: &RedactArgs) -> anyhow::Result<()> {
    let inputs = inputs(args)?;
    let target = target(args, &inputs)?;
    if args.dry_run {
        return inputs.dry_run(&target, args.overwrite);
    }
    if args.skip_refused && args.format.is_some_and(|format| !format.is_messages()) {
        return Err(usage(
            "--skip-refused: only for messages; use --format hl7v2, fhir or ccda, or leave it out",
        ));
    }
    if !args.keep.is_empty() && args.format.is_some_and(FileKind::is_messages) {
        return Err(usage(
            "--keep: not for messages, of which the format and the policy decide what is kept",
        ));
    }
    let built = built(&args.engine)?;
    let format = match &args.engine.config {
        Some(path) => load(path)?.format,
        None => lethe_connectors::format::FormatConfig::default(),
    };
    let gate = Gate::new(built.engine.carried().clone(), built.mode, &args.keep)?;
    let ledger = match &target {
        Target::Folder(folder) => Some(Ledger::open(folder, &header(args, &built), args.overwrite)?),
        _ => None,
    };
    interrupt::end_in_order(if inputs.is_stdin() {
        Path::new("-")
    } else {
        Path::new("")
    });
    let threads = inputs.len().clamp(1, cores());
    let job = Job {
        columns: columns(args, &built)?,
        terms: ClinicalTerms::new(&built.words),
        built,
        gate,
        dropped: Mutex::default(),
        guesses: Mutex::default(),
        format,
        skip_refused: args.skip_refused,
        target,
        overwrite: args.overwrite,
        // With few files, the notes of one keep the other cores busy.
        workers: if inputs.len() > 2 * cores() { 1 } else { cores() },
        read: Arc::default(),
    };
    let done = redact(&job, &inputs, ledger, threads);
    // Documents before an error are already written.
    job.gate.report();
    job.report_dropped();
    summarise(&done?, &job.target)
}

fn inputs(args: &RedactArgs) -> anyhow::Result<Inputs> {
    let paths: Vec<PathBuf> = match &args.input {
        Some(input) => vec![input.clone()],
        None => args.paths.clone(),
    };
    Inputs::list(&paths, &args.glob, args.format, args.out.as_deref())
}

/// Returns where outputs go.
fn target(args: &RedactArgs, inputs: &Inputs) -> anyhow::Result<Target> {
    for (option, path) in [("--output", &args.output), ("--out", &args.out)] {
        if let Some(url) = path
            .as_ref()
            .and_then(|path| path.to_str())
            .filter(|path| is_url(path))
        {
            return Err(usage(format!(
                "{option} {url}: outputs go to local files; `lethe backfill` writes tables to a bucket"
            )));
        }
    }
    let target = match (&args.output, &args.out, &args.suffix, &args.in_place) {
        (Some(path), ..) if path.as_os_str() != "-" => Target::File(path.clone()),
        (_, Some(folder), ..) => Target::Folder(folder.clone()),
        (_, _, Some(suffix), _) => Target::Beside(suffix.clone()),
        (_, _, _, Some(suffix)) => Target::InPlace(suffix.clone()),
        _ => Target::Stdout,
    };
    if matches!(target, Target::File(_) | Target::Stdout) && inputs.may_be_several() {
        return Err(usage(
            "several inputs need a place for several outputs: --out DIR, --suffix SUFFIX or --in-place SUFFIX",
        ));
    }
    Ok(target)
}

/// Returns the columns of tables; `None` if none of their options is given.
fn columns(args: &RedactArgs, built: &BuiltEngine) -> anyhow::Result<Option<TableColumns>> {
    let options = &args.columns;
    let mut columns = match &options.columns {
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| usage(format!("--columns {}: {error}", path.display())))?;
            toml::from_str(&text).map_err(|error: toml::de::Error| {
                let line = error.span().map_or(1, |span| {
                    text.bytes().take(span.start).filter(|&b| b == b'\n').count() + 1
                });
                usage(format!(
                    "--columns {}, line {line}: {}",
                    path.display(),
                    error.message()
                ))
            })?
        }
        None if options.text_columns.is_empty() && options.known.is_empty() => return Ok(None),
        None => TableColumns::default(),
    };
    columns.text.extend(options.text_columns.iter().cloned());
    columns.keep.extend(args.keep.iter().cloned());
    for (column, label) in &options.known {
        label_of(built.engine.labels(), label)
            .map_err(|error| usage(format!("--known {column}={label}: {error}")))?;
        columns.identifiers.insert(column.clone(), label.clone());
        let kind = known_kind(label).unwrap_or("other");
        columns
            .known
            .entry(kind.to_owned())
            .or_default()
            .push(column.clone());
    }
    columns.patient_id = options.patient_column.clone().or(columns.patient_id);
    columns.note_id = options.id_column.clone().or(columns.note_id);
    if let Some(mode) = built.mode.filter(|mode| is_strict(Some(mode)))
        && let Some(column) = columns.unexplained().first()
    {
        return Err(usage(format!(
            "column `{column}`: mode `{mode}` keeps a column only with the reason why it identifies nobody, in `reasons` of --columns"
        )));
    }
    columns
        .check()
        .map_err(|error| usage(error.to_string().replace("backfill.columns.", "")))?;
    Ok(Some(columns))
}

/// Returns what the record of a folder says about this run.
fn header(args: &RedactArgs, built: &BuiltEngine) -> Header {
    let program = env!("CARGO_PKG_VERSION");
    Header {
        version: 1,
        fingerprint: fingerprint(&json!({
            "program": program,
            "labels": built.labels,
            "dictionary": built.dictionary,
            "bundle": built.bundle,
            "policy": built.policy,
            "derivation": built.derivation,
            "members": built.engine.members(),
            "keep": args.keep,
            "columns": args.columns.fingerprint(),
        })),
        program: program.to_owned(),
        labels: built.labels.clone(),
        bundle: built.bundle.clone(),
        policy: built.policy.clone(),
        mode: built.mode.map(str::to_owned),
        members: built.engine.members().to_vec(),
        acknowledged: built.acknowledged.clone(),
    }
}

/// Logs the result, and returns an error if not everything was redacted.
fn summarise(summary: &Summary, target: &Target) -> anyhow::Result<()> {
    let counts = &summary.counts;
    // A single note on standard output says enough itself.
    if *target != Target::Stdout || counts.notes > 1 {
        tracing::info!(
            files = summary.files,
            notes = counts.notes,
            replacements = counts.replacements(),
            without_findings = counts.without_findings,
            flagged = counts.flagged,
            kept = summary.kept,
            "redacted"
        );
    }
    if interrupt::is_requested() {
        let files = summary.files + summary.kept;
        return Err(match (target, &summary.interrupted) {
            (Target::Stdout, Some(complete)) => Coded(Failure::Interrupted, complete.clone()).into(),
            (Target::Stdout, None) => interrupted("the output is complete"),
            (Target::File(_), Some(_)) => interrupted("nothing was written; run the command again"),
            _ => interrupted(format!(
                "{files} files are complete; run the same command again to continue"
            )),
        });
    }
    match summary.failed.as_slice() {
        [] => {}
        [(name, why)] if summary.files + summary.kept == 0 => anyhow::bail!("{name}: {why}"),
        failed => anyhow::bail!(
            "{} of {} files could not be redacted: each is named above with the reason, and nothing of it was written",
            failed.len(),
            failed.len() as u64 + summary.files + summary.kept
        ),
    }
    let refused: u64 = counts.refused.values().sum();
    if refused == 0 {
        return Ok(());
    }
    let codes: Vec<String> = counts
        .refused
        .iter()
        .map(|(why, count)| format!("{why}: {count}"))
        .collect();
    let told = format!(
        "{refused} of {} messages were refused and skipped ({}); docs/quarantine.md explains each code",
        counts.notes + refused,
        codes.join(", ")
    );
    Err(Coded(Failure::Quarantined, told).into())
}
