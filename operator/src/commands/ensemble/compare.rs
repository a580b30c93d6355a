//! `lethe ensemble compare`: fits every combiner on one set of documents and scores it on another.

use std::path::Path;

use anyhow::Context as _;
use lethe_corpus::Document;
use lethe_ensemble::prune::prune;
use lethe_ensemble::{Fitted, Said};
use lethe_evaluate::{Options, evaluate};

use super::crossfit::fitted_on;
use super::{costs, decided, everyone, models, options, said, test};
use crate::cli::CompareArgs;
use crate::commands::documents::print;
use crate::commands::learning::Passes;
use crate::exit::usage;

/// Fits and scores the combiners, and prints the comparison.
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
    let wanted =
        |name: &str| args.methods.is_empty() || args.methods.iter().any(|method| method.name() == name);
    let pruned = prune(&said, &options).map_err(usage)?;
    let all = prune(&said, &everyone(&said, &options)).map_err(usage)?;
    for (name, pruned) in [("voting", &all), ("voting-pruned", &pruned)] {
        tracing::info!(
            "{name}: {} votes of {}",
            pruned.chosen.threshold,
            pruned.names().join(", ")
        );
        if wanted(name) {
            let judged = test.with(&pruned.chosen.members);
            systems.push((name.to_owned(), decided(&judged, &pruned.voting())));
        }
    }
    for kind in Fitted::KINDS.into_iter().filter(|kind| wanted(kind)) {
        let left = fitted_on(kind, &said, &pruned, &options, args.seed)?;
        let on = said.with(&left);
        let mut passes = Passes::new(kind);
        let fitted = Fitted::fit(kind, &on, args.seed, &mut passes);
        passes.finish();
        let fitted = fitted.context("the method is not in the list of combiners")??;
        tracing::info!("{kind}: fitted on {}", on.members.join(", "));
        systems.push((kind.to_owned(), decided(&test.with(&left), &*fitted.combiner())));
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
    print(args.json, &report, || report.table())
}

/// Returns one member's own predictions.
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
