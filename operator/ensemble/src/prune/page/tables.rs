//! The tables of the page.

use lethe_evaluate::sheet::{CellOf, cell, classed, counted, escape, percent, table, thousands};

use crate::Tally;
use crate::leak::{Missed, SharedErrors};
use crate::prune::report::{ByCategory, CategoryThreshold, HeldOut, Left, Path, Point, Pruned};

/// The most cases of shared errors that the page lists; the JSON has all.
const CASES: usize = 1_000;

/// Returns whether costs are known.
pub(super) fn costed(pruned: &Pruned) -> bool {
    pruned.members.iter().any(|member| member.cost.is_some())
}

/// Members by name.
pub(super) fn names(pruned: &Pruned, members: &[usize]) -> String {
    let names: Vec<&str> = members
        .iter()
        .map(|&member| pruned.members[member].name.as_str())
        .collect();
    names.join(", ")
}

/// Writes one row per threshold: all members, and the members that the rule keeps.
pub(super) fn thresholds(out: &mut String, pruned: &Pruned) {
    let rows = pruned.paths.iter().map(|path| {
        let (all, left) = (&path.start, path.stopped());
        let chosen = (left.threshold, &left.members) == (pruned.chosen.threshold, &pruned.chosen.members);
        let mut row = vec![
            cell(path.threshold.to_string()),
            cell(percent(all.tally.f1())),
            classed(percent(left.tally.f1()), if chosen { "best" } else { "" }),
            cell(format!("{:+.2}", 100.0 * (left.tally.f1() - all.tally.f1()))),
        ];
        row.extend(figures(&left.tally));
        row.extend([
            cell(left.members.len().to_string()),
            cell(micros(pruned, left.cost)),
            classed(names(pruned, &left.members), "long"),
        ]);
        row
    });
    let head = [
        "Threshold",
        "All, F1",
        "Pruned, F1",
        "Gain",
        "Precision",
        "Recall",
        "Covered",
        "Members",
        "µs per token",
        "Left",
    ];
    out.push_str(&table(&head, rows.collect()));
}

/// Writes the same on other documents, with each member alone.
pub(super) fn held_out(out: &mut String, pruned: &Pruned, held_out: &HeldOut) {
    let rows = held_out.thresholds.iter().map(|at| {
        let mut row = vec![
            cell(at.threshold.to_string()),
            cell(percent(at.all.f1())),
            cell(percent(at.pruned.f1())),
            cell(format!("{:+.2}", 100.0 * (at.pruned.f1() - at.all.f1()))),
        ];
        row.extend(figures(&at.pruned));
        row
    });
    let head = [
        "Threshold",
        "All, F1",
        "Pruned, F1",
        "Gain",
        "Precision",
        "Recall",
        "Covered",
    ];
    out.push_str(&table(&head, rows.collect()));
    let rows = pruned
        .members
        .iter()
        .zip(&held_out.members)
        .map(|(member, tally)| {
            let mut row = vec![cell(&member.name), cell(percent(tally.f1()))];
            row.extend(figures(tally));
            row
        });
    let head = ["Member", "F1", "Precision", "Recall", "Covered"];
    out.push_str(&table(&head, rows.collect()));
}

/// Writes one threshold's path.
pub(super) fn path(out: &mut String, pruned: &Pruned, path: &Path) {
    let left = path.stopped();
    let chosen = path.threshold == pruned.chosen.threshold;
    out.push_str(&format!(
        "<details{}><summary><b>Threshold {}</b> · {} dropped, {} left · {} to {}</summary>\n",
        if chosen { " open=\"open\"" } else { "" },
        path.threshold,
        thousands(path.stop as u64),
        thousands(left.members.len() as u64),
        percent(path.start.value),
        percent(left.value),
    ));
    let row = |dropped: &str, before: Option<f64>, point: &Point, beyond: bool| {
        let tally = &point.tally;
        let texts = [
            dropped.to_owned(),
            point.members.len().to_string(),
            before.map_or_else(String::new, percent),
            percent(point.value),
            before.map_or_else(String::new, |before| {
                format!("{:+.2}", 100.0 * (point.value - before))
            }),
            percent(tally.precision()),
            percent(tally.recall()),
            percent(tally.character_recall()),
            thousands(tally.predicted),
            thousands(tally.hits),
            micros(pruned, point.cost),
        ];
        let class = if beyond { "soft" } else { "" };
        texts.into_iter().map(|text| classed(text, class)).collect()
    };
    let mut rows: Vec<Vec<CellOf>> = vec![row("none", None, &path.start, false)];
    let mut before = path.start.value;
    for (i, step) in path.steps.iter().enumerate() {
        rows.push(row(&step.name, Some(before), &step.left, i >= path.stop));
        before = step.left.value;
    }
    let head = [
        "Dropped",
        "Left",
        "Before",
        "After",
        "Change",
        "Precision",
        "Recall",
        "Covered",
        "Predicted",
        "Hits",
        "µs per token",
    ];
    out.push_str(&table(&head, rows));
    out.push_str("</details>\n");
}

/// Writes the sets on the front.
pub(super) fn front(out: &mut String, pruned: &Pruned) {
    let rows = pruned.front.iter().map(|point| {
        let mut row = vec![
            cell(point.threshold.to_string()),
            cell(micros(pruned, point.cost)),
            cell(percent(point.tally.f1())),
        ];
        row.extend(figures(&point.tally));
        row.extend([
            cell(point.members.len().to_string()),
            classed(names(pruned, &point.members), "long"),
        ]);
        row
    });
    let head = [
        "Threshold",
        "µs per token",
        "F1",
        "Precision",
        "Recall",
        "Covered",
        "Members",
        "Which",
    ];
    out.push_str(&table(&head, rows.collect()));
}

/// Writes the value and cost of each member of a set.
pub(super) fn members(out: &mut String, pruned: &Pruned, left: &Left) {
    let rows =
        left.members
            .iter()
            .zip(left.alone.iter().zip(&left.without))
            .map(|(&place, (alone, without))| {
                let member = &pruned.members[place];
                let mut marks = Vec::new();
                marks.extend(member.keep.then_some("kept"));
                marks.extend(member.always_redact.then_some("one vote is enough"));
                vec![
                    cell(&member.name),
                    cell((member.rank + 1).to_string()),
                    cell(percent(member.tally.f1())),
                    cell(percent(member.tally.character_recall())),
                    cell(thousands(alone.spans)),
                    cell(thousands(alone.characters)),
                    cell(percent(without.tally.f1())),
                    cell(percent(without.tally.character_recall())),
                    cell(micros(pruned, without.saved)),
                    classed(marks.join(", "), "long"),
                ]
            });
    let head = [
        "Member",
        "Rank",
        "F1",
        "Covered",
        "Spans found alone",
        "Characters found alone",
        "F1 without it",
        "Covered without it",
        "µs per token saved",
        "",
    ];
    out.push_str(&table(&head, rows.collect()));
    out.push_str(&format!(
        "<p class=\"note\">Without it: the vote of the others at {}.</p>\n",
        counted(u64::from(pruned.chosen.threshold), "vote")
    ));
}

/// Writes the thresholds by category.
pub(super) fn categories(out: &mut String, pruned: &Pruned, by: &ByCategory) {
    out.push_str("<h2 id=\"categories\">Thresholds by category</h2>\n");
    let (one, own) = (&pruned.chosen.tally, &by.point.tally);
    out.push_str(&format!(
        "<p>One threshold for all: F1 {}, covered {}. Each category its own: F1 {}, covered {}; after {}.</p>\n",
        percent(one.f1()),
        percent(one.character_recall()),
        percent(own.f1()),
        percent(own.character_recall()),
        counted(u64::from(by.rounds), "round")
    ));
    let rows = by.categories.iter();
    let row = |one: &CategoryThreshold| {
        let condition = if pruned.require_corroboration {
            ", with corroboration"
        } else {
            ""
        };
        let solo = one
            .solo_min_score
            .map_or_else(|| "none".to_owned(), |score| format!("from {score}{condition}"));
        vec![cell(&one.category), cell(one.threshold.to_string()), cell(solo)]
    };
    let head = ["Category", "Votes needed", "One vote suffices"];
    out.push_str(&table(&head, rows.map(row).collect()));
}

/// Writes the errors that all members of a set share.
pub(super) fn shared(out: &mut String, what: &str, errors: &SharedErrors, list: bool) {
    out.push_str(&format!(
        "<h3>{}</h3>\n<p>No member predicts {} of {} gold spans exactly; {} of them leak a letter or digit whatever the vote. No member covers {} of the {} gold characters.</p>\n",
        escape(what),
        thousands(errors.missed()),
        thousands(errors.gold),
        thousands(errors.leaking()),
        thousands(errors.uncovered),
        thousands(errors.characters)
    ));
    let rows = errors.labels.iter().map(|label| {
        vec![
            cell(&label.label),
            cell(thousands(label.gold)),
            classed(thousands(label.missed()), "best"),
            cell(thousands(label.nothing)),
            cell(thousands(label.other_label)),
            cell(thousands(label.other_boundaries)),
            cell(thousands(label.leaking)),
            cell(percent(label.leaking as f64 / label.missed().max(1) as f64)),
        ]
    });
    let head = [
        "Label",
        "Gold",
        "Missed by all",
        "Nothing there",
        "Other label",
        "Other boundaries",
        "Leaking",
        "Leaking, %",
    ];
    out.push_str(&table(&head, rows.collect()));
    if !list || errors.cases.is_empty() {
        return;
    }
    let rows = errors.cases.iter().take(CASES).map(|case| {
        vec![
            cell(&case.id),
            cell(case.start.to_string()),
            cell(case.end.to_string()),
            classed(&case.label, "left"),
            classed(missed(case.missed), "left"),
            classed(case.as_labels.join(", "), "left"),
            classed(if case.leaks { "leaks" } else { "" }, "left"),
        ]
    });
    out.push_str("<details><summary><b>All cases</b></summary>\n");
    let head = [
        "Document",
        "From byte",
        "To byte",
        "Label",
        "Missed",
        "Said there",
        "",
    ];
    out.push_str(&table(&head, rows.collect()));
    let more = errors.cases.len().saturating_sub(CASES);
    if more > 0 {
        out.push_str(&format!(
            "<p class=\"note\">The JSON lists {} more.</p>\n",
            thousands(more as u64)
        ));
    }
    out.push_str("</details>\n");
}

fn missed(missed: Missed) -> &'static str {
    match missed {
        Missed::Nothing => "nothing there",
        Missed::OtherLabel => "other label",
        Missed::OtherBoundaries => "other boundaries",
    }
}

fn figures(tally: &Tally) -> [CellOf; 3] {
    [
        cell(percent(tally.precision())),
        cell(percent(tally.recall())),
        cell(percent(tally.character_recall())),
    ]
}

fn micros(pruned: &Pruned, cost: f64) -> String {
    if costed(pruned) {
        format!("{cost:.2}")
    } else {
        "-".to_owned()
    }
}
