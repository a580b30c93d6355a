//! A report on what was done to a dataset, for people who decide about its release: `lethe report`.
//!
//! Sections are data, so that Markdown, HTML and JSON say the same. None contains text of a note.

mod dataset;
mod evaluation;
mod folder;
mod html;
mod markdown;
mod recall;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::clinical::{LISTS, TermCounts};

pub(crate) use dataset::of_dataset;
pub(crate) use evaluation::of_evaluation;
pub(crate) use folder::of_folder;
pub(crate) use html::to_html;
pub(crate) use markdown::to_markdown;
pub(crate) use recall::Bundles;

/// A report.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) title: String,
    pub(crate) sections: Vec<Section>,
}

/// A section: sentences, then a table.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) text: Vec<String>,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Section {
    pub(crate) fn new(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            ..Self::default()
        }
    }

    /// Adds a sentence.
    #[must_use]
    pub(crate) fn say(mut self, text: impl Into<String>) -> Self {
        self.text.push(text.into());
        self
    }

    /// Sets the names of the table's columns.
    #[must_use]
    pub(crate) fn header(mut self, names: &[&str]) -> Self {
        self.header = names.iter().map(|&name| name.to_owned()).collect();
        self
    }

    /// Adds a row to the table.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

/// Replacements by label and action.
type Replaced = BTreeMap<String, BTreeMap<String, u64>>;

/// Returns the section of replacements.
fn replacements(replaced: &Replaced) -> Section {
    let all: u64 = replaced.values().flat_map(BTreeMap::values).sum();
    let mut section = Section::new("Replacements")
        .say(format!("Lethe replaced {all} identifiers."))
        .header(&["label", "action", "replacements"]);
    for (label, actions) in replaced {
        for (action, count) in actions {
            section.row([label.clone(), action.clone(), count.to_string()]);
        }
    }
    section
}

/// The title of the section about clinical terms.
const CLINICAL: &str = "Clinical terms that were redacted";

/// Returns the section about clinical terms that were redacted: the loss of utility. `uncounted` files have no counts.
fn clinical_terms(counts: Option<&TermCounts>, uncounted: usize) -> Section {
    let mut section = Section::new(CLINICAL);
    if uncounted > 0 {
        section = section.say(format!(
            "Not counted in {uncounted} files: an earlier version of Lethe redacted them, or with a dictionary without such terms."
        ));
    }
    let Some(counts) = counts else {
        return section;
    };
    let (terms, lost) = (counts.terms, counts.lost());
    section = section
        .say(format!(
            "Of {terms} clinical terms in the notes, a redaction covered {lost} ({}).",
            share(lost, terms)
        ))
        .say(format!(
            "Terms are the entries of the built-in lists {}. Some are names of persons, too, such as eponyms: not every one of these redactions is a loss.",
            LISTS.join(", ")
        ))
        .header(&["label of the redaction", "terms", "share of all terms"]);
    for (label, count) in &counts.redacted {
        section.row([label.clone(), count.to_string(), share(*count, terms)]);
    }
    section
}

/// What the section about policy and members says.
struct Engine<'a> {
    program: &'a str,
    members: String,
    bundle: Option<&'a str>,
    labels: &'a str,
    policy: &'a str,
    mode: Option<&'a str>,
    acknowledged: Option<&'a str>,
    kept: Option<&'a str>,
}

impl Engine<'_> {
    fn section(&self, title: &str) -> Section {
        let mut section = Section::new(title).header(&["", ""]);
        let mut row = |name: &str, value: &str| section.row([name.to_owned(), value.to_owned()]);
        row("program", self.program);
        row("members", &self.members);
        row("bundle (SHA-256)", self.bundle.unwrap_or("none"));
        row("labels", self.labels);
        row("policy (SHA-256)", self.policy);
        row("rule", rule(self.mode));
        if let Some(kept) = self.kept {
            row("kept metadata, with reasons", kept);
        }
        if let Some(acknowledged) = self.acknowledged {
            row("acknowledged weaker protection", acknowledged);
        }
        section
    }
}

/// Returns the rule of a policy's mode, with its clause.
fn rule(mode: Option<&str>) -> &str {
    match mode {
        Some("safe-harbor") => "Safe Harbor, 45 CFR 164.514(b)(2)",
        Some("limited-data-set") => "limited data set, 45 CFR 164.514(e)",
        Some("expert-determination") => "expert determination, 45 CFR 164.514(b)(1)",
        Some(other) => other,
        None => "none: no policy with a mode was used",
    }
}

/// Returns the section about what the report does not say.
fn limits() -> Section {
    Section::new("Limits of this report")
        .say("Lethe counts what it found. No count says how many identifiers it missed: measure that on annotated notes of this source with `lethe evaluate`.")
        .say("The recall that was measured for a bundle holds for the data that it was measured on; more results of the built-in bundles on open data are in docs/results.")
        .say("An officer for privacy decides about the release of the data.")
}

/// Returns a share in per cent.
fn share(part: u64, whole: u64) -> String {
    match whole {
        0 => "0 %".to_owned(),
        whole => format!("{:.1} %", part as f64 * 100.0 / whole as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let replaced = BTreeMap::from([("DATE".to_owned(), BTreeMap::from([("shift".to_owned(), 3)]))]);
        Report {
            title: "Report <1>".to_owned(),
            sections: vec![replacements(&replaced), limits()],
        }
    }

    #[test]
    fn each_form_has_the_same_facts() {
        let report = report();
        let markdown = to_markdown(&report);
        assert!(
            markdown.contains("## Replacements") && markdown.contains("| DATE | shift | 3 |"),
            "{markdown}"
        );
        let html = to_html(&report);
        assert!(
            html.contains("Report &lt;1&gt;") && html.contains("<td>shift"),
            "{html}"
        );
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["sections"][0]["rows"][0][2], "3");
    }

    #[test]
    fn a_cell_does_not_end_its_row() {
        let mut section = Section::new("x").header(&["a"]);
        section.row(["b | c\nd".to_owned()]);
        let report = Report {
            title: "t".to_owned(),
            sections: vec![section],
        };
        assert!(to_markdown(&report).contains("| b \\| c d |"));
    }
}
