//! `lethe backfill`: tables in, redacted tables out, each row once, whatever happens on the way.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests, as tests themselves, say where they fail"
)]

mod common;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int64Type, UInt32Type};
use arrow_array::{Array as _, ArrayRef, Int64Array, RecordBatch, StringArray};
use common::dataset::{all_files, read_parquet};
use common::notes::{Dice, id, planted, text};
use common::pages::{Pages, TELEMETRY, sum};
use common::process::{Lethe, python};
use common::search::Search;
use common::{Place, copy_bucket, folder_sink, quoted, s3_sink};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

const PATIENCE: Duration = Duration::from_secs(60);
/// One cheap member: most of these tests are about rows.
const ENGINE: &str = "[engine]\nmembers = [{ kind = \"known\" }, { kind = \"pattern\" }]\n";
const COLUMNS: &str = "[backfill.columns]\ntext = [\"text\"]\nkeep = [\"ward\", \"note_id\"]\nnote_id = \"note_id\"\nidentifiers = { mrn = \
                       \"MEDICALRECORD\" }\nknown = { patient = [\"name\"], email = [\"email\"] }\n";

/// A table of notes, `from` on, in row groups of 100.
fn table(path: &Path, from: usize, count: usize) {
    let numbers = from..from + count;
    let strings = |of: fn(usize) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(numbers.clone().map(of)))
    };
    let record = RecordBatch::try_from_iter([
        ("note_id", strings(id)),
        ("mrn", strings(|number| planted(number)[2].clone())),
        ("name", strings(|number| planted(number)[3].clone())),
        ("email", strings(|number| planted(number)[1].clone())),
        ("ward", strings(|number| format!("ward {}", number % 5))),
        (
            "version",
            Arc::new(Int64Array::from_iter_values(
                numbers.clone().map(|number| number as i64),
            )),
        ),
        ("text", strings(text)),
    ])
    .unwrap();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(100))
        .build();
    let mut writer = ArrowWriter::try_new(
        std::fs::File::create(path).unwrap(),
        record.schema(),
        Some(properties),
    )
    .unwrap();
    writer.write(&record).unwrap();
    writer.close().unwrap();
}

fn config(place: &Place, name: &str, input: &Path, sink: &str, more: &str) -> PathBuf {
    let backfill = format!(
        "[backfill]\ninput = {{ kind = \"folder\", path = {} }}\nunit_bytes = 20000\npart_bytes = 30000\n",
        quoted(input)
    );
    let columns = if more.contains("[backfill.columns]") {
        ""
    } else {
        COLUMNS
    };
    let engine = if more.contains("[engine]") { "" } else { ENGINE };
    place.write(name, format!("{backfill}{columns}{engine}{sink}{more}"))
}

fn backfill(config: &Path, more: &[&str]) -> Lethe {
    let arguments = [OsStr::new("backfill"), OsStr::new("-c"), config.as_os_str()];
    Lethe::new(arguments.into_iter().chain(more.iter().map(OsStr::new)))
}

/// Every row of the output: object and row, to kind, error, ward, mrn and text.
type Rows = BTreeMap<
    (String, i64),
    (
        String,
        Option<String>,
        Option<String>,
        Option<String>,
        Option<String>,
    ),
>;

/// Reads the output.
///
/// # Panics
/// If a row is there twice.
fn rows(folder: &Path) -> Rows {
    let mut all = Rows::new();
    for path in all_files(&folder.join("rows")) {
        for batch in read_parquet(&path).unwrap().1 {
            let strings = |name: &str| batch.column_by_name(name).unwrap().as_string::<i32>().clone();
            let large = |name: &str, row: usize| {
                let column = batch.column_by_name(name).unwrap();
                let column = column
                    .as_string_opt::<i64>()
                    .map(|column| (column.is_valid(row), column.value(row).to_owned()));
                column.filter(|(valid, _)| *valid).map(|(_, value)| value)
            };
            let (object, kind, error) = (
                strings("lethe_object"),
                strings("lethe_kind"),
                strings("lethe_error"),
            );
            let numbers = batch
                .column_by_name("lethe_row")
                .unwrap()
                .as_primitive::<Int64Type>();
            for row in 0..batch.num_rows() {
                let place = (object.value(row).to_owned(), numbers.value(row));
                let valid = |column: &StringArray| column.is_valid(row).then(|| column.value(row).to_owned());
                let what = (
                    kind.value(row).to_owned(),
                    valid(&error),
                    large("ward", row),
                    valid(&strings("mrn")),
                    valid(&strings("text")),
                );
                assert_eq!(all.insert(place.clone(), what), None, "{place:?} is there twice");
            }
        }
    }
    all
}

fn manifest(folder: &Path) -> serde_json::Value {
    let whole: Vec<_> = std::fs::read_dir(folder.join("manifest"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    assert_eq!(whole.len(), 1, "{whole:?}");
    serde_json::from_slice(&std::fs::read(&whole[0]).unwrap()).unwrap()
}

/// Names and bytes of all files.
fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let name = |path: &Path| path.strip_prefix(folder).unwrap().to_owned();
    let files = all_files(folder)
        .into_iter()
        .filter(|path| !path.to_string_lossy().contains("/.lethe/"));
    files
        .map(|path| (name(&path), std::fs::read(&path).unwrap()))
        .collect()
}

#[test]
fn a_table_comes_out_with_the_columns_that_were_named_redacted_and_reconciled() {
    let place = Place::new();
    let (input, out) = (place.at("in"), place.at("out"));
    table(&input.join("year=2019/a.parquet"), 0, 450);
    table(&input.join("b.parquet"), 450, 50);
    let config = config(&place, "lethe.toml", &input, &folder_sink(&out), "");
    let ended = backfill(&config, &[]).end().expect(0);
    assert!(
        ended.err.contains("500 rows in 500") || ended.err.contains("500 rows"),
        "{}",
        ended.err
    );
    let rows = rows(&out);
    assert_eq!(rows.len(), 500);
    for ((object, row), (kind, error, ward, mrn, text)) in &rows {
        let number = *row as usize + if object == "b.parquet" { 450 } else { 0 };
        assert_eq!((kind.as_str(), error), ("note", &None));
        assert_eq!(ward.as_deref(), Some(format!("ward {}", number % 5).as_str()));
        assert_eq!(mrn.as_deref(), Some("[MEDICALRECORD]"));
        let text = text.as_deref().unwrap();
        assert!(
            text.contains("[PHONE]") && text.contains("[EMAIL]") && text.contains("PROGRESS NOTE"),
            "{text}"
        );
    }
    let (_, batches) = read_parquet(&all_files(&out.join("rows"))[0]).unwrap();
    let names: Vec<String> = batches[0]
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    assert_eq!(
        names,
        [
            "lethe_object",
            "lethe_row",
            "lethe_kind",
            "lethe_error",
            "lethe_redactions",
            "lethe_review",
            "ward",
            "note_id",
            "mrn",
            "text"
        ]
    );
    let totals = &manifest(&out)["totals"];
    for (name, count) in [
        ("rows_in", 500),
        ("rows_out", 500),
        ("redacted", 500),
        ("quarantined", 0),
        ("texts", 500),
        ("identifiers", 500),
    ] {
        assert_eq!(totals[name], count, "{name}");
    }
    // The audit of every span: where it stood, in which column.
    let (mut spans, mut columns) = (0, BTreeMap::<String, u64>::new());
    for path in all_files(&out.join("audit")) {
        for batch in read_parquet(&path).unwrap().1 {
            spans += batch.num_rows() as u64;
            let column = batch.column_by_name("column").unwrap().as_string::<i32>();
            column
                .iter()
                .flatten()
                .for_each(|name| *columns.entry(name.to_owned()).or_default() += 1);
        }
    }
    assert_eq!(totals["spans"], spans);
    assert_eq!(columns["mrn"], 500);
    assert!(columns["text"] >= 1500);
    let mut redactions = 0;
    for path in all_files(&out.join("rows")) {
        for batch in read_parquet(&path).unwrap().1 {
            redactions += batch
                .column_by_name("lethe_redactions")
                .unwrap()
                .as_primitive::<UInt32Type>()
                .values()
                .iter()
                .map(|&n| u64::from(n))
                .sum::<u64>();
        }
    }
    assert_eq!(redactions, spans);
}

#[test]
fn a_second_run_does_nothing_and_shards_make_what_one_run_makes() {
    let place = Place::new();
    let input = place.at("in");
    (0..6).for_each(|file| table(&input.join(format!("{file}.parquet")), file * 250, 250));
    let whole = place.at("whole");
    let one = config(&place, "one.toml", &input, &folder_sink(&whole), "");
    backfill(&one, &[]).end().expect(0);
    let made = content(&whole);
    backfill(&one, &[]).end().expect(0).says("0 rows in");
    assert_eq!(content(&whole), made);
    let parted = place.at("parted");
    let three = config(&place, "three.toml", &input, &folder_sink(&parted), "");
    for shard in ["2/3", "0/3"] {
        backfill(&three, &["--shard", shard]).end().expect(0);
    }
    assert!(
        !all_files(&parted.join("manifest"))
            .iter()
            .any(|path| path.parent() == Some(&parted.join("manifest")))
    );
    backfill(&three, &["--shard", "1/3"]).end().expect(0);
    let rows_of = |content: &BTreeMap<PathBuf, Vec<u8>>| -> BTreeMap<PathBuf, Vec<u8>> {
        let data = content
            .iter()
            .filter(|(path, _)| path.starts_with("rows") || path.starts_with("audit"));
        data.map(|(path, bytes)| (path.clone(), bytes.clone())).collect()
    };
    assert_eq!(rows_of(&content(&parted)), rows_of(&made), "byte for byte");
    assert_eq!(manifest(&parted)["totals"], manifest(&whole)["totals"]);
    for wrong in ["3/3", "1", "a/b", "-1/2"] {
        backfill(&three, &[&format!("--shard={wrong}")]).end().expect(2);
    }
}

#[test]
fn shards_that_are_killed_and_started_again_end_with_each_row_once() {
    let place = Place::new();
    let (input, out, calm) = (place.at("in"), place.at("out"), place.at("calm"));
    (0..4).for_each(|file| table(&input.join(format!("{file}.parquet")), file * 1000, 1000));
    std::fs::write(input.join("lines.jsonl"), (4000..6000).map(|number| {
        let [_, email, mrn, name] = planted(number);
        serde_json::json!({"note_id": id(number), "mrn": mrn, "name": name, "email": email, "ward": "w", "text": text(number)}).to_string() + "\n"
    }).collect::<String>()).unwrap();
    let undisturbed = config(&place, "calm.toml", &input, &folder_sink(&calm), "");
    backfill(&undisturbed, &[]).end().expect(0);
    let config = config(
        &place,
        "lethe.toml",
        &input,
        &folder_sink(&out),
        "[resources]\nworkers = 1\n",
    );
    let shards = ["0/2", "1/2"];
    let mut running = shards.map(|shard| Some(backfill(&config, &["--shard", shard]).start()));
    let seed = 7;
    println!("seed {seed}");
    let mut dice = Dice::new(seed);
    for kill in 0..20 {
        // The first ones come while it reads dictionaries, later ones anywhere.
        std::thread::sleep(Duration::from_millis(dice.below(40 + 60 * kill)));
        let shard = dice.below(2) as usize;
        if let Some(process) = running[shard].take() {
            process.signal("KILL");
            drop(process.wait(PATIENCE));
        }
        running[shard] = Some(backfill(&config, &["--shard", shards[shard]]).start());
    }
    for process in running.into_iter().flatten() {
        process.wait(PATIENCE).expect(0);
    }
    assert_eq!(rows(&out).len(), 6000);
    assert_eq!(rows(&out), rows(&calm));
    let files = |folder: &Path| {
        content(folder)
            .into_iter()
            .filter(|(path, _)| path.starts_with("rows"))
            .collect::<BTreeMap<_, _>>()
    };
    assert_eq!(files(&out), files(&calm), "byte for byte");
    assert_eq!(manifest(&out)["totals"], manifest(&calm)["totals"]);
}

#[test]
fn rows_and_objects_that_cannot_be_read_cost_nobody_else_and_have_an_exit_code() {
    let place = Place::new();
    let (input, out) = (place.at("in"), place.at("out"));
    table(&input.join("good.parquet"), 0, 120);
    std::fs::write(input.join("bad.parquet"), "no Parquet").unwrap();
    let [_, _, mrn, name] = planted(999);
    std::fs::write(input.join("lines.jsonl"), format!("{{\"text\":\"Call 612-555-0101\",\"mrn\":\"{mrn}\",\"ward\":\"w\"}}\n{name} is no JSON\n{{\"text\":[\"{name}\"],\"mrn\":\"{mrn}\",\"ward\":\"w\"}}\n")).unwrap();
    let config = config(&place, "lethe.toml", &input, &folder_sink(&out), "");
    let ended = backfill(&config, &[])
        .end()
        .expect(4)
        .says("bad.parquet")
        .says("1 objects cannot be read");
    let rows = rows(&out);
    assert_eq!(rows.len(), 123);
    for row in [1, 2] {
        let (kind, error, ward, mrn, text) = &rows[&("lines.jsonl".to_owned(), row)];
        assert_eq!(
            (kind.as_str(), error.as_deref()),
            ("quarantined", Some("invalid_payload"))
        );
        assert_eq!(
            (ward, mrn, text),
            (&None, &None, &None),
            "nothing is half-redacted"
        );
    }
    assert_eq!(rows[&("lines.jsonl".to_owned(), 0)].0, "note");
    let whole = manifest(&out);
    assert_eq!(
        (&whole["totals"]["quarantined"], &whole["totals"]["rows_out"]),
        (&2.into(), &123.into())
    );
    assert!(whole["broken"]["bad.parquet"].is_string());
    let mut search = Search::new(["Zorvanelmb", "40000999"]);
    assert_eq!(planted(999)[3], "Zorvanelmba".trim_end_matches('x'));
    search.words("backfill", &ended);
    search.folder(&out);
    assert!(search.found.is_empty(), "{:?}", search.found);
}

#[test]
fn what_was_made_otherwise_is_not_mixed_and_what_changes_is_told() {
    let place = Place::new();
    let (input, out) = (place.at("in"), place.at("out"));
    table(&input.join("a.parquet"), 0, 50);
    let sink = folder_sink(&out);
    let first = config(&place, "lethe.toml", &input, &sink, "");
    backfill(&first, &[]).end().expect(0);
    let made = content(&out);
    let other = ENGINE.replace("[engine]\n", "[engine]\nredaction = { action = \"mask\" }\n");
    let other = config(&place, "other.toml", &input, &sink, &other);
    backfill(&other, &[])
        .end()
        .expect(3)
        .says("made by another configuration")
        .says("policy");
    // An object that is new is taken up; one that has changed would be there twice.
    table(&input.join("b.parquet"), 50, 50);
    backfill(&first, &[]).end().expect(0);
    assert_eq!(rows(&out).len(), 100);
    table(&input.join("a.parquet"), 0, 60);
    backfill(&first, &[])
        .end()
        .expect(3)
        .says("a.parquet: has changed");
    assert!(made.iter().all(|(path, bytes)| content(&out)[path] == *bytes));
    let unnamed = COLUMNS.replace("\"ward\"", "\"wards\"");
    let unnamed = config(
        &place,
        "unnamed.toml",
        &input,
        &folder_sink(&place.at("new")),
        &unnamed,
    );
    backfill(&unnamed, &[])
        .end()
        .expect(4)
        .says("column `wards` is not there; there are note_id, mrn");
    for (more, said) in [
        (
            COLUMNS
                .replace("[\"text\"]", "[]")
                .replace("identifiers", "# identifiers"),
            "backfill.columns.text",
        ),
        (
            COLUMNS.replace("MEDICALRECORD", "SHOE_SIZE"),
            "has no `SHOE_SIZE`",
        ),
        (COLUMNS.replace("\"ward\"", "\"name\""), "identifies the patient"),
    ] {
        let wrong = config(&place, "wrong.toml", &input, &sink, &more);
        backfill(&wrong, &[]).end().expect(2).says(said);
        Lethe::new(["check", "-c", wrong.to_str().unwrap()])
            .end()
            .expect(2)
            .says(said);
    }
}

#[test]
fn told_to_stop_it_leaves_what_is_done_and_goes_on_from_there() {
    let place = Place::new();
    let (input, out) = (place.at("in"), place.at("out"));
    table(&input.join("a.parquet"), 0, 40_000);
    let config = config(&place, "lethe.toml", &input, &folder_sink(&out), "");
    let running = backfill(&config, &[]).start();
    let began = std::time::Instant::now();
    while !out.join("rows").is_dir() || all_files(&out.join("rows")).len() < 3 {
        assert!(began.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(5));
    }
    running.signal("TERM");
    running.wait(PATIENCE).expect(1).says("run again to go on");
    assert!(rows(&out).len() < 40_000);
    backfill(&config, &[]).end().expect(0);
    assert_eq!(rows(&out).len(), 40_000);
}

#[test]
fn a_bucket_can_be_read_and_written_and_other_tools_read_what_comes_out() {
    let place = Place::new();
    let input = place.at("in");
    table(&input.join("x=1/a.parquet"), 0, 300);
    let name = format!("backfill-{}", std::process::id());
    // The input goes into the bucket by the program's own store: creating is all that it needs.
    let upload = toml::from_str::<toml::Table>(&s3_sink(&format!("{name}/in"), None, "")).unwrap();
    let store: lethe_connectors::store::StoreConfig = upload["sink"]["store"].clone().try_into().unwrap();
    let bytes = std::fs::read(input.join("x=1/a.parquet")).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime
        .block_on(store.build().unwrap().create("x=1/a.parquet", bytes.into()))
        .unwrap();
    let sink = s3_sink(&format!("{name}/out"), None, "");
    let from = s3_sink(&format!("{name}/in"), None, "").replace("[sink.store]", "[backfill.input]");
    let config = place.write(
        "lethe.toml",
        format!("[backfill]\nunit_bytes = 20000\n{from}{COLUMNS}{ENGINE}{sink}"),
    );
    backfill(&config, &[])
        .env("LETHE_STORE_FAULTS", "seed=3,rate=0.05")
        .end()
        .expect(0);
    let out = place.at("copy");
    copy_bucket(&format!("{name}/out"), &out);
    assert_eq!(rows(&out).len(), 300);
    let script = "import sys, duckdb\nprint(duckdb.sql(f\"select count(*), count(distinct lethe_row), count(text) from read_parquet('{sys.argv[1]}/rows/*.parquet')\").fetchall()[0])";
    assert_eq!(python(script, &[out.to_str().unwrap()]).trim(), "(300, 300, 300)");
}

#[test]
fn a_running_backfill_tells_how_far_it_is() {
    let place = Place::new();
    let (input, out) = (place.at("in"), place.at("out"));
    table(&input.join("a.parquet"), 0, 12_000);
    let config = config(&place, "lethe.toml", &input, &folder_sink(&out), TELEMETRY);
    let mut running = backfill(&config, &[]).start();
    let pages = Pages::of(&mut running);
    let metrics = pages.until("a unit", PATIENCE, |metrics| {
        sum(metrics, "lethe_backfill_units", &["state=\"done\""]) > 0.0
    });
    let of = |name: &str, labels: &[&str]| sum(&metrics, name, labels);
    assert!(of("lethe_backfill_units", &["state=\"total\""]) > 50.0);
    assert!(of("lethe_backfill_rows_total", &["outcome=\"redacted\""]) > 0.0);
    assert!(of("lethe_backfill_bytes_total", &[]) > 10_000.0);
    assert!(of("lethe_backfill_seconds_left", &[]) > 0.0);
    assert!(of("lethe_files_total", &["reason=\"part\""]) > 0.0);
    assert_eq!((pages.get("/ready").0, pages.get("/live").0), (200, 200));
    assert!(pages.get("/").1.contains("Backfill"));
    running.wait(PATIENCE).expect(0);
}
