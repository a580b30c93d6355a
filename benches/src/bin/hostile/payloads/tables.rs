//! Tables of a backfill: CSV, JSON lines and Parquet, with the columns `id`, `kind` and `text`.

use std::sync::Arc;

use arrow_array::{ArrayRef, LargeStringArray, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use super::{Payload, nested, numbered, repeated};
use crate::texts;

const HEADER: &str = "id,kind,text\n";

/// CSV with a header line.
pub(crate) fn csv() -> Vec<(&'static str, Payload)> {
    let plain = |size| {
        let rows = texts::plain(size).into_iter().enumerate();
        let rows: String = rows
            .map(|(i, text)| format!("{i},note,\"{}\"\n", text.replace('"', "\"\"")))
            .collect();
        format!("{HEADER}{rows}").into_bytes()
    };
    vec![
        ("plain", Box::new(plain)),
        ("short rows", repeated(HEADER, "1,a,b\n", "")),
        ("rows of nothing", repeated(HEADER, ",,\n", "")),
        ("rows of one value", repeated(HEADER, "1\n", "")),
        ("blank lines", repeated(HEADER, "\n", "")),
        ("carriage returns", repeated(HEADER, "\r", "")),
        ("one row of delimiters", repeated(HEADER, ",", "\n")),
        ("doubled quotes", repeated("id,kind,text\n1,a,\"", "\"\"", "\"\n")),
        (
            "a quote without an end",
            repeated("id,kind,text\n1,a,\"", "a\n", ""),
        ),
        ("quoted values", repeated(HEADER, "\"1\",\"a\",\"b\"\n", "")),
        ("quotes within values", repeated(HEADER, "1\"a\"\"", "\n")),
        (
            "not UTF-8",
            Box::new(|size| [HEADER.as_bytes(), &b"1,a,\xff\n".repeat(size / 6 + 1)].concat()),
        ),
        ("one long value", repeated("id,kind,text\n1,a,", "a", "\n")),
        (
            "columns",
            numbered("id,kind,text", |i| format!(",c{i}"), "\n1,a,b\n"),
        ),
        (
            "columns without a name",
            repeated("id,kind,text", ",", "\n1,a,b\n"),
        ),
    ]
}

/// One JSON object a line.
pub(crate) fn jsonl() -> Vec<(&'static str, Payload)> {
    let plain = |size| {
        let rows = texts::plain(size).into_iter().enumerate();
        let rows: String = rows
            .map(|(i, text)| {
                serde_json::json!({"id": i.to_string(), "kind": "note", "text": text}).to_string() + "\n"
            })
            .collect();
        rows.into_bytes()
    };
    let row = "{\"id\":\"1\",\"kind\":\"a\",\"text\":\"b\"";
    vec![
        ("plain", Box::new(plain)),
        ("short rows", repeated("", "{\"text\":\"a\"}\n", "")),
        ("empty objects", repeated("", "{}\n", "")),
        ("blank lines", repeated("", "\n", "")),
        ("not JSON", repeated("", "a\n", "")),
        ("escapes", repeated("{\"text\":\"", "\\n", "\"}\n")),
        (
            "escapes of code units",
            repeated("{\"text\":\"", "\\u00e9", "\"}\n"),
        ),
        ("unknown keys", numbered(row, |i| format!(",\"k{i}\":0"), "}\n")),
        ("one key again and again", repeated(row, ",\"text\":\"\"", "}\n")),
        (
            "an unknown array",
            repeated("{\"text\":\"a\",\"x\":[0", ",0", "]}\n"),
        ),
        (
            "an unknown array of objects",
            repeated("{\"text\":\"a\",\"x\":[{}", ",{}", "]}\n"),
        ),
        (
            "a kept array",
            repeated("{\"text\":\"a\",\"kind\":[0", ",0", "]}\n"),
        ),
        (
            "nested arrays",
            nested("{\"text\":\"a\",\"x\":", "[", "", "]", "}\n"),
        ),
        (
            "nested objects",
            nested("{\"text\":\"a\",\"x\":", "{\"a\":", "0", "}", "}\n"),
        ),
        ("a long number", repeated("{\"text\":\"a\",\"x\":", "1", "}\n")),
        ("a line without an end", repeated("", "{\"text\":", "")),
    ]
}

/// Parquet of these texts.
fn file(texts: impl Iterator<Item = String>, group: usize) -> Vec<u8> {
    let texts: Vec<String> = texts.collect();
    let column = |of: &dyn Fn(usize) -> String| -> ArrayRef {
        Arc::new(LargeStringArray::from_iter_values((0..texts.len()).map(of)))
    };
    let record = RecordBatch::try_from_iter([
        ("id", column(&|row| row.to_string())),
        ("kind", column(&|_| "note".to_owned())),
        ("text", column(&|row| texts[row].clone())),
    ])
    .expect("the columns are equally long");
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group))
        .build();
    let mut out = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut out, record.schema(), Some(properties)).expect("strings can be written");
    writer.write(&record).expect("memory takes every byte");
    writer.close().expect("memory takes every byte");
    out
}

/// Parquet files.
pub(crate) fn parquet() -> Vec<(&'static str, Payload)> {
    vec![
        (
            "plain",
            Box::new(|size| file(texts::plain(size).into_iter(), 5000)),
        ),
        (
            "short texts",
            Box::new(|size| file((0..size / 16).map(|i| i.to_string()), 5000)),
        ),
        (
            "empty texts",
            Box::new(|size| file((0..size / 8).map(|_| String::new()), 5000)),
        ),
        (
            "groups of a row",
            Box::new(|size| file((0..size / 1000).map(|i| i.to_string()), 1)),
        ),
        (
            "one long text",
            Box::new(|size| file(std::iter::once("a".repeat(size)), 5000)),
        ),
    ]
}
