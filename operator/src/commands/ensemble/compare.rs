//! `lethe ensemble compare`: every way of combining, fitted on one set of documents and scored on another.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use lethe_core::Combine;
use lethe_corpus::Document;
use lethe_ensemble::prune::prune;
use lethe_ensemble::{Fitted, PruneOptions, Said};
use lethe_evaluate::{Options, evaluate};

use super::{costs, decided, everyone, models, options, said, test};
use crate::cli::CompareArgs;
use crate::commands::documents::create;
use crate::commands::learning::Passes;
use crate::exit::usage;

/// Fits, scores, and prints the comparison.
pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<()> {
    let said = said(&args.said)?;
    let test = test(
        &args.test,
        &args.test_predictions,
        args.said.rename.as_deref(),
        &said,
    )?;
    let costs = costs(&args.said, &said, &models(&args.said, &said)?)?;
    let options = options(&args.objective, &said, costs)?;
    let mut systems: Vec<(String, Vec<Document>)> = Vec::new();
    for (name, voting) in [("voting", everyone(&said, &options)), ("voting-pruned", options)] {
        let (members, combiner) = voted(&said, &voting)?;
        systems.push((name.to_owned(), decided(&test.with(&members), &*combiner)));
    }
    for kind in Fitted::KINDS {
        let mut passes = Passes::new(kind);
        let fitted = Fitted::fit(kind, &said, args.seed, &mut passes);
        passes.finish();
        let fitted = fitted.context("the list names what it fits")??;
        tracing::info!("{kind}: fitted to {} documents", said.documents.len());
        systems.push((kind.to_owned(), decided(&test, &*fitted.combiner())));
    }
    if let Some(folder) = &args.out {
        write(folder, &systems)?;
    }
    for (member, rows) in test.members.iter().zip(0..) {
        systems.push((member.clone(), alone(&test, rows)));
    }
    let scored = Options {
        seed: args.seed,
        ..Options::default()
    };
    let report = evaluate(&test.documents, &systems, &scored).map_err(usage)?;
    let mut out = create(Path::new("-"))?;
    if args.json {
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)?;
    } else {
        out.write_all(report.table().as_bytes())?;
    }
    out.flush()?;
    Ok(())
}

/// The members that are left, and their vote.
fn voted(said: &Said, options: &PruneOptions) -> anyhow::Result<(Vec<usize>, Arc<dyn Combine>)> {
    let pruned = prune(said, options).map_err(usage)?;
    tracing::info!(
        "{} votes of {}",
        pruned.chosen.threshold,
        pruned.names().join(", ")
    );
    Ok((pruned.chosen.members.clone(), Arc::new(pruned.voting())))
}

/// What one member says, as it says it.
fn alone(said: &Said, member: usize) -> Vec<Document> {
    let one = |(row, document): (usize, &Document)| Document {
        marks: said.by_member[member][row]
            .iter()
            .map(|annotation| lethe_corpus::Mark {
                span: annotation.span,
                label: said.labels.label(annotation.label).name.clone(),
                score: Some(annotation.score),
            })
            .collect(),
        ..document.clone()
    };
    said.documents.iter().enumerate().map(one).collect()
}

fn write(folder: &Path, systems: &[(String, Vec<Document>)]) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for (name, documents) in systems {
        lethe_corpus::write_jsonl(&folder.join(format!("{name}.jsonl")), documents)?;
    }
    Ok(())
}
