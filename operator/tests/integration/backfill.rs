//! `lethe backfill`: tables in, redacted tables out, each row once.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::PathBuf;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use common::dataset::{all_files, read_parquet};
use common::pages::{Pages, TELEMETRY, sum};
use common::process::{Lethe, TIMEOUT, python};
use common::search::Search;
use common::tables::{COLUMNS, ENGINE, backfill, config, content, manifest, rows, table};
use common::{Place, azure_sink, copy_store, fill_store, folder_sink, quoted, s3_sink};
use serde_json::Value;

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
    for line in [
        "columns kept       ward, note_id",
        "columns redacted   text",
        "columns replaced   mrn",
        "columns dropped    email, name, version, year",
        "MEDICALRECORD    1000 tag",
    ] {
        assert!(ended.out.contains(line), "{line}: {}", ended.out);
    }
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
    // The audit of every span: its position and its column.
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
                .as_primitive::<Int64Type>()
                .values()
                .iter()
                .sum::<i64>()
                .cast_unsigned();
        }
    }
    assert_eq!(redactions, spans);
}

#[test]
fn a_kept_column_of_kinds_of_notes_passes_by_the_list_of_kinds() {
    let place = Place::new();
    let (input, out) = (place.at("in"), place.at("out"));
    table(&input.join("a.parquet"), 0, 50);
    // The wards are arbitrary values of a sender that are on no list.
    let columns = "[backfill.columns]\ntext = [\"text\"]\nkeep = [\"ward\"]\nnote_type = \"ward\"\nidentifiers = { mrn = \"MEDICALRECORD\" }\n";
    let engine = format!("{ENGINE}redaction = {{ note_types = [\"ward 3\"] }}\n");
    let more = format!("{columns}{engine}");
    let config = config(&place, "lethe.toml", &input, &folder_sink(&out), &more);
    backfill(&config, &[]).end().expect(0);
    let wards: Vec<Option<String>> = rows(&out).into_values().map(|(_, _, ward, ..)| ward).collect();
    let kept = wards.iter().filter(|ward| ward.as_deref() == Some("ward 3"));
    let other = wards.iter().filter(|ward| ward.as_deref() == Some("OTHER"));
    assert_eq!((kept.count(), other.count(), wards.len()), (10, 40, 50));
}

#[test]
fn under_a_strict_mode_objects_go_by_codes_and_no_name_or_folder_of_theirs_comes_out() {
    let place = Place::new();
    let (input, out) = (place.at("in"), place.at("out"));
    table(&input.join("mrn=77123458/zorvane.parquet"), 0, 250);
    table(&input.join("zorvane-2.parquet"), 250, 50);
    place.write("in/zorvane-3.parquet", "PAR1 is no table");
    let policy = place.write(
        "policy.toml",
        include_str!("../../../docs/policies/safe-harbor.toml"),
    );
    let configured = |names: &str| {
        let columns = COLUMNS.replace(
            "\"note_id\"]\n",
            "]\nreasons = { ward = \"a code of five wards\" }\n",
        );
        let text = format!(
            "policy_file = {}\n{ENGINE}[backfill]\nunit_bytes = 1\ninput = {{ kind = \"folder\", path = {} }}\n{names}\n{columns}{}",
            quoted(&policy),
            quoted(&input),
            folder_sink(&out)
        );
        place.write("strict.toml", text)
    };
    backfill(&configured(""), &[])
        .end()
        .expect(2)
        .says("backfill.names")
        .says("names = \"codes\"");
    assert!(
        all_files(&out).is_empty(),
        "nothing is written before it is refused"
    );
    let codes = quoted(place.at("private"));
    let config = configured(&format!(
        "names = \"codes\"\ncodes = {{ kind = \"folder\", path = {codes} }}"
    ));
    let mut search = Search::new(["zorvane", "77123458", "mrn="]);
    // One shard is killed, and both run again: they agree on the codes.
    for (crash, shard, code) in [
        (true, "0/2", None),
        (false, "1/2", Some(4)),
        (false, "0/2", Some(4)),
    ] {
        let mut lethe = backfill(&config, &["--shard", shard, "--log", "trace"]);
        if crash {
            lethe = lethe.env("LETHE_CRASH_AT", "temporary_written:1");
        }
        let ended = lethe.end();
        assert!(
            crash || ended.code == code || ended.code == Some(0),
            "{}",
            ended.err
        );
        search.words(shard, &ended);
    }
    search.folder(&out);
    search.assert_clean();
    let rows = rows(&out);
    assert_eq!(rows.len(), 300);
    let objects: BTreeSet<&str> = rows.keys().map(|(object, _)| object.as_str()).collect();
    assert!(
        objects.len() == 2 && objects.iter().all(|object| object.starts_with("file-")),
        "{objects:?}"
    );
    // The list maps codes back to objects, and an object can be selected by its code.
    let list = common::dataset::files(&place.at("private"));
    let list = std::fs::read_to_string(&list[0]).unwrap();
    assert!(objects.iter().all(|object| list.contains(object)));
    let only = place.write("only.txt", objects.iter().next().unwrap());
    backfill(&config, &["--only", only.to_str().unwrap()])
        .end()
        .expect(0);
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
    let before = rows_of(&content(&parted));
    for shard in ["0/2", "1/2", "0/1"] {
        backfill(&three, &["--shard", shard]).end().expect(0);
    }
    assert_eq!(rows_of(&content(&parted)), before);
    Lethe::new([OsStr::new("inspect"), parted.as_os_str()])
        .end()
        .expect(0);
    for wrong in ["3/3", "1", "a/b", "-1/2"] {
        backfill(&three, &[&format!("--shard={wrong}")]).end().expect(2);
    }
}

#[test]
fn only_the_objects_of_a_list_are_made_and_an_inspection_says_by_what() {
    let place = Place::new();
    let input = place.at("in");
    (0..3).for_each(|file| table(&input.join(format!("{file}.parquet")), file * 250, 250));
    let out = place.at("out");
    let config = config(&place, "some.toml", &input, &folder_sink(&out), "");
    let list = |name: &str, content: &str| place.write(name, content).display().to_string();
    let some = list("some", "{\"object\":\"2.parquet\",\"first\":0}\n0.parquet\n");
    backfill(&config, &["--only", &some]).end().expect(0);
    let mut objects: Vec<String> = rows(&out).into_keys().map(|(object, _)| object).collect();
    objects.dedup();
    assert_eq!(objects, ["0.parquet", "2.parquet"]);
    assert_eq!(manifest(&out)["totals"]["rows_in"], 500);
    let missing = list("missing", "3.parquet");
    backfill(&config, &["--only", &missing])
        .end()
        .expect(2)
        .says("3.parquet is not in the input");

    let begun: Value = serde_json::from_slice(&std::fs::read(out.join("backfill.json")).unwrap()).unwrap();
    let policy = begun["policy"].as_str().unwrap();
    let inspect = |maker: &str| {
        Lethe::new([
            OsStr::new("inspect"),
            out.as_os_str(),
            OsStr::new("--fingerprint"),
            OsStr::new(maker),
            OsStr::new("--json"),
        ])
        .end()
        .expect(0)
        .out
    };
    let listed = inspect(&format!("policy={}", policy.chars().take(12).collect::<String>()));
    let lines: Vec<Value> = listed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let found: BTreeSet<&str> = lines.iter().filter_map(|line| line["object"].as_str()).collect();
    assert_eq!(found, BTreeSet::from(["0.parquet", "2.parquet"]));
    assert_eq!(
        lines
            .iter()
            .map(|line| line["next"].as_u64().unwrap_or(0) - line["first"].as_u64().unwrap_or(0))
            .sum::<u64>(),
        500
    );
    let again = list("again", &listed);
    backfill(&config, &["--only", &again])
        .end()
        .expect(0)
        .says("0 rows in");
    assert!(!inspect(&format!("policy!={policy}")).contains("parquet"));
}

#[test]
fn a_bucket_can_be_read_and_written_and_other_tools_read_what_comes_out() {
    through_a_bucket(|prefix| s3_sink(prefix, None, ""));
}

#[test]
fn a_container_of_azure_can_be_read_and_written_and_other_tools_read_what_comes_out() {
    through_a_bucket(azure_sink);
}

fn through_a_bucket(at: impl Fn(&str) -> String) {
    let place = Place::new();
    let input = place.at("in");
    table(&input.join("x=1/a.parquet"), 0, 300);
    let name = format!("backfill-{}", std::process::id());
    let bytes = std::fs::read(input.join("x=1/a.parquet")).unwrap();
    let sink = at(&format!("{name}/out"));
    let from = at(&format!("{name}/in"));
    fill_store(&from, [("x=1/a.parquet", bytes)]);
    let from = from.replace("[sink.store]", "[backfill.input]");
    let config = place.write(
        "lethe.toml",
        format!("[backfill]\nunit_bytes = 20000\n{from}{COLUMNS}{ENGINE}{sink}"),
    );
    backfill(&config, &[])
        .env("LETHE_STORE_FAULTS", "seed=3,rate=0.05")
        .end()
        .expect(0);
    let out = place.at("copy");
    copy_store(&sink, &out);
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
    let metrics = pages.until("a unit", TIMEOUT, |metrics| {
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
    running.wait(TIMEOUT).expect(0);
}

#[test]
fn a_dataset_that_was_begun_with_the_earlier_size_of_parts_keeps_it() {
    let place = Place::new();
    let (input, out) = (place.at("in"), place.at("out"));
    table(&input.join("a.parquet"), 0, 50);
    let with = |name: &str, more: &str| {
        let text = format!(
            "[backfill]\ninput = {{ kind = \"folder\", path = {} }}\n{more}{COLUMNS}{ENGINE}{}",
            quoted(&input),
            folder_sink(&out)
        );
        place.write(name, text)
    };
    let earlier = with("earlier.toml", "part_bytes = 33554432\n");
    backfill(&earlier, &[]).end().expect(0);
    let made = content(&out);
    let now = with("now.toml", "");
    backfill(&now, &[]).end().expect(0).says("earlier default");
    assert_eq!(content(&out), made, "nothing is made twice");
    let other = with("other.toml", "part_bytes = 1000000\n");
    backfill(&other, &[]).end().expect(3).says("`part_bytes`");
}

#[test]
fn the_end_is_also_json() {
    let place = Place::new();
    let (input, out) = (place.at("in"), place.at("out"));
    table(&input.join("a.parquet"), 0, 50);
    let config = config(&place, "lethe.toml", &input, &folder_sink(&out), "");
    let ended = backfill(&config, &["--json"]).end().expect(0);
    let summary: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(summary["redactions"]["MEDICALRECORD"]["tag"], 100);
    assert_eq!(summary["dataset"]["rows_out"], 50);
    assert_eq!(summary["columns"]["redacted"], serde_json::json!(["text"]));
    // A second run makes nothing, and counts nothing.
    let ended = backfill(&config, &["--json"]).end().expect(0);
    let summary: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(summary["redactions"], serde_json::json!({}));
    assert_eq!(summary["dataset"]["rows_out"], 50);
}

#[test]
fn the_json_of_the_end_holds_words_and_no_debug_form() {
    let place = Place::new();
    let (input, out) = (place.at("in"), place.at("out"));
    table(&input.join("a.parquet"), 0, 50);
    place.write("in/damaged.parquet", "PAR1 is no table");
    place.write("in/damaged.jsonl.gz", "is not compressed");
    let config = config(&place, "lethe.toml", &input, &folder_sink(&out), "");
    let ended = backfill(&config, &["--json", "--log-format", "json"])
        .end()
        .expect(4);
    let summary: Value = serde_json::from_str(&ended.out).unwrap();
    assert!(summary["broken"]["damaged.parquet"].is_string(), "{summary}");
    assert!(summary["clinical"]["terms"].is_u64(), "{summary}");
    let lines = ended
        .err
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let mut values: Vec<Value> = std::iter::once(summary).chain(lines).collect();
    let mut strings = 0;
    while let Some(value) = values.pop() {
        match value {
            Value::Array(inner) => values.extend(inner),
            Value::Object(inner) => values.extend(inner.into_iter().map(|(_, value)| value)),
            Value::String(text) => {
                strings += 1;
                for form in ["Some(", "None", "Ok(", "Err(", "Error(", " { ", "[\"", "{\""] {
                    assert!(!text.contains(form), "{form}: {text}");
                }
            }
            _ => {}
        }
    }
    assert!(strings > 5);
}

/// An audit row's place in the output, and what it says is there.
struct Audited {
    row: (String, i64),
    column: String,
    element: i64,
    out: std::ops::Range<usize>,
    label: String,
}

fn audited(folder: &std::path::Path) -> Vec<Audited> {
    let mut all = Vec::new();
    for path in all_files(&folder.join("audit")) {
        for batch in read_parquet(&path).unwrap().1 {
            let text = |name: &str| batch.column_by_name(name).unwrap().as_string::<i32>().clone();
            let number = |name: &str| {
                let column = batch.column_by_name(name).unwrap();
                column.as_primitive::<Int64Type>().clone()
            };
            let (topic, column, label) = (text("topic"), text("column"), text("label"));
            let (element, start, end) = (number("element"), number("out_start"), number("out_end"));
            let offset = batch
                .column_by_name("offset")
                .unwrap()
                .as_primitive::<Int64Type>();
            let partition = batch
                .column_by_name("partition")
                .unwrap()
                .as_primitive::<arrow_array::types::Int32Type>();
            for row in 0..batch.num_rows() {
                assert_eq!(partition.value(row), 0);
                all.push(Audited {
                    row: (topic.value(row).to_owned(), offset.value(row)),
                    column: column.value(row).to_owned(),
                    element: element.value(row),
                    out: start.value(row) as usize..end.value(row) as usize,
                    label: label.value(row).to_owned(),
                });
            }
        }
    }
    all
}

#[test]
fn each_row_of_the_audit_joins_its_row_by_object_and_number() {
    for names in [
        "",
        "names = \"codes\"\ncodes = { kind = \"folder\", path = CODES }\n",
    ] {
        let place = Place::new();
        let (input, out) = (place.at("in"), place.at("out"));
        // The same numbers of rows in several objects, and in several units of each.
        table(&input.join("a.parquet"), 0, 250);
        table(&input.join("year=2019/a.parquet"), 250, 150);
        let line = |number: usize| {
            let text = format!("Call (612) 555-01{number:02} or write to a{number}@example.org.");
            let row = serde_json::json!({
                "note_id": number.to_string(), "mrn": "4471920", "name": "Zorvane", "email": "z@example.org",
                "ward": "3", "text": text
            });
            format!("{row}\n")
        };
        place.write("in/lines/a.jsonl", format!("{}no JSON\n{}", line(10), line(11)));
        let names = names.replace("CODES", &quoted(place.at("private")));
        let text = format!(
            "[backfill]\ninput = {{ kind = \"folder\", path = {} }}\nunit_bytes = 20000\npart_bytes = 30000\n{names}{COLUMNS}{ENGINE}{}",
            quoted(&input),
            folder_sink(&out)
        );
        let config = place.write("lethe.toml", text);
        backfill(&config, &[]).end().expect(0);
        let rows = rows(&out);
        assert_eq!(rows.len(), 403);
        let mut joined = BTreeMap::<(String, i64), i64>::new();
        for audited in audited(&out) {
            let (kind, _, _, mrn, text) = rows.get(&audited.row).expect("a row of the audit has no row");
            assert_eq!((kind.as_str(), audited.element), ("note", 0));
            let value = match audited.column.as_str() {
                "mrn" => mrn,
                "text" => text,
                other => panic!("{other} is not redacted"),
            };
            // The place in the output is that of the replacement.
            let replacement = value.as_deref().unwrap().get(audited.out).unwrap();
            assert_eq!(replacement, format!("[{}]", audited.label));
            *joined.entry(audited.row).or_default() += 1;
        }
        let mut counted = BTreeMap::new();
        for path in all_files(&out.join("rows")) {
            for batch in read_parquet(&path).unwrap().1 {
                let object = batch.column_by_name("lethe_object").unwrap().as_string::<i32>();
                let row = batch
                    .column_by_name("lethe_row")
                    .unwrap()
                    .as_primitive::<Int64Type>();
                let redactions = batch
                    .column_by_name("lethe_redactions")
                    .unwrap()
                    .as_primitive::<Int64Type>();
                for at in (0..batch.num_rows()).filter(|&at| redactions.value(at) > 0) {
                    let place = (object.value(at).to_owned(), row.value(at));
                    counted.insert(place, redactions.value(at));
                }
            }
        }
        assert_eq!(
            joined, counted,
            "each row has as many rows of the audit as it says"
        );
        assert_eq!(rows.values().filter(|row| row.0 == "quarantined").count(), 1);
    }
}
