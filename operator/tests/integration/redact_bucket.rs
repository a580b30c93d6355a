//! `lethe redact` on the objects of a bucket of a real store.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use std::io::Write as _;

use crate::common;

use common::process::Lethe;
use common::tables::table;
use common::{Place, azure_sink, bucket_variables, env, fill_bucket, fill_store, kafka};

const RULES: &str = "[engine]\nmembers = [{ kind = \"pattern\" }]\n";
const NOTE: &str = "Call (612) 555-0142.\n";

/// Runs `lethe redact` with the store's variables.
fn redact<'a>(place: &Place, arguments: impl IntoIterator<Item = &'a str>) -> Lethe {
    let rules = place.write("rules.toml", RULES);
    let rules = rules.to_str().unwrap().to_owned();
    let first = ["redact".to_owned(), "--config".to_owned(), rules];
    let program = Lethe::new(first.into_iter().chain(arguments.into_iter().map(str::to_owned)));
    let variables = bucket_variables();
    let with = |program: Lethe, (name, value): &(&str, String)| program.env(name, value);
    variables.iter().fold(program, with)
}

/// Returns the URL of a new place in the bucket, with these objects.
fn filled(objects: Vec<(&str, Vec<u8>)>) -> String {
    let prefix = kafka::name("redact");
    fill_bucket(&prefix, objects);
    format!("s3://{}/{prefix}", common::env("LETHE_TEST_S3_BUCKET"))
}

fn gzip(text: &str) -> Vec<u8> {
    let packing = lethe_connectors::files::Packing::Gzip;
    let mut to = lethe_connectors::files::Compressor::new(Vec::new(), packing).unwrap();
    to.write_all(text.as_bytes()).unwrap();
    to.finish().unwrap()
}

#[test]
fn objects_below_a_prefix_are_redacted_to_a_folder_with_their_tree() {
    let place = Place::new();
    table(&place.at("t.parquet"), 0, 50);
    let rows = std::fs::read(place.at("t.parquet")).unwrap();
    let url = filled(vec![
        ("a first note.txt", NOTE.into()),
        ("2026/märz/b.txt.gz", gzip(NOTE)),
        ("2026/damaged.txt", vec![0xff, 0xfe, 0x00]),
        ("rows.parquet", rows),
        ("left-out.md", NOTE.into()),
    ]);
    let clean = place.at("clean");
    let arguments = [
        &url,
        "--out",
        clean.to_str().unwrap(),
        "--glob",
        "!*.md",
        "--text-columns",
        "text",
    ];
    redact(&place, arguments).end().expect(1).says("2026/damaged.txt");
    let first = std::fs::read_to_string(clean.join("a first note.txt")).unwrap();
    assert_eq!(first, "Call [PHONE].\n");
    assert!(clean.join("2026/märz/b.txt.gz").exists() && clean.join("rows.parquet").exists());
    assert!(!clean.join("left-out.md").exists() && !clean.join("2026/damaged.txt").exists());
    // A second run reads only what failed.
    redact(&place, arguments).end().expect(1).says("kept=3");
}

#[test]
fn one_object_is_redacted_to_standard_output() {
    let place = Place::new();
    let url = filled(vec![
        ("notes/a.txt", NOTE.into()),
        ("notes/a.txt.old", NOTE.into()),
    ]);
    let out = redact(&place, [&*format!("{url}/notes/a.txt")])
        .end()
        .expect(0)
        .out;
    assert_eq!(out, "Call [PHONE].\n");
}

#[test]
fn a_url_that_names_nothing_and_an_output_in_a_bucket_are_refused() {
    let place = Place::new();
    let url = filled(vec![("a.txt", NOTE.into())]);
    redact(&place, [&*format!("{url}/b.txt")])
        .end()
        .expect(2)
        .says("there is no such object");
    redact(&place, ["ftp://bucket/a.txt"])
        .end()
        .expect(2)
        .says("s3://BUCKET/PREFIX");
    redact(&place, [&*format!("{url}/a.txt"), "--suffix", ".redacted"])
        .end()
        .expect(1)
        .says("is in a bucket");
    redact(&place, [&*format!("{url}/a.txt"), "--out", &url])
        .end()
        .expect(2)
        .says("outputs go to local files");
    redact(&place, [&*format!("{url}/a.txt")])
        .env("AWS_ALLOW_HTTP", "false")
        .end()
        .expect(1);
}

#[test]
fn blobs_of_a_container_of_azure_are_redacted_by_their_url() {
    let place = Place::new();
    let prefix = kafka::name("redact");
    fill_store(
        &azure_sink(&prefix),
        [("a.txt", NOTE.into()), ("2026/b.txt", NOTE.into())],
    );
    let (container, account) = (env("LETHE_TEST_AZURE_CONTAINER"), env("LETHE_TEST_AZURE_ACCOUNT"));
    let url = format!("abfss://{container}@{account}.dfs.core.windows.net/{prefix}");
    let clean = place.at("clean");
    for (variable, value) in [
        ("AZURE_STORAGE_ACCOUNT_KEY", env("LETHE_TEST_AZURE_KEY")),
        ("AZURE_STORAGE_SAS_TOKEN", env("LETHE_TEST_AZURE_SAS")),
    ] {
        let out = clean.join(variable);
        redact(&place, [&*url, "--out", out.to_str().unwrap()])
            .env("AZURE_STORAGE_ENDPOINT", &env("LETHE_TEST_AZURE_ENDPOINT"))
            .env("AZURE_ALLOW_HTTP", "true")
            .env(variable, &value)
            .end()
            .expect(0);
        for file in ["a.txt", "2026/b.txt"] {
            let text = std::fs::read_to_string(out.join(file)).unwrap();
            assert!(!text.contains("555-0142"), "{text}");
        }
    }
}
