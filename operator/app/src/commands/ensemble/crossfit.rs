//! Chooses the members of a fitted combiner by cross-validation.

use anyhow::Context as _;
use lethe_core::MemberSet;
use lethe_corpus::{Counts, Document};
use lethe_ensemble::prune::Path;
use lethe_ensemble::{Costs, Fitted, PredictionSet, PruneOptions, Pruned};

use super::marked;
use crate::commands::learning::Passes;
use crate::exit::usage;

/// Returns the members that a combiner is fitted on: all, or, under a ceiling, those with the best
/// cross-validated score. It tries the sets on the elimination paths that are under the ceiling, and then
/// adds members to the best of them, one at a time, as long as one fits and helps.
pub(super) fn fitted_on(
    kind: &str,
    predictions: &PredictionSet,
    pruned: &Pruned,
    options: &PruneOptions,
    seed: u64,
) -> anyhow::Result<Vec<usize>> {
    let all = 0..predictions.members.len();
    let Some(ceiling) = options.objective.ceiling else {
        return Ok(all.collect());
    };
    let costs = Costs(options.costs.clone());
    let passed = |path: &Path| -> Vec<MemberSet> {
        let steps = path.steps[..path.stop].iter().map(|step| step.left.set());
        std::iter::once(path.start.set()).chain(steps).collect()
    };
    let mut sets: Vec<MemberSet> = pruned.paths.iter().flat_map(passed).collect();
    sets.sort_by(|a, b| costs.of(*a).total_cmp(&costs.of(*b)).then(a.0.cmp(&b.0)));
    sets.dedup();
    let mut best: Option<(f64, MemberSet)> = None;
    while !sets.is_empty() {
        let before = best;
        for set in sets.drain(..).filter(|set| costs.of(*set) <= ceiling) {
            let f1 = evaluated(kind, predictions, set, seed)?;
            // Of equal sets the cheapest wins, which comes first.
            if best.is_none_or(|(least, _)| f1 > least) {
                best = Some((f1, set));
            }
        }
        if best != before
            && let Some((_, set)) = best
        {
            let others = all.clone().filter(|&member| !set.contains(member));
            sets.extend(others.map(|member| set.with(member)));
        }
    }
    let (_, set) = best.ok_or_else(|| usage("--ceiling: every set of members costs more"))?;
    Ok(set.iter().collect())
}

/// Returns the strict micro-F1 of a combiner of these members; each document is decided by a combiner fitted
/// to other documents.
fn evaluated(kind: &str, predictions: &PredictionSet, set: MemberSet, seed: u64) -> anyhow::Result<f64> {
    let members: Vec<usize> = set.iter().collect();
    let predictions = predictions.with(&members);
    let mut counts = Counts::default();
    for (gold, decided) in predictions
        .documents
        .iter()
        .zip(&crossfitted(kind, &predictions, seed)?)
    {
        counts += Counts::strict(&gold.marks, &decided.marks);
    }
    tracing::info!(
        "{kind} of {}: strict F1 {:.4} in cross-validation",
        predictions.members.join(", "),
        counts.f1()
    );
    Ok(counts.f1())
}

/// Returns the documents with the decisions of combiners that were fitted to other documents.
pub(super) fn crossfitted(
    kind: &str,
    predictions: &PredictionSet,
    seed: u64,
) -> anyhow::Result<Vec<Document>> {
    let mut passes = Passes::new(kind);
    let decisions = Fitted::crossfit(kind, predictions, seed, &mut passes);
    passes.finish();
    let decisions = decisions
        .context("the method is not in the list of combiners")?
        .map_err(usage)?;
    Ok(marked(predictions, decisions.into_iter()))
}
