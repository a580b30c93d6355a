//! `lethe ensemble`: from cross-validated predictions of members to a bundle.

mod compare;
mod crossfit;
mod export_offsets;
mod fit;
mod prune;
mod versions;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use lethe_core::{Agreement, Combine, Decision, MemberSet};
use lethe_corpus::{Document, Mark};
use lethe_ensemble::{Cost, Objective, PredictionSet, PruneOptions};
use lethe_learn::Manifest;
use lethe_members::cost;
use lethe_members::registry::MemberConfig;
use serde::Deserialize;

use super::bundle;
use super::evaluate::{predicted, read, rename};
use crate::bundle_argument::member_argument;
use crate::cli::{EnsembleCommand, ObjectiveArgs, PredictionArgs};
use crate::config::label_set;
use crate::exit::usage;

/// Runs the subcommand.
pub(crate) fn run(command: &EnsembleCommand) -> anyhow::Result<()> {
    match command {
        EnsembleCommand::Prune(args) => prune::run(args),
        EnsembleCommand::Fit(args) => fit::run(args),
        EnsembleCommand::Compare(args) => compare::run(args),
        EnsembleCommand::ExportOffsets(args) => export_offsets::run(args),
        EnsembleCommand::Show(args) => bundle::show(args),
        EnsembleCommand::Publish(args) => versions::publish(args),
        EnsembleCommand::Versions(args) => versions::list(args),
        EnsembleCommand::RollBack(args) => versions::roll_back(args),
    }
}

/// Reads gold and every member's predictions.
fn predictions(args: &PredictionArgs) -> anyhow::Result<PredictionSet> {
    let rename = rename(args.rename.as_deref())?;
    let gold = read(&args.gold, &rename)?;
    let mut members = Vec::with_capacity(args.predictions.len());
    for prediction in &args.predictions {
        members.extend(predicted(prediction, &gold, &rename)?);
    }
    let labels = args
        .labels
        .as_deref()
        .map(|name| label_set(name, "--labels"))
        .transpose()?;
    let predictions = PredictionSet::new(gold, members, labels.map(Arc::new)).map_err(usage)?;
    if args.only.is_empty() {
        return Ok(predictions);
    }
    let only = args.only.iter().map(|name| member(&predictions, name, "--only"));
    Ok(predictions.with(&only.collect::<Result<Vec<_>, _>>()?))
}

/// Reads the same members' predictions for the test documents, in the same order.
fn test(
    path: &Path,
    arguments: &[String],
    names: Option<&Path>,
    predictions: &PredictionSet,
) -> anyhow::Result<PredictionSet> {
    let rename = rename(names)?;
    let gold = read(path, &rename)?;
    let mut given = HashMap::new();
    for argument in arguments {
        let folder = Path::new(argument);
        let in_folder = |name: &String| {
            let path = folder.join(format!("{name}.jsonl"));
            path.is_file().then(|| format!("{name}={}", path.display()))
        };
        let files: Vec<String> = predictions.members.iter().filter_map(in_folder).collect();
        let arguments = if files.is_empty() {
            std::slice::from_ref(argument)
        } else {
            &files[..]
        };
        for argument in arguments {
            given.extend(predicted(argument, &gold, &rename)?);
        }
    }
    let one = |name: &String| {
        let documents = given.remove(name);
        let documents =
            documents.ok_or_else(|| usage(format!("--test-predictions: no predictions of `{name}`")));
        Ok::<_, anyhow::Error>((name.clone(), documents?))
    };
    let members = predictions.members.iter().map(one).collect::<Result<_, _>>()?;
    PredictionSet::new(gold, members, Some(Arc::clone(&predictions.labels))).map_err(usage)
}

/// Returns each member, in their order; `None` for one that was not given.
fn models(args: &PredictionArgs, predictions: &PredictionSet) -> anyhow::Result<Vec<Option<MemberConfig>>> {
    let mut found: Vec<Option<MemberConfig>> = vec![None; predictions.members.len()];
    for argument in &args.models {
        let one = argument.split_once('=').filter(|(name, _)| !name.contains('/'));
        if let Some((name, path)) = one {
            let place = member(predictions, name, "--models")?;
            found[place] = Some(member_argument(Path::new(path))?);
            continue;
        }
        for (name, found) in predictions.members.iter().zip(&mut found) {
            if found.is_none() {
                *found = member_argument(&Path::new(argument).join(name)).ok();
            }
        }
    }
    for (name, member) in predictions.members.iter().zip(&found) {
        if let Some(MemberConfig::Model(model)) = member {
            check_labels(args, predictions, name, &model.path)?;
        }
    }
    Ok(found)
}

/// Checks that a model predicts labels of the label set only.
///
/// # Errors
/// A usage error that names the model, its labels and the commands that change them.
fn check_labels(
    args: &PredictionArgs,
    predictions: &PredictionSet,
    name: &str,
    folder: &Path,
) -> anyhow::Result<()> {
    let model = Manifest::read(folder).map_err(usage)?;
    let known = |label: &&String| predictions.labels.by_name(label).is_some();
    let labels: Vec<&String> = model.tags.labels().iter().filter(|label| !known(label)).collect();
    let [first, rest @ ..] = labels.as_slice() else {
        return Ok(());
    };
    let more = rest.iter().map(|label| format!(", {label}")).collect::<String>();
    let file = args.rename.as_ref().map(|file| file.display().to_string());
    let file = file.as_deref().unwrap_or("FILE");
    Err(usage(format!(
        "--models: the model of `{name}` ({}) predicts {first}{more}, which the label set `{}` of gold and predictions lacks; `--rename` here does \
         not rename the labels of a model: train it with new labels (`lethe train {kind} --rename {file}`, and `lethe crossval {kind} --rename \
         {file}` for its predictions), or name a label set that has its labels with `--labels`",
        folder.display(),
        predictions.labels.id(),
        kind = model.kind,
    )))
}

/// Returns each member's cost: from the given report, else measured on the gold documents; empty if no model
/// was given either.
///
/// # Errors
/// A usage error if only some members' costs are known.
fn costs(
    args: &PredictionArgs,
    predictions: &PredictionSet,
    models: &[Option<MemberConfig>],
) -> anyhow::Result<Vec<Cost>> {
    if let Some(path) = &args.costs {
        return reported(path, predictions);
    }
    if models.iter().all(Option::is_none) {
        return Ok(Vec::new());
    }
    let dictionary = args.dictionary.load()?;
    let mut costs = Vec::with_capacity(models.len());
    for (name, model) in predictions.members.iter().zip(models) {
        let Some(member) = model else {
            return Err(usage(format!(
                "--models: no model of `{name}`; give the models of all members, or of none; a rule is `--models {name}={name}`"
            )));
        };
        let spent = cost::of_member(member, &predictions.labels, &dictionary, &predictions.documents)
            .map_err(usage)?;
        tracing::info!(
            "{name}: {:.2} µs per token, and {:.2} shared",
            spent.own,
            spent.shared
        );
        costs.push(Cost {
            own: spent.own,
            shared: spent.with.map(|with| (with, spent.shared)),
        });
    }
    Ok(costs)
}

/// Reads the members' costs from a pruning report.
fn reported(path: &Path, predictions: &PredictionSet) -> anyhow::Result<Vec<Cost>> {
    #[derive(Deserialize)]
    struct Report {
        members: Vec<Costed>,
    }
    #[derive(Deserialize)]
    struct Costed {
        name: String,
        cost: Option<Cost>,
    }
    let wrong = |what: String| usage(format!("--costs {}: {what}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let report: Report = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let one = |name: &String| {
        let costed = report.members.iter().find(|member| member.name == *name);
        let cost = costed.and_then(|member| member.cost.clone());
        cost.ok_or_else(|| {
            wrong(format!(
                "no cost of `{name}`; run prune with --models --json to measure it"
            ))
        })
    };
    predictions.members.iter().map(one).collect()
}

fn options(
    args: &ObjectiveArgs,
    predictions: &PredictionSet,
    costs: Vec<Cost>,
) -> anyhow::Result<PruneOptions> {
    let set = |names: &[String], option: &str| {
        names.iter().try_fold(MemberSet::default(), |set, name| {
            Ok::<_, anyhow::Error>(set.with(member(predictions, name, option)?))
        })
    };
    Ok(PruneOptions {
        objective: Objective {
            measure: args.measure,
            floor: args.floor,
            ceiling: args.ceiling,
        },
        keep: set(&args.keep, "--keep")?,
        always_redact: set(&args.always_redact, "--always-redact")?,
        costs,
        every_set: args.every_set,
        by_category: args.by_category,
        solo_min_scores: args.solo_min_scores,
        require_corroboration: args.require_corroboration,
        redact_uncovered: args.redact_uncovered,
        agreement: if args.overlap {
            Agreement::Overlap
        } else {
            Agreement::Exact
        },
        ..PruneOptions::default()
    })
}

/// Returns the same options with all members kept, so that only the threshold is chosen.
fn everyone(predictions: &PredictionSet, options: &PruneOptions) -> PruneOptions {
    PruneOptions {
        keep: (0..predictions.members.len()).fold(options.keep, MemberSet::with),
        ..options.clone()
    }
}

/// Returns the documents with a combiner's decisions instead of gold.
fn decided(predictions: &PredictionSet, combiner: &dyn Combine) -> Vec<Document> {
    let rows = 0..predictions.documents.len();
    let decisions = rows.map(|row| combiner.decide(predictions.batch.note(row), &predictions.row(row)));
    marked(predictions, decisions)
}

/// Returns the documents with these decisions instead of gold.
fn marked(predictions: &PredictionSet, decisions: impl Iterator<Item = Vec<Decision>>) -> Vec<Document> {
    let one = |(document, decisions): (&Document, Vec<Decision>)| {
        let mark = |decision: &Decision| Mark {
            span: decision.span,
            label: predictions.labels.label(decision.label).name.clone(),
            score: Some(decision.score),
        };
        Document {
            marks: decisions.iter().map(mark).collect(),
            ..document.clone()
        }
    };
    predictions.documents.iter().zip(decisions).map(one).collect()
}

/// Finds a member's index by name.
fn member(predictions: &PredictionSet, name: &str, option: &str) -> anyhow::Result<usize> {
    let place = predictions.members.iter().position(|member| member == name);
    place.ok_or_else(|| {
        usage(format!(
            "{option}: no member `{name}`; choose from {}",
            predictions.members.join(", ")
        ))
    })
}
