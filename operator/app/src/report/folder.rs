//! The report on a folder that `lethe redact --out` wrote.

use std::path::Path;

use super::{Bundles, Engine, Report, Section, clinical_terms, limits, replacements, share};
use crate::exit::usage;
use crate::redact::{Counts, RECORD, read_record};

/// Returns the report on a folder with a record of `lethe redact`.
///
/// # Errors
/// If the record cannot be read or is empty.
pub(crate) fn of_folder(folder: &Path, bundles: &Bundles) -> anyhow::Result<Report> {
    let (header, entries) = read_record(&folder.join(RECORD))?;
    let header = header.ok_or_else(|| usage(format!("{}: no file was redacted yet", folder.display())))?;
    let mut counts = Counts::default();
    let mut formats = std::collections::BTreeMap::<&str, (u64, u64)>::new();
    for entry in entries.values() {
        let by_format = formats.entry(&entry.format).or_default();
        match &entry.counts {
            Some(one) => {
                counts.add(one);
                by_format.0 += 1;
            }
            None => by_format.1 += 1,
        }
    }
    let failed: Vec<_> = entries.values().filter(|entry| entry.error.is_some()).collect();
    let mut source = Section::new("Source")
        .say(format!(
            "{} files in {}: {} redacted, {} not.",
            entries.len(),
            folder.display(),
            entries.len() - failed.len(),
            failed.len()
        ))
        .header(&["format", "redacted", "failed"]);
    for (format, (redacted, failed)) in formats {
        source.row([format.to_owned(), redacted.to_string(), failed.to_string()]);
    }
    let mut notes = Section::new("Notes").header(&["notes", "number", "share"]);
    for (name, count) in [
        ("all", counts.notes),
        ("in which nothing was found", counts.without_findings),
        ("that a person should check", counts.flagged),
        (
            "of which at least half of the letters and digits were replaced",
            counts.mostly_replaced,
        ),
    ] {
        notes.row([name.to_owned(), count.to_string(), share(count, counts.notes)]);
    }
    let mut worth = Section::new("Files worth a look")
        .say("Files with notes that a person should check, or that were mostly replaced.")
        .header(&["file", "notes", "to check", "mostly replaced"]);
    for entry in entries.values() {
        if let Some(one) = entry
            .counts
            .as_ref()
            .filter(|one| one.flagged + one.mostly_replaced > 0)
        {
            worth.row([
                entry.input.clone(),
                one.notes.to_string(),
                one.flagged.to_string(),
                one.mostly_replaced.to_string(),
            ]);
        }
    }
    let mut failures = Section::new("Files that were not redacted")
        .say("Nothing of these files was written.")
        .header(&["file", "reason"]);
    for entry in &failed {
        failures.row([entry.input.clone(), entry.error.clone().unwrap_or_default()]);
    }
    let mut refused = Section::new("Refused messages")
        .say("Messages that were skipped, by code; docs/quarantine.md explains each.")
        .header(&["code", "messages"]);
    for (code, count) in &counts.refused {
        refused.row([code.clone(), count.to_string()]);
    }
    let engine = Engine {
        program: &header.program,
        members: header.members.join(", "),
        bundle: header.bundle.as_deref(),
        labels: &header.labels,
        policy: &header.policy,
        mode: header.mode.as_deref(),
        acknowledged: header.acknowledged.as_deref(),
        kept: None,
    };
    let uncounted = entries
        .values()
        .filter(|entry| {
            entry
                .counts
                .as_ref()
                .is_some_and(|one| one.notes > 0 && one.clinical.is_none())
        })
        .count();
    let mut sections = vec![
        source,
        notes,
        replacements(&counts.replaced),
        clinical_terms(counts.clinical.as_ref(), uncounted),
    ];
    sections.extend(
        [worth, failures, refused]
            .into_iter()
            .filter(|section| !section.rows.is_empty()),
    );
    sections.push(
        engine
            .section("Policy and members")
            .say(format!("Fingerprint: {}.", header.fingerprint)),
    );
    sections.push(bundles.section(header.bundle.as_deref(), "Measured recall of the bundle"));
    sections.push(limits());
    Ok(Report {
        title: "De-identification report".to_owned(),
        sections,
    })
}
