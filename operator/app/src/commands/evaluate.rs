//! `lethe evaluate`: scores predictions against gold.

use std::path::Path;

use anyhow::Context as _;
use lethe_corpus::{Document, Predicted, Rename};
use lethe_evaluate::{Options, PageOptions, Report, Requirement, evaluate, page};

use super::documents::print;
use crate::cli::EvaluateArgs;
use crate::config::label_set;
use crate::exit::{Coded, Failure, usage};
use crate::interrupt;

/// Scores systems and prints the report.
pub(crate) fn run(args: &EvaluateArgs) -> anyhow::Result<()> {
    interrupt::end_at_once("the report was not written");
    let rename = rename(args.rename.as_deref())?;
    let gold = read(&args.gold, &rename)?;
    let mut systems: Vec<Predicted> = Vec::new();
    for prediction in &args.predictions {
        systems.extend(predicted(prediction, &gold, &rename)?);
    }
    let train = args.train.as_deref().map(|path| read(path, &rename));
    let train = train.transpose()?;
    let labels = args
        .labels
        .as_deref()
        .map(|name| label_set(name, "--labels"))
        .transpose()?;
    let options = Options {
        beta: args.beta,
        resamples: args.resamples,
        seed: args.seed,
        labels: labels.as_ref(),
        training: train.as_deref(),
        ..Options::default()
    };
    let report = evaluate(&gold, &systems, &options).map_err(usage)?;
    print(args.json, &report, || report.table())?;
    if let Some(path) = &args.html {
        let options = PageOptions {
            contexts: !args.no_contexts,
            ..PageOptions::default()
        };
        let html = page(&report, &gold, &options);
        std::fs::write(path, html).with_context(|| path.display().to_string())?;
        tracing::info!("the report is {}", path.display());
    }
    required(&args.require, &report)
}

/// Fails with what systems do not meet, a line each.
fn required(requirements: &[Requirement], report: &Report) -> anyhow::Result<()> {
    let unmet: Vec<String> = requirements
        .iter()
        .flat_map(|requirement| {
            report
                .systems
                .iter()
                .filter_map(|system| requirement.unmet(system))
        })
        .collect();
    match unmet.is_empty() {
        true => Ok(()),
        false => Err(Coded(Failure::Worse, unmet.join("\n")).into()),
    }
}

/// Reads new names for labels; none without a file.
///
/// # Errors
/// A usage error that names the file.
pub(super) fn rename(path: Option<&Path>) -> anyhow::Result<Rename> {
    path.map_or_else(|| Ok(Rename::default()), Rename::read)
        .map_err(usage)
}

/// Reads documents with spans in any format.
pub(super) fn read(path: &Path, rename: &Rename) -> anyhow::Result<Vec<Document>> {
    let mut documents = lethe_corpus::read(path, None).map_err(usage)?;
    rename.apply(&mut documents);
    Ok(documents)
}

/// Reads the predictions for gold's documents by system: `NAME=PATH`, or a path whose file name without its
/// extension is the name. A folder of `lethe crossval` means the predictions of all its folds. A file of
/// offsets means every system in it, called NAME.SYSTEM if a name is given.
///
/// # Errors
/// A usage error that names file and line.
pub(super) fn predicted(
    argument: &str,
    gold: &[Document],
    rename: &Rename,
) -> anyhow::Result<Vec<Predicted>> {
    let (name, path) = named(argument);
    let whole = Path::new(path).join("predictions.jsonl");
    let path = if whole.is_file() { whole } else { path.into() };
    let Some(mut systems) = lethe_corpus::read_offsets(&path, gold).map_err(usage)? else {
        return Ok(vec![(
            name.unwrap_or_else(|| stem(argument)),
            read(&path, rename)?,
        )]);
    };
    for (system, documents) in &mut systems {
        rename.apply(documents);
        if let Some(name) = &name {
            *system = format!("{name}.{system}");
        }
    }
    Ok(systems)
}

/// Splits `NAME=PATH`; a path alone has no name.
pub(super) fn named(argument: &str) -> (Option<String>, &str) {
    match argument.split_once('=') {
        Some((name, path)) if !name.is_empty() && !name.contains('/') => (Some(name.to_owned()), path),
        _ => (None, argument),
    }
}

/// Returns a path's file name without its extension.
pub(super) fn stem(path: &str) -> String {
    let stem = Path::new(path).file_stem();
    stem.map_or(path.into(), |stem| stem.to_string_lossy())
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_is_called_as_asked_or_after_its_file() {
        assert_eq!(
            named("crf=runs/a.jsonl"),
            (Some("crf".to_owned()), "runs/a.jsonl")
        );
        assert_eq!(named("runs/a.jsonl"), (None, "runs/a.jsonl"));
        assert_eq!(named("runs/l2=1/a.jsonl"), (None, "runs/l2=1/a.jsonl"));
        assert_eq!(stem("runs/l2=1/a.jsonl"), "a");
    }
}
