//! The report on a dataset of a stream or of a backfill.

use lethe_connectors::inspect::Summary;

use super::{Bundles, CLINICAL, Engine, Report, Section, limits, replacements, share};

/// Returns the report on a dataset; `place` describes its store.
pub(crate) fn of_dataset(summary: &Summary, place: &str, bundles: &Bundles) -> Report {
    let all: u64 = summary.rows.values().sum();
    let notes = summary.rows.get("note").copied().unwrap_or_default();
    let mut rows = Section::new("Rows")
        .say(format!("{} files in {place} with {all} rows.", summary.files))
        .header(&["rows", "number", "share"]);
    for (kind, count) in &summary.rows {
        rows.row([kind.clone(), count.to_string(), share(*count, all)]);
    }
    for (name, count) in [
        ("notes in which nothing was found", summary.without_findings),
        ("notes that a person should check", summary.flagged),
    ] {
        rows.row([name.to_owned(), count.to_string(), share(count, notes)]);
    }
    let counts = |title: &str, text: &str, name: &str, counts: &std::collections::BTreeMap<String, u64>| {
        let mut section = Section::new(title).say(text).header(&[name, "rows"]);
        for (key, count) in counts {
            section.row([key.clone(), count.to_string()]);
        }
        section
    };
    let quarantined = counts(
        "Quarantined rows",
        "Rows that Lethe could not process completely. They hold no text; docs/quarantine.md explains each code.",
        "code",
        &summary.quarantined,
    );
    let flagged = counts(
        "Rows to check",
        "Rows with a reason in the column `review`; a row may have several reasons.",
        "reason",
        &summary.reasons,
    );
    let mut columns = Section::new("Columns")
        .say("Columns of the tables that are in the output. All other columns were dropped.")
        .header(&["column", "treatment"]);
    for (column, treatment) in &summary.columns {
        columns.row([column.clone(), (*treatment).to_owned()]);
    }
    let uncounted = Section::new(CLINICAL).say(
        "Not counted: the output of a stream or a backfill does not hold the original text. `lethe backfill` counts them at its end, and `lethe redact` in the record of its folder.",
    );
    let mut sections = vec![rows, replacements(&summary.replaced), uncounted];
    let optional = [columns, quarantined, flagged];
    sections.extend(optional.into_iter().filter(|section| !section.rows.is_empty()));
    for (number, engine) in summary.engines.iter().enumerate() {
        let of = |name: &str| engine.get(name).map(String::as_str);
        let title = |name: &str| match summary.engines.len() {
            1 => name.to_owned(),
            _ => format!("{name} {}", number + 1),
        };
        let engine = Engine {
            program: of("program").unwrap_or_default(),
            members: of("members").unwrap_or_default().replace(',', ", "),
            bundle: of("bundle"),
            labels: of("labels").unwrap_or_default(),
            policy: of("policy").unwrap_or_default(),
            mode: of("mode"),
            acknowledged: of("acknowledged"),
            kept: of("kept"),
        };
        sections.push(engine.section(&title("Policy and members")));
        sections.push(bundles.section(engine.bundle, &title("Measured recall of the bundle")));
    }
    sections.push(limits());
    Report {
        title: "De-identification report".to_owned(),
        sections,
    }
}
