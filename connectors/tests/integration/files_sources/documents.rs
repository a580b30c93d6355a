//! Documents as `annotate` reads them: unchanged ids, reported bad ones.

use std::path::Path;

use lethe_connectors::files::{Documents, DocumentsConfig, FileError, OnBad};
use lethe_connectors::format::PayloadError;

use super::{folder, told};

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
        matches!(&error, FileError::Record { diagnosis, .. } if diagnosis.problem == PayloadError::Duplicate),
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

#[test]
fn no_error_of_a_file_shows_what_stands_in_it() {
    let secret = "Okonkwo";
    let line = format!("{{\"doc_id\":\"{secret}\",\"text\":{{\"{secret}\":\"{secret}\"}}}}");
    let dir = folder(&[("in.jsonl", line.as_bytes())]);
    let error = documents(dir.path(), OnBad::Fail).next().unwrap().unwrap_err();
    let message = format!("{error} {error:?}");
    assert!(!message.contains(secret), "{message}");
}
