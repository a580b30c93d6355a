//! A record that exceeds its limits, or that kills the process, costs only its own row.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "test helpers may panic, as tests may"
)]

use crate::common;

use std::path::{Path, PathBuf};
use std::time::Duration;

use common::dataset::{Dataset, Row};
use common::notes::Dice;
use common::process::{Lethe, TIMEOUT};
use common::{Place, folder_sink, quoted};

/// One cheap member: these tests check rows, not their content.
const ENGINE: &str = "[engine]\nmembers = [{ kind = \"pattern\" }]\n";

fn line(number: usize, text: &str) -> String {
    serde_json::json!({"note_id": format!("n-{number}"), "text": text}).to_string()
}

/// Writes a configuration that reads these lines, with each file by its name, into a folder.
fn configure(place: &Place, files: &[(&str, Vec<String>)], more: &str) -> (PathBuf, PathBuf) {
    let input = place.at("in");
    std::fs::create_dir(&input).unwrap();
    for (name, lines) in files {
        std::fs::write(input.join(name), lines.join("\n")).unwrap();
    }
    let out = place.at("out");
    let source = format!("[source]\nkind = \"jsonl\"\ninput = {}\n", quoted(&input));
    let config = place.write(
        "lethe.toml",
        format!("{ENGINE}{source}{}{more}", folder_sink(&out)),
    );
    (config, out)
}

/// Returns the rows of a dataset, after asserting that each offset from 0 to `lines` of each file is there
/// once.
#[track_caller]
fn rows(out: &Path, files: &[(&str, usize)]) -> Vec<Row> {
    let data = Dataset::read(out);
    assert_eq!(data.faults(out), Vec::<String>::new());
    let due = files.iter().flat_map(|&(name, lines)| {
        let offsets = 0..i64::try_from(lines).unwrap();
        offsets.map(move |offset| (name, offset))
    });
    let mut rows: Vec<Row> = data.rows().into_iter().cloned().collect();
    rows.sort();
    let found = rows.iter().map(|row| (&*row.topic, row.offset));
    assert!(found.eq(due), "a row is missing, or there twice");
    rows
}

fn quarantined(rows: &[Row]) -> Vec<(&str, i64, &str)> {
    let bad = rows.iter().filter(|row| row.kind == "quarantined");
    bad.map(|row| (&*row.topic, row.offset, row.error.as_deref().unwrap_or("")))
        .collect()
}

#[test]
fn a_record_over_the_memory_of_a_record_is_one_quarantined_row() {
    let place = Place::new();
    let prose = "Seen in clinic, call 612-555-0199. ".repeat(100_000);
    let lines = vec![
        line(0, "Seen."),
        line(1, &".".repeat(12_000_000)),
        line(2, &prose),
        line(3, &"x".repeat(60_000_000)),
        line(4, "Left."),
        // Short enough for its tokens, with a span every few bytes.
        line(5, &"612-555-0199; ".repeat(200_000)),
    ];
    let limits = "[resources]\nmemory_bytes = 402653184\nrecord_bytes = 104857600\nworkers = 2\n";
    let (config, out) = configure(&place, &[("a.jsonl", lines)], limits);
    Lethe::through(&config).end().expect(0);
    let rows = rows(&out, &[("a.jsonl", 6)]);
    assert_eq!(
        quarantined(&rows),
        [
            ("a.jsonl", 1, "over_budget:memory"),
            ("a.jsonl", 3, "over_budget:memory"),
            ("a.jsonl", 5, "over_budget:memory")
        ]
    );
    let long = rows.iter().find(|row| row.offset == 2).unwrap();
    let text = long.text.as_deref().unwrap();
    assert!(
        !text.contains("612-555-0199") && text.len() > 2_000_000,
        "{}",
        text.len()
    );
}

#[test]
fn a_record_that_kills_every_process_is_quarantined_and_all_others_come_out_once() {
    let place = Place::new();
    let lines = |poison: Option<usize>| -> Vec<String> {
        let text = |number| match Some(number) == poison {
            true => "Quillfeather, whose note no process survives",
            false => "Call 612-555-0199.",
        };
        (0..600).map(|number| line(number, text(number))).collect()
    };
    let files = [("a.jsonl", lines(Some(431))), ("b.jsonl", lines(None))];
    let (config, out) = configure(&place, &files, "");
    let mut deaths = 0;
    let ended = loop {
        let ended = Lethe::through(&config)
            .env("LETHE_ABORT_ON", "Quillfeather")
            .end();
        if ended.code.is_some() {
            break ended;
        }
        deaths += 1;
        assert!(deaths <= 8, "the partition never goes on:\n{}", ended.err);
    };
    let ended = ended.expect(0).says("the process died 3 times");
    assert!(!ended.err.contains("whose note"), "{}", ended.err);
    assert!(deaths >= 3, "{deaths} deaths are no proof");
    let rows = rows(&out, &[("a.jsonl", 600), ("b.jsonl", 600)]);
    assert_eq!(quarantined(&rows), [("a.jsonl", 431, "poison_pill")]);
}

#[test]
fn kills_at_random_quarantine_nothing() {
    let place = Place::new();
    let lines = (0..3000).map(|number| line(number, &"Call 612-555-0199 today. ".repeat(400)));
    let (config, out) = configure(
        &place,
        &[("a.jsonl", lines.collect())],
        "roll = { max_rows = 500 }\n",
    );
    let mut killed = 0;
    for seed in 0..12 {
        let mut process = Lethe::through(&config).start();
        // From start-up to well into the records, whenever that is on this machine.
        std::thread::sleep(Duration::from_millis(50 + 40 * Dice::new(seed).below(30)));
        killed += usize::from(process.lives());
        process.signal("KILL");
        drop(process.wait(TIMEOUT));
    }
    Lethe::through(&config).end().expect(0);
    let rows = rows(&out, &[("a.jsonl", 3000)]);
    println!("{killed} of 12 were killed at work");
    assert_eq!(quarantined(&rows), []);
}
