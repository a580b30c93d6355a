//! The comparison as text.

use std::fmt::Write as _;

use lethe_evaluate::Estimate;
use lethe_evaluate::sheet::{counted, percent, thousands};

use super::labels::By;
use super::{Comparison, Difference, LabelPair};

/// The most names of notes to list.
const NAMES: usize = 10;

/// Returns the comparison for a terminal.
pub(crate) fn table(comparison: &Comparison) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    for line in notes(comparison) {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "\nSpans")?;
    for (name, count) in spans_of(comparison) {
        writeln!(out, "  {name:38} {:>9}", thousands(count))?;
    }
    let characters = &comparison.characters;
    writeln!(out, "\nCharacters")?;
    for (name, count) in [
        ("covered by both", characters.both),
        ("only by Lethe", characters.only_lethe),
        ("only by the other tool", characters.only_other),
    ] {
        writeln!(out, "  {name:38} {:>9}", thousands(count))?;
    }
    writeln!(out, "\nAgreement (F1 of the two, in %)          95 % CI")?;
    for (name, estimate) in agreements(comparison) {
        let (value, range) = figures(&estimate);
        writeln!(out, "  {name:30} {value:>7}  {range}")?;
    }
    if !comparison.labels.is_empty() {
        writeln!(
            out,
            "\n  {:26} {:26} {:>8} {:>8}",
            "Lethe", "other tool", "same", "partly"
        )?;
    }
    for pair in &comparison.labels {
        let LabelPair { same, partly, .. } = pair;
        writeln!(
            out,
            "  {:26} {:26} {:>8} {:>8}",
            pair.lethe.as_deref().unwrap_or("-"),
            pair.other.as_deref().unwrap_or("-"),
            thousands(*same),
            thousands(*partly)
        )?;
    }
    mapping(comparison, &mut out)?;
    if !comparison.differences.is_empty() {
        writeln!(
            out,
            "\nDifferences: {} of {}; --examples N lists more, and --differences FILE writes all",
            comparison.differences.len(),
            thousands(comparison.all_differences)
        )?;
    }
    let mut kind = None;
    for difference in &comparison.differences {
        if kind.replace(difference.kind) != Some(difference.kind) {
            writeln!(out, "{}:", difference.kind.words())?;
        }
        writeln!(out, "  {}", line(difference))?;
    }
    Ok(out)
}

/// Returns sentences about the notes.
pub(super) fn notes(comparison: &Comparison) -> Vec<String> {
    let notes = &comparison.notes;
    let mut out = vec![format!(
        "{} compared; the other tool's spans are of format {}.",
        counted(notes.compared, "note"),
        comparison.other
    )];
    if !notes.missing.is_empty() {
        let what = match notes.missing_are_empty {
            true => "counted as notes without spans",
            false => "left out; --missing empty counts them as notes without spans",
        };
        out.push(format!(
            "{} without an entry of the other tool ({what}): {}.",
            counted(notes.missing.len() as u64, "note"),
            names(&notes.missing)
        ));
    }
    if !notes.unknown.is_empty() {
        out.push(format!(
            "{} of the other tool that no input has, or several have: {}.",
            counted(notes.unknown.len() as u64, "note"),
            names(&notes.unknown)
        ));
    }
    for (name, why) in &notes.failed {
        out.push(format!("{name}: {why}."));
    }
    out
}

fn names(names: &[String]) -> String {
    let mut out = names.iter().take(NAMES).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > NAMES {
        out.push_str(&format!(" and {} more", names.len() - NAMES));
    }
    out
}

/// Returns the counts of spans with their names.
pub(super) fn spans_of(comparison: &Comparison) -> [(&'static str, u64); 7] {
    let spans = &comparison.spans;
    [
        ("of Lethe", spans.lethe),
        ("of the other tool", spans.other),
        ("of both, with the same start and end", spans.same),
        ("  of these, in another category", spans.other_category),
        ("of both, overlapping only partly", spans.partly),
        ("only of Lethe", spans.only_lethe),
        ("only of the other tool", spans.only_other),
    ]
}

/// Returns the measures of agreement with their names.
pub(super) fn agreements(comparison: &Comparison) -> [(&'static str, Estimate); 6] {
    let agreement = &comparison.agreement;
    [
        ("same span and category", agreement.strict),
        ("same span", agreement.span),
        ("overlapping span", agreement.overlap),
        ("characters", agreement.character),
        ("Lethe's characters in other", agreement.of_lethe),
        ("other's characters in Lethe", agreement.of_other),
    ]
}

/// Returns a figure and its interval.
pub(super) fn figures(estimate: &Estimate) -> (String, String) {
    let range = estimate.interval.map_or_else(String::new, |interval| {
        format!("{} to {}", percent(interval.low), percent(interval.high))
    });
    (percent(estimate.value), range)
}

fn mapping(comparison: &Comparison, out: &mut String) -> std::fmt::Result {
    if comparison.mapping.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nLabels of the other tool (change with --map THEIRS=OURS)")?;
    for mapped in &comparison.mapping {
        let compared = compared_as(mapped.by, &mapped.category);
        writeln!(
            out,
            "  {:26} {:>8}  {compared}",
            mapped.label,
            thousands(mapped.spans)
        )?;
    }
    Ok(())
}

/// Returns how a label is compared, in words.
pub(super) fn compared_as(by: By, category: &str) -> String {
    match by {
        By::Nothing => "stands for nothing of Lethe's; a category of its own".to_owned(),
        By::Dropped => "left out".to_owned(),
        By::Option | By::Name | By::Table => format!("compared as {category}"),
    }
}

/// Returns a difference on a line, as positions and labels, with its words only if it has them.
pub(super) fn line(difference: &Difference) -> String {
    let side = |name: &str, point: &Option<lethe_evaluate::Pointed>| {
        point
            .as_ref()
            .map(|at| format!("{name} {} at bytes {}-{}", at.label, at.start, at.end))
    };
    let sides: Vec<String> = [side("Lethe", &difference.lethe), side("other", &difference.other)]
        .into_iter()
        .flatten()
        .collect();
    let mut out = format!(
        "{}, line {}: {}",
        difference.note,
        difference.line,
        sides.join(", ")
    );
    if let Some(text) = &difference.text {
        // A control character could change what a terminal shows.
        let shown: String = text
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        out.push_str(&format!(": \"{shown}\""));
    }
    out
}
