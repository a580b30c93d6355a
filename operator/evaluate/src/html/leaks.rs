//! The leaks of all systems: documents, patients, characters, and spans by kind.

use super::markup::{cell, table};
use crate::figure::{clean, clean_range, per_thousand, per_thousand_range, percent, range, thousands};
use crate::report::{LeakGroup, Leaks, Report, Share, System};

/// Writes both tables.
pub(super) fn leaks(out: &mut String, report: &Report) {
    out.push_str("<h3>Leaks</h3>\n");
    let share = |share: &Share| {
        cell(format!(
            "{} of {} ({} %)",
            thousands(share.count),
            thousands(share.of),
            percent(share.share.value)
        ))
    };
    let row = |system: &System| {
        let leak = &system.leak;
        let mut row = vec![
            cell(&system.name),
            share(&leak.characters),
            cell(clean(&leak.documents)),
            cell(clean_range(&leak.documents)),
        ];
        row.extend(leak.patients.iter().map(share));
        row
    };
    let mut names = vec![
        "System",
        "Gold characters not covered",
        "Documents without a leak",
        "exact 95 % interval",
    ];
    if report.patients.is_some() {
        names.push("Patients with a leak");
    }
    out.push_str(&table(&names, report.systems.iter().map(row).collect()));
    leaking_spans(out, report);
}

/// Lists the leaking spans of each system: all, by kind of identifier, by whether training has them, by label.
fn leaking_spans(out: &mut String, report: &Report) {
    let row = |system: &str, what: &str, leaks: &Leaks| {
        vec![
            cell(system),
            cell(what),
            cell(format!(
                "{} of {}",
                thousands(leaks.spans.count),
                thousands(leaks.spans.of)
            )),
            cell(range(leaks.spans.exact)),
            cell(per_thousand(&leaks.per_thousand)),
            cell(per_thousand_range(&leaks.per_thousand)),
        ]
    };
    let mut rows = Vec::new();
    for system in &report.systems {
        let leak = &system.leak;
        rows.push(row(&system.name, "all", &leak.spans));
        let kind = |group: &LeakGroup| {
            let name = match group.name.as_str() {
                "direct" => "direct identifiers",
                _ => "quasi-identifiers",
            };
            row(&system.name, name, &group.leaks)
        };
        rows.extend(leak.identifiers.iter().flatten().map(kind));
        if let Some(seen) = &leak.seen {
            rows.push(row(&system.name, "seen in training", &seen.seen));
            rows.push(row(&system.name, "not seen in training", &seen.unseen));
        }
        let labels = leak.labels.iter().filter(|group| group.leaks.spans.count > 0);
        rows.extend(labels.map(|group| row(&system.name, &group.name, &group.leaks)));
    }
    out.push_str("<h3>Leaking spans</h3>\n");
    let names = [
        "System",
        "Spans",
        "Leaking",
        "exact 95 % interval, %",
        "per 1,000 documents",
        "95 % interval",
    ];
    out.push_str(&table(&names, rows));
}
