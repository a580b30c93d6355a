//! Feeds with notes in several languages: each note is decided by the bundle of its language.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow_array::Array as _;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int32Type, Int64Type};
use common::checks::assert_intact;
use common::dataset::{Dataset, files, read_parquet};
use common::kafka::Topic;
use common::process::Lethe;
use common::{Place, folder_sink, quoted};
use serde_json::{Value, json};

const NOTES: usize = 60;

fn german_bundle() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/de-clinical")
}

/// Returns the language of a note: the feed mixes them irregularly.
fn language(number: usize) -> &'static str {
    match number % 5 {
        0 | 1 | 3 => "en",
        _ => "de",
    }
}

/// Returns a note, and the names and numbers in it.
fn note(number: usize) -> (String, [String; 3]) {
    let phone = format!("555-{number:04}");
    let mrn = format!("{}", 40_000_000 + number);
    match language(number) {
        "en" => (
            format!(
                "Mrs. Harriet Quillfeather was seen in the clinic for a cough, MRN: {mrn}. She can be reached at (612) {phone} and will come back in two weeks."
            ),
            ["Quillfeather".to_owned(), mrn, phone],
        ),
        _ => (
            format!(
                "Frau Hannelore Quellmann stellte sich wegen Husten in der Ambulanz vor, Patienten-ID: {mrn}. Sie ist unter der Telefonnummer 0761 {phone} zu erreichen und kommt in zwei Wochen wieder."
            ),
            ["Quellmann".to_owned(), mrn, phone],
        ),
    }
}

#[test]
fn a_stream_in_two_languages_is_redacted_note_by_note() {
    let place = Place::new();
    let topic = Topic::new("languages", 2);
    let event = |number: usize| {
        let id = format!("{}-{number:04}", language(number));
        json!({"note_id": id, "version": 1, "event": "create", "text": note(number).0}).to_string()
    };
    topic.fill((0..NOTES).map(event));
    let out = place.at("out");
    let engine = format!(
        "[engine]\nlanguages = {{ en = \"en-fast\", de = {} }}\n",
        quoted(german_bundle())
    );
    let config = place.write("lethe.toml", engine + &topic.source() + &folder_sink(&out));
    Lethe::through(&config).end().expect(0);

    let data = Dataset::read(&out);
    data.assert_exactly(&out, &topic.offsets());
    assert_intact(&out, NOTES);
    let file = data.chains.values().flatten().next().unwrap();
    let bundle = &file.footer["lethe.fingerprint.bundle"];
    assert!(
        bundle.starts_with("de=") && bundle.contains(",en=") && bundle.contains(",fallback=en,"),
        "{bundle}"
    );

    // Every redaction of a note comes from members of its language.
    let mut decided = BTreeMap::<&str, usize>::new();
    let mut languages = BTreeMap::new();
    for row in data.rows() {
        let id = row.note_id.clone().unwrap();
        let number: usize = id.split_once('-').unwrap().1.parse().unwrap();
        let text = row.text.as_ref().unwrap();
        for identifier in &note(number).1 {
            assert!(!text.contains(identifier), "{text}");
        }
        languages.insert((row.partition, row.offset), language(number));
    }
    for path in files(&out.join("audit")) {
        for batch in read_parquet(&path).unwrap().1 {
            let members = batch.column_by_name("members").unwrap().as_string::<i32>();
            let offsets = batch
                .column_by_name("offset")
                .unwrap()
                .as_primitive::<Int64Type>();
            let partitions = batch.column_by_name("partition").unwrap();
            let partitions = partitions.as_primitive::<Int32Type>();
            for row in 0..batch.num_rows() {
                let language = languages[&(partitions.value(row), offsets.value(row))];
                let by = members.value(row);
                let mut names = by.split(',').filter(|name| !name.is_empty());
                assert!(
                    names.all(|name| name.starts_with(&format!("{language}/"))),
                    "{by}"
                );
                assert!(!members.is_null(row));
                *decided.entry(language).or_default() += 1;
            }
        }
    }
    assert!(decided["de"] > NOTES && decided["en"] > NOTES, "{decided:?}");
}

#[test]
fn files_in_two_languages_are_redacted_by_the_bundles_that_the_command_line_names() {
    let place = Place::new();
    let lines: Vec<String> = (0..10)
        .map(|number| json!({"doc_id": number, "text": note(number).0}).to_string())
        .collect();
    let input = place.write("notes.jsonl", lines.join("\n") + "\n");
    let german = format!("de={}", german_bundle().display());
    let bundles = ["--bundle", "en=en-fast", "--bundle", &german];
    let annotated = |lang: &str| {
        let arguments = [
            "annotate",
            "--explain",
            "--lang",
            lang,
            "--input",
            input.to_str().unwrap(),
        ];
        let ended = Lethe::new(arguments.iter().chain(&bundles)).end().expect(0);
        let documents = ended
            .out
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let members = documents.map(|document| document["spans"].to_string());
        members.collect::<Vec<String>>()
    };
    for (number, members) in annotated("auto").iter().enumerate() {
        assert!(
            members.contains(&format!("\"{}/ssvm\"", language(number))),
            "{members}"
        );
        let other = if language(number) == "en" {
            "\"de/"
        } else {
            "\"en/"
        };
        assert!(!members.contains(other), "{members}");
    }
    // Without languages, members have their own names.
    assert!(annotated("de").iter().all(|members| members.contains("\"ssvm\"")));

    let refused = Lethe::new([
        "redact",
        "--lang",
        "auto",
        "--bundle",
        "en-fast",
        input.to_str().unwrap(),
    ]);
    refused.end().expect(2).says("name one for each language");
    let refused = Lethe::new([
        "redact",
        "--bundle",
        "klingon=x",
        "--bundle",
        "xx=y",
        input.to_str().unwrap(),
    ]);
    refused.end().expect(2).says("`xx` is no language");
}
