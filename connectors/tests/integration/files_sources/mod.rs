//! File sources: every record in order and at its position, bad ones quarantined or reported, errors without
//! content.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

mod documents;
mod messages;
mod parquet;

use std::fs;
use std::path::Path;

use lethe_connectors::files::{FileError, FileSourceConfig};
use lethe_connectors::format::PayloadError;
use lethe_core::{QuarantineCode, Record};
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

/// Returns each record as `topic@offset=text`, or the code of a quarantined one.
fn told(records: &[Record]) -> Vec<String> {
    records
        .iter()
        .map(|record| match record {
            Record::Note(event) => format!("{}@{}={}", event.at.topic, event.at.offset, event.text.expose()),
            Record::Quarantined(at, why) => format!("{}@{}!{}", at.topic, at.offset, why.code.name()),
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
        ["notes.jsonl@0=one", "notes.jsonl@3!damaged", "notes.jsonl@4=two"]
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
            if diagnosis.field == Some("text") && diagnosis.problem == PayloadError::WrongType
    ));
    let message = error.to_string();
    assert!(
        message.contains("sub/n.jsonl") && message.contains("line 2") && message.contains("byte"),
        "{message}"
    );
    assert!(!message.contains("Okonkwo"), "{message}");
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
    assert!(matches!(all[1], Record::Quarantined(_, why) if why.code == QuarantineCode::TooLarge));
    assert_eq!(all.len(), 3);
    let all = source("text", dir.path(), "max_note_bytes = 5\non_bad = \"fail\"").unwrap();
    assert_eq!(all.len(), 2);
    assert!(all[1].as_ref().unwrap_err().to_string().contains("file 2"));
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
