//! A run that publishes its dataset as a table.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use std::path::Path;

use crate::common;

use common::checks::until_rows;
use common::dataset::Dataset;
use common::kafka::Topic;
use common::notes::{event, events};
use common::pages::{Pages, TELEMETRY, sum};
use common::process::{Lethe, TIMEOUT, python};
use common::{Place, bucket_variables, env, folder_sink, kafka, quoted, s3_sink};
use serde_json::Value;

const ROLL: &str = "[sink.roll]\nmax_age_seconds = 0.5\nmax_idle_seconds = 0.5\n";

fn delta(path: &str, more: &str) -> String {
    format!("[sink.table]\nkind = \"delta\"\npath = {path:?}\n{more}")
}

/// Returns the report on the notes' table of `lethe publish --check`.
fn check(dataset: &str, table: &str) -> Value {
    let arguments = ["publish", dataset, "--delta", table, "--check", "--json"];
    let variables = bucket_variables();
    let program = variables
        .iter()
        .fold(Lethe::new(arguments), |program, (name, value)| {
            program.env(name, value)
        });
    let report: Value = serde_json::from_str(&program.end().expect(0).out).unwrap();
    report["tables"][0].clone()
}

#[test]
fn a_run_to_the_end_publishes_what_it_wrote() {
    let topic = Topic::new("table-end", 2);
    topic.fill(events(30));
    let place = Place::new();
    let dataset = place.at("notes/_lethe");
    let table = delta("notes", "audit_path = \"audit\"\n");
    let config = place.write("lethe.toml", topic.source() + &folder_sink(&dataset) + &table);
    Lethe::through(&config)
        .end()
        .expect(0)
        .says("published the table");
    assert!(place.at("audit/_delta_log").exists());
    let report = check(dataset.to_str().unwrap(), place.at("notes").to_str().unwrap());
    assert_eq!(report["files"], Dataset::read(&dataset).files());

    topic.fill((30..40).map(event));
    Lethe::through(&config).end().expect(0);
    let report = check(dataset.to_str().unwrap(), place.at("notes").to_str().unwrap());
    assert_eq!(report["files"], Dataset::read(&dataset).files());
}

#[test]
fn a_run_without_a_record_has_nothing_to_publish() {
    let topic = Topic::new("table-empty", 1);
    let place = Place::new();
    let sink = folder_sink(&place.at("notes/_lethe")) + &delta("notes", "");
    let config = place.write("lethe.toml", topic.source() + &sink);
    Lethe::through(&config).end().expect(0);
    assert!(!place.at("notes/_delta_log").exists());
}

#[test]
fn a_stream_publishes_while_it_goes_on() {
    let topic = Topic::new("table-stream", 1);
    topic.fill(events(10));
    let place = Place::new();
    let dataset = place.at("notes/_lethe");
    let sink = folder_sink(&dataset) + ROLL + &delta("notes", "every_seconds = 1\n");
    let config = place.write("lethe.toml", topic.source() + &sink);
    let mut running = Lethe::run(&config).start();
    until_rows(&dataset, 10, &mut running);
    running.until_it_says("published the table: 1 new files with 10 rows", TIMEOUT);
    topic.fill((10..15).map(event));
    running.until_it_says("published the table: 1 new files with 5 rows", TIMEOUT);
    running.signal("TERM");
    running.wait(TIMEOUT).expect(0);
}

#[test]
fn a_table_that_cannot_be_published_neither_stops_the_stream_nor_passes_for_complete() {
    let topic = Topic::new("table-wrong", 1);
    topic.fill(events(10));
    let place = Place::new();
    // VACUUM would delete it.
    let dataset = place.at("notes/data");
    let sink = folder_sink(&dataset) + ROLL + &delta("notes", "every_seconds = 1\n") + TELEMETRY;
    let config = place.write("lethe.toml", topic.source() + &sink);
    let mut running = Lethe::run(&config).start();
    let pages = Pages::of(&mut running);
    running.until_it_says("the table was not published", TIMEOUT);
    let metrics = pages.metrics();
    let attempts = |outcome: &str| sum(&metrics, "lethe_table_publishes_total", &[outcome]);
    assert!(attempts("outcome=\"failed\"") > 0.0);
    assert_eq!(attempts("outcome=\"published\""), 0.0);
    until_rows(&dataset, 10, &mut running);
    running.signal("TERM");
    running.wait(TIMEOUT).expect(0);

    topic.fill((10..15).map(event));
    let ended = Lethe::through(&config).end().expect(2);
    assert!(
        ended.err.contains("VACUUM") && ended.err.contains("the dataset is complete"),
        "{}",
        ended.err
    );
    Dataset::read(&dataset).assert_exactly(&dataset, &topic.offsets());
}

#[test]
fn a_table_in_the_bucket_of_the_dataset_is_published_with_the_keys_of_the_configuration() {
    let topic = Topic::new("table-bucket", 1);
    topic.fill(events(10));
    let place = Place::new();
    let prefix = kafka::name("table");
    let url = format!("s3://{}/{prefix}", env("LETHE_TEST_S3_BUCKET"));
    let sink = s3_sink(&format!("{prefix}/_lethe"), None, "") + &delta(&url, "");
    let config = place.write("lethe.toml", topic.source() + &sink);
    let ended = Lethe::through(&config).end().expect(0);
    assert!(!ended.err.contains(&env("LETHE_TEST_S3_SECRET")));
    let report = check(&format!("{url}/_lethe"), &url);
    assert_eq!(
        (&report["files"], &report["missing"]),
        (&1.into(), &Value::Array(Vec::new()))
    );
}

#[test]
fn a_table_of_a_catalogue_is_published() {
    let topic = Topic::new("table-iceberg", 1);
    topic.fill(events(10));
    let place = Place::new();
    let catalog = env("LETHE_TEST_CATALOGUE");
    let table = format!(
        "[sink.table]\nkind = \"iceberg\"\ncatalog = {catalog:?}\ntable = \"lake.{}\"\n",
        kafka::name("run").replace('-', "_")
    );
    let config = place.write(
        "lethe.toml",
        topic.source() + &folder_sink(&place.at("out")) + &table,
    );
    Lethe::through(&config)
        .end()
        .expect(0)
        .says("published the table: 1 new files with 10 rows");
}

#[test]
fn a_table_without_the_program_that_publishes_is_wrong_usage() {
    let place = Place::new();
    let program = place.at("lethe");
    std::fs::copy(env!("CARGO_BIN_EXE_lethe"), &program).unwrap();
    let input = place.write("in.jsonl", "");
    let config = place.write(
        "lethe.toml",
        format!(
            "[source]\nkind = \"jsonl\"\ninput = {}\n{}{}",
            quoted(&input),
            folder_sink(&place.at("notes/_lethe")),
            delta("notes", "")
        ),
    );
    let ended = run_alone(&program, &config);
    assert_eq!(ended.status.code(), Some(2));
    let err = String::from_utf8_lossy(&ended.stderr);
    assert!(
        err.contains("lethe-publish") && err.contains("install it"),
        "{err}"
    );
    assert!(!place.at("notes").exists());
}

/// Runs a copy of the program where nothing else is on PATH.
fn run_alone(program: &Path, config: &Path) -> std::process::Output {
    std::process::Command::new(program)
        .args(["run", "-c"])
        .arg(config)
        .env("PATH", "")
        .output()
        .unwrap()
}

/// Returns the statements of SQL in docs/publish.md.
fn documented_sql() -> Vec<&'static str> {
    let page = include_str!("../../../docs/publish.md");
    let blocks = page.split("```sql\n").skip(1);
    blocks.map(|block| block.split_once("```").unwrap().0).collect()
}

/// Creates a view of all notes files of a dataset, runs statements, and prints the rows of the last.
const QUERY: &str = r#"
import sys
import duckdb

files = sys.argv[1] + "/notes/**/*.parquet"
duckdb.sql(f"CREATE VIEW notes AS SELECT * FROM read_parquet('{files}', hive_partitioning = false)")
for statement in sys.argv[2:]:
    rows = duckdb.sql(statement)
for row in rows.fetchall():
    print(*row)
"#;

#[test]
fn the_documented_queries_find_current_notes_and_the_rows_of_withdrawn_ones() {
    let topic = Topic::new("table-current", 1);
    let note = |id: &str, event: &str, text: &str| {
        serde_json::json!({ "note_id": id, "event": event, "text": text }).to_string()
    };
    topic.fill([
        note("n-1", "create", "Seen."),
        note("n-2", "create", "Seen."),
        note("n-1", "amend", "Seen again."),
        note("n-3", "create", "Seen."),
        serde_json::json!({ "note_id": "n-2", "event": "delete" }).to_string(),
    ]);
    let place = Place::new();
    let dataset = place.at("notes/_lethe");
    let sink = folder_sink(&dataset) + &delta("notes", "");
    let config = place.write("lethe.toml", topic.source() + &sink);
    Lethe::through(&config).end().expect(0);

    let sql = documented_sql();
    let [view, withdrawn] = sql[..] else {
        panic!("{} statements", sql.len());
    };
    let folder = dataset.to_str().unwrap();
    let current = "SELECT note_id, text FROM current_notes ORDER BY note_id";
    assert_eq!(
        python(QUERY, &[folder, view, current]),
        "n-1 Seen again.\nn-3 Seen.\n"
    );

    let rows = python(QUERY, &[folder, withdrawn]);
    assert_eq!(rows, format!("{}/0@1\n", topic.name));
    let records = place.write("records.txt", rows);
    let erase = [
        "erase",
        "-c",
        config.to_str().unwrap(),
        "--reason",
        "withdrawn",
        "--records",
        records.to_str().unwrap(),
    ];
    Lethe::new(erase).end().expect(0);
    let table = place.at("notes");
    Lethe::new(["publish", folder, "--delta", table.to_str().unwrap()])
        .end()
        .expect(0);
    check(folder, table.to_str().unwrap());
    assert_eq!(python(QUERY, &[folder, withdrawn]), "");
}
