//! Backfills that are killed, stopped, misconfigured, or given unreadable input: no row is lost, duplicated
//! or half redacted.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "test helpers may panic, as tests may"
)]

use crate::common;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use common::dataset::all_files;
use common::notes::{Dice, id, planted, text};
use common::process::{Lethe, TIMEOUT};
use common::search::Search;
use common::tables::{COLUMNS, ENGINE, backfill, config, content, manifest, rows, table};
use common::{Place, folder_sink};

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
        // Early kills hit the loading of dictionaries, later ones any step.
        std::thread::sleep(Duration::from_millis(dice.below(40 + 60 * kill)));
        let shard = dice.below(2) as usize;
        if let Some(process) = running[shard].take() {
            process.signal("KILL");
            drop(process.wait(TIMEOUT));
        }
        running[shard] = Some(backfill(&config, &["--shard", shards[shard]]).start());
    }
    for process in running.into_iter().flatten() {
        process.wait(TIMEOUT).expect(0);
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
fn a_row_that_kills_every_process_is_quarantined_and_all_others_come_out_once() {
    let place = Place::new();
    let (input, out, calm) = (place.at("in"), place.at("out"), place.at("calm"));
    table(&input.join("a.parquet"), 0, 400);
    let lines = |poison: &str| -> String {
        let text = |number| {
            if number == 131 {
                poison
            } else {
                "Call 612-555-0199."
            }
        };
        let line =
            |number| serde_json::json!({"mrn": "1", "ward": "w", "text": text(number)}).to_string() + "\n";
        (0..300).map(line).collect()
    };
    std::fs::write(
        input.join("lines.jsonl"),
        lines("Quillfeather, whose row no process survives"),
    )
    .unwrap();
    let config = config(&place, "lethe.toml", &input, &folder_sink(&out), "");
    let mut deaths = 0;
    let ended = loop {
        let ended = backfill(&config, &[]).env("LETHE_ABORT_ON", "Quillfeather").end();
        if ended.code.is_some() {
            break ended;
        }
        deaths += 1;
        assert!(deaths <= 8, "it never goes on:\n{}", ended.err);
    };
    let ended = ended.expect(0).says("the process died 3 times");
    assert!(!ended.err.contains("whose row"), "{}", ended.err);
    assert!(deaths >= 3, "{deaths} deaths are no proof");
    let found = rows(&out);
    assert_eq!(found.len(), 700);
    let bad: Vec<_> = found.iter().filter(|(_, what)| what.0 == "quarantined").collect();
    let (place_of, what) = bad[0];
    assert_eq!((bad.len(), place_of), (1, &("lines.jsonl".to_owned(), 131)));
    assert_eq!(what.1.as_deref(), Some("poison_pill"));
    assert_eq!((&what.3, &what.4), (&None, &None));
    // Whatever was tried before, all other rows equal those of a run without deaths.
    std::fs::write(input.join("lines.jsonl"), lines("Call 612-555-0199.")).unwrap();
    let undisturbed = self::config(&place, "calm.toml", &input, &folder_sink(&calm), "");
    backfill(&undisturbed, &[]).end().expect(0);
    let others = |rows: common::tables::Rows| {
        rows.into_iter()
            .filter(|(at, _)| *at != ("lines.jsonl".to_owned(), 131))
            .collect::<Vec<_>>()
    };
    assert_eq!(others(found), others(rows(&calm)));
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
    // A new object is backfilled; a changed one would be duplicated.
    table(&input.join("b.parquet"), 50, 50);
    backfill(&first, &[]).end().expect(0);
    assert_eq!(rows(&out).len(), 100);
    table(&input.join("a.parquet"), 0, 60);
    backfill(&first, &[])
        .end()
        .expect(3)
        .says("a.parquet: changed since");
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
        .expect(2)
        .says("column `wards` does not exist; did you mean `ward`?; there are note_id, mrn");
    assert!(!place.at("new/backfill.json").exists(), "nothing was begun");
    Lethe::new(["check", "--connect", "-c", unnamed.to_str().unwrap()])
        .end()
        .expect(4)
        .says("did you mean `ward`?");
    for (more, expected) in [
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
        backfill(&wrong, &[]).end().expect(2).says(expected);
        Lethe::new(["check", "-c", wrong.to_str().unwrap()])
            .end()
            .expect(2)
            .says(expected);
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
        assert!(began.elapsed() < TIMEOUT);
        std::thread::sleep(Duration::from_millis(5));
    }
    running.signal("TERM");
    running.wait(TIMEOUT).expect(1).says("run again to continue");
    assert!(rows(&out).len() < 40_000);
    backfill(&config, &[]).end().expect(0);
    assert_eq!(rows(&out).len(), 40_000);
}
