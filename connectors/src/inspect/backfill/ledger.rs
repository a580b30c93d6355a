//! Checks the audit rows of a part against its texts: every span must lie in the value that the audit names,
//! and every row must have as many audit rows as it counts redactions.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int64Type, UInt32Type};
use arrow_array::{Array as _, ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use lethe_core::AuditBatch;

use super::part::own_columns;
use crate::inspect::DatasetError;
use crate::inspect::columns::{Batches, Wanted, schema_of};
use crate::inspect::ledger::{AUDIT, AuditErrors, Place, Rows};
use crate::sink::ChainError;
use crate::store::Store;

/// The position of a text: its column, the row, and its index among the row's values in the column.
type At = (usize, i64, u32);

/// The audit of a part.
struct Audit {
    batches: Vec<RecordBatch>,
    columns: Vec<String>,
    /// Batch and row of each audit row of a text, in order.
    rows: HashMap<At, Vec<(usize, usize)>>,
    /// Number of audit rows of each row.
    counts: HashMap<i64, u32>,
}

/// Returns the contradictions between a part and its audit file, the first of each kind. Reads the texts one
/// row group at a time and holds the whole audit in memory.
///
/// # Errors
/// [`ChainError::Footer`] if a file cannot be read, or the store's error.
pub(super) async fn hold(
    store: &dyn Store,
    part: &str,
    audit: &str,
) -> Result<Vec<DatasetError>, ChainError> {
    let mut errors = AuditErrors::new(audit);
    let mut entries = Audit::read(store, audit).await?;
    let schema = schema_of(store, part).await?;
    let tops = entries.columns.iter().filter_map(|path| top(&schema, path));
    let tops: BTreeSet<String> = tops.map(str::to_owned).collect();
    let mut must = vec!["lethe_row", "lethe_redactions"];
    must.extend(tops.iter().map(String::as_str));
    // The table's columns as they are, and Lethe's own with one type, whichever version wrote them.
    let own = own_columns();
    let fields = schema.fields().iter().map(|field| {
        let own = own.field_with_name(field.name());
        own.map_or_else(|_| Arc::clone(field), |own| Arc::new(own.clone()))
    });
    let schema = Schema::new(fields.collect::<Vec<_>>());
    let wanted = Wanted {
        schema: &schema,
        must: &must,
        may: &[],
    };
    let columns = entries.columns.clone();
    let mut batches = Batches::open(store, part, &wanted).await?;
    while let Some(batch) = batches.next().await? {
        let numbers = batch["lethe_row"].as_primitive::<Int64Type>();
        let redactions = batch["lethe_redactions"].as_primitive::<UInt32Type>();
        for row in 0..batch.num_rows() {
            let counted = entries.counts.remove(&numbers.value(row)).unwrap_or_default();
            if counted != redactions.value(row) {
                errors.tell(
                    numbers.value(row),
                    "it has another number of audit rows than its row counts redactions",
                );
            }
        }
        for (column, path) in columns.iter().enumerate() {
            let Some((texts, rows)) = leaf(&batch, path) else {
                continue;
            };
            let mut seen = vec![0_u32; batch.num_rows()];
            for (at, row) in rows.iter().enumerate() {
                let Some(row) = row.map(|row| row as usize) else {
                    continue;
                };
                let place = (column, numbers.value(row), seen[row]);
                seen[row] += 1;
                if let Some(of) = entries.rows.remove(&place) {
                    let text = texts.is_valid(at).then(|| texts.value(at));
                    entries.check(&of, place.1, text, &mut errors);
                }
            }
        }
    }
    if let Some((_, row, _)) = entries.rows.keys().min_by_key(|(_, row, _)| *row) {
        errors.tell(*row, "the part has no such value");
    }
    Ok(errors.faults)
}

impl Audit {
    async fn read(store: &dyn Store, audit: &str) -> Result<Self, ChainError> {
        let mut fields: Vec<_> = AuditBatch::schema().fields().iter().cloned().collect();
        fields.push(Field::new("column", DataType::Utf8, false).into());
        fields.push(Field::new("element", DataType::UInt32, false).into());
        let schema = Schema::new(fields);
        let must: Vec<&str> = AUDIT.into_iter().chain(["column", "element"]).collect();
        let wanted = Wanted {
            schema: &schema,
            must: &must,
            may: &["path"],
        };
        let mut read = Batches::open(store, audit, &wanted).await?;
        let mut all = Self {
            batches: Vec::new(),
            columns: Vec::new(),
            rows: HashMap::new(),
            counts: HashMap::new(),
        };
        while let Some(batch) = read.next().await? {
            let names = batch["column"].as_string::<i32>();
            let elements = batch["element"].as_primitive::<UInt32Type>();
            let numbers = batch["offset"].as_primitive::<Int64Type>();
            for row in 0..batch.num_rows() {
                let name = names.value(row);
                let column = match all.columns.iter().position(|column| column == name) {
                    Some(column) => column,
                    None => {
                        all.columns.push(name.to_owned());
                        all.columns.len() - 1
                    }
                };
                let at = (column, numbers.value(row), elements.value(row));
                all.rows.entry(at).or_default().push((all.batches.len(), row));
                *all.counts.entry(numbers.value(row)).or_default() += 1;
            }
            all.batches.push(batch);
        }
        Ok(all)
    }

    /// Checks the audit rows of one text.
    fn check(&self, of: &[(usize, usize)], number: i64, text: Option<&str>, errors: &mut AuditErrors<'_>) {
        let mut place = Place::default();
        for &(batch, row) in of {
            let rows = Rows::of(&self.batches[batch]);
            if let Some(why) = rows.wrong(row, &place, text) {
                errors.tell(number, why);
            }
            place = rows.place(row, 0);
        }
    }
}

/// Returns the column that a path begins in. A column name may itself contain dots.
fn top<'a>(schema: &Schema, path: &'a str) -> Option<&'a str> {
    let first = path.split('.').next().unwrap_or(path);
    [path, first]
        .into_iter()
        .find(|name| schema.column_with_name(name).is_some())
}

/// Returns the values of a path, and the batch row of each; `None` if the path does not exist or is not text.
fn leaf(batch: &RecordBatch, path: &str) -> Option<(StringArray, Vec<Option<u32>>)> {
    let top = top(&batch.schema(), path)?;
    let column = batch.column_by_name(top)?;
    let rest = path.strip_prefix(top)?.trim_start_matches('.');
    let rest: Vec<&str> = rest.split('.').filter(|part| !part.is_empty()).collect();
    follow(column, &rest, (0..batch.num_rows() as u32).map(Some).collect())
}

fn follow(
    array: &ArrayRef,
    path: &[&str],
    rows: Vec<Option<u32>>,
) -> Option<(StringArray, Vec<Option<u32>>)> {
    match (array.data_type(), path.split_first()) {
        (DataType::List(_), _) => {
            let list = array.as_list_opt::<i32>()?;
            let mut inner = vec![None; list.values().len()];
            for (at, row) in rows.iter().enumerate().filter(|(at, _)| list.is_valid(*at)) {
                let range = list.value_offsets()[at] as usize..list.value_offsets()[at + 1] as usize;
                inner.get_mut(range)?.fill(*row);
            }
            follow(list.values(), path, inner)
        }
        (DataType::LargeList(_), _) => {
            let list = array.as_list_opt::<i64>()?;
            let mut inner = vec![None; list.values().len()];
            for (at, row) in rows.iter().enumerate().filter(|(at, _)| list.is_valid(*at)) {
                let range = list.value_offsets()[at] as usize..list.value_offsets()[at + 1] as usize;
                inner.get_mut(range)?.fill(*row);
            }
            follow(list.values(), path, inner)
        }
        (DataType::Struct(_), Some((name, rest))) => {
            let parent = array.as_struct_opt()?;
            let rows = rows.into_iter().enumerate();
            let rows = rows
                .map(|(at, row)| row.filter(|_| parent.is_valid(at)))
                .collect();
            follow(parent.column_by_name(name)?, rest, rows)
        }
        (DataType::Utf8, None) => Some((array.as_string_opt::<i32>()?.clone(), rows)),
        _ => None,
    }
}
