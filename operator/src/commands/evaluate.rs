//! `lethe evaluate`: predictions held against gold.

use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use lethe_corpus::Document;
use lethe_evaluate::{Options, PageOptions, evaluate, page};

use super::documents::create;
use crate::cli::EvaluateArgs;
use crate::config::label_set;
use crate::exit::usage;

/// Scores systems and prints what was found.
pub(crate) fn run(args: &EvaluateArgs) -> anyhow::Result<()> {
    let gold = read(&args.gold)?;
    let mut systems: Vec<(String, Vec<Document>)> = Vec::new();
    for prediction in &args.predictions {
        let (name, path) = named(prediction);
        systems.push((name, read(Path::new(path))?));
    }
    let train = args.train.as_deref().map(read).transpose()?;
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
    let mut out = create(Path::new("-"))?;
    if args.json {
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)?;
    } else {
        out.write_all(report.table().as_bytes())?;
    }
    out.flush()?;
    if let Some(path) = &args.html {
        let options = PageOptions {
            contexts: !args.no_contexts,
            ..PageOptions::default()
        };
        let html = page(&report, &gold, &options);
        std::fs::write(path, html).with_context(|| path.display().to_string())?;
        tracing::info!("the page is {}", path.display());
    }
    Ok(())
}

/// Documents with spans, in whichever format.
pub(super) fn read(path: &Path) -> anyhow::Result<Vec<Document>> {
    lethe_corpus::read(path, None).map_err(usage)
}

/// `NAME=PATH`, or a path whose last part without its extension is the name.
pub(super) fn named(argument: &str) -> (String, &str) {
    match argument.split_once('=') {
        Some((name, path)) if !name.is_empty() && !name.contains('/') => (name.to_owned(), path),
        _ => {
            let stem = Path::new(argument).file_stem();
            let name = stem.map_or(argument.into(), |stem| stem.to_string_lossy());
            (name.into_owned(), argument)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_is_called_as_asked_or_after_its_file() {
        assert_eq!(named("crf=runs/a.jsonl"), ("crf".to_owned(), "runs/a.jsonl"));
        assert_eq!(named("runs/a.jsonl"), ("a".to_owned(), "runs/a.jsonl"));
        assert_eq!(named("runs/l2=1/a.jsonl"), ("a".to_owned(), "runs/l2=1/a.jsonl"));
    }
}
