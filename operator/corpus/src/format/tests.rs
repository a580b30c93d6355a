//! Tests of folders, format detection, and what each format reads of what it wrote.

use lethe_core::Span;
use proptest::prelude::*;

use super::*;
use crate::{Mark, write_brat, write_i2b2, write_jsonl};

const XML: &str = "<a><TEXT>Ana</TEXT><TAGS/></a>";

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

fn ids(files: &[(&str, &str)], format: Option<Format>) -> Result<Vec<String>, String> {
    let folder = folder(files);
    let documents = read(folder.path(), format).map_err(|error| error.to_string())?;
    Ok(documents.into_iter().map(|document| document.id).collect())
}

#[test]
fn every_format_has_its_place_in_the_list_and_its_name_in_configurations() {
    for format in Format::all() {
        assert_eq!(
            Format::LIST
                .iter()
                .filter(|(listed, ..)| *listed == format)
                .count(),
            1
        );
        assert_eq!(format.entry().0, format);
        assert_eq!(Format::by_name(format.name()), Some(format));
        let read: Format = serde_json::from_value(serde_json::Value::from(format.name())).unwrap();
        assert_eq!(read, format);
    }
    assert_eq!(Format::by_name("conll"), None);
}

#[test]
fn a_folder_is_read_in_the_order_of_names_and_the_formats_of_its_files_are_guessed() {
    let record = "\u{feff}\n<R><RECORD ID=\"r1\"><TEXT>x</TEXT></RECORD></R>";
    let files = [
        ("b.xml", XML),
        ("a.xml", record),
        ("LICENSE.txt", "free"),
        (".c.xml", "<"),
        ("note.md", "x"),
    ];
    assert_eq!(ids(&files, None).unwrap(), ["r1", "b"]);
    let lines = "\u{feff}{\"doc_id\":\"j\",\"text\":\"x\"}\n";
    assert_eq!(
        ids(&[("x.jsonl", lines), ("y.ndjson", "\n")], None).unwrap(),
        ["j"]
    );
    assert_eq!(ids(&[("n.txt", "Ana"), ("n.ann", "")], None).unwrap(), ["n"]);
}

#[test]
fn a_folder_of_two_formats_or_of_none_is_refused_unless_one_is_named() {
    let files = [("a.xml", XML), ("n.txt", "Ana"), ("n.ann", "")];
    assert!(ids(&files, None).unwrap_err().contains("more than one format"));
    assert_eq!(ids(&files, Some(Format::Brat)).unwrap(), ["n"]);
    assert!(
        ids(&[("a.txt", "Ana")], None)
            .unwrap_err()
            .contains("no file that can be read")
    );
    assert!(
        ids(&[("a.txt", "x"), ("b.txt", "x"), ("b.ann", "")], None)
            .unwrap_err()
            .contains("a.txt: no `.ann`")
    );
}

#[test]
fn outputs_of_other_tools_are_detected_unless_files_of_another_format_are_there() {
    let mat = "{\"asets\": [], \"signal\": \"x\"}";
    let detected = |files: &[(&str, &str)]| detect(folder(files).path()).unwrap();
    assert_eq!(detected(&[("a.json", mat)]), Some(Format::MatJson));
    assert_eq!(
        detected(&[("a.json", "{\"doc_id\":\"j\",\"text\":\"x\"}")]),
        Some(Format::Jsonl)
    );
    let record = "START_OF_RECORD=1||||2||||\nx\n||||END_OF_RECORD\n";
    let files = [
        ("a.text", record),
        ("a.info", "Patient 1\tNote 2\n"),
        ("a.phi", ""),
    ];
    assert_eq!(detected(&files), Some(Format::PhysionetDeid));
    assert_eq!(ids(&files, None).unwrap(), ["1-2"]);
    assert_eq!(ids(&[("a.json", mat)], None).unwrap(), ["a"]);
    let lines = "{\"doc_id\":\"j\",\"text\":\"x\"}\n";
    assert_eq!(
        ids(&[("x.jsonl", lines), ("a.json", mat), ("b.text", "x")], None).unwrap(),
        ["j"]
    );
    assert!(
        ids(&[("a.json", mat), ("b.text", "x")], None)
            .unwrap_err()
            .contains("more than one format")
    );
}

#[test]
fn a_file_that_is_not_there_or_of_no_format_is_refused_by_name() {
    let folder = folder(&[("a.csv", "Secret,1")]);
    let missing = read(&folder.path().join("none.xml"), None)
        .unwrap_err()
        .to_string();
    assert!(missing.contains("none.xml"), "{missing}");
    let unknown = read(&folder.path().join("a.csv"), None).unwrap_err().to_string();
    assert!(
        unknown.contains("a.csv: unknown format") && !unknown.contains("Secret"),
        "{unknown}"
    );
}

#[test]
fn two_documents_of_one_id_are_refused_by_their_places() {
    let line = "{\"doc_id\":\"Jane\",\"text\":\"x\"}\n";
    let error = ids(&[("a.jsonl", line), ("b.jsonl", line)], None).unwrap_err();
    assert_eq!(error, "documents 1 and 2 (counted from 1) have the same id");
}

#[test]
fn an_id_that_is_no_file_name_is_not_written() {
    let target = tempfile::tempdir().unwrap();
    for id in ["", "../x", ".x", "a\\b"] {
        let document = Document {
            id: id.to_owned(),
            patient: None,
            text: String::new(),
            marks: Vec::new(),
        };
        let error = write_brat(target.path(), &[document]).unwrap_err().to_string();
        assert!(error.contains("its id is not a file name"), "{error}");
    }
}

/// Generates texts of pieces that are difficult for formats, with annotations that begin and end with a
/// visible character.
fn document() -> impl Strategy<Value = Document> {
    let piece = proptest::sample::select(vec![
        "\u{feff}", "\r\n", "\n", "\r", "\t", " ", "a", "Ruiz", "é", "e\u{301}", "👩🏽", "𝔸", "]]>", "]]", ">",
        "<", "&", "&amp;", "\"", "'", "<PHI>", "\u{a0}", "\u{2028}", "\u{85}", "{", "\\", ";",
    ]);
    let picks = proptest::collection::vec(
        (
            any::<prop::sample::Index>(),
            any::<prop::sample::Index>(),
            0..3_usize,
        ),
        0..6,
    );
    (proptest::collection::vec(piece, 1..30), picks).prop_map(|(pieces, picks)| {
        let text = pieces.concat();
        let ends: Vec<usize> = text
            .char_indices()
            .map(|(at, _)| at)
            .chain([text.len()])
            .collect();
        let mut marks = Vec::new();
        for (a, b, label) in picks {
            let (a, b) = (*a.get(&ends), *b.get(&ends));
            let span = Span::new(a.min(b), a.max(b)).unwrap().trimmed(&text);
            if !span.is_empty() {
                marks.push(Mark::gold(span, ["NAME", "DATE", "ID-X"][label]));
            }
        }
        let mut document = Document {
            id: "12-3".to_owned(),
            patient: Some("12".to_owned()),
            text,
            marks,
        };
        document.sort();
        document
    })
}

proptest! {
    #[test]
    fn json_lines_give_back_what_was_written(document in document()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        write_jsonl(&path, std::slice::from_ref(&document)).unwrap();
        prop_assert!(read(&path, None).unwrap() == [document]);
    }

    #[test]
    fn the_2014_layout_gives_back_what_was_written(document in document()) {
        let folder = tempfile::tempdir().unwrap();
        write_i2b2(folder.path(), std::slice::from_ref(&document), |_| "NAME".to_owned()).unwrap();
        prop_assert!(read(folder.path(), None).unwrap() == [document]);
    }

    #[test]
    fn brat_gives_back_what_was_written(document in document()) {
        let folder = tempfile::tempdir().unwrap();
        write_brat(folder.path(), std::slice::from_ref(&document)).unwrap();
        let expected = Document { patient: None, ..document };
        prop_assert!(read(folder.path(), None).unwrap() == [expected]);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), head in 0..5_usize) {
        let folder = tempfile::tempdir().unwrap();
        let head = ["", "<a><TEXT>", "<a><RECORD ID='1'><TEXT>", "<a><TEXT>x</TEXT><TAGS><X ", "{\"text\":"][head];
        let content = [head.as_bytes(), &bytes].concat();
        for name in ["a.xml", "a.jsonl", "a.ann", "a.json", "a.info", "a.phi"] {
            let path = folder.path().join(name);
            std::fs::write(&path, &content).unwrap();
            std::fs::write(folder.path().join("a.txt"), &bytes).unwrap();
            let record = [b"START_OF_RECORD=1||||1||||\n".as_slice(), &bytes, b"||||END_OF_RECORD"].concat();
            std::fs::write(folder.path().join("a.text"), record).unwrap();
            for format in Format::all() {
                if let Ok(documents) = read(&path, Some(format)) {
                    for document in documents {
                        prop_assert!(document.marks.iter().all(|mark| mark.span.check(&document.text).is_ok()));
                    }
                }
            }
        }
    }
}
