//! Sums up what was done to a dataset, for people who decide about its release: rows by outcome, replacements
//! by label and action, columns, and the engines that wrote it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use arrow_array::cast::AsArray as _;
use arrow_array::types::UInt32Type;
use arrow_array::{Array as _, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use lethe_core::{AuditBatch, RedactedBatch};
use serde::Serialize;

use super::columns::{Batches, Wanted};
use super::{Progress, add, chains};
use crate::sink::{ChainError, Fingerprints, PartName, read_footer, read_metadata, read_part};
use crate::store::Store;

/// What was done to a dataset. Contains no text of a note.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Number of files with rows.
    pub files: u64,
    /// Rows by kind: `note`, `quarantined` and so on.
    pub rows: BTreeMap<String, u64>,
    /// Quarantined rows by code.
    pub quarantined: BTreeMap<String, u64>,
    /// Rows that a person should check.
    pub flagged: u64,
    /// Those rows by reason; a row may have several.
    pub reasons: BTreeMap<String, u64>,
    /// Notes in which nothing was replaced.
    pub without_findings: u64,
    /// Replacements by label and action.
    pub replaced: BTreeMap<String, BTreeMap<String, u64>>,
    /// Of a backfill, the treatment of each column of the output: `redacted or replaced`, `kept`.
    pub columns: BTreeMap<String, &'static str>,
    /// The distinct engines that wrote it: each fingerprint by its name, except those of single topics.
    pub engines: BTreeSet<BTreeMap<&'static str, String>>,
}

/// The names of the columns in the files of a stream or of a backfill.
struct Names {
    kind: &'static str,
    error: &'static str,
    redactions: &'static str,
    review: &'static str,
}

const STREAM: Names = Names {
    kind: "row_kind",
    error: "error",
    redactions: "redactions",
    review: "review",
};

const BACKFILL: Names = Names {
    kind: "lethe_kind",
    error: "lethe_error",
    redactions: "lethe_redactions",
    review: "lethe_review",
};

/// The columns of a backfill's rows before those of the table.
static OWN: LazyLock<Schema> = LazyLock::new(|| {
    let text = |name: &str| Field::new(name, DataType::Utf8, true);
    Schema::new(vec![
        text(BACKFILL.kind),
        text(BACKFILL.error),
        Field::new(BACKFILL.redactions, DataType::UInt32, true),
        text(BACKFILL.review),
    ])
});

/// Sums up the dataset in a store, calling `progress` after each file.
///
/// # Errors
/// [`ChainError::Footer`] for a file that cannot be read, or the store's error.
pub async fn summarise(
    store: &dyn Store,
    mut progress: impl FnMut(Progress) + Send,
) -> Result<Summary, ChainError> {
    let mut summary = Summary::default();
    let (chains, of) = chains(store, &mut Vec::new()).await?;
    let parts = store.list(PartName::folder()).await?;
    let mut done = Progress {
        of: of + parts.len() as u64,
        ..Progress::default()
    };
    for file in chains.into_values().flatten() {
        let footer = read_footer(store, &file.name).await?;
        summary.engine(&footer.fingerprints);
        summary
            .rows(store, &file.name, &RedactedBatch::schema(), &STREAM)
            .await?;
        if let Some(audit) = &footer.audit {
            summary.audit(store, audit, false).await?;
        }
        summary.files += 1;
        done.files += 1;
        progress(done);
    }
    for file in parts.iter().filter(|file| PartName::parse(&file.name).is_some()) {
        let footer = read_part(store, &file.name).await?;
        summary.engine(&footer.fingerprints);
        let (metadata, _) = read_metadata(store, &file.name).await?;
        for column in metadata.file_metadata().schema_descr().root_schema().get_fields() {
            if !column.name().starts_with("lethe_") {
                summary.columns.entry(column.name().to_owned()).or_insert("kept");
            }
        }
        summary.rows(store, &file.name, &OWN, &BACKFILL).await?;
        if let Some((audit, _)) = &footer.audit {
            summary.audit(store, audit, true).await?;
        }
        summary.files += 1;
        done.files += 1;
        progress(done);
    }
    Ok(summary)
}

impl Summary {
    fn engine(&mut self, fingerprints: &Fingerprints) {
        let entries = fingerprints.entries().into_iter();
        let shared = entries.filter(|(name, _)| !matches!(*name, "cluster" | "topic_id"));
        self.engines
            .insert(shared.map(|(name, value)| (name, value.to_owned())).collect());
    }

    async fn rows(
        &mut self,
        store: &dyn Store,
        file: &str,
        schema: &Schema,
        names: &Names,
    ) -> Result<(), ChainError> {
        let wanted = Wanted {
            schema,
            must: &[names.kind, names.error, names.redactions],
            may: &[names.review],
        };
        let mut batches = Batches::open(store, file, &wanted).await?;
        while let Some(batch) = batches.next().await? {
            let text = |name: &str| batch.column_by_name(name).map(|column| column.as_string::<i32>());
            let number = batch[names.redactions].as_primitive::<UInt32Type>();
            let review = text(names.review);
            for row in 0..batch.num_rows() {
                let kind = text(names.kind).map_or("", |column| column.value(row));
                add(&mut self.rows, kind);
                self.without_findings +=
                    u64::from(kind == "note" && number.is_valid(row) && number.value(row) == 0);
                if let Some(error) = text(names.error).filter(|column| column.is_valid(row)) {
                    add(&mut self.quarantined, error.value(row));
                }
                if let Some(review) = review.filter(|column| column.is_valid(row)) {
                    self.flagged += 1;
                    review
                        .value(row)
                        .split(',')
                        .for_each(|reason| add(&mut self.reasons, reason));
                }
            }
        }
        Ok(())
    }

    async fn audit(&mut self, store: &dyn Store, file: &str, of_table: bool) -> Result<(), ChainError> {
        let mut fields: Vec<Field> = AuditBatch::schema()
            .fields()
            .iter()
            .map(|field| field.as_ref().clone())
            .collect();
        fields.push(Field::new("column", DataType::Utf8, true));
        let schema = Schema::new(fields);
        let wanted = Wanted {
            schema: &schema,
            must: &["label", "action"],
            may: if of_table { &["column"] } else { &[] },
        };
        let mut batches = Batches::open(store, file, &wanted).await?;
        while let Some(batch) = batches.next().await? {
            self.replacements(&batch);
        }
        Ok(())
    }

    fn replacements(&mut self, batch: &RecordBatch) {
        let (labels, actions) = (
            batch["label"].as_string::<i32>(),
            batch["action"].as_string::<i32>(),
        );
        let columns = batch
            .column_by_name("column")
            .map(|column| column.as_string::<i32>());
        for row in 0..batch.num_rows() {
            let by_action = match self.replaced.get_mut(labels.value(row)) {
                Some(by_action) => by_action,
                None => self.replaced.entry(labels.value(row).to_owned()).or_default(),
            };
            add(by_action, actions.value(row));
            if let Some(column) = columns {
                let top = column.value(row);
                // A path names a field within a column.
                let top = match self.columns.contains_key(top) {
                    true => top,
                    false => top.split('.').next().unwrap_or(top),
                };
                if let Some(treatment) = self.columns.get_mut(top) {
                    *treatment = "redacted or replaced";
                }
            }
        }
    }
}
