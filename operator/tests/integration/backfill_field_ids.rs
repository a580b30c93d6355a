//! Field ids in the files of a backfill, of a table whose files have field ids, as those of Apache Iceberg do.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use common::Place;
use common::dataset::{all_files, read_parquet};
use common::folder_sink;
use common::tables::{backfill, config};
use parquet::arrow::{ArrowWriter, PARQUET_FIELD_ID_META_KEY};

fn with_id(field: Field, id: i32) -> Field {
    let id = id.to_string();
    field.with_metadata(HashMap::from([(PARQUET_FIELD_ID_META_KEY.to_owned(), id)]))
}

/// Writes a table of ten rows: a text, a struct and a list, each with a field id, also within.
fn table(path: &Path) {
    let texts = (0..10).map(|number| format!("Call (612) 555-01{number:02}."));
    let wards: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10));
    let visit = Fields::from(vec![with_id(Field::new("ward", DataType::Int64, true), 4)]);
    let code = Arc::new(with_id(Field::new("element", DataType::Int32, true), 5));
    let mut codes = ListBuilder::new(Int32Builder::new()).with_field(Arc::clone(&code));
    (0..10).for_each(|number| codes.append_value([Some(number)]));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(texts)),
        Arc::new(StructArray::new(visit.clone(), vec![wards], None)),
        Arc::new(codes.finish()),
    ];
    let schema = Arc::new(Schema::new(vec![
        with_id(Field::new("text", DataType::Utf8, true), 1),
        with_id(Field::new("visit", DataType::Struct(visit), true), 2),
        with_id(Field::new("codes", DataType::List(code), true), 3),
    ]));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, Arc::clone(&schema), None).unwrap();
    writer
        .write(&RecordBatch::try_new(schema, columns).unwrap())
        .unwrap();
    writer.close().unwrap();
}

/// Returns the schema of the first file below a folder.
fn schema(folder: &Path) -> SchemaRef {
    read_parquet(&all_files(folder)[0]).unwrap().1[0].schema()
}

/// A reader of Iceberg would take the ids of the table for those of the columns of Lethe.
#[test]
fn rows_have_no_field_ids_and_the_audit_has_one_for_each_column() {
    let place = Place::new();
    let (input, out) = (place.at("in"), place.at("out"));
    table(&input.join("a.parquet"));
    let columns = "[backfill.columns]\ntext = [\"text\"]\nkeep = [\"visit\", \"codes\"]\n";
    let config = config(&place, "lethe.toml", &input, &folder_sink(&out), columns);
    backfill(&config, &[]).end().expect(0);
    assert!(format!("{:?}", schema(&input)).contains(PARQUET_FIELD_ID_META_KEY));
    let rows = schema(&out.join("rows"));
    assert!(rows.column_with_name("visit").is_some() && rows.column_with_name("codes").is_some());
    assert!(
        !format!("{rows:?}").contains(PARQUET_FIELD_ID_META_KEY),
        "{rows:?}"
    );
    let audit = schema(&out.join("audit"));
    for (column, id) in [
        ("topic", "1"),
        ("start", "4"),
        ("column", "31"),
        ("element", "32"),
    ] {
        let field = audit.field_with_name(column).unwrap();
        assert_eq!(field.metadata()[PARQUET_FIELD_ID_META_KEY], id, "{column}");
    }
    assert!(audit.fields().iter().all(|field| !field.metadata().is_empty()));
}
