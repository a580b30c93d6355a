//! The report as plain text for a terminal of 100 columns.

mod leaks;

use crate::figure::{
    across, counted, f_name, hipaa_name, kind, p_value, percent, points, points_range, range, thousands,
    widest,
};
use crate::grid::{Grid, WIDTH, cut};
use crate::report::{Groups, Interval, Report, System};

/// The width of names where other columns need the space.
const NAME: usize = 20;
/// The width of labels, which is that of the longest built-in one.
const LABEL: usize = 32;
/// Kinds of errors shown per label.
const KINDS: usize = 5;

impl Report {
    /// Returns the report as aligned plain text with lines of at most 100 characters: the overview and each
    /// system's details.
    pub fn table(&self) -> String {
        self.overview() + &self.details()
    }

    /// Compares systems: measures, leaks, errors, and pairwise differences.
    pub fn overview(&self) -> String {
        let mut out = self.title();
        self.strict(&mut out);
        self.by_measure(&mut out);
        self.leaks(&mut out);
        self.errors(&mut out);
        self.seen(&mut out);
        self.differences(&mut out);
        self.across(&mut out);
        out
    }

    /// Lists each system's scores by label, category and identifier, and its most frequent errors.
    pub fn details(&self) -> String {
        let mut out = String::new();
        for system in &self.systems {
            let title = |by: &str| format!("{}, by {by}", system.name);
            groups(&mut out, &title("label"), "label", &system.labels, str::to_owned);
            if let Some(categories) = &system.categories {
                groups(
                    &mut out,
                    &title("category"),
                    "category",
                    categories,
                    str::to_owned,
                );
            }
            if let Some(hipaa) = &system.hipaa {
                let title = title("HIPAA identifier (45 CFR 164.514(b)(2)(i))");
                groups(&mut out, &title, "identifier", hipaa, hipaa_name);
            }
            leaks::by_label(&mut out, system);
            frequent(&mut out, system);
        }
        out
    }

    fn title(&self) -> String {
        let mut out = format!(
            "Gold: {}, {}",
            counted(self.documents, "document"),
            counted(self.spans, "span")
        );
        if let Some(patients) = self.patients {
            out.push_str(&format!(", {}", counted(patients, "patient")));
        }
        out.push_str(".\n");
        if self.settings.resamples > 0 {
            let over = self
                .systems
                .iter()
                .any(|system| system.measures.strict.f1.by_patient.is_some());
            out.push_str(&format!(
                "Intervals: 95 %, {} resamples of {}, seed {}.\n",
                thousands(self.settings.resamples),
                if over { "patients" } else { "documents" },
                self.settings.seed,
            ));
        }
        for system in self.systems.iter().filter(|system| system.missing_documents > 0) {
            out.push_str(&format!(
                "{} lacks {}; counted as empty.\n",
                cut(&system.name, 2 * NAME),
                counted(system.missing_documents, "document"),
            ));
        }
        for label in &self.unmapped {
            out.push_str(&format!(
                "The label set lacks {}; it is a category of its own.\n",
                cut(label, 2 * NAME)
            ));
        }
        out
    }

    fn strict(&self, out: &mut String) {
        let f = f_name(self.settings.beta);
        let mut grid = Grid::new(&[
            "system", "gold", "pred.", "hits", "prec.", "recall", "F1", "interval", &f,
        ]);
        for system in &self.systems {
            let score = &system.measures.strict;
            grid.row(vec![
                cut(&system.name, NAME),
                thousands(score.gold),
                thousands(score.predicted),
                thousands(score.hits),
                percent(score.precision.value),
                percent(score.recall.value),
                percent(score.f1.value),
                range(widest(&score.f1)),
                percent(score.f_beta.value),
            ]);
        }
        grid.write(out, "Strict (label, start and end; micro; per cent)");
    }

    fn by_measure(&self, out: &mut String) {
        let head = [
            "system",
            "strict",
            "span only",
            "relaxed",
            "token",
            "character",
            "macro label",
            "macro doc.",
        ];
        let mut grid = Grid::new(&head);
        for system in &self.systems {
            let measures = &system.measures;
            let mut row = vec![cut(&system.name, NAME)];
            row.extend(
                [
                    &measures.strict,
                    &measures.span,
                    &measures.relaxed,
                    &measures.token,
                    &measures.character,
                ]
                .map(|score| percent(score.f1.value)),
            );
            row.push(percent(system.averages.labels.f1));
            row.push(percent(system.averages.documents.f1));
            grid.row(row);
        }
        grid.write(out, "F1 by measure (token and character: PHI or not)");
    }

    fn errors(&self, out: &mut String) {
        let head = [
            "system",
            "boundary",
            "short",
            "long",
            "across",
            "label",
            "false neg.",
            "false pos.",
            "leaking",
        ];
        let mut grid = Grid::new(&head);
        for system in &self.systems {
            let errors = &system.errors;
            let counts = [
                errors.boundary,
                errors.boundary_short,
                errors.boundary_long,
                errors.boundary_across,
                errors.label,
                errors.false_negative,
                errors.false_positive,
                errors.leaking,
            ];
            let mut row = vec![cut(&system.name, NAME)];
            row.extend(counts.map(thousands));
            grid.row(row);
        }
        grid.write(
            out,
            "Errors (short, long, across: boundary errors; leaking: all errors)",
        );
    }

    fn seen(&self, out: &mut String) {
        let mut grid = Grid::new(&[
            "system", "seen", "recall", "interval", "unseen", "recall", "interval",
        ]);
        for system in &self.systems {
            let Some(seen) = &system.seen else { continue };
            let mut row = vec![cut(&system.name, NAME)];
            for share in [&seen.seen, &seen.unseen] {
                row.extend([
                    thousands(share.of),
                    percent(share.share.value),
                    range(widest(&share.share)),
                ]);
            }
            grid.row(row);
        }
        grid.write(out, "Strict recall on spans seen and not seen in training");
    }

    fn differences(&self, out: &mut String) {
        let mut grid = Grid::new(&[
            "first",
            "second",
            "F1 points",
            "interval",
            "t-test",
            "Wilcoxon",
            "random.",
        ])
        .names(2);
        for comparison in &self.comparisons {
            grid.row(vec![
                cut(&comparison.a, NAME - 2),
                cut(&comparison.b, NAME - 2),
                points(comparison.difference.value),
                points_range(widest(&comparison.difference)),
                p_value(&comparison.t_test),
                p_value(&comparison.wilcoxon),
                p_value(&comparison.randomisation),
            ]);
        }
        let n = self.comparisons.len() as u64;
        let title = match n {
            1 => "Difference of strict micro-F1, and p of three tests".to_owned(),
            _ => format!(
                "Differences of strict micro-F1, and p of three tests (not corrected for {n} comparisons)"
            ),
        };
        grid.write(out, &title);
    }

    /// Shows strict F1 by label and system, if there are several systems whose columns fit.
    fn across(&self, out: &mut String) {
        const COLUMN: usize = 10;
        if !(2..=5).contains(&self.systems.len()) {
            return;
        }
        let names: Vec<String> = self
            .systems
            .iter()
            .map(|system| cut(&system.name, COLUMN))
            .collect();
        let head: Vec<&str> = std::iter::once("label")
            .chain(names.iter().map(String::as_str))
            .collect();
        let mut grid = Grid::new(&head);
        for (label, scores) in across(self) {
            let mut row = vec![cut(label, LABEL)];
            row.extend(
                scores
                    .into_iter()
                    .map(|score| score.map_or_else(|| "-".to_owned(), percent)),
            );
            grid.row(row);
        }
        grid.write(out, "Strict F1 by label");
    }
}

fn groups(out: &mut String, title: &str, what: &str, groups: &Groups, name: fn(&str) -> String) {
    let mut grid = Grid::new(&[
        what, "gold", "prec.", "recall", "F1", "interval", "relaxed", "token",
    ]);
    let short = |interval: Interval| format!("{:.1} to {:.1}", 100.0 * interval.low, 100.0 * interval.high);
    for group in &groups.groups {
        let score = &group.strict;
        grid.row(vec![
            cut(&name(&group.name), LABEL),
            thousands(score.gold),
            percent(score.precision.value),
            percent(score.recall.value),
            percent(score.f1.value),
            widest(&score.f1).map_or_else(|| "-".to_owned(), short),
            percent(group.relaxed.f1),
            percent(group.token.f1),
        ]);
    }
    grid.write(out, &cut(title, WIDTH));
}

/// Lists each label's most frequent errors in a line or two.
fn frequent(out: &mut String, system: &System) {
    let rows: Vec<_> = system
        .errors
        .labels
        .iter()
        .filter(|row| !row.kinds.is_empty())
        .collect();
    if rows.is_empty() {
        return;
    }
    out.push_str(&format!(
        "\n{}\n",
        cut(&format!("{}, most frequent errors", system.name), WIDTH)
    ));
    for row in rows {
        let name = cut(&row.label, LABEL);
        let kinds: Vec<String> = row.kinds.iter().take(KINDS).map(kind).collect();
        let mut line = format!(
            "  {name}: {} of {} right",
            thousands(row.hits),
            thousands(row.gold)
        );
        for kind in kinds {
            if line.chars().count() + 2 + kind.chars().count() > WIDTH {
                out.push_str(&line);
                out.push_str(",\n");
                line = format!("      {}", cut(&kind, WIDTH - 6));
            } else {
                line.push_str(", ");
                line.push_str(&kind);
            }
        }
        out.push_str(&line);
        out.push('\n');
    }
}
