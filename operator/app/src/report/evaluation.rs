//! What an evaluation found on annotated notes, from the output of `lethe evaluate --json`.

use std::path::Path;

use anyhow::{Context as _, ensure};
use lethe_evaluate::{Estimate, Leaks, Share};

use super::Section;

const FORMAT: &str = "lethe-evaluation";

/// Returns the section about an evaluation: documents without a leak, and leaking spans.
///
/// # Errors
/// If the file cannot be read or is not the output of `lethe evaluate --json`. No error contains text of the file.
pub(crate) fn of_evaluation(path: &Path) -> anyhow::Result<Section> {
    let shown = path.display();
    let written = std::fs::read_to_string(path).with_context(|| format!("--evaluation {shown}"))?;
    let report: Option<lethe_evaluate::Report> = serde_json::from_str(&written).ok();
    let report = report.filter(|report| report.format == FORMAT);
    let report = report.with_context(|| {
        format!("--evaluation {shown}: not a report of this version's `lethe evaluate --json`")
    })?;
    ensure!(
        report.version == 1,
        "--evaluation {shown}: version {} of the report, but this program reads 1",
        report.version
    );
    let mut section = Section::new("Evaluation on annotated notes")
        .say(format!(
            "{} annotated documents with {} identifiers were evaluated. A document leaks if a letter or digit of an identifier is not redacted.",
            report.documents, report.spans
        ))
        .say("The figures hold for those documents. They hold for this dataset as far as its notes are alike and the same engine wrote it.")
        .header(&[
            "system",
            "documents without a leak",
            "95 % CI",
            "leaking spans in 1,000 documents",
            "95 % CI",
            "of direct identifiers",
            "of quasi-identifiers",
        ]);
    for system in &report.systems {
        let leak = &system.leak;
        let [clean, exact] = clean(&leak.documents);
        let [leaks, interval] = rate(&leak.spans.per_thousand);
        let of = |name: &str| {
            let groups = leak.identifiers.as_deref().unwrap_or_default();
            let group = groups.iter().find(|group| group.name == name);
            group.map_or_else(|| "-".to_owned(), |group| per_thousand(&group.leaks))
        };
        section.row([
            system.name.clone(),
            clean,
            exact,
            leaks,
            interval,
            of("direct"),
            of("quasi"),
        ]);
    }
    Ok(section)
}

/// The share of documents without a leak, of those that leak, and its exact interval.
fn clean(leaking: &Share) -> [String; 2] {
    if leaking.of == 0 {
        return ["-".into(), "-".into()];
    }
    let interval = leaking.exact.map(|exact| {
        format!(
            "{:.2} to {:.2} %",
            100.0 * (1.0 - exact.high),
            100.0 * (1.0 - exact.low)
        )
    });
    [
        format!(
            "{} of {}, {:.2} %",
            leaking.of - leaking.count,
            leaking.of,
            100.0 * (1.0 - leaking.share.value)
        ),
        interval.unwrap_or_else(|| "-".into()),
    ]
}

fn rate(estimate: &Estimate) -> [String; 2] {
    let interval = estimate.by_patient.or(estimate.interval);
    [
        format!("{:.1}", estimate.value),
        interval.map_or_else(|| "-".into(), |one| format!("{:.1} to {:.1}", one.low, one.high)),
    ]
}

fn per_thousand(leaks: &Leaks) -> String {
    format!("{:.1}", leaks.per_thousand.value)
}
