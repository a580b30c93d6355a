//! `lethe ensemble compare`: fits every combiner on one set of documents and scores it on another.

use std::path::Path;

use anyhow::Context as _;
use lethe_corpus::Document;
use lethe_ensemble::prune::prune;
use lethe_ensemble::{Fitted, PredictionSet};
use lethe_evaluate::{Options, evaluate};

use super::crossfit::fitted_on;
use super::{costs, decided, everyone, models, options, predictions, test};
use crate::cli::CompareArgs;
use crate::commands::documents::print;
use crate::commands::learning::Passes;
use crate::exit::usage;

/// Fits and scores the combiners, and prints the comparison.
pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<()> {
    let predictions = predictions(&args.input)?;
    let test = test(
        &args.test,
        &args.test_predictions,
        args.input.rename.as_deref(),
        &predictions,
    )?;
    let costs = costs(&args.input, &predictions, &models(&args.input, &predictions)?)?;
    let options = options(&args.objective, &predictions, costs)?;
    let mut systems: Vec<(String, Vec<Document>)> = Vec::new();
    let wanted =
        |name: &str| args.methods.is_empty() || args.methods.iter().any(|method| method.name() == name);
    let pruned = prune(&predictions, &options).map_err(usage)?;
    let all = prune(&predictions, &everyone(&predictions, &options)).map_err(usage)?;
    for (name, pruned) in [("voting", &all), ("voting-pruned", &pruned)] {
        tracing::info!(
            "{name}: {} votes of {}",
            pruned.chosen.threshold,
            pruned.names().join(", ")
        );
        if wanted(name) {
            let evaluated = test.with(&pruned.chosen.members);
            systems.push((name.to_owned(), decided(&evaluated, &pruned.voting())));
        }
    }
    for kind in Fitted::KINDS.into_iter().filter(|kind| wanted(kind)) {
        let left = fitted_on(kind, &predictions, &pruned, &options, args.seed)?;
        let on = predictions.with(&left);
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
fn alone(predictions: &PredictionSet, member: usize) -> Vec<Document> {
    let one = |(row, document): (usize, &Document)| Document {
        marks: predictions.by_member[member][row]
            .iter()
            .map(|annotation| lethe_corpus::Mark {
                span: annotation.span,
                label: predictions.labels.label(annotation.label).name.clone(),
                score: Some(annotation.score),
            })
            .collect(),
        ..document.clone()
    };
    predictions.documents.iter().enumerate().map(one).collect()
}

fn write(folder: &Path, systems: &[(String, Vec<Document>)]) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for (name, documents) in systems {
        lethe_corpus::write_jsonl(&folder.join(format!("{name}.jsonl")), documents)?;
    }
    Ok(())
}
