//! Backfills of a query of a real PostgreSQL: each row once, whatever is killed or lost, or a refusal.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "test helpers may panic, as tests may"
)]

use crate::common;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use common::database::Schema;
use common::dataset::all_files;
use common::notes::Dice;
use common::process::{Lethe, TIMEOUT};
use common::search::Search;
use common::tables::{COLUMNS, ENGINE, backfill, content, manifest, rows};
use common::{Place, folder_sink};

const QUERY: &str = "SELECT * FROM notes";

/// Writes a configuration that reads a query, with small units and parts.
fn config(place: &Place, name: &str, schema: &Schema, query: &str, out: &Path, columns: &str) -> PathBuf {
    let database = format!(
        "[backfill]\nunit_bytes = 60000\npart_bytes = 30000\n[backfill.database]\nconnection = {:?}\npassword = {:?}\nquery = {query:?}\nkey = \"note_id\"\n",
        schema.url(),
        Schema::password()
    );
    place.write(name, format!("{database}{columns}{ENGINE}{}", folder_sink(out)))
}

#[test]
fn a_backfill_that_is_killed_or_loses_its_connections_ends_with_each_row_once() {
    let (place, schema) = (Place::new(), Schema::with_notes(2500));
    let (out, calm) = (place.at("out"), place.at("calm"));
    let undisturbed = config(&place, "calm.toml", &schema, QUERY, &calm, COLUMNS);
    let mut said = vec![backfill(&undisturbed, &[]).end().expect(0)];
    let config = config(&place, "lethe.toml", &schema, QUERY, &out, COLUMNS);
    let seed = 11;
    println!("seed {seed}");
    let mut dice = Dice::new(seed);
    for _ in 0..6 {
        let running = backfill(&config, &[]).start();
        let began = Instant::now();
        let before = all_files(&out).len();
        while all_files(&out).len() <= before && began.elapsed() < TIMEOUT {
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(Duration::from_millis(dice.below(60)));
        running.signal("KILL");
        said.push(running.wait(TIMEOUT));
    }
    let mut running = backfill(&config, &[]).start();
    let before = all_files(&out.join("rows")).len();
    let began = Instant::now();
    while running.lives() && all_files(&out.join("rows")).len() < before + 2 {
        assert!(began.elapsed() < TIMEOUT, "no rows:\n{}", running.err());
        std::thread::sleep(Duration::from_millis(2));
    }
    schema.end_sessions();
    said.push(running.wait(TIMEOUT).expect(0));
    assert_eq!(rows(&out).len(), 2500);
    assert_eq!(rows(&out), rows(&calm));
    let files = |folder: &Path| {
        let files = content(folder).into_iter();
        files
            .filter(|(path, _)| path.starts_with("rows"))
            .collect::<Vec<_>>()
    };
    assert_eq!(files(&out), files(&calm), "byte for byte");
    assert_eq!(manifest(&out)["totals"], manifest(&calm)["totals"]);
    // Repeating it finds everything done; the tables have what the dataset has.
    backfill(&config, &[]).end().expect(0);
    assert_eq!(files(&out), files(&calm));
    let inspect = ["inspect", "--audit", "--sources", "-c", config.to_str().unwrap()];
    let inspected = Lethe::new(inspect).end().expect(0);
    assert!(inspected.out.contains("2500 rows"), "{}", inspected.out);
    let password: &'static str = Schema::password().leak();
    let mut search = Search::new([password, "Zorvanebaaa", "40000001"]);
    said.push(inspected);
    for ended in &said {
        search.words("backfill", ended);
    }
    search.folder(&out);
    search.assert_clean();
}

#[test]
fn a_row_that_changes_between_two_runs_is_refused() {
    let (place, schema) = (Place::new(), Schema::with_notes(600));
    let out = place.at("out");
    let config = config(&place, "lethe.toml", &schema, QUERY, &out, COLUMNS);
    let running = backfill(&config, &[]).start();
    let began = Instant::now();
    while !out.join("rows").is_dir() || all_files(&out.join("rows")).is_empty() {
        assert!(began.elapsed() < TIMEOUT, "no rows");
        std::thread::sleep(Duration::from_millis(2));
    }
    running.signal("KILL");
    drop(running.wait(TIMEOUT));
    schema.sql("UPDATE notes SET text = 'Seen by Quillfeather.' WHERE note_id = 'note-000599'");
    let ended = backfill(&config, &[])
        .end()
        .expect(3)
        .says("query: changed since it was backfilled");
    assert!(!ended.err.contains("Quillfeather"));
    // Another query, too, needs a dataset of its own.
    let text = std::fs::read_to_string(&config).unwrap();
    let other = place.write(
        "other.toml",
        text.replace(QUERY, "SELECT * FROM notes WHERE true"),
    );
    backfill(&other, &[])
        .end()
        .expect(3)
        .says("made by another configuration (query)");
}

#[test]
fn the_command_line_names_a_database_but_no_password() {
    let (place, schema) = (Place::new(), Schema::with_notes(50));
    let out = place.at("out");
    let text = format!(
        "[backfill]\ninput = {{ kind = \"folder\", path = \"/nowhere\" }}\n{COLUMNS}{ENGINE}{}",
        folder_sink(&out)
    );
    let config = place.write("lethe.toml", text);
    let url = schema.url();
    let options = ["--source", &url, "--query", QUERY, "--key", "note_id"];
    let with = url.replace("lethe@", "lethe:hush-hush@");
    let ended = backfill(
        &config,
        &["--source", &with, "--query", QUERY, "--key", "note_id"],
    )
    .end()
    .expect(2)
    .says("--source: contains a password");
    assert!(!ended.err.contains("hush"), "{}", ended.err);
    backfill(&config, &options[..4])
        .env("PGPASSWORD", &Schema::password())
        .end()
        .expect(2)
        .says("backfill.database.key");
    backfill(&config, &options)
        .env("PGPASSWORD", "wrong")
        .end()
        .expect(2)
        .says("refused the login");
    backfill(&config, &options)
        .env("PGPASSWORD", &Schema::password())
        .end()
        .expect(0);
    assert_eq!(rows(&out).len(), 50);
}

#[test]
fn columns_and_queries_that_cannot_be_used_are_named_before_anything_starts() {
    let (place, schema) = (Place::new(), Schema::with_notes(10));
    let out = place.at("out");
    let columns = COLUMNS.replace("\"ward\"", "\"wards\"");
    schema.sql("CREATE SEQUENCE counter");
    for (name, query, columns, why) in [
        (
            "columns.toml",
            QUERY,
            &*columns,
            "column `wards` does not exist; did you mean `ward`?",
        ),
        (
            "query.toml",
            "SELECT * FROM note",
            COLUMNS,
            "relation \"note\" does not exist",
        ),
        (
            "delete.toml",
            "DELETE FROM notes RETURNING *",
            COLUMNS,
            "not one SELECT",
        ),
    ] {
        let config = config(&place, name, &schema, query, &out, columns);
        backfill(&config, &[]).end().expect(2).says(why);
        let check = ["check", "--connect", "-c", config.to_str().unwrap()];
        Lethe::new(check).end().expect(4).says(why);
        assert!(!out.join("backfill.json").exists(), "nothing was begun");
    }
    let writes = "SELECT *, nextval('counter') AS n FROM notes";
    let kept = COLUMNS.replace("\"ward\"", "\"ward\", \"n\"");
    let writing = config(&place, "write.toml", &schema, writes, &out, &kept);
    backfill(&writing, &[])
        .end()
        .expect(2)
        .says("the query writes to the database");
    let good = config(&place, "good.toml", &schema, QUERY, &out, COLUMNS);
    let checked = Lethe::new(["check", "--connect", "-c", good.to_str().unwrap()])
        .end()
        .expect(0);
    assert!(
        checked.out.contains("the query is readable, and has 6 columns"),
        "{}",
        checked.out
    );
}

#[test]
fn a_proposal_for_the_columns_of_a_query_samples_its_rows() {
    let (place, schema) = (Place::new(), Schema::with_notes(200));
    let out = place.at("columns.toml");
    let query = "SELECT *, '1 day'::interval AS stay FROM notes";
    let arguments = [
        "profile",
        "--source",
        &schema.url(),
        "--query",
        query,
        "--out",
        out.to_str().unwrap(),
    ];
    let password = Schema::password();
    let ended = Lethe::new(arguments).env("PGPASSWORD", &password).end().expect(0);
    assert!(ended.out.contains("redact as text"), "{}", ended.out);
    let columns = std::fs::read_to_string(out).unwrap();
    assert!(columns.contains("mrn = \"MEDICALRECORD\""), "{columns}");
    let arguments = [
        "profile",
        "--source",
        &schema.url(),
        "--query",
        "SELECT 1; SELECT 2",
    ];
    Lethe::new(arguments)
        .env("PGPASSWORD", &password)
        .end()
        .expect(2)
        .says("backfill.database.query");
}
