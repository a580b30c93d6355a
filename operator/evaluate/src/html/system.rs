//! One system's part of the page.

use std::collections::BTreeMap;

use lethe_corpus::Document;

use super::markup::{CellOf, cell, classed, escape, table};
use super::{PageOptions, context, figure, plot};
use crate::figure::{counted, f_name, hipaa_name, kind, percent, range, thousands, widest};
use crate::report::{ErrorCase, ErrorClass, Group, Groups, Report, Score, System};

/// Writes the labels and errors of one system.
pub(super) fn section(
    out: &mut String,
    report: &Report,
    number: usize,
    system: &System,
    gold: &[Document],
    options: &PageOptions,
) {
    out.push_str(&format!(
        "<h2 id=\"system-{number}\">{}</h2>\n",
        escape(&system.name)
    ));
    let f = f_name(report.settings.beta);
    out.push_str("<h3>By label</h3>\n");
    let mut frequent: Vec<&Group> = system.labels.groups.iter().collect();
    frequent.sort_by_key(|group| std::cmp::Reverse(group.strict.gold));
    if !frequent.is_empty() {
        figure(
            out,
            &plot::labels(&frequent),
            "Strict; the line on F1 is its 95 % interval; F1 and the number of gold spans are at the right.",
        );
    }
    groups(out, "Label", &system.labels, &f, str::to_owned);
    if let Some(categories) = &system.categories {
        out.push_str("<h3>By category</h3>\n");
        groups(out, "Category", categories, &f, str::to_owned);
    }
    if let Some(hipaa) = &system.hipaa {
        out.push_str("<h3>By HIPAA identifier, 45 CFR 164.514(b)(2)(i)</h3>\n");
        groups(out, "Identifier", hipaa, &f, hipaa_name);
    }
    mistakes(out, system, gold, options);
}

fn groups(out: &mut String, what: &str, groups: &Groups, f: &str, name: fn(&str) -> String) {
    let figures = |score: &Score| {
        [
            cell(thousands(score.gold)),
            cell(percent(score.precision.value)),
            cell(percent(score.recall.value)),
            classed(percent(score.f1.value), "best"),
            cell(range(widest(&score.f1))),
            cell(percent(score.f_beta.value)),
        ]
    };
    let mut rows: Vec<Vec<CellOf>> = groups
        .groups
        .iter()
        .map(|group| {
            let mut row = vec![cell(name(&group.name))];
            row.extend(figures(&group.strict));
            row.extend([cell(percent(group.relaxed.f1)), cell(percent(group.token.f1))]);
            row
        })
        .collect();
    if rows.len() > 1 {
        let mut row = vec![classed("all (micro)", "soft")];
        row.extend(figures(&groups.micro));
        row.extend([cell(""), cell("")]);
        rows.push(row);
    }
    let names = [
        what,
        "Gold",
        "Precision",
        "Recall",
        "F1",
        "95 % interval",
        f,
        "Relaxed F1",
        "Token F1",
    ];
    out.push_str(&table(&names, rows));
}

fn mistakes(out: &mut String, system: &System, gold: &[Document], options: &PageOptions) {
    let errors = &system.errors;
    out.push_str("<h3>Errors</h3>\n");
    if errors.cases.is_empty() {
        out.push_str("<p>None.</p>\n");
        return;
    }
    out.push_str(&format!(
        "<p>{} boundary ({} too short, {} too long, {} across a boundary), {} label, {} false negatives, {} false positives; {} of them leave a letter or digit of gold uncovered.</p>\n",
        thousands(errors.boundary),
        thousands(errors.boundary_short),
        thousands(errors.boundary_long),
        thousands(errors.boundary_across),
        thousands(errors.label),
        thousands(errors.false_negative),
        thousands(errors.false_positive),
        thousands(errors.leaking),
    ));
    figure(
        out,
        &plot::confusion(errors),
        "Rows: gold. Columns: predicted. Labels without an error are left out; the diagonal has right labels, including boundary errors.",
    );
    let rows = errors
        .labels
        .iter()
        .filter(|row| !row.kinds.is_empty())
        .map(|row| {
            let kinds: Vec<String> = row.kinds.iter().take(4).map(kind).collect();
            vec![
                cell(&row.label),
                cell(thousands(row.gold)),
                cell(thousands(row.hits)),
                cell(thousands(row.boundary)),
                cell(thousands(row.mislabelled)),
                cell(thousands(row.false_negative)),
                cell(thousands(row.false_positive)),
                classed(kinds.join(", "), "long"),
            ]
        });
    let names = [
        "Label",
        "Gold",
        "Right",
        "Boundary",
        "Label",
        "False negatives",
        "False positives",
        "Most frequent",
    ];
    out.push_str(&table(&names, rows.collect()));
    let mut by_label: BTreeMap<&str, Vec<&ErrorCase>> = BTreeMap::new();
    for case in errors.cases.iter().take(options.cases) {
        let label = case
            .gold
            .as_ref()
            .or(case.predicted.as_ref())
            .map_or("", |at| at.label.as_str());
        by_label.entry(label).or_default().push(case);
    }
    if options.contexts {
        out.push_str("<p class=\"note text\"><span class=\"g\">Underlined</span>: gold. <span class=\"p\">Marked</span>: predicted. ↵: line end.</p>\n");
    }
    for (label, cases) in by_label {
        let leaking = cases.iter().filter(|case| case.leaks).count() as u64;
        let made_up = cases
            .iter()
            .filter(|case| case.class == ErrorClass::FalsePositive)
            .count() as u64;
        out.push_str(&format!(
            "<details><summary><b>{}</b> · {}, {} leaking, {} false positives</summary>\n<ol class=\"cases\">\n",
            escape(label),
            counted(cases.len() as u64, "error"),
            thousands(leaking),
            thousands(made_up)
        ));
        for case in cases {
            // Offsets apply to this document only.
            let document = gold
                .get(case.document as usize)
                .filter(|document| options.contexts && document.id == case.id);
            out.push_str(&context::item(case, document));
        }
        out.push_str("</ol></details>\n");
    }
    let left = errors.cases.len().saturating_sub(options.cases) as u64;
    if left > 0 {
        out.push_str(&format!(
            "<p class=\"note\">{} more are not listed.</p>\n",
            thousands(left)
        ));
    }
}
