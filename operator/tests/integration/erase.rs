//! Patients erased from a dataset: no file contains anything of them, the chains still verify, and all other
//! rows are unchanged.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use crate::common;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use arrow_array::{Array as _, RecordBatch};
use arrow_schema::Schema;
use common::Place;
use common::dataset::{Dataset, files, read_parquet};
use common::process::{Ended, Lethe};
use common::search::Search;
use lethe_connectors::store::crash::ERASURE_POINTS;
use lethe_secrets::{Keyring, SqliteVault, Vault as _};
use serde_json::{Value, json};

/// Only rule members, which start quickly.
const ENGINE: &str = "[engine]\nmembers = [{ kind = \"pattern\" }, { kind = \"known\" }]\n";
const SECRET: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// Returns a word of the patient's notes that no member redacts.
fn canary(patient: usize) -> String {
    let letters = [patient / 676, patient / 26 % 26, patient % 26];
    let letters = letters.map(|letter| char::from(b'a' + letter as u8));
    format!("wimble{}{}{}wort", letters[0], letters[1], letters[2])
}

fn id(patient: usize) -> String {
    format!("QV{:07}", 4_100_000 + patient)
}

/// Returns a note whose text contains the patient's id and the canary.
fn note(patient: usize, number: usize) -> Value {
    let text = format!(
        "Marietta Quillfeather, record {}. Visit {number} for {}; seen by Dr. Voss, no complaints.",
        id(patient),
        canary(patient)
    );
    json!({"note_id": format!("n{patient}x{number}"), "patient_id": id(patient), "text": text, "known": [
        {"kind": "patient", "value": "Marietta Quillfeather"},
        {"kind": "medical_record", "value": id(patient)},
        {"kind": "clinician", "value": "Voss"},
    ]})
}

/// A dataset with its vault.
struct Site {
    place: Place,
    config: PathBuf,
}

impl Site {
    /// Creates a site with notes of this number of patients, in two files and as many chains.
    fn new(patients: usize, notes: usize, rows_a_file: usize) -> Self {
        let place = Place::new();
        for half in 0..2 {
            let numbers = (0..notes).filter(|number| number % 2 == half);
            let lines = numbers.map(|number| note(number / 2 % patients, number).to_string());
            place.write(&format!("in/{half}.jsonl"), lines.collect::<Vec<_>>().join("\n"));
        }
        let keys = place.write(
            "keys.toml",
            format!("[[keys]]\nid = \"k1\"\nstate = \"current\"\nsecret = \"{SECRET}\"\n"),
        );
        std::fs::set_permissions(keys, std::fs::Permissions::from_mode(0o600)).unwrap();
        let site = Self {
            config: place.at("lethe.toml"),
            place,
        };
        site.configure(
            "[policy.labels.IDNUM]\naction = \"pseudonym\"\ncodes = \"vault\"\n[policy.labels.DOCTOR]\naction = \"tag\"\nnumbered = \"patient\"\n",
            rows_a_file,
        );
        site
    }

    fn configure(&self, labels: &str, rows_a_file: usize) {
        let quoted = |name: &str| common::quoted(self.place.at(name));
        let text = format!(
            "[source]\nkind = \"jsonl\"\ninput = {}\n{ENGINE}\n[policy]\nmode = \"custom\"\n{labels}[policy.keys]\nfile = {}\n[policy.vault]\nkind = \"sqlite\"\npath = {}\ncreate = true\n{}\n[sink.roll]\nmax_rows = {rows_a_file}\n",
            quoted("in"),
            quoted("keys.toml"),
            quoted("codes.db"),
            common::folder_sink(&self.out()),
        );
        self.place.write("lethe.toml", text);
    }

    fn out(&self) -> PathBuf {
        self.place.at("out")
    }

    fn lethe(&self, arguments: &[&str]) -> Lethe {
        let mut all: Vec<&OsStr> = arguments.iter().map(AsRef::as_ref).collect();
        all.extend(["-c".as_ref(), self.config.as_os_str()]);
        Lethe::new(all)
    }

    fn stream(&self) {
        self.lethe(&["run", "--until-end"]).end().expect(0);
    }

    /// Erases these patients, whose ids are in a file.
    fn erase(&self, patients: &[usize], more: &[&str]) -> Lethe {
        let ids: Vec<String> = patients.iter().map(|patient| id(*patient)).collect();
        let path = self.place.write("ids.txt", ids.join("\n"));
        let mut arguments = vec!["erase", "--patients", path.to_str().unwrap()];
        arguments.extend(["--reason", "request 2026-117", "--json"]);
        arguments.extend(more);
        self.lethe(&arguments)
    }

    fn inspect(&self, more: &[&str]) -> Ended {
        let out = self.out();
        let mut all: Vec<&OsStr> = vec!["inspect".as_ref(), out.as_os_str()];
        all.extend(["--audit", "--json"].map(OsStr::new));
        all.extend(more.iter().map(OsStr::new));
        Lethe::new(all).end()
    }

    /// Returns the faults that an inspection finds.
    #[track_caller]
    fn faults(&self) -> Vec<Value> {
        let report: Value = serde_json::from_str(&self.inspect(&[]).expect(4).out).unwrap();
        let of = |of: &Value| of["faults"].as_array().unwrap().clone();
        let chains = report["chains"].as_array().unwrap();
        chains.iter().chain([&report]).flat_map(of).collect()
    }

    /// Returns the scopes of all entries of the vault.
    fn scopes(&self) -> BTreeMap<String, u64> {
        let keyring = Keyring::read(&self.place.at("keys.toml")).unwrap();
        let vault = SqliteVault::open(&self.place.at("codes.db"), &keyring).unwrap();
        let mut scopes = BTreeMap::new();
        for (_, entry) in vault.page(None, 1_000_000).unwrap() {
            *scopes.entry(entry.scope.to_string()).or_default() += 1;
        }
        scopes
    }
}

/// Returns every row of the Parquet files below a folder, by topic and offset.
fn rows(folder: &Path) -> BTreeMap<(String, i64), Vec<RecordBatch>> {
    let mut rows: BTreeMap<(String, i64), Vec<RecordBatch>> = BTreeMap::new();
    for path in files(folder) {
        for batch in read_parquet(&path).unwrap().1 {
            // Without the file's footer, which the reader treats as the schema's metadata.
            let schema = Arc::new(Schema::new(batch.schema().fields().clone()));
            let batch = RecordBatch::try_new(schema, batch.columns().to_vec()).unwrap();
            let topics = batch.column_by_name("topic").unwrap().as_string::<i32>().clone();
            let offsets = batch
                .column_by_name("offset")
                .unwrap()
                .as_primitive::<Int64Type>()
                .clone();
            for row in 0..batch.num_rows() {
                let key = (topics.value(row).to_owned(), offsets.value(row));
                rows.entry(key).or_default().push(batch.slice(row, 1));
            }
        }
    }
    rows
}

fn text<'a>(row: &'a RecordBatch, column: &str) -> Option<&'a str> {
    let column = row.column_by_name(column).unwrap().as_string::<i32>();
    column.is_valid(0).then(|| column.value(0))
}

/// Returns the codes in rows whose text has one of these words.
fn codes(rows: &BTreeMap<(String, i64), Vec<RecordBatch>>, words: &[String]) -> BTreeSet<String> {
    let texts = rows.values().flatten().filter_map(|row| text(row, "text"));
    let texts = texts.filter(|text| words.iter().any(|word| text.contains(word)));
    let codes = texts
        .flat_map(|text| text.split(['[', ']']))
        .filter_map(|inner| inner.split_once('-'));
    codes.map(|(_, code)| code.to_owned()).collect()
}

/// Asserts that no file of the dataset has one of these words.
#[track_caller]
fn assert_nowhere(folder: &Path, words: impl IntoIterator<Item = String>) {
    // A search needs words with a static lifetime.
    let words = words.into_iter().map(|word| &*word.leak());
    let mut search = Search::new(words);
    assert!(search.folder(folder) > 4);
    search.assert_clean();
}

/// Asserts that the rows of these offsets are empty, and all others unchanged.
#[track_caller]
fn assert_erased(site: &Site, before: &Rows, gone: &BTreeSet<(String, i64)>) {
    let notes = rows(&site.out().join("notes"));
    assert_eq!(notes.len(), before.notes.len());
    for (key, row) in &notes {
        if gone.contains(key) {
            assert_eq!(text(&row[0], "row_kind"), Some("erased"));
            for column in ["text", "note_id", "patient_id", "note_type", "error", "review"] {
                assert_eq!(text(&row[0], column), None, "{column}");
            }
        } else {
            assert_eq!(*row, before.notes[key], "{key:?}");
        }
    }
    let audit = rows(&site.out().join("audit"));
    let mut kept = before.audit.clone();
    kept.retain(|key, _| !gone.contains(key));
    assert_eq!(audit, kept);
}

struct Rows {
    notes: BTreeMap<(String, i64), Vec<RecordBatch>>,
    audit: BTreeMap<(String, i64), Vec<RecordBatch>>,
}

impl Rows {
    fn of(site: &Site) -> Self {
        Self {
            notes: rows(&site.out().join("notes")),
            audit: rows(&site.out().join("audit")),
        }
    }

    /// Returns the rows whose text has one of these words.
    fn with(&self, words: &[String]) -> BTreeSet<(String, i64)> {
        let has = |row: &RecordBatch| {
            text(row, "text").is_some_and(|text| words.iter().any(|word| text.contains(word)))
        };
        let rows = self.notes.iter().filter(|(_, rows)| rows.iter().any(has));
        rows.map(|(key, _)| key.clone()).collect()
    }
}

fn copy(from: &Path, to: &Path) {
    for path in common::dataset::all_files(from) {
        let to = to.join(path.strip_prefix(from).unwrap());
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(path, to).unwrap();
    }
}

#[test]
fn ten_patients_of_ten_thousand_notes_are_gone_and_all_other_rows_are_what_they_were() {
    let site = Site::new(500, 10_000, 700);
    site.stream();
    let before = Rows::of(&site);
    let patients: Vec<usize> = (0..10).map(|number| number * 47 + 3).collect();
    let words: Vec<String> = patients.iter().map(|patient| canary(*patient)).collect();
    let gone = before.with(&words);
    assert_eq!((before.notes.len(), gone.len()), (10_000, 200));
    let own = codes(&before.notes, &words);
    // Each patient's record number and doctor.
    assert_eq!(own.len(), 20);
    let heads: Value = serde_json::from_str(&site.inspect(&[]).expect(0).out).unwrap();
    let chains = heads["chains"].as_array().unwrap();
    let heads: Vec<String> = chains
        .iter()
        .map(|chain| {
            format!(
                "{}  {}",
                chain["head"]["digest"].as_str().unwrap(),
                chain["head"]["file"].as_str().unwrap()
            )
        })
        .collect();
    let heads = site.place.write("heads.txt", heads.join("\n"));
    let heads = ["--head", heads.to_str().unwrap()];
    let scopes = site.scopes();
    assert_eq!(scopes.len(), 500);

    let dry = site.erase(&patients, &["--dry-run"]).end().expect(0);
    let dry: Value = serde_json::from_str(&dry.out).unwrap();
    assert_eq!((&dry["rows"], &dry["vault_codes"]), (&json!(200), &json!(20)));
    assert_eq!(Rows::of(&site).notes, before.notes);
    assert!(files(&site.out().join("erased")).is_empty());

    let done = site
        .erase(&patients, &[])
        .end()
        .expect(0)
        .says("not erased: rows");
    let outcome: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(
        (&outcome["rows"], &outcome["vault_entries"]),
        (&json!(200), &json!(20))
    );
    assert_eq!(outcome["records"].as_array().unwrap().len(), 200);

    assert_erased(&site, &before, &gone);
    let ids = patients.iter().map(|patient| id(*patient));
    assert_nowhere(&site.out(), words.iter().cloned().chain(own).chain(ids));
    // The search finds the canaries of the remaining patients, which proves that it works.
    let mut search = Search::new([&*canary(4).leak()]);
    search.folder(&site.out());
    assert!(!search.found.is_empty());
    let report: Value = serde_json::from_str(&site.inspect(&heads).expect(0).out).unwrap();
    assert_eq!(report["erasures"][0]["reason"], "request 2026-117");
    let erased = report["chains"]
        .as_array()
        .unwrap()
        .iter()
        .map(|chain| chain["erased"].as_u64().unwrap());
    assert_eq!(erased.sum::<u64>(), 200);
    assert!(Dataset::read(&site.out()).faults(&site.out()).is_empty());
    let mut left = scopes;
    patients
        .iter()
        .for_each(|patient| assert!(left.remove(&format!("patient\n{}", id(*patient))).is_some()));
    assert_eq!((site.scopes(), left.len()), (left, 490));

    // Again there is nothing to erase, and nothing is recorded.
    let again = site.erase(&patients, &[]).end().expect(0);
    let again: Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!((&again["records"], &again["record"]), (&json!([]), &Value::Null));
    // The stream continues after a file that was rewritten, and another erasure rewrites some files again.
    for half in 0..2 {
        let path = site.place.at(&format!("in/{half}.jsonl"));
        let more = (0..10).map(|number| note(number + 40, 10_000 + number).to_string());
        let text = std::fs::read_to_string(&path).unwrap() + "\n" + &more.collect::<Vec<_>>().join("\n");
        std::fs::write(path, text).unwrap();
    }
    site.stream();
    site.erase(&[44, 100], &[]).end().expect(0);
    assert_nowhere(&site.out(), [canary(44), canary(100)]);
    let report: Value = serde_json::from_str(&site.inspect(&heads).expect(0).out).unwrap();
    assert_eq!(report["erasures"].as_array().unwrap().len(), 2);
    let head = &report["erasures"][0];
    let head = format!(
        "{}  {}",
        head["head"].as_str().unwrap(),
        head["completion"].as_str().unwrap()
    );
    let head = site.place.write("head.txt", head);
    site.inspect(&["--head", head.to_str().unwrap()]).expect(0);
}

#[test]
fn a_killed_erasure_is_named_by_inspect_and_finished_by_the_next_run() {
    let site = Site::new(20, 400, 60);
    site.stream();
    let before = Rows::of(&site);
    copy(&site.out(), &site.place.at("saved"));
    std::fs::copy(site.place.at("codes.db"), site.place.at("saved.db")).unwrap();
    let gone = before.with(&[canary(7), canary(8)]);
    assert_eq!(gone.len(), 40);
    for point in ERASURE_POINTS {
        for passage in [1, 4] {
            if passage > 1 && ["erasure_recorded", "files_erased"].contains(&point) {
                continue;
            }
            std::fs::remove_dir_all(site.out()).unwrap();
            copy(&site.place.at("saved"), &site.out());
            for log in ["codes.db-wal", "codes.db-shm"] {
                drop(std::fs::remove_file(site.place.at(log)));
            }
            std::fs::copy(site.place.at("saved.db"), site.place.at("codes.db")).unwrap();
            let crash = format!("{point}:{passage}");
            let killed = site.erase(&[7, 8], &[]).env("LETHE_CRASH_AT", &crash).end();
            assert_eq!(killed.code, None, "{crash}: {}", killed.err);
            let faults = site.faults();
            assert_eq!(
                faults,
                [json!({"fault": "unfinished", "record": "erased/000000.json"})],
                "{crash}"
            );
            // Another patient's erasure finishes it first.
            let done = site.erase(&[9], &[]).end().expect(0);
            let done: Value = serde_json::from_str(&done.out).unwrap();
            assert_eq!(
                (&done["finished"], &done["rows"]),
                (&json!("erased/000000.json"), &json!(20)),
                "{crash}"
            );
            let mut all = gone.clone();
            all.extend(before.with(&[canary(9)]));
            assert_erased(&site, &before, &all);
            site.inspect(&[]).expect(0);
            let kept = site.scopes();
            assert_eq!(kept.len(), 17, "{crash}");
        }
    }
}

#[test]
fn a_file_that_differs_from_its_record_is_found() {
    let site = Site::new(20, 400, 60);
    site.stream();
    copy(&site.out(), &site.place.at("saved"));
    site.erase(&[7], &[]).end().expect(0);
    site.inspect(&[]).expect(0);
    let saved = |path: &Path| {
        site.place
            .at("saved")
            .join(path.strip_prefix(site.out()).unwrap())
    };
    let changed = |path: &Path| std::fs::read(path).unwrap() != std::fs::read(saved(path)).unwrap();
    for folder in ["notes", "audit"] {
        let rewritten: Vec<PathBuf> = files(&site.out().join(folder))
            .into_iter()
            .filter(|path| changed(path))
            .collect();
        // Includes the last file of a chain, which no other file vouches for.
        for path in [rewritten.first().unwrap(), rewritten.last().unwrap()] {
            let erased = std::fs::read(path).unwrap();
            // Two manipulations: the erased content restored, and one changed byte.
            let back = std::fs::read(saved(path)).unwrap();
            let mut other = erased.clone();
            other[40] ^= 1;
            for bytes in [back, other] {
                std::fs::write(path, bytes).unwrap();
                let faults = site.faults();
                let is_named = |fault: &Value| {
                    fault["fault"] == "digest" && path.ends_with(fault["file"].as_str().unwrap())
                };
                assert!(faults.iter().any(is_named), "{faults:?}");
            }
            std::fs::write(path, erased).unwrap();
        }
    }
    site.inspect(&[]).expect(0);
    let record = site.out().join("erased/000000.json");
    let sound = std::fs::read_to_string(&record).unwrap();
    std::fs::write(&record, sound.replace("request 2026-117", "request 2026-118")).unwrap();
    assert_eq!(site.faults()[0]["fault"], "digest");
    site.erase(&[8], &[]).end().expect(3).says("was changed, or");
    std::fs::write(&record, sound).unwrap();
    site.inspect(&[]).expect(0);
    let completion = site.out().join("erased/000000-done.json");
    let sound = std::fs::read_to_string(&completion).unwrap();
    std::fs::remove_file(&completion).unwrap();
    assert_eq!(site.faults()[0]["fault"], "unfinished");
    std::fs::write(&completion, sound).unwrap();
    std::fs::remove_file(&record).unwrap();
    assert!(!site.faults().is_empty());
}

#[test]
fn a_replayed_record_is_erased_with_its_quarantined_row_and_not_replayed_again() {
    let site = Site::new(10, 40, 1000);
    site.stream();
    // Another file, whose ids have a name that the mapping does not know at first.
    let broken = |number: usize| {
        let mut note = note(number % 10, number);
        let id = note.as_object_mut().unwrap().remove("note_id").unwrap();
        note["key"] = id;
        note.to_string()
    };
    site.place
        .write("in/z.jsonl", (0..20).map(broken).collect::<Vec<_>>().join("\n"));
    site.lethe(&["run", "--until-end"]).end().expect(6);
    let config = std::fs::read_to_string(&site.config).unwrap();
    let mended = config.replace(
        "kind = \"jsonl\"\n",
        "kind = \"jsonl\"\nformat.fields = { note_id = \"key\" }\n",
    );
    std::fs::write(&site.config, mended).unwrap();
    site.lethe(&["replay", "--topic", "z.jsonl"]).end().expect(0);
    let parts = site.out().join("replayed/notes");
    let before = rows(&parts);
    assert_eq!(before.len(), 20);
    let own = codes(&before, &[canary(3)]);

    let done = site.erase(&[3], &[]).end().expect(0);
    let outcome: Value = serde_json::from_str(&done.out).unwrap();
    // Four rows of the stream's notes, and two of the replayed ones twice.
    assert_eq!(
        (outcome["records"].as_array().unwrap().len(), &outcome["rows"]),
        (6, &json!(8))
    );
    assert_nowhere(&site.out(), own.into_iter().chain([canary(3)]));
    site.inspect(&[]).expect(0);
    for (key, row) in rows(&parts) {
        let is_own = text(&before[&key][0], "text").unwrap().contains(&canary(3));
        match is_own {
            true => assert_eq!(text(&row[0], "row_kind"), Some("erased")),
            false => assert_eq!(row, before[&key]),
        }
    }
    let again = site.lethe(&["replay", "--again"]).end().expect(0);
    assert!(again.out.contains("nothing written"), "{}", again.out);
    let out = site.out();
    let why = Lethe::new([
        "inspect".as_ref(),
        out.as_os_str(),
        "--why".as_ref(),
        "z.jsonl/0@3".as_ref(),
    ]);
    assert!(why.end().expect(0).out.contains("erased"));
}

#[test]
fn records_are_erased_by_their_places_where_nothing_says_whose_they_are() {
    let site = Site::new(10, 40, 1000);
    site.configure("", 1000);
    site.stream();
    let before = Rows::of(&site);
    site.erase(&[3], &[]).end().expect(2).says("--records");
    let erase = |lines: &str| {
        let path = site.place.write("records.txt", lines);
        let arguments = [
            "erase",
            "--json",
            "--reason",
            "a request",
            "--records",
            path.to_str().unwrap(),
        ];
        site.lethe(&arguments).end()
    };
    erase("0.jsonl/0@3\nnowhere/0@3\n").expect(2).says("nowhere/0@3");
    erase("0.jsonl/0@3\n0.jsonl/0@99\n")
        .expect(2)
        .says("0.jsonl/0@99");
    erase("0.jsonl/0@three\n").expect(2).says("line 1");
    assert!(files(&site.out().join("erased")).is_empty());
    erase("0.jsonl/0@3\n\n0.jsonl/0@13\n1.jsonl/0@0\n").expect(0);
    let places = [("0.jsonl", 3), ("0.jsonl", 13), ("1.jsonl", 0)];
    let gone = places.map(|(topic, offset)| (topic.to_owned(), offset)).into();
    assert_erased(&site, &before, &gone);
    site.inspect(&[]).expect(0);
    let again = erase("0.jsonl/0@3\n").expect(0);
    let again: Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!((&again["already"], &again["record"]), (&json!(1), &Value::Null));
}

#[test]
fn wrong_requests_are_refused_before_anything_is_written() {
    let site = Site::new(4, 8, 1000);
    site.stream();
    let lethe = |arguments: &[&str]| site.lethe(arguments).end();
    lethe(&["erase", "--reason", "a request"])
        .expect(2)
        .says("--patient");
    lethe(&["erase", "--patient", "QV4100003"])
        .expect(2)
        .says("--reason");
    lethe(&["erase", "--patient", "QV4100003", "--reason", "of QV4100003"])
        .expect(2)
        .says("--reason");
    std::fs::create_dir_all(site.out().join("rows")).unwrap();
    std::fs::write(site.out().join("rows/a.parquet"), "").unwrap();
    lethe(&["erase", "--patient", "QV4100003", "--reason", "a request"])
        .expect(2)
        .says("backfill");
    assert!(files(&site.out().join("erased")).is_empty());
}

#[test]
fn a_kept_vault_keeps_the_codes() {
    let site = Site::new(4, 8, 1000);
    site.stream();
    site.erase(&[3], &["--keep-vault"]).end().expect(0);
    assert_eq!(site.scopes().len(), 4);
    site.inspect(&[]).expect(0);
}
