//! `lethe ensemble fit`: writes a bundle of the chosen members.

use std::collections::BTreeMap;

use anyhow::Context as _;
use lethe_core::{LabelId, MemberSet, SoloMinScore, VoteSpec};
use lethe_corpus::Document;
use lethe_ensemble::prune::prune;
use lethe_ensemble::{
    Bundle, BundleManifest, Costs, Fitted, Measure, Measured, Objective, Part, PredictionSet, Provenance,
    PruneOptions, Pruned, Rule,
};
use lethe_members::registry::MemberConfig;

use super::crossfit::{crossfitted, fitted_on};
use super::{costs, decided, everyone, models, options, predictions};
use crate::cli::{FitArgs, Method};
use crate::commands::learning::Passes;
use crate::commands::measured::measured;
use crate::exit::usage;

/// Fits and writes the bundle.
pub(crate) fn run(args: &FitArgs) -> anyhow::Result<()> {
    let free = std::fs::read_dir(&args.out).map_or(true, |mut entries| entries.next().is_none());
    if !free {
        return Err(usage(format!(
            "--out {}: already exists and is not empty",
            args.out.display()
        )));
    }
    let votes = matches!(args.method, Method::Voting | Method::VotingPruned);
    if !votes && !args.points.is_empty() {
        return Err(usage(
            "--point: only votes have operating points; fit `voting` or `voting-pruned`",
        ));
    }
    let kind = Some(args.method.name()).filter(|name| Fitted::KINDS.contains(&name.as_str()));
    let predictions = predictions(&args.input)?;
    let dictionary = args.input.dictionary.load()?;
    for kind in &args.union_rules {
        let refused = |error: &dyn std::fmt::Display| usage(format!("--union-rule {kind}: {error}"));
        let config = Part::rule(kind)
            .config(&args.out)
            .map_err(|error| refused(&error))?;
        config
            .build(&predictions.labels, &dictionary)
            .map_err(|error| refused(&error))?;
    }
    let models = models(&args.input, &predictions)?;
    let options = options(
        &args.objective,
        &predictions,
        costs(&args.input, &predictions, &models)?,
    )?;
    let options = match args.method {
        Method::Voting => everyone(&predictions, &options),
        _ => options,
    };
    let pruned = prune(&predictions, &options).map_err(usage)?;
    let mut left = match &kind {
        Some(kind) => fitted_on(kind, &predictions, &pruned, &options, args.seed)?,
        None => pruned.chosen.members.clone(),
    };
    if let Some(&member) = left.iter().find(|&&member| models[member].is_none()) {
        return Err(usage(format!(
            "--models: no model of `{}`, which was chosen",
            predictions.members[member]
        )));
    }
    let fitted = kind
        .map(|kind| fitted(kind, args, &predictions.with(&left)))
        .transpose()?;
    if fitted.is_none() {
        // Members rank by their cross-validated score.
        left.sort_by_key(|&member| pruned.members[member].rank);
    }
    let mut manifest = manifest(args, &predictions, &options, &pruned, &models, &left)?;
    let everyone = left
        .iter()
        .fold(MemberSet::default(), |set, &member| set.with(member));
    let cost = Costs(options.costs.clone()).of(everyone);
    let (on, evaluated, documents) = match &fitted {
        Some((kind, fitted)) => {
            manifest.fitted(&args.out, kind, fitted).map_err(usage)?;
            let on = "the members' cross-validated predictions, each part by what was fitted to the others";
            let left = predictions.with(&left);
            let documents = crossfitted(kind, &left, args.seed)?;
            (on, left, documents)
        }
        None => {
            let on = "the cross-validated predictions that it was chosen on";
            let left = predictions.with(&pruned.chosen.members);
            let documents = decided(&left, &pruned.voting());
            (on, left, documents)
        }
    };
    let without_rules = |on: &str| match &args.union_rules[..] {
        [] => on.to_owned(),
        rules => format!("{on}, without {}", rules.join(", ")),
    };
    let figures = measured(without_rules(on), cost, &evaluated.documents, documents)?;
    manifest.measured.push(figures);
    for &(point, measure) in &args.points {
        let (vote, documents) = other_point(args, measure, &evaluated, &pruned.chosen.members, &options)?;
        let on = without_rules("the cross-validated predictions that its thresholds were chosen on");
        manifest.points.insert(point, vote);
        manifest.measured.push(Measured {
            point,
            ..measured(on, cost, &evaluated.documents, documents)?
        });
    }
    let source = |name: &str| {
        let place = predictions.members.iter().position(|member| member == name)?;
        models[place].as_ref()?.path()
    };
    manifest
        .add_dictionary(&args.out, args.input.dictionary.dictionary.as_deref())
        .and_then(|()| manifest.write(&args.out, source))
        .map_err(usage)?;
    if let Err(error) = Bundle::open(&args.out, &dictionary) {
        // A bundle that cannot be opened is removed; its folder has only files that were just written.
        std::fs::remove_dir_all(&args.out).ok();
        return Err(usage(error));
    }
    match fitted {
        Some((kind, _)) => tracing::info!("{}: {kind} of {} members", args.out.display(), left.len()),
        None => tracing::info!(
            "{}: {} of {} members, {} votes; strict F1 {:.4} in cross-validation",
            args.out.display(),
            left.len(),
            predictions.members.len(),
            pruned.chosen.threshold,
            pruned.chosen.tally.f1()
        ),
    }
    Ok(())
}

/// Chooses the thresholds of another operating point for the members that are left, whose predictions these are; returns them with
/// the documents that they decide.
fn other_point(
    args: &FitArgs,
    measure: Measure,
    predictions: &PredictionSet,
    left: &[usize],
    options: &PruneOptions,
) -> anyhow::Result<(VoteSpec, Vec<Document>)> {
    let (places, costs) = (left.iter().enumerate(), left.iter());
    let options = everyone(
        predictions,
        &PruneOptions {
            objective: Objective {
                measure,
                floor: None,
                ceiling: None,
            },
            keep: MemberSet::default(),
            always_redact: places
                .filter(|&(_, &member)| options.always_redact.contains(member))
                .fold(MemberSet::default(), |set, (place, _)| set.with(place)),
            costs: costs
                .filter_map(|&member| options.costs.get(member).cloned())
                .collect(),
            ..options.clone()
        },
    );
    let pruned = prune(predictions, &options).map_err(usage)?;
    let all: Vec<usize> = (0..predictions.members.len()).collect();
    let vote = vote(args, predictions, &options, &pruned, &all);
    Ok((vote, decided(predictions, &pruned.voting())))
}

/// Fits the combiner, and returns it with its name.
fn fitted(kind: String, args: &FitArgs, predictions: &PredictionSet) -> anyhow::Result<(String, Fitted)> {
    let mut passes = Passes::new(&*kind);
    let fitted = Fitted::fit(&kind, predictions, args.seed, &mut passes);
    passes.finish();
    let fitted = fitted
        .context("the method is not in the list of combiners")?
        .map_err(usage)?;
    Ok((kind, fitted))
}

/// Rounds a score for the manifest: 0.9, not the nearest 32-bit value.
fn written(score: f32) -> f64 {
    (f64::from(score) * 1e4).round() / 1e4
}

/// Returns the vote that was chosen for the members that are left.
fn vote(
    args: &FitArgs,
    predictions: &PredictionSet,
    options: &PruneOptions,
    pruned: &Pruned,
    left: &[usize],
) -> VoteSpec {
    let thresholds: BTreeMap<String, u32> = pruned
        .by_category
        .iter()
        .flat_map(|by| by.thresholds.iter().zip(0..))
        .map(|(&needed, label)| (predictions.labels.label(LabelId(label)).name.clone(), needed))
        .collect();
    let solo_min_scores: BTreeMap<String, f64> = pruned
        .by_category
        .iter()
        .flat_map(|by| by.solo_min_scores.iter().zip(0..))
        .filter_map(|(&score, label)| {
            Some((
                predictions.labels.label(LabelId(label)).name.clone(),
                written(score?),
            ))
        })
        .collect();
    VoteSpec {
        threshold: pruned.chosen.threshold,
        thresholds,
        solo_min_score: SoloMinScore::ByLabel(solo_min_scores),
        require_corroboration: options.require_corroboration,
        // Other members' votes do not count for a rule that was added after pruning.
        always_redact: left
            .iter()
            .filter(|&&member| options.always_redact.contains(member))
            .map(|&member| predictions.members[member].clone())
            .chain(args.union_rules.iter().cloned())
            .collect(),
        always_min_score: written(args.always_min_score),
        redact_uncovered: args.objective.redact_uncovered,
        agreement: options.agreement,
        union_rules: Vec::new(),
    }
}

fn manifest(
    args: &FitArgs,
    predictions: &PredictionSet,
    options: &PruneOptions,
    pruned: &Pruned,
    models: &[Option<MemberConfig>],
    left: &[usize],
) -> anyhow::Result<BundleManifest> {
    let rule = Rule::Voting(vote(args, predictions, options, pruned, left));
    let part = |&member: &usize| {
        let (name, evaluated) = (&predictions.members[member], &pruned.members[member]);
        let config = models[member]
            .as_ref()
            .context("the members that are left were given")?;
        let part = Part::member(name, config).map_err(|why| usage(format!("--models {name}: {why}")))?;
        Ok(Part {
            f1: Some(evaluated.tally.f1()),
            cost: evaluated.cost.as_ref().map(|cost| cost.own),
            ..part
        })
    };
    let mut members: Vec<Part> = left.iter().map(part).collect::<anyhow::Result<_>>()?;
    members.extend(args.union_rules.iter().map(|kind| Part::rule(kind)));
    let provenance = Provenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: args.seed,
        documents: predictions.documents.len(),
        data: lethe_corpus::digest(&predictions.documents),
        objective: serde_json::to_string(&options.objective).unwrap_or_default(),
    };
    Ok(BundleManifest::new(
        &predictions.labels,
        rule,
        provenance,
        members,
    ))
}
