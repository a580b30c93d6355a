//! Rows of Parquet: default or mapped columns, bad rows by number, unreadable files.

use std::fs;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, DictionaryArray, Float64Array, Int64Array, RecordBatch, StringArray,
    StringViewArray, TimestampMicrosecondArray, UInt64Array, types::Int32Type,
};
use lethe_connectors::files::FileError;
use lethe_core::{EventKind, KnownKind, Record};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use tempfile::TempDir;

use super::{folder, records, source, told};

fn parquet(columns: Vec<(&str, ArrayRef)>) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true))).unwrap();
    let file = fs::File::create(dir.path().join("n.parquet")).unwrap();
    let small = WriterProperties::builder()
        .set_max_row_group_row_count(Some(2))
        .build();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(small)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    dir
}

#[test]
fn a_row_of_parquet_is_read_whole_from_default_columns() {
    let dir = parquet(vec![
        ("ward", Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0]))),
        (
            "text",
            Arc::new(StringArray::from(vec![Some("one"), None, Some("")])),
        ),
        ("note_id", Arc::new(UInt64Array::from(vec![u64::MAX, 2, 3]))),
        ("version", Arc::new(Int64Array::from(vec![Some(4), None, None]))),
        (
            "event",
            Arc::new(StringArray::from(vec![Some("amend"), Some("delete"), None])),
        ),
        (
            "authored_at",
            Arc::new(TimestampMicrosecondArray::from(vec![
                Some(-1),
                None,
                Some(1_709_269_199_250_999),
            ])),
        ),
    ]);
    let all = records("parquet", dir.path(), "");
    assert_eq!(told(&all), ["n.parquet@0=one", "n.parquet@1=", "n.parquet@2="]);
    let Record::Note(first) = &all[0] else {
        panic!("{:?}", all[0])
    };
    assert_eq!(first.note_id.expose(), "18446744073709551615");
    assert_eq!((first.version, first.kind), (Some(4), EventKind::Amend));
    assert_eq!(first.authored_at, Some(-1), "rounded down, not to zero");
    let Record::Note(third) = &all[2] else {
        panic!("{:?}", all[2])
    };
    assert_eq!((third.version, third.kind), (None, EventKind::Create));
    assert_eq!(third.authored_at, Some(1_709_269_199_250));
}

#[test]
fn columns_of_parquet_may_be_mapped_whatever_their_text_type() {
    let name: DictionaryArray<Int32Type> = vec![Some("Ola Berg"), None, Some(" ")].into_iter().collect();
    let dir = parquet(vec![
        ("name", Arc::new(name)),
        ("id", Arc::new(StringViewArray::from(vec!["a", "b", "c"]))),
        ("mrn", Arc::new(Int64Array::from(vec![Some(5512), None, None]))),
        (
            "body",
            Arc::new(BinaryArray::from(vec![b"1".as_slice(), b"2", b"3"])),
        ),
    ]);
    let all = records(
        "parquet",
        dir.path(),
        "columns = { text = \"body\", note_id = \"id\", known = { patient = \"name\", mrn = \"mrn\" } }",
    );
    assert_eq!(told(&all), ["n.parquet@0=1", "n.parquet@1=2", "n.parquet@2=3"]);
    let Record::Note(first) = &all[0] else {
        panic!("{:?}", all[0])
    };
    let known: Vec<_> = first.known.iter().map(|k| (k.kind, k.value.expose())).collect();
    assert_eq!(
        known,
        [
            (KnownKind::Patient, "Ola Berg"),
            (KnownKind::MedicalRecord, "5512")
        ]
    );
    assert!(matches!(&all[2], Record::Note(event) if event.known.is_empty()));
}

#[test]
fn bad_rows_of_parquet_are_quarantined_by_their_number() {
    let dir = parquet(vec![
        (
            "text",
            Arc::new(StringArray::from(vec![
                Some("ok"),
                None,
                Some("too long"),
                Some("ok"),
            ])),
        ),
        (
            "event",
            Arc::new(StringArray::from(vec![None, None, None, Some("gone")])),
        ),
    ]);
    let all = records("parquet", dir.path(), "max_note_bytes = 4");
    assert_eq!(
        told(&all),
        [
            "n.parquet@0=ok",
            "n.parquet@1!invalid_payload",
            "n.parquet@2!too_large",
            "n.parquet@3!invalid_payload"
        ]
    );
    let failing = source("parquet", dir.path(), "on_bad = \"fail\"").unwrap();
    assert!(
        failing[1]
            .as_ref()
            .unwrap_err()
            .to_string()
            .contains("row 2: field `text` is missing")
    );
}

#[test]
fn columns_that_cannot_serve_are_named_with_what_there_is() {
    let dir = parquet(vec![
        ("note", Arc::new(StringArray::from(vec!["a"]))),
        ("when", Arc::new(Float64Array::from(vec![1.0]))),
    ]);
    for (columns, expected) in [
        (
            "",
            "`columns.text`: column \"text\" does not exist; the file has note, when",
        ),
        (
            "columns = { text = \"when\" }",
            "column \"when\" has the type Float64; it must be text",
        ),
        (
            "columns = { text = \"note\", authored_at = \"when\" }",
            "`columns.authored_at`",
        ),
        (
            "columns = { text = \"note\", known = { patient = \"nobody\" } }",
            "`columns.known.patient`",
        ),
        (
            "columns = { text = \"note\", known = { pet = \"note\" } }",
            "kinds are patient",
        ),
        (
            "columns = { text = \"note\", note_id = \"note\" }",
            "is mapped to another field",
        ),
    ] {
        let mut all = source("parquet", dir.path(), columns).unwrap();
        let message = all.remove(0).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
        assert!(all.is_empty());
    }
}

#[test]
fn a_parquet_file_that_is_none_or_is_cut_is_an_error() {
    let whole = parquet(vec![("text", Arc::new(StringArray::from(vec!["a"; 100])))]);
    let bytes = fs::read(whole.path().join("n.parquet")).unwrap();
    let mut damaged = bytes.clone();
    damaged[4..40].fill(0xFF);
    for content in [b"PAR1 no".as_slice(), b"", &bytes[..bytes.len() - 9], &damaged] {
        let dir = folder(&[("n.parquet", content)]);
        let all = source("parquet", dir.path(), "").unwrap();
        let last = all.last().unwrap().as_ref().unwrap_err();
        assert!(matches!(last, FileError::Parquet { .. }), "{last}");
    }
}

#[test]
fn bytes_in_parquet_that_are_not_utf8_are_quarantined_by_row() {
    let bytes = vec![b"ok".as_slice(), b"caf\xe9", b"after"];
    let dir = parquet(vec![("text", Arc::new(BinaryArray::from(bytes)))]);
    let all = records("parquet", dir.path(), "");
    assert_eq!(
        told(&all),
        ["n.parquet@0=ok", "n.parquet@1!invalid_utf8", "n.parquet@2=after"]
    );
}

#[test]
fn a_parquet_column_that_only_claims_to_be_text_is_an_error() {
    let dir = parquet(vec![(
        "text",
        Arc::new(StringArray::from(vec!["ok", "ok", "the café"])),
    )]);
    let path = dir.path().join("n.parquet");
    let mut bytes = fs::read(&path).unwrap();
    let needle = "the café".as_bytes();
    let places: Vec<_> = (0..bytes.len())
        .filter(|&i| bytes[i..].starts_with(needle))
        .collect();
    for &place in &places {
        bytes[place + 7] = 0xFF;
    }
    assert!(!places.is_empty());
    fs::write(&path, bytes).unwrap();
    let all = source("parquet", &path, "").unwrap();
    assert_eq!(all.len(), 1);
    let message = all[0].as_ref().unwrap_err().to_string();
    assert!(
        message.contains("after row 0") && message.contains("not UTF-8"),
        "{message}"
    );
}
