//! `lethe bundle show`: prints a bundle's description.

use std::io::Write as _;
use std::path::Path;

use lethe_core::{Agreement, SoloMinScore, VoteSpec};
use lethe_dictionaries::Dictionary;
use lethe_ensemble::{Bundle, OperatingPoint, Provenance, Rule};
use lethe_learn::Manifest;
use serde_json::{Value, json};

use crate::bundle_argument::{bundle_argument, models};
use crate::cli::ShowArgs;
use crate::commands::documents::print;
use crate::exit::usage;

/// Prints a bundle's description, after checking that the bundle opens.
pub(crate) fn run(args: &ShowArgs) -> anyhow::Result<()> {
    let folder = bundle_argument(&args.bundle)?;
    let bundle = Bundle::open(&folder, &Dictionary::builtin()).map_err(usage)?;
    let manifest = &bundle.manifest;
    if args.json {
        return print(true, &json(&folder, &bundle)?, String::new);
    }
    let mut to = std::io::stdout().lock();
    writeln!(to, "bundle      {}", manifest.digest())?;
    writeln!(
        to,
        "labels      {} v{}",
        bundle.labels.id(),
        bundle.labels.version()
    )?;
    match &manifest.combine {
        Rule::Voting(vote) => show_vote(&mut to, vote, manifest.members.len())?,
        Rule::Fitted { kind, digest, .. } => writeln!(to, "combined    by {kind} {digest}")?,
        other => writeln!(to, "combined    {other:?}")?,
    }
    for (point, vote) in &manifest.points {
        writeln!(to, "at point    {point}")?;
        show_vote(&mut to, vote, manifest.members.len())?;
    }
    let union_rules = match &manifest.combine {
        Rule::Voting(vote) => &vote.union_rules[..],
        Rule::Fitted { union_rules, .. } => union_rules,
        _ => &[],
    };
    if !union_rules.is_empty() {
        writeln!(
            to,
            "            every span of {} is redacted in addition",
            union_rules.join(", ")
        )?;
    }
    if let Some(base) = &manifest.corrects {
        writeln!(to, "corrects    {base}")?;
    }
    if let Some(parent) = &manifest.parent {
        writeln!(to, "made from   {parent}")?;
    }
    let from = &manifest.provenance;
    if from.documents == 0 {
        writeln!(to, "fitted to   no documents, by version {}", from.version)?;
    } else {
        show_fit(&mut to, from)?;
    }
    for measured in &manifest.measured {
        let at = match measured.point {
            OperatingPoint::Recall => String::new(),
            point => format!("at point {point}, "),
        };
        let [f1, low, high] = measured.f1.map(|share| 100.0 * share);
        let [recall, least, most] = measured.recall.map(|share| 100.0 * share);
        writeln!(
            to,
            "measured    {}on {} ({} documents): strict F1 {f1:.2} ({low:.2} to {high:.2}), {recall:.3} % of PHI characters ({least:.3} to {most:.3})",
            at, measured.on, measured.documents
        )?;
        if let Some(cost) = measured.cost {
            writeln!(to, "            {cost:.2} us/token on one core")?;
        }
    }
    for (place, part) in manifest.members.iter().enumerate() {
        let f1 = part
            .f1
            .map_or_else(String::new, |f1| format!("F1 {:.2}", 100.0 * f1));
        let cost = part
            .cost
            .map_or_else(String::new, |cost| format!("{cost:.2} us/token"));
        let digest = part.digest.as_deref().unwrap_or("");
        writeln!(
            to,
            "member {:>2}   {:<14} {f1:<9} {cost:<15} {digest}",
            place + 1,
            part.name
        )?;
        if let Some(replaced) = &part.replaces {
            writeln!(to, "            in place of {replaced}")?;
        }
    }
    Ok(())
}

/// Prints what the combination was fitted to.
fn show_fit(to: &mut impl std::io::Write, from: &Provenance) -> std::io::Result<()> {
    writeln!(
        to,
        "fitted to   {} documents ({}), seed {}, by version {}; {}",
        from.documents, from.data, from.seed, from.version, from.objective
    )
}

/// Returns the manifest with its digest, and with the labels, kind and training of each model.
fn json(folder: &Path, bundle: &Bundle) -> anyhow::Result<Value> {
    let manifest = &bundle.manifest;
    let labels = bundle.labels.labels().iter().map(|label| &label.name);
    let mut value = serde_json::to_value(manifest)?;
    value["digest"] = manifest.digest().into();
    value["labels"] = json!({
        "id": bundle.labels.id(),
        "version": bundle.labels.version(),
        "names": labels.collect::<Vec<_>>(),
    });
    let models = models(folder);
    for shown in value["members"].as_array_mut().into_iter().flatten() {
        let Some((_, path)) = models.iter().find(|(name, _)| shown["name"] == **name) else {
            continue;
        };
        let model = Manifest::read(path)?;
        shown["model"] = json!({
            "kind": model.kind,
            "labels": model.tags.labels(),
            "training": model.training,
        });
    }
    Ok(value)
}

/// Prints the conditions under which a vote redacts a span.
fn show_vote(to: &mut impl std::io::Write, vote: &VoteSpec, members: usize) -> std::io::Result<()> {
    let voters = members - vote.union_rules.len();
    writeln!(to, "votes       {} of {voters}", vote.threshold)?;
    let others = vote
        .thresholds
        .iter()
        .filter(|&(_, needed)| *needed != vote.threshold);
    for (label, needed) in others {
        writeln!(to, "            {needed} for {label}")?;
    }
    match &vote.solo_min_score {
        SoloMinScore::All(score) => {
            writeln!(to, "            1 suffices with a score of at least {score}")?;
        }
        SoloMinScore::ByLabel(scores) => {
            for (label, score) in scores {
                writeln!(
                    to,
                    "            1 suffices for {label} with a score of at least {score}"
                )?;
            }
        }
    }
    if vote.require_corroboration {
        writeln!(
            to,
            "            but only in notes with another span that has enough votes"
        )?;
    }
    if !vote.always_redact.is_empty() {
        let least = match vote.always_min_score {
            0.0 => String::new(),
            score => format!(
                ", with a score of at least {score} unless the note has another span with enough votes"
            ),
        };
        writeln!(
            to,
            "            every span of {} is redacted{least}",
            vote.always_redact.join(", ")
        )?;
    }
    if vote.agreement == Agreement::Overlap {
        writeln!(to, "            overlapping spans count as agreement")?;
    }
    if vote.redact_uncovered {
        writeln!(
            to,
            "            the parts of overruled spans that no winner covers are redacted"
        )?;
    }
    Ok(())
}
