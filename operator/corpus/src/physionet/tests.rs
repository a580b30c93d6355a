//! Tests with invented records.

use super::*;

const TEXT: &str = "\nSTART_OF_RECORD=7||||1||||\nSeen by Dr. Quill\non 3/14, Núñez.\n\n||||END_OF_RECORD\n\n\
                    START_OF_RECORD=7||||2||||01/02/2031||||\nOkafor||||END_OF_RECORD\n";

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

fn found(files: &[(&str, &str)], name: &str) -> Result<Vec<(String, Vec<String>)>, String> {
    let folder = folder(files);
    let documents = read(&folder.path().join(name)).map_err(|error| error.to_string())?;
    let each = |document: Document| {
        assert_eq!(document.patient.as_deref(), Some("7"));
        let marks = document.marks.iter();
        let marks = marks.map(|mark| format!("{}={}", mark.label, mark.span.of(&document.text)));
        (document.id.clone(), marks.collect())
    };
    Ok(documents.into_iter().map(each).collect())
}

#[test]
fn typed_spans_are_read_in_bytes_and_words_that_were_left_are_not() {
    let info = "Patient 7\tNote 1\n0\t4\t# Seen \tLast Name (ambig)\n12\t17\tQuill \tLast Name (un)\tDoctor Last Name\n\
                21\t25\t3/14,\tMonth/Day (4)\n27\t34\tNúñez.\tLast Name (un)\nPatient 7\tNote 2\n0\t6\tOkafor \tName6 (MD)\n";
    let documents = found(&[("a.text", TEXT), ("a.info", info)], "a.text").unwrap();
    let names = |marks: &[&str]| marks.iter().map(|&mark| mark.to_owned()).collect::<Vec<_>>();
    assert_eq!(
        documents,
        [
            (
                "7-1".to_owned(),
                names(&["Name=Quill", "Date=3/14", "Name=Núñez"])
            ),
            ("7-2".to_owned(), names(&["Doctor=Okafor"])),
        ]
    );
}

#[test]
fn spans_without_types_are_read_and_a_record_that_was_not_processed_is_left_out() {
    let phi = "\nPatient 7\tNote 1\n12\t12\t17\n21 21 25";
    let documents = found(&[("a.text", TEXT), ("a.phi", phi)], "a.phi").unwrap();
    let marks = vec!["PHI=Quill".to_owned(), "PHI=3/14".to_owned()];
    assert_eq!(documents, [("7-1".to_owned(), marks)]);
    let folder = folder(&[("a.text", TEXT), ("a.phi", phi)]);
    let text = read(&folder.path().join("a.text")).unwrap().remove(0).text;
    assert_eq!(text, "Seen by Dr. Quill\non 3/14, Núñez.\n");
}

#[test]
fn types_become_a_short_list_of_labels() {
    for (types, expected) in [
        (&["Hospital", "Hospital1"][..], "Hospital"),
        (&["Year (4 digits)"], "Date"),
        (&["Telephone/Fax"], "Telephone"),
        (&["Medical Record Number"], "ID"),
        (&["Street Address"], "Address"),
        (&["Location (ambig)", "Last Name (un)"], "Name"),
        (&["Location (ambig)"], "Location"),
        (&["Something"], "Other"),
        (&[], "Other"),
    ] {
        assert_eq!(label(types), expected, "{types:?}");
    }
}

#[test]
fn what_does_not_fit_is_refused_by_its_line_without_text() {
    let with = |output: &str, name: &str| {
        let error = found(&[("a.text", TEXT), (name, output)], name).unwrap_err();
        assert!(!error.contains("Okafor") && !error.contains("Quill"), "{error}");
        error
    };
    let head = "Patient 7\tNote 1\n";
    for (output, name, told) in [
        (
            "12\t12\t17\n".to_owned(),
            "a.phi",
            "line 1: a span before the first",
        ),
        (
            format!("{head}12\t17\n"),
            "a.phi",
            "line 2: not `START<TAB>START<TAB>END`",
        ),
        (format!("{head}12\t12\t99\n"), "a.phi", "line 2: span 1 (12..99"),
        (format!("{head}29\t29\t34\n"), "a.phi", "line 2: span 1 (29..34"),
        (format!("{head}{head}"), "a.phi", "line 2: a second time"),
        (
            "Patient 9\tNote 1\n".to_owned(),
            "a.phi",
            "a record that the `.text` file does not have",
        ),
        (format!("{head}Okafor\n"), "a.info", "line 2: not `START<TAB>END"),
        (
            format!("{head}11\t16\tOkafo \tLast Name\n"),
            "a.info",
            "line 2: span 1 (11..16",
        ),
    ] {
        let error = with(&output, name);
        assert!(error.contains(told), "{error}");
    }
    let lone = found(&[("a.text", TEXT)], "a.text").unwrap_err();
    assert!(lone.contains("no `.info` or `.phi` file"), "{lone}");
    let cut = found(
        &[("a.text", "START_OF_RECORD=7||||1||||\nOkafor"), ("a.phi", "")],
        "a.text",
    )
    .unwrap_err();
    assert!(
        cut.contains("line 1: a record without `||||END_OF_RECORD`"),
        "{cut}"
    );
}
