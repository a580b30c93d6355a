//! What a backfill did, for its end: replacements by label and action, and what happened to each column.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, RecordBatch};
use lethe_connectors::sink::Totals;
use lethe_connectors::tables::TableColumns;
use serde::Serialize;

use crate::clinical::TermCounts;

/// Columns that the table lists at most; with `--json` all are listed.
const SHOWN: usize = 40;

/// The end of a backfill.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary {
    /// The work of this run.
    pub(crate) run: RunSummary,
    /// The replacements of this run.
    pub(crate) redactions: Redactions,
    /// The clinical terms in the texts of this run, and those that were redacted; `None` if the dictionary has none.
    pub(crate) clinical: Option<TermCounts>,
    /// What happens to the columns of the tables.
    pub(crate) columns: Columns,
    /// The totals of the dataset, or of this shard's part of it, with those of earlier runs.
    pub(crate) dataset: Totals,
    /// Files of the dataset whose objects no longer exist.
    pub(crate) gone: usize,
    /// Objects that cannot be read, and why.
    pub(crate) broken: BTreeMap<String, String>,
}

/// The work of one run.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct RunSummary {
    /// Rows that it redacted or quarantined.
    pub(crate) rows: u64,
    /// Bytes of the texts of these rows.
    pub(crate) text_bytes: u64,
    /// Its duration.
    pub(crate) seconds: f64,
}

/// The number of replacements by label and action.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Redactions(BTreeMap<String, BTreeMap<String, u64>>);

impl Redactions {
    /// Counts the rows of an audit.
    pub(super) fn add(&mut self, audit: &RecordBatch) {
        let column = |name| audit.column_by_name(name)?.as_string_opt::<i32>();
        let (Some(labels), Some(actions)) = (column("label"), column("action")) else {
            return;
        };
        for row in 0..audit.num_rows() {
            let text = |column: &arrow_array::StringArray| {
                if column.is_null(row) {
                    String::new()
                } else {
                    column.value(row).to_owned()
                }
            };
            let by_action = self.0.entry(text(labels)).or_default();
            *by_action.entry(text(actions)).or_default() += 1;
        }
    }

    /// Adds other counts.
    pub(super) fn merge(&mut self, other: Self) {
        for (label, by_action) in other.0 {
            let own = self.0.entry(label).or_default();
            for (action, count) in by_action {
                *own.entry(action).or_default() += count;
            }
        }
    }
}

/// What happens to each column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Columns {
    /// Columns that leave unchanged.
    pub(crate) kept: Vec<String>,
    /// Columns of free text, which is redacted.
    pub(crate) redacted: Vec<String>,
    /// Columns whose values are replaced as a whole.
    pub(crate) replaced: Vec<String>,
    /// Columns of the examined objects that do not leave. Keys of JSON lines are not listed.
    pub(crate) dropped: Vec<String>,
}

impl Columns {
    /// Sorts the columns that were found by what the configuration does with them.
    pub(super) fn of(columns: &TableColumns, found: &BTreeSet<String>) -> Self {
        let leaving: Vec<String> = columns.leaving().into_iter().map(|wanted| wanted.path).collect();
        let leaves = |name: &String| {
            let within = |path: &String| {
                name.strip_prefix(path.as_str())
                    .is_some_and(|rest| rest.starts_with('.'))
            };
            leaving.iter().any(|path| path == name || within(path))
        };
        Self {
            kept: columns.keep.clone(),
            redacted: columns.text.clone(),
            replaced: columns.identifiers.keys().cloned().collect(),
            dropped: found.iter().filter(|name| !leaves(name)).cloned().collect(),
        }
    }
}

impl Summary {
    /// Returns the message about objects that cannot be read, if there are any.
    pub(crate) fn unreadable(&self) -> Option<String> {
        let failed = self.broken.len();
        (failed > 0).then(|| {
            format!(
                "{failed} objects cannot be read; the log and the manifest give the reasons. All others are written: {self}"
            )
        })
    }

    /// Returns the report for people.
    pub(crate) fn table(&self) -> String {
        let mut lines = Vec::new();
        for (what, columns) in [
            ("kept", &self.columns.kept),
            ("redacted", &self.columns.redacted),
            ("replaced", &self.columns.replaced),
            ("dropped", &self.columns.dropped),
        ] {
            let more = match columns.len().saturating_sub(SHOWN) {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            if !columns.is_empty() {
                let shown: Vec<&str> = columns.iter().take(SHOWN).map(String::as_str).collect();
                lines.push(format!(
                    "{:<18} {}{more}",
                    format!("columns {what}"),
                    shown.join(", ")
                ));
            }
        }
        if !self.redactions.0.is_empty() {
            lines.push("replacements of this run:".to_owned());
        }
        for (label, by_action) in &self.redactions.0 {
            let actions: Vec<String> = by_action
                .iter()
                .map(|(action, count)| format!("{count} {action}"))
                .collect();
            lines.push(format!("  {label:<16} {}", actions.join(", ")));
        }
        if let Some(clinical) = self.clinical.as_ref().filter(|clinical| clinical.terms > 0) {
            let (lost, terms) = (clinical.lost(), clinical.terms);
            let share = lost as f64 * 100.0 / terms as f64;
            lines.push(format!(
                "clinical terms redacted in this run: {lost} of {terms} ({share:.2} %)"
            ));
            for (label, count) in &clinical.redacted {
                lines.push(format!("  {label:<16} {count}"));
            }
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RunSummary {
            rows,
            text_bytes,
            seconds,
        } = self.run;
        let totals = &self.dataset;
        write!(
            f,
            "{rows} rows in {seconds:.1} s, {:.0} rows/s, {:.1} MB/s of text; the dataset has {} rows in {} files ({} redacted, {} quarantined) of {} rows in {} units",
            rows as f64 / seconds,
            text_bytes as f64 / seconds / 1e6,
            totals.rows_out,
            totals.files,
            totals.redacted,
            totals.quarantined,
            totals.rows_in,
            totals.units,
        )?;
        if self.gone > 0 {
            write!(f, "; {} files are of objects that no longer exist", self.gone)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, StringArray};

    use super::*;

    fn audit(rows: &[(&str, &str)]) -> RecordBatch {
        let column = |of: fn(&(&str, &str)) -> String| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(rows.iter().map(of)))
        };
        RecordBatch::try_from_iter([
            ("label", column(|row| row.0.to_owned())),
            ("action", column(|row| row.1.to_owned())),
        ])
        .unwrap()
    }

    fn summary() -> Summary {
        let mut redactions = Redactions::default();
        redactions.add(&audit(&[("DATE", "shift"), ("DATE", "shift"), ("DATE", "tag")]));
        let mut more = Redactions::default();
        more.add(&audit(&[("DATE", "tag"), ("PATIENT", "surrogate")]));
        redactions.merge(more);
        let columns: TableColumns = toml::from_str(
            "text = [\"note\"]\nkeep = [\"visit\"]\nidentifiers = { mrn = \"MEDICALRECORD\" }\nnote_id = \"id\"\n",
        )
        .unwrap();
        let found = ["note", "visit.ward", "visits", "mrn", "id"].map(str::to_owned);
        Summary {
            run: RunSummary {
                rows: 3,
                text_bytes: 10,
                seconds: 1.0,
            },
            redactions,
            clinical: Some(TermCounts {
                terms: 8,
                redacted: BTreeMap::from([("DATE".to_owned(), 1)]),
            }),
            columns: Columns::of(&columns, &found.into()),
            dataset: Totals::default(),
            gone: 0,
            broken: BTreeMap::new(),
        }
    }

    #[test]
    fn the_end_counts_replacements_by_label_and_action_and_sorts_the_columns() {
        assert_eq!(
            summary().table(),
            "columns kept       visit\ncolumns redacted   note\ncolumns replaced   mrn\ncolumns dropped    id, visits\n\
             replacements of this run:\n  DATE             2 shift, 2 tag\n  PATIENT          1 surrogate\n\
             clinical terms redacted in this run: 1 of 8 (12.50 %)\n  DATE             1\n"
        );
        let json = serde_json::to_value(summary()).unwrap();
        assert_eq!(json["redactions"]["DATE"]["shift"], 2);
        assert_eq!(json["columns"]["dropped"][0], "id");
    }

    #[test]
    fn an_object_that_cannot_be_read_is_an_error_at_the_end() {
        assert_eq!(summary().unreadable(), None);
        let mut failed = summary();
        failed.broken.insert("a.csv".to_owned(), "is damaged".to_owned());
        assert!(
            failed
                .unreadable()
                .is_some_and(|why| why.starts_with("1 objects cannot be read"))
        );
    }
}
