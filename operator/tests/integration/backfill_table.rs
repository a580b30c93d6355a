//! `lethe backfill` of a version of a Delta or Iceberg table.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use std::path::Path;

use common::kafka::{self, Topic};
use common::notes::{event, events};
use common::process::{Ended, Lethe, python};
use common::tables::backfill;
use common::{Place, env, folder_sink, quoted, s3_sink};

/// The columns of a table of redacted notes. They are redacted once more.
const COLUMNS: &str = "[backfill.columns]\ntext = [\"text\"]\nkeep = [\"offset\"]\n";

/// Writes notes to a topic and publishes them, 10 at first and 5 more, each as one version.
fn publish_twice(place: &Place, sink: &str) {
    let topic = Topic::new("table-read", 1);
    let config = place.write("stream.toml", topic.source() + sink);
    topic.fill(events(10));
    Lethe::through(&config).end().expect(0);
    topic.fill((10..15).map(event));
    Lethe::through(&config).end().expect(0);
}

/// Runs a backfill of this input to a folder of this name.
fn run(place: &Place, input: &str, table: &str, out: &str) -> Ended {
    let text = format!(
        "[engine]\nmembers = [{{ kind = \"pattern\" }}]\n[backfill]\n{input}\ntable = {table}\n{COLUMNS}{}",
        folder_sink(&place.at(out))
    );
    backfill(&place.write(&format!("{out}.toml"), text), &[]).end()
}

#[test]
fn a_version_of_a_delta_table_has_the_rows_that_it_had() {
    let place = Place::new();
    let sink = folder_sink(&place.at("notes/_lethe")) + "[sink.table]\nkind = \"delta\"\npath = \"notes\"\n";
    publish_twice(&place, &sink);
    let input = format!(
        "input = {{ kind = \"folder\", path = {} }}",
        quoted(place.at("notes"))
    );
    let table = |version: i64| format!("{{ kind = \"delta\", version = {version} }}");
    run(&place, &input, &table(1), "first")
        .expect(0)
        .says("10 rows in");
    run(&place, &input, &table(2), "second")
        .expect(0)
        .says("15 rows in");
    // The version stays the same while the table goes on, and another one is not mixed with it.
    run(&place, &input, &table(1), "first")
        .expect(0)
        .says("0 rows in");
    run(&place, &input, &table(2), "first")
        .expect(3)
        .says("made by another configuration (table)");
    let input = format!(
        "input = {{ kind = \"folder\", path = {} }}\nfolder = \"notes\"",
        quoted(place.path())
    );
    run(&place, &input, &table(1), "within")
        .expect(0)
        .says("10 rows in");
    run(&place, &input, &table(3), "none")
        .expect(2)
        .says("version 3")
        .says("the newest is 2");
    assert!(!place.at("none/rows").exists());
}

#[test]
fn a_file_that_a_clean_up_deleted_is_told_and_the_others_are_read() {
    let place = Place::new();
    let dataset = place.at("notes/_lethe");
    let sink = folder_sink(&dataset) + "[sink.table]\nkind = \"delta\"\npath = \"notes\"\n";
    publish_twice(&place, &sink);
    std::fs::remove_file(first_file(&dataset)).unwrap();
    let input = format!(
        "input = {{ kind = \"folder\", path = {} }}",
        quoted(place.at("notes"))
    );
    run(&place, &input, "{ kind = \"delta\", version = 2 }", "out")
        .expect(4)
        .says("is missing, but this version of the table has it")
        .says("5 rows in");
}

/// Writes a Delta table whose second version adds the column `ward`, in two files with a row each.
const ADDS_A_COLUMN: &str = r#"
import json, pathlib, sys
import pyarrow as pa, pyarrow.parquet as pq

folder = pathlib.Path(sys.argv[1])
(folder / "_delta_log").mkdir(parents=True)
columns = [("text", pa.string(), "string"), ("ward", pa.int64(), "long")]
rows = {"text": ["First.", "Second."], "ward": [None, 7]}
for number in range(2):
    there = columns[: number + 1]
    file = f"part-{number}.parquet"
    pq.write_table(pa.table({name: pa.array([rows[name][number]], kind) for name, kind, _ in there}), folder / file)
    schema = {"type": "struct", "fields": [
        {"name": name, "type": kind, "nullable": True, "metadata": {}} for name, _, kind in there]}
    actions = [
        {"metaData": {"id": "6d3d9b0e-0f0a-4b0e-9d6c-6d1d2f5c9a11", "format": {"provider": "parquet", "options": {}},
                      "schemaString": json.dumps(schema), "partitionColumns": [], "configuration": {}}},
        {"add": {"path": file, "partitionValues": {}, "size": (folder / file).stat().st_size, "modificationTime": 1,
                 "dataChange": True}},
    ]
    if number == 0:
        actions.insert(0, {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}})
    (folder / "_delta_log" / f"{number:020}.json").write_text("".join(json.dumps(action) + "\n" for action in actions))
"#;

/// Prints the type of `ward` in each file of rows, and its values in the order of the texts.
const WARDS: &str = r#"
import pathlib, sys
import pyarrow.parquet as pq

tables = [pq.read_table(path, partitioning=None) for path in pathlib.Path(sys.argv[1]).rglob("*.parquet")]
print({str(table.schema.field("ward").type) for table in tables})
print([row["ward"] for row in sorted((row for table in tables for row in table.to_pylist()), key=lambda row: row["text"])])
"#;

#[test]
fn a_column_that_was_added_later_is_null_in_the_rows_of_earlier_files() {
    let place = Place::new();
    let folder = place.at("notes");
    python(ADDS_A_COLUMN, &[folder.to_str().unwrap()]);
    let input = format!("input = {{ kind = \"folder\", path = {} }}", quoted(&folder));
    let config = |version: i64, out: &str| {
        let text = format!(
            "[engine]\nmembers = [{{ kind = \"pattern\" }}]\n[backfill]\n{input}\ntable = {{ kind = \"delta\", version = {version} }}\n\
             [backfill.columns]\ntext = [\"text\"]\nkeep = [\"ward\"]\n{}",
            folder_sink(&place.at(out))
        );
        place.write(&format!("{out}.toml"), text)
    };
    backfill(&config(1, "both"), &[])
        .end()
        .expect(0)
        .says("2 rows in");
    let rows = place.at("both/rows");
    assert_eq!(
        python(WARDS, &[rows.to_str().unwrap()]).trim(),
        "{'int64'}\n[None, 7]"
    );
    // The first version has no such column, and it is no typing error that a later one has it.
    backfill(&config(0, "first"), &[]).end().expect(2).says("`ward`");
}

fn first_file(dataset: &Path) -> std::path::PathBuf {
    common::dataset::files(&dataset.join("notes")).remove(0)
}

#[test]
fn a_delta_table_in_a_bucket_is_read_with_the_keys_of_the_input() {
    let place = Place::new();
    let prefix = kafka::name("table-read");
    let bucket = env("LETHE_TEST_S3_BUCKET");
    let sink = s3_sink(&format!("{prefix}/_lethe"), None, "")
        + &format!("[sink.table]\nkind = \"delta\"\npath = \"s3://{bucket}/{prefix}\"\n");
    publish_twice(&place, &sink);
    let input = s3_sink(&prefix, None, "").replace("[sink.store]", "[backfill.input]");
    let text = format!(
        "[engine]\nmembers = [{{ kind = \"pattern\" }}]\n{input}[backfill.table]\nkind = \"delta\"\nversion = 1\n{COLUMNS}{}",
        folder_sink(&place.at("out"))
    );
    backfill(&place.write("bucket.toml", text), &[])
        .end()
        .expect(0)
        .says("10 rows in");
}

#[test]
fn a_snapshot_of_an_iceberg_table_has_the_rows_that_it_had() {
    let place = Place::new();
    let catalog = env("LETHE_TEST_CATALOGUE");
    let name = format!("lake.{}", kafka::name("read").replace('-', "_"));
    let sink = folder_sink(&place.at("data"))
        + &format!("[sink.table]\nkind = \"iceberg\"\ncatalog = {catalog:?}\ntable = {name:?}\n");
    publish_twice(&place, &sink);
    let listed = python(
        "import sys\nfrom pyiceberg.catalog import load_catalog\n\
         table = load_catalog('rest', uri=sys.argv[1]).load_table(sys.argv[2])\n\
         print(*(snapshot.snapshot_id for snapshot in table.snapshots()))",
        &[&catalog, &name],
    );
    let snapshots: Vec<&str> = listed.split_whitespace().collect();
    assert_eq!(snapshots.len(), 2);
    let input = format!(
        "input = {{ kind = \"folder\", path = {} }}",
        quoted(place.at("data"))
    );
    let table = |snapshot: &str| {
        format!("{{ kind = \"iceberg\", catalog = {catalog:?}, table = {name:?}, snapshot = {snapshot} }}")
    };
    run(&place, &input, &table(snapshots[0]), "first")
        .expect(0)
        .says("10 rows in");
    run(&place, &input, &table(snapshots[1]), "second")
        .expect(0)
        .says("15 rows in");
    run(&place, &input, &table("7"), "none")
        .expect(2)
        .says("does not exist");
    let elsewhere = format!(
        "input = {{ kind = \"folder\", path = {} }}",
        quoted(place.at("first"))
    );
    run(&place, &elsewhere, &table(snapshots[0]), "elsewhere")
        .expect(2)
        .says("files outside of the input");
}
