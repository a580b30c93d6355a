//! Files and tables whose columns differ.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt32Array};
use arrow_schema::{Field, Schema};
use delta_kernel::committer::FileSystemCommitter;
use delta_kernel::schema::{DataType, StructField, StructType};
use delta_kernel::transaction::create_table::create_table;
use delta_kernel::transaction::data_layout::DataLayout;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::common::{Site, chain};

/// Rewrites a file of a chain with another column in addition, or in place of the one with its name.
pub(crate) fn with_column(site: &Site, first: i64, name: &str, column: impl Fn(usize) -> ArrayRef) {
    let path = site.dataset().join(chain(0).notes_name(first));
    let bytes = bytes::Bytes::from(std::fs::read(&path).unwrap());
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
    let pairs = reader
        .metadata()
        .file_metadata()
        .key_value_metadata()
        .cloned()
        .unwrap();
    let batch = reader.build().unwrap().next().unwrap().unwrap();
    let new = column(batch.num_rows());
    let mut fields: Vec<Field> = batch
        .schema()
        .fields()
        .iter()
        .map(|field| (**field).clone())
        .collect();
    let mut columns = batch.columns().to_vec();
    let field = Field::new(name, new.data_type().clone(), true);
    match fields.iter().position(|field| field.name() == name) {
        Some(at) => (fields[at], columns[at]) = (field, new),
        None => {
            fields.push(field);
            columns.push(new);
        }
    }
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    pairs
        .into_iter()
        .filter(|pair| pair.key.starts_with("lethe."))
        .for_each(|pair| writer.append_key_value_metadata(pair));
    std::fs::write(path, writer.into_inner().unwrap()).unwrap();
}

fn numbers(rows: usize) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(0..rows as i64))
}

#[test]
fn a_column_of_later_files_is_added_to_the_table() {
    let site = Site::new();
    site.append(0, 0..3);
    site.publish().unwrap();
    site.append(0, 3..5);
    with_column(&site, 3, "later", numbers);
    let report = site.publish().unwrap();
    assert_eq!(report.tables[1].columns, ["later"]);
    assert!(site.snapshot(&site.table()).schema().field("later").is_some());
    site.append(0, 5..6);
    site.publish().unwrap();
    site.assert_rows(&[(0, 6)]);
}

#[test]
fn a_column_with_another_type_is_refused_and_nothing_is_committed() {
    let site = Site::new();
    site.append(0, 0..3);
    site.publish().unwrap();
    let before = site.log(&site.table()).len();
    site.append(0, 3..5);
    with_column(&site, 3, "review", numbers);
    let error = site.publish().unwrap_err().to_string();
    assert!(
        error.contains("`review`") && error.contains("00000000000000000003"),
        "{error}"
    );
    assert_eq!(site.log(&site.table()).len(), before);
    // The same among files that are published together.
    let site = Site::new();
    site.append(0, 0..3);
    site.append(0, 3..5);
    with_column(&site, 3, "version", |rows| {
        Arc::new(StringArray::from(vec!["1"; rows]))
    });
    let error = site.publish().unwrap_err().to_string();
    assert!(error.contains("`version`"), "{error}");
}

#[test]
fn files_of_before_and_after_an_upgrade_are_in_one_table_whose_numbers_are_long() {
    let site = Site::new();
    site.append(0, 0..3);
    // Files of earlier versions have unsigned counts.
    with_column(&site, 0, "redactions", |rows| {
        Arc::new(UInt32Array::from(vec![1; rows]))
    });
    site.publish().unwrap();
    site.append(0, 3..5);
    let report = site.publish().unwrap();
    assert_eq!(report.tables[1].columns, Vec::<String>::new());
    let schema = site.snapshot(&site.table()).schema();
    assert_eq!(schema.field("redactions").unwrap().data_type(), &DataType::LONG);
    site.assert_rows(&[(0, 5)]);
}

/// Creates the table with these properties, and returns the error of publishing to it.
fn published_to(properties: &[(&str, &str)], layout: DataLayout) -> String {
    let site = Site::new();
    site.append(0, 0..1);
    let schema = StructType::try_new([
        StructField::nullable("topic", DataType::STRING),
        StructField::nullable("offset", DataType::LONG),
    ]);
    let created = create_table(
        site.table().to_str().unwrap(),
        Arc::new(schema.unwrap()),
        "test",
        false,
    )
    .with_table_properties(properties.iter().copied())
    .with_data_layout(layout)
    .build(&site.engine(), Box::new(FileSystemCommitter::new()))
    .unwrap()
    .commit(&site.engine());
    assert!(created.unwrap().is_committed());
    let error = site.publish().unwrap_err();
    assert!(error.is_usage(), "{error}");
    error.to_string()
}

#[test]
fn a_table_that_would_read_files_otherwise_or_forget_offsets_is_refused() {
    let mapped = published_to(&[("delta.columnMapping.mode", "name")], DataLayout::None);
    assert!(mapped.contains("columnMapping"), "{mapped}");
    let forgets = published_to(
        &[("delta.setTransactionRetentionDuration", "interval 1 days")],
        DataLayout::None,
    );
    assert!(forgets.contains("setTransactionRetentionDuration"), "{forgets}");
    let partitioned = published_to(&[], DataLayout::partitioned(["topic"]));
    assert!(partitioned.contains("partitioned"), "{partitioned}");
}
