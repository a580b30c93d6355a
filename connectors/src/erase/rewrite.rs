//! Rewrites a file: empties rows of a notes file or a replayed part, or removes rows of an audit file.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int64Type, UInt32Type};
use arrow_array::{Array as _, ArrayRef, BooleanArray, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take;
use bytes::Bytes;
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::KeyValue;

use super::{ERASED, Replacement};
use crate::replay::ReplayName;
use crate::sink::{ChainError, ChainId, Damage, Encoding, Sheet, with_type};

/// Rows per decoded batch. The output bytes depend on it.
const ROWS: usize = 1024;

/// A rewritten file.
pub(super) struct Rewritten {
    pub(super) bytes: Bytes,
    /// Number of rows that were emptied or removed.
    pub(super) rows: u64,
    /// Number of removed audit rows that belong to fields of messages.
    pub(super) fields: u64,
}

/// Rewrites the file `file.path` with these bytes. For one version of the program, the same input gives the
/// same output.
///
/// # Errors
/// [`ChainError::Footer`] if it cannot be read or its rows cannot be emptied, [`ChainError::Stray`] if it is not a file of a
/// chain or of a replay.
pub(super) fn rewrite(file: &Replacement, bytes: &Bytes, zstd_level: i32) -> Result<Rewritten, ChainError> {
    let path = file.path.as_str();
    let is_audit = ChainId::parse_audit(path).is_some() || ReplayName::parse_audit(path).is_some();
    if !is_audit && ChainId::parse_notes(path).is_none() && ReplayName::parse(path).is_none() {
        return Err(ChainError::Stray { name: path.into() });
    }
    let damaged = |damage: Damage| ChainError::Footer {
        name: path.into(),
        why: damage.to_string(),
    };
    // The bytes are untrusted: a panic of the library means a damaged file.
    let work = || Work::new(file, bytes, zstd_level, is_audit).and_then(Work::run);
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done.map_err(damaged),
        Err(_) => Err(damaged(Damage::UNREADABLE)),
    }
}

struct Work<'a> {
    file: &'a Replacement,
    bytes: &'a Bytes,
    is_audit: bool,
    metadata: ArrowReaderMetadata,
    schema: SchemaRef,
    sheet: Sheet,
    /// The counts of the footer that decrease, and by how much.
    less: HashMap<&'static str, u64>,
    done: u64,
    fields: u64,
}

/// Drops the library's message, which could quote a value.
fn unreadable<E>(_: E) -> Damage {
    Damage::UNREADABLE
}

/// Drops the library's message, which could quote a value.
fn unwritable<E>(_: E) -> Damage {
    Damage::Columns("written")
}

fn bad_column(column: &str, problem: &'static str) -> Damage {
    Damage::Column {
        column: column.to_owned(),
        problem,
    }
}

impl<'a> Work<'a> {
    fn new(file: &'a Replacement, bytes: &'a Bytes, zstd_level: i32, is_audit: bool) -> Result<Self, Damage> {
        let metadata = ArrowReaderMetadata::load(bytes, Default::default()).map_err(unreadable)?;
        // Drops the footer's pairs, which the reader takes for the schema's own.
        let schema = Arc::new(Schema::new(metadata.schema().fields().clone()));
        let encoding = Encoding {
            zstd_level,
            // Row groups keep their bounds.
            row_group_bytes: usize::MAX,
            row_group_rows: usize::MAX,
        };
        Ok(Self {
            sheet: Sheet::new(Arc::clone(&schema), encoding),
            file,
            bytes,
            is_audit,
            metadata,
            schema,
            less: HashMap::new(),
            done: 0,
            fields: 0,
        })
    }

    fn run(mut self) -> Result<Rewritten, Damage> {
        for group in 0..self.metadata.metadata().num_row_groups() {
            let reader =
                ParquetRecordBatchReaderBuilder::new_with_metadata(self.bytes.clone(), self.metadata.clone())
                    .with_row_groups(vec![group])
                    .with_batch_size(ROWS)
                    .build()
                    .map_err(unreadable)?;
            for batch in reader {
                let batch = batch.map_err(unreadable)?;
                let batch = RecordBatch::try_new(Arc::clone(&self.schema), batch.columns().to_vec());
                let batch = self.without(&batch.map_err(unreadable)?)?;
                self.sheet.write(&batch).map_err(unwritable)?;
            }
            self.sheet.flush().map_err(unwritable)?;
        }
        let pairs = self.pairs()?;
        Ok(Rewritten {
            bytes: self.sheet.finish(pairs).map_err(unwritable)?,
            rows: self.done,
            fields: self.fields,
        })
    }

    /// Returns the batch with its rows of these offsets emptied, or removed for an audit file.
    fn without(&mut self, batch: &RecordBatch) -> Result<RecordBatch, Damage> {
        let offsets = column(batch, "offset")?;
        let offsets = offsets
            .as_primitive_opt::<Int64Type>()
            .ok_or_else(|| bad_column("offset", "does not hold numbers"))?;
        let is_of = |offset: &i64| self.file.offsets.binary_search(offset).is_ok();
        let mut gone: Vec<bool> = offsets.values().iter().map(is_of).collect();
        if !self.is_audit {
            let kinds = texts(batch, "row_kind")?;
            for (gone, kind) in gone.iter_mut().zip(kinds) {
                *gone &= kind != Some(ERASED);
            }
        }
        let count = gone.iter().filter(|gone| **gone).count() as u64;
        if count == 0 {
            return Ok(batch.clone());
        }
        self.done += count;
        if self.is_audit {
            if let Some(paths) = batch.column_by_name("path") {
                self.fields += (0..gone.len())
                    .filter(|&row| gone[row] && paths.is_valid(row))
                    .count() as u64;
            }
            let kept: BooleanArray = gone.iter().map(|gone| Some(!gone)).collect();
            return filter_record_batch(batch, &kept).map_err(unreadable);
        }
        self.count(batch, &gone)?;
        let kept: UInt64Array = (0_u64..)
            .zip(&gone)
            .map(|(row, gone)| (!gone).then_some(row))
            .collect();
        let fields = self.schema.fields().iter().zip(batch.columns());
        let columns = fields.map(|(field, column)| -> Result<ArrayRef, Damage> {
            Ok(match field.name().as_str() {
                "topic" | "partition" | "offset" => Arc::clone(column),
                "row_kind" | "event_kind" => {
                    let values = texts(batch, field.name())?.iter().zip(&gone);
                    Arc::new(StringArray::from_iter(
                        values.map(|(value, gone)| if *gone { Some(ERASED) } else { value }),
                    ))
                }
                "redactions" => {
                    // Files of earlier versions have unsigned counts; a file keeps its type.
                    let counts = with_type(column, &DataType::UInt32);
                    let counts = counts.map_err(|_| bad_column("redactions", "does not hold counts"))?;
                    let values = counts.as_primitive::<UInt32Type>().values().iter().zip(&gone);
                    let values = values.map(|(count, gone)| if *gone { 0 } else { *count });
                    let counts: ArrayRef = Arc::new(UInt32Array::from_iter_values(values));
                    with_type(&counts, field.data_type()).map_err(unreadable)?
                }
                name if !field.is_nullable() => return Err(bad_column(name, "cannot be emptied")),
                // Copied instead of masked: a masked value would stay in the column's buffer.
                _ => take(column, &kept, None).map_err(unreadable)?,
            })
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(unreadable)
    }

    /// Subtracts the rows from the footer's counts.
    fn count(&mut self, batch: &RecordBatch, gone: &[bool]) -> Result<(), Damage> {
        let kinds = texts(batch, "row_kind")?;
        let review = batch.column_by_name("review");
        for row in (0..gone.len()).filter(|&row| gone[row]) {
            let key = match kinds.value(row) {
                "note" => "notes",
                "tombstone" => "tombstones",
                "structured" => "structured",
                "quarantined" => "quarantined",
                _ => return Err(Damage::Contradiction("it has a row of an unknown kind")),
            };
            *self.less.entry(key).or_default() += 1;
            if review.is_some_and(|review| review.is_valid(row)) {
                *self.less.entry("review").or_default() += 1;
            }
        }
        Ok(())
    }

    /// Returns the footer's pairs with the new counts.
    fn pairs(&mut self) -> Result<Vec<KeyValue>, Damage> {
        if self.is_audit {
            self.less.insert("audit_rows", self.done);
        } else {
            self.less.insert("audit_rows", self.file.audit_rows);
            self.less.insert("audit_fields", self.file.audit_fields);
        }
        let pairs = self.metadata.metadata().file_metadata().key_value_metadata();
        let mut pairs: Vec<KeyValue> = pairs.cloned().unwrap_or_default();
        pairs.retain(|pair| pair.key != ARROW_SCHEMA_META_KEY && pair.key != "lethe.erased");
        let mut erased = self.done;
        let before = self.metadata.metadata().file_metadata().key_value_metadata();
        for pair in before
            .into_iter()
            .flatten()
            .filter(|pair| pair.key == "lethe.erased")
        {
            erased += number(pair)?;
        }
        for (key, less) in self.less.iter().filter(|(_, less)| **less > 0) {
            let name = format!("lethe.{key}");
            let Some(pair) = pairs.iter_mut().find(|pair| pair.key == name) else {
                return Err(Damage::MissingPair {
                    key: (*key).to_owned(),
                });
            };
            let left = number(pair)?.checked_sub(*less);
            let left = left.ok_or_else(|| Damage::Pair {
                key: (*key).to_owned(),
                expected: "as large as the number of erased rows",
            })?;
            pair.value = Some(left.to_string());
        }
        if !self.is_audit {
            pairs.push(KeyValue::new("lethe.erased".to_owned(), erased.to_string()));
        }
        Ok(pairs)
    }
}

fn number(pair: &KeyValue) -> Result<u64, Damage> {
    let parsed = pair.value.as_deref().and_then(|value| value.parse().ok());
    parsed.ok_or_else(|| Damage::Pair {
        key: pair.key.trim_start_matches("lethe.").to_owned(),
        expected: "a count",
    })
}

fn column<'b>(batch: &'b RecordBatch, name: &str) -> Result<&'b ArrayRef, Damage> {
    batch
        .column_by_name(name)
        .ok_or_else(|| Damage::MissingColumn(name.to_owned()))
}

fn texts<'b>(batch: &'b RecordBatch, name: &str) -> Result<&'b StringArray, Damage> {
    column(batch, name)?
        .as_string_opt()
        .ok_or_else(|| bad_column(name, "does not hold text"))
}
