//! The types that rows have in files: signed numbers, and a field id for each column.
//!
//! In memory, counts and positions are unsigned numbers of 32 bits. Table formats have no unsigned types, so that
//! files have signed ones of 64 bits. Files of earlier versions have unsigned ones; readers take both. Field ids
//! identify columns whatever their names are (Apache Iceberg, "Column Projection").

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int64Type, UInt32Type};
use arrow_array::{Array as _, ArrayRef, Int64Array, ListArray, RecordBatch, StructArray, UInt32Array};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;

/// Ids of columns within a column begin at this multiple of its own id.
const WITHIN: i32 = 1000;

/// Returns the schema of files with these columns. A column's id is its place, from 1: columns are only ever added
/// at the end.
pub fn stored_schema(schema: &Schema) -> SchemaRef {
    let fields = (1..).zip(schema.fields()).map(|(id, field)| {
        let mut within = id * WITHIN;
        stored_field(field, id, &mut within)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Returns a column with its type in files and this id. `within` is the last id of a column within it.
fn stored_field(field: &Field, id: i32, within: &mut i32) -> Field {
    let mut below = |field: &FieldRef| -> FieldRef {
        *within += 1;
        let id = *within;
        Arc::new(stored_field(field, id, within))
    };
    let data_type = match field.data_type() {
        DataType::UInt32 => DataType::Int64,
        DataType::List(element) => DataType::List(below(element)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(&mut below).collect()),
        other => other.clone(),
    };
    let id = HashMap::from([(PARQUET_FIELD_ID_META_KEY.to_owned(), id.to_string())]);
    Field::new(field.name(), data_type, field.is_nullable()).with_metadata(id)
}

/// Returns whether a column with the type `theirs` can be read as one with the type `ours`: it is the same, or the
/// one that files have for it.
pub(crate) fn is_readable_as(theirs: &DataType, ours: &DataType) -> bool {
    match (theirs, ours) {
        (DataType::Int64, DataType::UInt32) => true,
        (DataType::List(theirs), DataType::List(ours)) => {
            is_readable_as(theirs.data_type(), ours.data_type())
        }
        (DataType::Struct(theirs), DataType::Struct(ours)) => {
            theirs.len() == ours.len()
                && theirs.iter().zip(ours).all(|(theirs, ours)| {
                    theirs.name() == ours.name() && is_readable_as(theirs.data_type(), ours.data_type())
                })
        }
        _ => theirs.equals_datatype(ours),
    }
}

/// Returns the rows with the types of this schema, which has the same columns.
///
/// # Errors
/// If a number does not fit into 32 bits, or a type is neither the same nor the one of files.
pub(crate) fn with_types(rows: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = rows.columns().iter().zip(schema.fields());
    let columns: Result<Vec<_>, _> = columns
        .map(|(column, field)| with_type(column, field.data_type()))
        .collect();
    RecordBatch::try_new(Arc::clone(schema), columns?)
}

/// Returns a column with this type.
pub(crate) fn with_type(column: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    if column.data_type() == to {
        return Ok(Arc::clone(column));
    }
    Ok(match (column.data_type(), to) {
        (DataType::UInt32, DataType::Int64) => {
            let numbers = column.as_primitive::<UInt32Type>();
            let values = numbers.values().iter().map(|&number| i64::from(number)).collect();
            Arc::new(Int64Array::new(values, numbers.nulls().cloned()))
        }
        (DataType::Int64, DataType::UInt32) => {
            let numbers = column.as_primitive::<Int64Type>();
            let narrow = |number: Option<i64>| match number.map(u32::try_from) {
                Some(Err(_)) => Err(ArrowError::CastError("a number does not fit into 32 bits".into())),
                Some(Ok(number)) => Ok(Some(number)),
                None => Ok(None),
            };
            let values: Result<Vec<Option<u32>>, _> = numbers.iter().map(narrow).collect();
            Arc::new(UInt32Array::from(values?))
        }
        (DataType::List(_), DataType::List(element)) => {
            let list = column.as_list::<i32>();
            let values = with_type(list.values(), element.data_type())?;
            let nulls = list.nulls().cloned();
            Arc::new(ListArray::try_new(
                Arc::clone(element),
                list.offsets().clone(),
                values,
                nulls,
            )?)
        }
        (DataType::Struct(_), DataType::Struct(fields)) => {
            let parts = column.as_struct();
            let columns = parts.columns().iter().zip(fields);
            let columns: Result<Vec<_>, _> = columns
                .map(|(column, field)| with_type(column, field.data_type()))
                .collect();
            Arc::new(struct_of(fields, columns?, parts)?)
        }
        // The same type, apart from names and metadata of what is in it.
        (from, to) if from.equals_datatype(to) => Arc::clone(column),
        _ => return Err(ArrowError::SchemaError("a column has another type".into())),
    })
}

fn struct_of(fields: &Fields, columns: Vec<ArrayRef>, of: &StructArray) -> Result<StructArray, ArrowError> {
    StructArray::try_new(fields.clone(), columns, of.nulls().cloned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::StringArray;
    use arrow_array::builder::{ListBuilder, UInt32Builder};
    use lethe_core::{AuditBatch, RedactedBatch};
    use std::collections::BTreeSet;

    /// Returns the ids of columns and of what is in them, with their paths.
    fn ids(fields: &Fields, path: &str, found: &mut Vec<(String, String)>) {
        for field in fields {
            let path = format!("{path}/{}", field.name());
            found.push((field.metadata()[PARQUET_FIELD_ID_META_KEY].clone(), path.clone()));
            match field.data_type() {
                DataType::List(element) => ids(&vec![Arc::clone(element)].into(), &path, found),
                DataType::Struct(fields) => ids(fields, &path, found),
                other => assert!(*other != DataType::UInt32, "{path}"),
            }
        }
    }

    /// Adding a column in the middle would give the ones after it the ids of others.
    #[test]
    fn columns_keep_their_ids() {
        let mut notes = Vec::new();
        ids(stored_schema(&RedactedBatch::schema()).fields(), "", &mut notes);
        assert_eq!(
            notes.len(),
            notes.iter().map(|(id, _)| id).collect::<BTreeSet<_>>().len()
        );
        let mut audit = Vec::new();
        ids(stored_schema(&AuditBatch::schema()).fields(), "", &mut audit);
        assert_eq!(
            audit.len(),
            audit.iter().map(|(id, _)| id).collect::<BTreeSet<_>>().len()
        );
        for (all, id, path) in [
            (&notes, "1", "/topic"),
            (&notes, "14", "/text"),
            (&notes, "15", "/redactions"),
            (&notes, "17", "/review"),
            (&audit, "4", "/start"),
            (&audit, "20001", "/beat/lost"),
            (&audit, "20002", "/beat/lost/start"),
            (&audit, "23", "/solo_min_score"),
        ] {
            assert!(
                all.contains(&(id.to_owned(), path.to_owned())),
                "{id} {path}: {all:?}"
            );
        }
    }

    #[test]
    fn rows_come_back_as_they_were_stored() {
        let mut lists = ListBuilder::new(UInt32Builder::new());
        lists.values().append_slice(&[7, u32::MAX]);
        lists.append(true);
        lists.append(false);
        let columns: [(&str, ArrayRef); 3] = [
            ("number", Arc::new(UInt32Array::from(vec![Some(u32::MAX), None]))),
            ("text", Arc::new(StringArray::from(vec!["a", "b"]))),
            ("list", Arc::new(lists.finish())),
        ];
        let rows =
            RecordBatch::try_from_iter_with_nullable(columns.map(|(name, of)| (name, of, true))).unwrap();
        let schema = stored_schema(&rows.schema());
        let stored = with_types(&rows, &schema).unwrap();
        assert_eq!(
            stored["number"].as_primitive::<Int64Type>().value(0),
            i64::from(u32::MAX)
        );
        let theirs = stored.schema();
        let pairs = theirs.fields().iter().zip(rows.schema_ref().fields());
        for (theirs, ours) in pairs {
            assert!(is_readable_as(theirs.data_type(), ours.data_type()), "{theirs}");
        }
        assert_eq!(with_types(&stored, &rows.schema()).unwrap(), rows);
    }

    #[test]
    fn a_number_that_does_not_fit_is_an_error() {
        for number in [-1, 1 << 32] {
            let column: ArrayRef = Arc::new(Int64Array::from(vec![number]));
            assert!(with_type(&column, &DataType::UInt32).is_err());
        }
    }
}
