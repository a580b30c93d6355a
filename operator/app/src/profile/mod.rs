//! Proposes a treatment for each column of a table, from its name and a sample of its values: for
//! `lethe profile`, and for `lethe redact` on tables whose columns nobody named.
//!
//! A person accepts the proposal; what a rule is not certain about is dropped.

mod column;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array as _, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema};
use lethe_connectors::tables::{TableColumns, cell_text};
use lethe_core::LabelSet;
use serde::Serialize;

use column::Look;
use rules::{Class, classify, is_known, is_value, words};

/// The proposal for one column.
#[derive(Clone, Debug)]
pub(crate) struct Proposal {
    /// Its name.
    pub(crate) name: String,
    class: Class,
    /// The label in the label set, for identifiers.
    label: Option<String>,
    why: &'static str,
    /// Values in the sample that are not empty, and how many of them differ.
    values: (usize, usize),
}

/// The proposal for a table.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) columns: Vec<Proposal>,
    /// The number of rows in the sample.
    pub(crate) rows: usize,
}

/// Kinds of known identifiers, by the label of the column that holds them.
const KNOWN: [(&str, &str); 10] = [
    ("PATIENT", "patient"),
    ("DOCTOR", "clinician"),
    ("MEDICALRECORD", "medical_record"),
    ("PHONE", "phone"),
    ("FAX", "phone"),
    ("EMAIL", "email"),
    ("STREET", "address"),
    ("SSN", "social_security"),
    ("HEALTHPLAN", "health_plan"),
    ("ACCOUNT", "account"),
];

/// Returns the kind of known identifier that a column with this label holds.
pub(crate) fn known_kind(label: &str) -> Option<&'static str> {
    KNOWN
        .iter()
        .find(|(name, _)| *name == label)
        .map(|(_, kind)| *kind)
}

/// Proposes a treatment for each column of a table, from its first rows.
pub(crate) fn propose(schema: &Schema, rows: &[RecordBatch], labels: &LabelSet) -> Plan {
    let columns = schema.fields().iter().enumerate().map(|(at, field)| {
        let all = rows.iter().map(|rows| rows.column(at));
        let values: Vec<String> = all
            .flat_map(|column| (0..column.len()).filter_map(|row| value(column, row)))
            .collect();
        let look = Look::of(values.iter().map(String::as_str));
        let (mut class, mut why) = match field.data_type().is_nested() {
            true => (
                Class::Drop,
                "a list or a structure; name its fields in the columns of a backfill",
            ),
            false => classify(field.name(), &look),
        };
        let mut label = None;
        if let Class::Identifier(name) = class {
            label = labels.resolve(name).ok().map(|id| labels.label(id).name.clone());
            if label.is_none() {
                (class, why) = (Class::Drop, "an identifier without a label in the label set");
            }
        }
        Proposal {
            name: field.name().clone(),
            class,
            label,
            why,
            values: (look.count, look.distinct),
        }
    });
    Plan {
        columns: columns.collect(),
        rows: rows.iter().map(RecordBatch::num_rows).sum(),
    }
}

/// Returns a value as text; `None` if it is null, or of a type that no rule reads.
fn value(column: &ArrayRef, row: usize) -> Option<String> {
    if column.is_null(row) {
        return None;
    }
    match column.data_type() {
        DataType::Float32 => Some(column.as_primitive::<Float32Type>().value(row).to_string()),
        DataType::Float64 => Some(column.as_primitive::<Float64Type>().value(row).to_string()),
        DataType::Boolean => Some(column.as_boolean().value(row).to_string()),
        _ => cell_text(column, row),
    }
}

/// One column, for JSON.
#[derive(Serialize)]
struct Row<'a> {
    column: &'a str,
    treatment: &'static str,
    label: Option<&'a str>,
    why: &'static str,
    values: usize,
    distinct: usize,
}

impl Proposal {
    const fn treatment(&self) -> &'static str {
        match self.class {
            Class::Text => "redact as text",
            Class::Identifier(_) => "replace",
            Class::Keep => "keep",
            Class::Drop => "drop",
        }
    }
}

impl Plan {
    /// Returns whether a name of a column looks like a value: the table may have no header, and its first line
    /// may belong to a patient.
    pub(crate) fn has_values_for_names(&self) -> bool {
        self.columns.iter().any(|one| is_value(&one.name))
    }

    /// Returns whether the names of columns are certainly names: none looks like a value, and the rules know
    /// one of them.
    pub(crate) fn has_header(&self) -> bool {
        !self.has_values_for_names() && self.columns.iter().any(|one| is_known(&one.name))
    }

    /// Returns the treatment as the keys of `[backfill.columns]`.
    pub(crate) fn to_columns(&self) -> TableColumns {
        let mut columns = TableColumns::default();
        for one in &self.columns {
            match (&one.class, &one.label) {
                (Class::Text, _) => columns.text.push(one.name.clone()),
                (Class::Keep, _) => columns.keep.push(one.name.clone()),
                (Class::Identifier(i2b2), Some(label)) => {
                    columns.identifiers.insert(one.name.clone(), label.clone());
                    if let Some(kind) = known_kind(i2b2) {
                        let known = columns.known.entry(kind.to_owned()).or_default();
                        known.push(one.name.clone());
                    }
                    let has = |all: &[&str]| {
                        let words = words(&one.name);
                        all.iter().all(|one| words.iter().any(|word| word == one))
                    };
                    if *i2b2 == "MEDICALRECORD" && columns.patient_id.is_none() {
                        columns.patient_id = Some(one.name.clone());
                    } else if has(&["note", "id"]) || has(&["report", "id"]) || has(&["message", "id"]) {
                        columns.note_id = Some(one.name.clone());
                    }
                }
                _ => {}
            }
        }
        columns
    }

    /// Returns the treatment with no column kept.
    pub(crate) fn without_kept(&self) -> TableColumns {
        let mut columns = self.to_columns();
        columns.keep.clear();
        columns
    }

    /// Returns the treatments in one line.
    pub(crate) fn in_words(&self) -> String {
        let of = |wanted: fn(&Class) -> bool| -> String {
            let names = self
                .columns
                .iter()
                .filter(|one| wanted(&one.class))
                .map(|one| match &one.label {
                    Some(label) => format!("`{}` ({label})", one.name),
                    None => format!("`{}`", one.name),
                });
            names.collect::<Vec<_>>().join(", ")
        };
        let mut parts = Vec::new();
        for (what, names) in [
            ("free text", of(|class| *class == Class::Text)),
            ("identifiers", of(|class| matches!(class, Class::Identifier(_)))),
            (
                "left empty",
                of(|class| matches!(class, Class::Keep | Class::Drop)),
            ),
        ] {
            if !names.is_empty() {
                parts.push(format!("{what} {names}"));
            }
        }
        parts.join("; ")
    }

    /// Returns the treatment as TOML, with the reason for each column as a comment.
    ///
    /// # Errors
    /// If a name cannot be written as TOML.
    pub(crate) fn to_toml(&self) -> anyhow::Result<String> {
        let columns = self.to_columns();
        let mut out = String::from(
            "# Columns that are not named are dropped. Check each line: kept columns leave unchanged.\n",
        );
        for one in &self.columns {
            let label = one
                .label
                .as_deref()
                .map(|label| format!(" as {label}"))
                .unwrap_or_default();
            writeln!(
                out,
                "# {}: {}{label} ({})",
                one.name.escape_default(),
                one.treatment(),
                one.why
            )?;
        }
        let mut table = toml::Table::new();
        let list = |names: &[String]| toml::Value::try_from(names);
        table.insert("text".to_owned(), list(&columns.text)?);
        table.insert("keep".to_owned(), list(&columns.keep)?);
        for (key, value) in [("patient_id", &columns.patient_id), ("note_id", &columns.note_id)] {
            if let Some(value) = value {
                table.insert(key.to_owned(), value.clone().into());
            }
        }
        let mut reasons = BTreeMap::new();
        for one in self.columns.iter().filter(|one| one.class == Class::Keep) {
            reasons.insert(
                one.name.clone(),
                format!(
                    "{}: {} different values in {} rows",
                    one.why, one.values.1, self.rows
                ),
            );
        }
        table.insert(
            "identifiers".to_owned(),
            toml::Value::try_from(&columns.identifiers)?,
        );
        table.insert("known".to_owned(), toml::Value::try_from(&columns.known)?);
        table.insert("reasons".to_owned(), toml::Value::try_from(&reasons)?);
        out.push_str(&toml::to_string(&table)?);
        Ok(out)
    }

    /// Returns the treatment as a table for people.
    pub(crate) fn to_text(&self) -> String {
        let width = self
            .columns
            .iter()
            .map(|one| one.name.chars().count())
            .max()
            .unwrap_or(0)
            .max(6);
        let mut out = format!(
            "{:width$}  {:14}  {:14}  {:>8}  why\n",
            "column", "treatment", "label", "distinct"
        );
        for one in &self.columns {
            let label = one.label.as_deref().unwrap_or_default();
            out.push_str(&format!(
                "{:width$}  {:14}  {label:14}  {:>8}  {}\n",
                one.name,
                one.treatment(),
                one.values.1,
                one.why
            ));
        }
        out
    }

    /// Returns the treatment for JSON.
    pub(crate) fn rows(&self) -> impl Serialize + '_ {
        let row = |one: &Proposal| {
            serde_json::to_value(Row {
                column: &one.name,
                treatment: one.treatment(),
                label: one.label.as_deref(),
                why: one.why,
                values: one.values.0,
                distinct: one.values.1,
            })
            .unwrap_or_default()
        };
        self.columns.iter().map(row).collect::<Vec<_>>()
    }
}
