//! What becomes of files: every record in order and at its place, bad ones quarantined or told, errors without content.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, DictionaryArray, Float64Array, Int64Array, RecordBatch, StringArray,
    StringViewArray, TimestampMicrosecondArray, UInt64Array, types::Int32Type,
};
use lethe_connectors::files::{Documents, DocumentsConfig, FileError, FileSourceConfig, OnBad};
use lethe_connectors::format::Problem;
use lethe_core::{EventKind, KnownKind, QuarantineCode, Record};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use tempfile::TempDir;

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    dir
}

fn source(kind: &str, input: &Path, more: &str) -> Result<Vec<Result<Record, FileError>>, FileError> {
    let text = format!("kind = \"{kind}\"\ninput = {:?}\n{more}", input.to_str().unwrap());
    let config: FileSourceConfig = toml::from_str(&text).unwrap();
    Ok(config.build()?.collect())
}

fn records(kind: &str, input: &Path, more: &str) -> Vec<Record> {
    source(kind, input, more)
        .unwrap()
        .into_iter()
        .map(Result::unwrap)
        .collect()
}

/// Each record as `topic@offset=text`, or the code of a quarantined one.
fn told(records: &[Record]) -> Vec<String> {
    records
        .iter()
        .map(|record| match record {
            Record::Note(event) => format!("{}@{}={}", event.at.topic, event.at.offset, event.text.expose()),
            Record::Quarantined(at, code) => format!("{}@{}!{}", at.topic, at.offset, code.name()),
            Record::Tombstone(at) => format!("{}@{}-", at.topic, at.offset),
        })
        .collect()
}

fn line(id: &str, text: &str) -> String {
    serde_json::json!({"note_id": id, "text": text}).to_string()
}

#[test]
fn lines_keep_their_numbers_past_blank_and_bad_ones() {
    let content = format!(
        "\u{feff}{}\r\n\n  \n{{oops\n{}",
        line("a", "one"),
        line("b", "two")
    );
    let dir = folder(&[("notes.jsonl", content.as_bytes())]);
    let all = records("jsonl", &dir.path().join("notes.jsonl"), "");
    assert_eq!(
        told(&all),
        [
            "notes.jsonl@0=one",
            "notes.jsonl@3!invalid_payload",
            "notes.jsonl@4=two"
        ]
    );
}

#[test]
fn a_folder_of_lines_is_read_in_the_order_of_names() {
    let (a, b, c) = (line("a", "1"), line("b", "2"), line("c", "3"));
    let dir = folder(&[
        ("z.jsonl", c.as_bytes()),
        ("deep/er/b.NDJSON", b.as_bytes()),
        ("a.jsonl", a.as_bytes()),
        ("notes.txt", b"not read"),
        (".hidden.jsonl", b"not read"),
    ]);
    let all = records("jsonl", dir.path(), "");
    assert_eq!(told(&all), ["a.jsonl@0=1", "deep/er/b.NDJSON@0=2", "z.jsonl@0=3"]);
}

#[test]
fn a_line_over_the_limit_is_quarantined_without_being_held() {
    let long = line("a", &"x".repeat(3 << 20));
    let content = format!("{long}\n{}\n{}", line("b", "elevenchars"), line("c", "ok"));
    let dir = folder(&[("n.jsonl", content.as_bytes())]);
    let all = records("jsonl", dir.path(), "format = { max_note_bytes = 10 }");
    assert_eq!(
        told(&all),
        ["n.jsonl@0!too_large", "n.jsonl@1!too_large", "n.jsonl@2=ok"]
    );
}

#[test]
fn a_line_of_20_megabytes_is_read() {
    let text = "Ward round. ".repeat(20_000_000 / 12);
    let dir = folder(&[("n.jsonl", line("a", &text).as_bytes())]);
    let all = records("jsonl", dir.path(), "");
    assert!(matches!(&all[..], [Record::Note(event)] if event.text.len() == text.len()));
}

#[test]
fn failing_on_bad_lines_names_file_line_field_and_byte_and_ends_there() {
    let content = format!(
        "{}\n{{\"note_id\":\"n\",\"text\":[\"Okonkwo\"]}}\n{}",
        line("a", "1"),
        line("b", "2")
    );
    let dir = folder(&[("sub/n.jsonl", content.as_bytes())]);
    let all = source("jsonl", dir.path(), "on_bad = \"fail\"").unwrap();
    assert_eq!(all.len(), 2);
    let error = all[1].as_ref().unwrap_err();
    assert!(matches!(
        error,
        FileError::Record { place: "line", number: 2, diagnosis, .. }
            if diagnosis.field == Some("text") && diagnosis.problem == Problem::WrongType
    ));
    let said = error.to_string();
    assert!(
        said.contains("sub/n.jsonl") && said.contains("line 2") && said.contains("byte"),
        "{said}"
    );
    assert!(!said.contains("Okonkwo"), "{said}");
}

#[test]
fn input_that_is_not_there_or_not_of_the_kind_is_an_error_that_says_what_to_do() {
    let dir = folder(&[("a.csv", b"x"), ("b.jsonl.gz", b"x")]);
    let missing = source("jsonl", &dir.path().join("none.jsonl"), "").unwrap_err();
    assert!(
        matches!(
            missing,
            FileError::Io {
                doing: "find the input",
                ..
            }
        ),
        "{missing}"
    );
    let none = source("jsonl", dir.path(), "").unwrap_err();
    assert!(none.to_string().contains(".jsonl, .ndjson"), "{none}");
    let compressed = source("jsonl", &dir.path().join("b.jsonl.gz"), "").unwrap_err();
    assert!(compressed.to_string().contains("decompress"), "{compressed}");
}

#[test]
fn a_folder_of_texts_is_one_note_a_file() {
    let dir = folder(&[
        ("in/b.txt", "né\r\n".as_bytes()),
        ("in/sub/a.note.TXT", "\u{feff}mark".as_bytes()),
        ("in/c.txt", b"bad \xff"),
        ("in/empty.txt", b""),
        ("in/d.md", b"not read"),
    ]);
    let all = records("text", &dir.path().join("in"), "");
    assert_eq!(
        told(&all),
        ["in@0=né\r\n", "in@1!invalid_utf8", "in@2=", "in@3=\u{feff}mark"]
    );
    let ids: Vec<_> = all
        .iter()
        .filter_map(|record| match record {
            Record::Note(event) => Some(event.note_id.expose()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["b", "empty", "sub/a.note"]);
}

#[test]
fn a_text_over_the_limit_is_quarantined_and_a_failing_reader_ends() {
    let dir = folder(&[("a.txt", b"12345"), ("b.txt", b"123456"), ("c.txt", b"1")]);
    let all = records("text", dir.path(), "max_note_bytes = 5");
    assert!(matches!(all[1], Record::Quarantined(_, QuarantineCode::TooLarge)));
    assert_eq!(all.len(), 3);
    let all = source("text", dir.path(), "max_note_bytes = 5\non_bad = \"fail\"").unwrap();
    assert_eq!(all.len(), 2);
    assert!(all[1].as_ref().unwrap_err().to_string().contains("file 2"));
}

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
            "`columns.text`: column \"text\" is not there; the file has note, when",
        ),
        (
            "columns = { text = \"when\" }",
            "column \"when\" holds Float64, not text",
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
            "serves another field",
        ),
    ] {
        let mut all = source("parquet", dir.path(), columns).unwrap();
        let said = all.remove(0).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
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
    let said = all[0].as_ref().unwrap_err().to_string();
    assert!(
        said.contains("after row 0") && said.contains("not UTF-8"),
        "{said}"
    );
}

fn documents(input: &Path, on_bad: OnBad) -> Documents {
    let config = DocumentsConfig {
        on_bad,
        ..DocumentsConfig::default()
    };
    Documents::open(input, config).unwrap()
}

#[test]
fn documents_keep_their_ids_as_they_were() {
    let content = "{\"doc_id\":\"S-\\u00e91\\\"\",\"text\":\"a\",\"spans\":[],\"lang\":\"es\"}\n\
                   {\"note_id\":17,\"text\":\"b\"}\n\
                   {\"text\":\"c\"}\n\
                   {\"doc_id\":\"\",\"text\":\"d\"}\n";
    let dir = folder(&[("in.jsonl", content.as_bytes())]);
    let all: Vec<_> = documents(&dir.path().join("in.jsonl"), OnBad::Fail)
        .map(Result::unwrap)
        .collect();
    let ids: Vec<_> = all
        .iter()
        .map(|document| document.id.as_ref().map(|id| (id.name, id.json.as_str())))
        .collect();
    assert_eq!(
        ids,
        [
            Some(("doc_id", "\"S-é1\\\"\"")),
            Some(("note_id", "17")),
            None,
            Some(("doc_id", "\"\""))
        ]
    );
    let first: serde_json::Value = serde_json::from_str(all[0].line.expose()).unwrap();
    assert_eq!(first["lang"], "es");
    assert_eq!(all[2].record.at().offset, 2);
    assert!(!format!("{:?}", all[0]).contains("S-"), "{:?}", all[0]);
}

#[test]
fn a_document_with_both_ids_is_bad() {
    let dir = folder(&[("in.jsonl", b"{\"doc_id\":\"a\",\"note_id\":\"b\",\"text\":\"t\"}")]);
    let error = documents(dir.path(), OnBad::Fail).next().unwrap().unwrap_err();
    assert!(
        matches!(&error, FileError::Record { diagnosis, .. } if diagnosis.problem == Problem::Duplicate),
        "{error}"
    );
}

#[test]
fn bad_documents_are_quarantined_or_end_the_reader() {
    let dir = folder(&[
        (
            "a.jsonl",
            b"{\"doc_id\":\"a\"}\n{\"doc_id\":\"b\",\"text\":\"t\"}\n",
        ),
        ("b.jsonl", b"\xff\n"),
    ]);
    let all: Vec<_> = documents(dir.path(), OnBad::Quarantine)
        .map(Result::unwrap)
        .collect();
    let records: Vec<_> = all.iter().map(|document| document.record.clone()).collect();
    assert_eq!(
        told(&records),
        [
            "a.jsonl@0!invalid_payload",
            "a.jsonl@1=t",
            "b.jsonl@0!invalid_utf8"
        ]
    );
    assert!(all[0].id.is_none() && all[0].line.is_empty());
    let failing: Vec<_> = documents(dir.path(), OnBad::Fail).collect();
    assert!(failing.len() == 1 && failing[0].is_err());
}

#[test]
fn documents_may_be_plain_text_files() {
    let dir = folder(&[("b.txt", b"two"), ("a/x.txt", b"one")]);
    let ids = |input: &Path| -> Vec<String> {
        documents(input, OnBad::Fail)
            .map(|document| document.unwrap().id.unwrap().json)
            .collect()
    };
    assert_eq!(ids(dir.path()), ["\"a/x\"", "\"b\""]);
    assert_eq!(ids(&dir.path().join("b.txt")), ["\"b\""]);
    let parquet = Documents::open(Path::new("x.parquet"), DocumentsConfig::default())
        .err()
        .unwrap();
    assert!(parquet.to_string().contains("JSON lines"), "{parquet}");
}

#[test]
fn a_document_of_plain_text_may_come_from_a_stream() {
    let read = |bytes: &[u8], on_bad| {
        let config = DocumentsConfig {
            on_bad,
            max_note_bytes: 5,
        };
        Documents::text(bytes, "standard input", config)
    };
    let document = read(b"a\r\nb\n", OnBad::Fail).unwrap();
    assert_eq!(told(&[document.record]), ["standard input@0=a\r\nb\n"]);
    let long = read(b"123456", OnBad::Quarantine).unwrap();
    assert_eq!(told(&[long.record]), ["standard input@0!too_large"]);
    let bad = read(b"\xff", OnBad::Fail).unwrap_err();
    assert!(bad.to_string().contains("not UTF-8"), "{bad}");
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_back_is_an_error_and_not_a_loop() {
    let dir = folder(&[("sub/a.txt", b"one")]);
    std::os::unix::fs::symlink(dir.path(), dir.path().join("sub/back")).unwrap();
    let error = source("text", dir.path(), "").unwrap_err();
    assert!(
        matches!(error, FileError::Io { .. } | FileError::Kind { .. }),
        "{error}"
    );
}

#[test]
fn no_error_of_a_file_shows_what_stands_in_it() {
    let secret = "Okonkwo";
    let line = format!("{{\"doc_id\":\"{secret}\",\"text\":{{\"{secret}\":\"{secret}\"}}}}");
    let dir = folder(&[("in.jsonl", line.as_bytes())]);
    let error = documents(dir.path(), OnBad::Fail).next().unwrap().unwrap_err();
    let said = format!("{error} {error:?}");
    assert!(!said.contains(secret), "{said}");
}
