//! `lethe inspect` on the output of a backfill: it names each file that was altered, removed, added or
//! swapped.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use std::path::{Path, PathBuf};

use common::dataset::all_files;
use common::process::{Ended, Lethe};
use common::tables::{backfill, config, manifest, table};
use common::{Place, folder_sink};
use serde_json::Value;

/// Creates a backfill of two tables; returns the output and the configuration.
fn made(place: &Place) -> (PathBuf, PathBuf) {
    let (input, out) = (place.at("in"), place.at("out"));
    table(&input.join("a.parquet"), 0, 450);
    table(&input.join("b.parquet"), 450, 50);
    let config = config(place, "lethe.toml", &input, &folder_sink(&out), "");
    backfill(&config, &[]).end().expect(0);
    (config, out)
}

fn inspect(path: &Path, more: &[&str]) -> Ended {
    let arguments = ["inspect".as_ref(), path.as_os_str()];
    Lethe::new(arguments.into_iter().chain(more.iter().map(std::ffi::OsStr::new))).end()
}

fn report(path: &Path, code: i32) -> Value {
    serde_json::from_str(&inspect(path, &["--json", "--audit"]).expect(code).out).unwrap()
}

fn files(out: &Path, folder: &str) -> Vec<PathBuf> {
    all_files(&out.join(folder))
}

/// Returns a file's name as the report writes it.
fn name(out: &Path, file: &Path) -> String {
    file.strip_prefix(out).unwrap().to_str().unwrap().to_owned()
}

fn flip(file: &Path, at: usize) {
    let mut bytes = std::fs::read(file).unwrap();
    bytes[at] ^= 1;
    std::fs::write(file, bytes).unwrap();
}

/// Copies a dataset, to manipulate the copy.
fn copy(out: &Path, place: &Place, to: &str) -> PathBuf {
    let copy = place.at(to);
    for file in all_files(out) {
        let target = copy.join(file.strip_prefix(out).unwrap());
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(&file, target).unwrap();
    }
    copy
}

#[test]
fn a_backfill_that_nobody_changed_is_intact_and_reconciled_with_its_manifest() {
    let place = Place::new();
    let (config, out) = made(&place);
    let report = report(&out, 0);
    assert_eq!(report["verdict"], "intact");
    let backfill = &report["backfill"];
    assert_eq!(backfill["redacted"], 500);
    assert_eq!(backfill["files"], manifest(&out)["totals"]["files"]);
    assert_eq!(backfill["uncovered"], 0);
    assert_eq!(report["strays"].as_array().unwrap().len(), 0);
    assert_eq!(report["orphans"].as_array().unwrap().len(), 0);
    let text = inspect(&out, &["--audit"]).expect(0).out;
    assert!(text.contains("500 rows in") && text.contains("intact"), "{text}");
    let against: Vec<&str> = vec!["--sources", "-c", config.to_str().unwrap()];
    let text = inspect(&out, &against).expect(0).out;
    assert!(text.contains("sources: 500 rows"), "{text}");
}

#[test]
fn a_changed_removed_added_or_swapped_file_is_named() {
    let place = Place::new();
    let (_, out) = made(&place);
    let head = report(&out, 0)["backfill"]["heads"][0]["digest"]
        .as_str()
        .unwrap()
        .to_owned();
    /// Changes a dataset; returns the files that a report must name.
    type Change = dyn Fn(&Path) -> Vec<PathBuf>;
    let cases: [(&str, &Change); 9] = [
        ("rows-byte", &|out| {
            let file = files(out, "rows").remove(1);
            flip(&file, 40);
            vec![file]
        }),
        ("audit-byte", &|out| {
            let file = files(out, "audit").remove(1);
            flip(&file, 40);
            vec![file]
        }),
        ("rows-gone", &|out| {
            let file = files(out, "rows").remove(0);
            std::fs::remove_file(&file).unwrap();
            vec![file]
        }),
        ("audit-gone", &|out| {
            let file = files(out, "audit").remove(0);
            std::fs::remove_file(&file).unwrap();
            vec![file]
        }),
        ("rows-added", &|out| {
            let from = files(out, "rows").remove(0);
            let to = out.join("rows/0123456789abcdef-0123456789abcdef-000000-last.parquet");
            std::fs::copy(from, &to).unwrap();
            let other = out.join("rows/copy.parquet");
            std::fs::copy(&to, &other).unwrap();
            vec![to, other]
        }),
        ("audit-added", &|out| {
            let file = files(out, "audit").remove(0);
            let stem = file.to_str().unwrap().rsplit_once('-').unwrap().0.to_owned();
            let to = PathBuf::from(format!("{stem}-00000000000000aa.parquet"));
            std::fs::copy(file, &to).unwrap();
            vec![to]
        }),
        ("swapped", &|out| {
            let all = files(out, "rows");
            let (one, other) = (std::fs::read(&all[0]).unwrap(), std::fs::read(&all[1]).unwrap());
            std::fs::write(&all[0], other).unwrap();
            std::fs::write(&all[1], one).unwrap();
            vec![all[0].clone(), all[1].clone()]
        }),
        ("shard-manifest", &|out| {
            let all = files(out, "manifest");
            let file = all
                .into_iter()
                .find(|file| file.to_str().unwrap().contains("shard-"))
                .unwrap();
            let text = std::fs::read_to_string(&file).unwrap();
            std::fs::write(&file, text.replacen("\"rows_in\": 500", "\"rows_in\": 499", 1)).unwrap();
            vec![file]
        }),
        ("whole-manifest", &|out| {
            let all = files(out, "manifest");
            let file = all
                .into_iter()
                .find(|file| !file.to_str().unwrap().contains("shard-"))
                .unwrap();
            let text = std::fs::read_to_string(&file).unwrap();
            std::fs::write(&file, text.replacen("\"redacted\": 500", "\"redacted\": 400", 1)).unwrap();
            vec![file]
        }),
    ];
    for (case, tamper) in cases {
        let copy = copy(&out, &place, case);
        let named = tamper(&copy);
        let text = inspect(&copy, &[]).expect(4).out;
        for file in named {
            let name = name(&copy, &file);
            let fault = |line: &str| line.contains("FAULT") && line.contains(&name);
            assert!(text.lines().any(fault), "{case}: {name} is not named:\n{text}");
        }
        assert!(
            text.contains("NOT INTACT") && text.contains("to repair"),
            "{case}:\n{text}"
        );
        inspect(&copy, &["--head", &head]).expect(4);
    }
    inspect(&out, &["--head", &head]).expect(0);
}

#[test]
fn a_description_that_was_changed_or_removed_is_named() {
    let place = Place::new();
    let (_, out) = made(&place);
    let file = out.join("backfill.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text} ")).unwrap();
    let output = inspect(&out, &[]).expect(4).out;
    assert!(output.contains("FAULT: backfill.json"), "{output}");
    std::fs::remove_file(&file).unwrap();
    let output = inspect(&out, &[]).expect(4).out;
    assert!(output.contains("FAULT: backfill.json is missing"), "{output}");
}

#[test]
fn what_a_backfill_wrote_before_it_ended_is_unfinished_and_not_corrupt() {
    let place = Place::new();
    let (config, out) = made(&place);
    std::fs::remove_dir_all(out.join("manifest")).unwrap();
    let output = inspect(&out, &[]);
    let output = output.expect(7);
    assert!(
        output.out.contains("unfinished") && !output.out.contains("FAULT"),
        "{}",
        output.out
    );
    assert!(
        output.err.contains("run the same `lethe backfill` again"),
        "{}",
        output.err
    );
    assert_eq!(report(&out, 7)["verdict"], "unfinished");
    let last = files(&out, "rows").pop().unwrap();
    std::fs::remove_file(&last).unwrap();
    inspect(&out, &[]).expect(7);
    let against: Vec<&str> = vec!["--sources", "-c", config.to_str().unwrap()];
    let output = inspect(&out, &against).expect(4).out;
    assert!(
        output.contains("b.parquet: missing or incomplete in the dataset")
            || output.contains("a.parquet: missing or incomplete in the dataset"),
        "{output}"
    );
    backfill(&config, &[]).end().expect(0);
    inspect(&out, &["--audit"]).expect(0);
}

#[test]
fn a_manifest_of_an_earlier_version_still_reads_and_says_what_it_does_not_cover() {
    let place = Place::new();
    let (config, out) = made(&place);
    for file in files(&out, "manifest") {
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, stripped(&text)).unwrap();
    }
    let output = inspect(&out, &["--audit"]).expect(0).out;
    let count = files(&out, "rows").len();
    assert!(
        output.contains(&format!("not covered: {count} files")),
        "{output}"
    );
    // Running the same backfill again accepts it.
    backfill(&config, &[]).end().expect(0);
    std::fs::remove_file(files(&out, "rows").remove(0)).unwrap();
    inspect(&out, &[]).expect(4);
}

/// Removes the digests from a manifest's text: the lines of `parts` and `files`, and the comma before them.
fn stripped(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed == "\"parts\": {" || trimmed == "\"files\": {" {
            inside = true;
            let before = lines.last_mut().unwrap();
            *before = before.trim_end_matches(',').to_owned();
        } else if inside {
            inside = !trimmed.starts_with('}');
        } else {
            lines.push(line.to_owned());
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn a_table_that_changed_or_has_other_rows_is_named_by_its_sources() {
    let place = Place::new();
    let (config, out) = made(&place);
    table(&place.at("in/b.parquet"), 450, 49);
    let against: Vec<&str> = vec!["--sources", "-c", config.to_str().unwrap()];
    let output = inspect(&out, &against).expect(4).out;
    assert!(output.contains("b.parquet: changed since"), "{output}");
}

#[test]
fn a_single_file_is_checked_as_far_as_that_goes() {
    let place = Place::new();
    let (_, out) = made(&place);
    let file = files(&out, "rows").remove(0);
    let output = inspect(&file, &["--audit"]).expect(0).out;
    assert!(
        output.contains("rows, ") && output.contains("not checked: its own digest"),
        "{output}"
    );
    assert!(!output.contains("not found"), "{output}");
    // Alone in a folder, its audit file cannot be found.
    let alone = place.at("alone/part.parquet");
    std::fs::create_dir_all(place.at("alone")).unwrap();
    std::fs::copy(&file, &alone).unwrap();
    let output = inspect(&place.at("alone"), &["--audit"]).expect(0).out;
    assert!(output.contains("not found"), "{output}");
    std::fs::copy(files(&out, "audit").remove(0), place.at("alone/audit.parquet")).unwrap();
    let report = report(&place.at("alone"), 0);
    let kinds: Vec<&Value> = report["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| &file["kind"])
        .collect();
    assert_eq!(kinds, ["audit", "rows"]);
    flip(&alone, 40);
    std::fs::write(place.at("alone/text.parquet"), "no Parquet file").unwrap();
    let output = inspect(&place.at("alone"), &["--audit"]).expect(4).out;
    assert!(output.contains("FAULT: text.parquet"), "{output}");
}

#[test]
fn nothing_to_check_is_an_error() {
    let place = Place::new();
    std::fs::create_dir_all(place.at("empty")).unwrap();
    place.write("empty/readme.txt", "nothing here");
    let output = inspect(&place.at("empty"), &[]).expect(4);
    assert!(
        output.out.contains("NOTHING TO CHECK") && !output.out.contains("intact"),
        "{}",
        output.out
    );
    assert!(output.err.contains("nothing to check"), "{}", output.err);
    assert_eq!(report(&place.at("empty"), 4)["verdict"], "nothing_to_check");
    inspect(&place.at("no-such-folder"), &[]).expect(2);
}
