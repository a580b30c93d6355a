//! `lethe ensemble prune`: reports the elimination path of every threshold, and the chosen members.

use std::path::Path;

use anyhow::Context as _;
use lethe_ensemble::prune::{HeldOut, Point, page, picture, prune};
use lethe_ensemble::{Pruned, Tally};
use serde::Serialize;

use super::{costs, models, options, predictions, test};
use crate::cli::PruneArgs;
use crate::commands::documents::print;
use crate::exit::usage;

/// Prunes and prints the report.
pub(crate) fn run(args: &PruneArgs) -> anyhow::Result<()> {
    let predictions = predictions(&args.input)?;
    let costs = costs(&args.input, &predictions, &models(&args.input, &predictions)?)?;
    let pruned = prune(&predictions, &options(&args.objective, &predictions, costs)?).map_err(usage)?;
    let held_out = args
        .test
        .as_ref()
        .map(|path| {
            let names = args.input.rename.as_deref();
            let evaluated = test(path, &args.test_predictions, names, &predictions)?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            pruned.held_out(&name, &evaluated).map_err(usage)
        })
        .transpose()?;
    let report = PruneReport {
        pruned: &pruned,
        held_out: held_out.as_ref(),
    };
    print(args.json, &report, || table(&report))?;
    let write = |path: &Path, content: String| {
        std::fs::write(path, content).with_context(|| path.display().to_string())?;
        tracing::info!("written: {}", path.display());
        Ok::<_, anyhow::Error>(())
    };
    if let Some(path) = &args.html {
        let held_out = held_out.as_slice();
        write(path, page(&pruned, held_out, "A vote and its members"))?;
    }
    if let Some(path) = &args.svg {
        write(path, picture(&pruned, held_out.as_ref()))?;
    }
    Ok(())
}

/// The report, with the scores on the held-out documents.
#[derive(Serialize)]
struct PruneReport<'a> {
    #[serde(flatten)]
    pruned: &'a Pruned,
    #[serde(skip_serializing_if = "Option::is_none")]
    held_out: Option<&'a HeldOut>,
}

/// Formats a line per member, a line per threshold, and the choice.
fn table(report: &PruneReport<'_>) -> String {
    let pruned = report.pruned;
    let mut lines = vec![format!(
        "{} documents, {} members",
        pruned.documents,
        pruned.members.len()
    )];
    lines.push(String::new());
    lines.push("member            rank  precision  recall     F1  characters  no leak  us/token".to_owned());
    for member in &pruned.members {
        let cost = member.cost.as_ref().map_or_else(String::new, |cost| {
            let shared = cost.shared.as_ref().map_or(0.0, |(_, shared)| *shared);
            format!("{:.2} + {shared:.2}", cost.own)
        });
        lines.push(format!(
            "{:<16} {:>5}  {}  {cost}",
            member.name,
            member.rank + 1,
            figures(&member.tally)
        ));
    }
    lines.push(String::new());
    lines.push(
        "votes  members        precision  recall     F1  characters  no leak  us/token  dropped, in order"
            .to_owned(),
    );
    for path in &pruned.paths {
        lines.push(row(path.threshold, "all", &path.start, String::new()));
        let dropped: Vec<&str> = path.steps[..path.stop]
            .iter()
            .map(|step| step.name.as_str())
            .collect();
        if !dropped.is_empty() {
            lines.push(row(path.threshold, "pruned", path.stopped(), dropped.join(", ")));
        }
    }
    lines.push(String::new());
    let chosen = &pruned.chosen;
    let names = pruned.names().join(", ");
    lines.push(row(chosen.threshold, "chosen", chosen, format!("left: {names}")));
    if !chosen.meets {
        lines.push("No set of members meets the bounds; this one is the nearest.".to_owned());
    }
    if let Some(by) = &pruned.by_category {
        let each: Vec<String> = by
            .categories
            .iter()
            .map(|one| {
                let solo = one.solo_min_score.map_or_else(String::new, |score| {
                    format!(" or one with a score of at least {score}")
                });
                format!("{} {}{solo}", one.category, one.threshold)
            })
            .collect();
        lines.push(row(0, "by category", &by.point, each.join(", ")));
    }
    if let Some(held_out) = report.held_out {
        lines.push(String::new());
        lines.push(format!("On {} held-out documents:", held_out.documents));
        for at in &held_out.thresholds {
            for (what, tally) in [("all", &at.all), ("pruned", &at.pruned)] {
                lines.push(format!("{:>5}  {what:<11}     {}", at.threshold, figures(tally)));
            }
        }
        let (votes, chosen) = (pruned.chosen.threshold, figures(&held_out.chosen));
        lines.push(format!("{votes:>5}  {:<11}     {chosen}", "chosen"));
    }
    lines.push(String::new());
    let missed = &pruned.all.shared_errors;
    lines.push(format!(
        "No member finds {} of {} gold spans exactly; none covers {} of {} gold characters.",
        missed.missed(),
        missed.gold,
        missed.uncovered,
        missed.characters
    ));
    lines.push(String::new());
    lines.join("\n")
}

fn row(threshold: u32, what: &str, point: &Point, report: String) -> String {
    let cost = if point.cost > 0.0 {
        format!("{:.2}", point.cost)
    } else {
        String::new()
    };
    let votes = if threshold == 0 {
        String::new()
    } else {
        threshold.to_string()
    };
    format!(
        "{votes:>5}  {what:<11} {:>2}  {}  {cost:>8}  {report}",
        point.members.len(),
        figures(&point.tally)
    )
    .trim_end()
    .to_owned()
}

fn figures(tally: &Tally) -> String {
    format!(
        "{:>9.2}  {:>6.2}  {:>5.2}  {:>10.3}  {:>7.2}",
        100.0 * tally.precision(),
        100.0 * tally.recall(),
        100.0 * tally.f1(),
        100.0 * tally.character_recall(),
        100.0 * tally.intact_documents()
    )
}
