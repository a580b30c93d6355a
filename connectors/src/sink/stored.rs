//! The types that rows have in files: signed numbers, and a field id for each column.
//!
//! In memory, counts and positions are unsigned numbers of 32 bits. Table formats have no unsigned types, so that
//! files have signed ones of 64 bits. Files of earlier versions have unsigned ones; readers take both.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int64Type, UInt32Type};
use arrow_array::{
    Array as _, ArrayRef, GenericListArray, Int64Array, MapArray, OffsetSizeTrait, RecordBatch, StructArray,
    UInt32Array,
};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;

use super::FieldIds;

/// Returns the schema of files with these columns of Lethe's. It has no ids at all if the list lacks one.
pub fn stored_schema(columns: &Schema, ids: FieldIds) -> SchemaRef {
    let form = Form {
        ids: Some(ids).filter(|ids| is_complete(columns.fields(), "", *ids)),
        signs: true,
    };
    Arc::new(Schema::new(form.fields(columns.fields(), "")))
}

/// Returns the schema without field ids: those of the columns of a table are not those of Lethe's columns next to them.
pub(super) fn without_ids(columns: &Schema) -> SchemaRef {
    let form = Form {
        ids: None,
        signs: false,
    };
    Arc::new(Schema::new(form.fields(columns.fields(), "")))
}

/// The form of columns in a file.
#[derive(Clone, Copy)]
struct Form {
    ids: Option<FieldIds>,
    /// Whether unsigned numbers become signed.
    signs: bool,
}

impl Form {
    fn fields(self, fields: &Fields, outer: &str) -> Fields {
        let fields = fields
            .iter()
            .map(|field| self.field(field, &join(outer, field.name())));
        fields.collect()
    }

    fn field(self, field: &Field, path: &str) -> FieldRef {
        let below = |field: &FieldRef, name: &str| self.field(field, &join(path, name));
        let data_type = match field.data_type() {
            DataType::UInt32 if self.signs => DataType::Int64,
            DataType::List(element) => DataType::List(below(element, ELEMENT)),
            DataType::LargeList(element) => DataType::LargeList(below(element, ELEMENT)),
            DataType::Struct(fields) => DataType::Struct(self.fields(fields, path)),
            DataType::Map(entries, is_sorted) => DataType::Map(below(entries, "entries"), *is_sorted),
            other => other.clone(),
        };
        let mut metadata: HashMap<_, _> = field.metadata().clone();
        metadata.remove(PARQUET_FIELD_ID_META_KEY);
        if let Some(id) = self.ids.and_then(|ids| ids.of(path)) {
            metadata.insert(PARQUET_FIELD_ID_META_KEY.to_owned(), id.to_string());
        }
        Arc::new(Field::new(field.name(), data_type, field.is_nullable()).with_metadata(metadata))
    }
}

/// The name of a list's element in paths, whatever its name in the file is.
const ELEMENT: &str = "element";

fn join(outer: &str, name: &str) -> String {
    match outer {
        "" => name.to_owned(),
        _ => format!("{outer}.{name}"),
    }
}

/// Returns whether each column has an id, at any depth.
fn is_complete(fields: &Fields, outer: &str, ids: FieldIds) -> bool {
    let has = |field: &FieldRef, name: &str| {
        let path = join(outer, name);
        let below = match field.data_type() {
            DataType::List(element) => is_complete(&element_of(element), &path, ids),
            DataType::Struct(fields) => is_complete(fields, &path, ids),
            other => !other.is_nested(),
        };
        below && ids.of(&path).is_some()
    };
    fields.iter().all(|field| has(field, field.name()))
}

fn element_of(element: &FieldRef) -> Fields {
    vec![Arc::new(element.as_ref().clone().with_name(ELEMENT))].into()
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
        (DataType::List(_), DataType::List(element)) => list_of(element, column.as_list::<i32>())?,
        (DataType::LargeList(_), DataType::LargeList(element)) => list_of(element, column.as_list::<i64>())?,
        (DataType::Struct(_), DataType::Struct(fields)) => Arc::new(struct_of(fields, column.as_struct())?),
        (DataType::Map(..), DataType::Map(entries, is_sorted)) => {
            let map = column.as_map();
            let DataType::Struct(fields) = entries.data_type() else {
                return Err(ArrowError::SchemaError(
                    "the entries of a map are no structs".into(),
                ));
            };
            Arc::new(MapArray::try_new(
                Arc::clone(entries),
                map.offsets().clone(),
                struct_of(fields, map.entries())?,
                map.nulls().cloned(),
                *is_sorted,
            )?)
        }
        // The same type, apart from names and metadata of what is in it.
        (from, to) if from.equals_datatype(to) => Arc::clone(column),
        _ => return Err(ArrowError::SchemaError("a column has another type".into())),
    })
}

fn list_of<O: OffsetSizeTrait>(element: &FieldRef, of: &GenericListArray<O>) -> Result<ArrayRef, ArrowError> {
    let values = with_type(of.values(), element.data_type())?;
    let (offsets, nulls) = (of.offsets().clone(), of.nulls().cloned());
    let list = GenericListArray::try_new(Arc::clone(element), offsets, values, nulls)?;
    Ok(Arc::new(list))
}

fn struct_of(fields: &Fields, of: &StructArray) -> Result<StructArray, ArrowError> {
    let columns = of.columns().iter().zip(fields);
    let columns = columns.map(|(column, field)| with_type(column, field.data_type()));
    let columns = columns.collect::<Result<_, _>>()?;
    StructArray::try_new_with_length(fields.clone(), columns, of.nulls().cloned(), of.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::StringArray;
    use arrow_array::builder::{
        Int32Builder, LargeListBuilder, ListBuilder, MapBuilder, StringBuilder, UInt32Builder,
    };
    use lethe_core::{AuditBatch, RedactedBatch};
    use parquet::arrow::ArrowSchemaConverter;
    use parquet::schema::types::Type;
    use std::collections::BTreeSet;

    /// Returns the ids of columns and of what is in them, as Parquet has them.
    fn parquet_ids(schema: &Schema) -> Vec<(String, i32)> {
        fn collect(of: &Type, found: &mut Vec<(String, i32)>) {
            let info = of.get_basic_info();
            if info.has_id() {
                found.push((info.name().to_owned(), info.id()));
            }
            if of.is_group() {
                of.get_fields().iter().for_each(|field| collect(field, found));
            }
        }
        let mut found = Vec::new();
        let parquet = ArrowSchemaConverter::new().convert(schema).unwrap();
        collect(parquet.root_schema(), &mut found);
        found
    }

    #[test]
    fn files_have_an_id_for_each_column_and_signed_numbers_only() {
        let notes = stored_schema(&RedactedBatch::schema(), FieldIds::NOTES);
        let audit = stored_schema(&AuditBatch::schema(), FieldIds::AUDIT);
        for (schema, ids) in [(&notes, FieldIds::NOTES), (&audit, FieldIds::AUDIT)] {
            assert!(is_complete(schema.fields(), "", ids));
            assert!(!format!("{schema:?}").contains("UInt"), "{schema:?}");
            let found: Vec<i32> = parquet_ids(schema).into_iter().map(|(_, id)| id).collect();
            assert_eq!(
                found.len(),
                found.iter().collect::<BTreeSet<_>>().len(),
                "{found:?}"
            );
            for field in schema.fields() {
                let id = ids.of(field.name()).map(|id| id.to_string());
                assert_eq!(field.metadata().get(PARQUET_FIELD_ID_META_KEY), id.as_ref());
            }
        }
        assert_eq!(parquet_ids(&notes).len(), 17);
        // Lists and structs within lists have the ids that Iceberg wants there: not on the repeated group.
        let named = |name: &str, id| (name.to_owned(), id);
        let nested: Vec<_> = parquet_ids(&audit)
            .into_iter()
            .filter(|(_, id)| *id > 23)
            .collect();
        assert_eq!(
            nested,
            [
                named("score", 24),
                named("lost", 25),
                named("start", 26),
                named("end", 27),
                named("label", 28),
                named("members", 29),
                named("score", 30),
            ]
        );
    }

    #[test]
    fn a_file_with_a_column_that_has_no_id_has_no_ids() {
        let mut fields = RedactedBatch::schema().fields().to_vec();
        fields.push(Arc::new(Field::new("new", DataType::UInt32, true)));
        let schema = stored_schema(&Schema::new(fields), FieldIds::NOTES);
        assert_eq!(parquet_ids(&schema), []);
        assert_eq!(schema.field(17).data_type(), &DataType::Int64);
    }

    #[test]
    fn ids_of_another_writer_are_taken_off_at_any_depth() {
        let with_id = |field: Field, id: i32| {
            let id = HashMap::from([(PARQUET_FIELD_ID_META_KEY.to_owned(), id.to_string())]);
            field.with_metadata(id)
        };
        let number = |id| Arc::new(with_id(Field::new("n", DataType::UInt32, true), id));
        let inner = DataType::Struct(vec![number(4), number(5)].into());
        let schema = Schema::new(vec![
            with_id(Field::new("a", DataType::LargeList(number(3)), true), 1),
            with_id(
                Field::new(
                    "b",
                    DataType::List(Arc::new(with_id(Field::new("e", inner, true), 6))),
                    true,
                ),
                2,
            ),
        ]);
        assert_eq!(parquet_ids(&schema).len(), 6);
        let plain = without_ids(&schema);
        assert_eq!(parquet_ids(&plain), []);
        // Types of a table stay.
        assert!(format!("{plain:?}").contains("UInt32"));
    }

    #[test]
    fn nested_columns_lose_only_their_ids() {
        let mut large = LargeListBuilder::new(Int32Builder::new());
        large.append_value([Some(1), None]);
        large.append_null();
        let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
        map.keys().append_value("k");
        map.values().append_value(7);
        map.append(true).unwrap();
        map.append(false).unwrap();
        let nested: [(&str, ArrayRef); 2] = [
            ("large", Arc::new(large.finish())),
            ("map", Arc::new(map.finish())),
        ];
        let rows =
            RecordBatch::try_from_iter_with_nullable(nested.map(|(name, of)| (name, of, true))).unwrap();
        let ids = Form {
            ids: Some(FieldIds::TEST),
            signs: false,
        };
        let with_ids: SchemaRef = Arc::new(Schema::new(ids.fields(rows.schema_ref().fields(), "")));
        assert_eq!(parquet_ids(&with_ids).len(), 4);
        let theirs = with_types(&rows, &with_ids).unwrap();
        let plain = without_ids(&with_ids);
        assert_eq!(parquet_ids(&plain), []);
        assert_eq!(with_types(&theirs, &plain).unwrap(), rows);
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
        let form = Form {
            ids: None,
            signs: true,
        };
        let schema: SchemaRef = Arc::new(Schema::new(form.fields(rows.schema_ref().fields(), "")));
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
