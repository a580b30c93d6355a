//! Training, cross-validation and evaluation through the command line: results are written, killed trainings
//! resume, and errors are reported.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "test helpers may panic, as tests may"
)]

use crate::common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::Place;
use common::gold::{gold, quarrelsome_gold};
use common::process::{Ended, Lethe, TIMEOUT};
use serde_json::{Value, json};

fn train(member: &str, gold: &Path, out: &Path, more: &[&str]) -> Lethe {
    let mut arguments = vec!["train", member, "--train", gold.to_str().unwrap()];
    arguments.extend(["--out", out.to_str().unwrap()]);
    arguments.extend(more);
    Lethe::new(arguments)
}

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (
                entry.file_name().into_string().unwrap(),
                std::fs::read(entry.path()).unwrap(),
            )
        })
        .collect();
    files.sort();
    files
}

#[test]
fn a_trained_member_annotates_and_the_score_is_that_of_its_spans() {
    let place = Place::new();
    let gold = place.write("gold.jsonl", gold(80));
    let (model, found, page) = (place.at("model"), place.at("crf.jsonl"), place.at("page.html"));
    train("crf", &gold, &model, &[])
        .end()
        .expect(0)
        .says("held-out F1");
    let arguments = [
        "annotate",
        "--member",
        model.to_str().unwrap(),
        "--input",
        gold.to_str().unwrap(),
    ];
    Lethe::new(arguments.into_iter().chain(["--output", found.to_str().unwrap()]))
        .end()
        .expect(0);
    let scored = Lethe::new([
        "evaluate",
        gold.to_str().unwrap(),
        found.to_str().unwrap(),
        "--json",
        "--html",
        page.to_str().unwrap(),
    ])
    .end()
    .expect(0);
    let report: Value = serde_json::from_str(&scored.out).unwrap();
    assert_eq!(
        (report["documents"].as_u64(), report["spans"].as_u64()),
        (Some(80), Some(240))
    );
    let triples = |path: &Path| -> Vec<Value> {
        let lines = std::fs::read_to_string(path).unwrap();
        let each = |line: &str| {
            let document: Value = serde_json::from_str(line).unwrap();
            let spans = document["spans"].as_array().unwrap().iter();
            let triple =
                |span: &Value| json!([document["doc_id"], span["start"], span["end"], span["label"]]);
            spans.map(triple).collect::<Vec<_>>()
        };
        lines.lines().flat_map(each).collect()
    };
    let (want, have) = (triples(&gold), triples(&found));
    let hits = want.iter().filter(|triple| have.contains(triple)).count();
    let f1 = 2.0 * hits as f64 / (want.len() + have.len()) as f64;
    assert!(f1 > 0.95, "{f1}");
    let text = report.to_string();
    assert!(
        text.contains(&format!("\"hits\":{hits}")),
        "{hits} hits are not in {text}"
    );
    assert!(!text.contains("Quiroga"), "the report holds text of a note");
    assert!(std::fs::read_to_string(&page).unwrap().contains("<svg"));
}

/// Returns settings with which a kind trains for seconds, and how many documents keep it busy. Kinds that are
/// not listed use their defaults.
fn short(kind: &str) -> (usize, Vec<&'static str>) {
    match kind {
        "crf" | "memm" | "svm" => (200, vec!["iterations=40", "least_gain=0.0"]),
        "mira" | "searn" | "ogd" | "ssvm" => (200, vec!["epochs=10"]),
        // One pass, over more text than is counted at a time.
        "naive-bayes" => (
            16_000,
            vec![
                "features.rules=false",
                "features.lists=false",
                "features.document=false",
            ],
        ),
        "cnn" => (
            100,
            vec![
                "schedule.epochs=8",
                "schedule.batch=256",
                "architecture.buckets=1024",
                "architecture.channels=16",
            ],
        ),
        _ => (
            100,
            vec![
                "schedule.epochs=8",
                "architecture.word=12",
                "architecture.hidden=12",
                "architecture.layer=0",
                "architecture.char_hidden=5",
                "vectors.skip_gram.epochs=1",
            ],
        ),
    }
}

/// Returns arguments for these settings, and for no held-out set.
fn set<'a>(settings: &[&'a str]) -> Vec<&'a str> {
    let each = settings.iter().flat_map(|setting| ["--set", setting]);
    ["--hold-out", "0"].into_iter().chain(each).collect()
}

/// Counts the passes over the data that a training has logged.
fn passes(ended: &Ended) -> usize {
    ended.err.matches(": pass ").count()
}

/// Kills a training as soon as it has saved a state; `None` if it had ended by then.
fn kill(kind: &str, gold: &Path, out: &Path, settings: &[&str]) -> Option<Ended> {
    let mut running = train(kind, gold, out, settings).start();
    let begun = Instant::now();
    let saved = || {
        let entries = std::fs::read_dir(out.join("training"));
        entries.is_ok_and(|mut entries| {
            entries.any(|entry| {
                entry
                    .unwrap()
                    .path()
                    .extension()
                    .is_some_and(|kind| kind != "part")
            })
        })
    };
    while !saved() {
        if !running.lives() {
            running.wait(TIMEOUT).expect(0);
            return None;
        }
        assert!(begun.elapsed() < TIMEOUT, "{kind}: no state was written");
        std::thread::sleep(Duration::from_millis(1));
    }
    running.signal("KILL");
    let ended = running.wait(TIMEOUT);
    (ended.code.is_none() && !out.join("member.toml").exists()).then_some(ended)
}

#[test]
fn a_training_of_any_kind_that_is_killed_goes_on_and_ends_in_the_same_bytes() {
    for kind in lethe_members::kinds() {
        let (mut count, settings) = short(kind);
        let settings = set(&settings);
        // A training that ends before it can be killed proves nothing, so the test tries a longer one.
        for attempt in 0.. {
            assert!(
                attempt < 3,
                "{kind} ends before it can be killed, with {count} documents"
            );
            let place = Place::new();
            let gold = place.write("gold.jsonl", quarrelsome_gold(count));
            let (whole, killed) = (place.at("whole"), place.at("killed"));
            let all = passes(&train(kind, &gold, &whole, &settings).end().expect(0));
            count *= 4;
            let Some(ended) = kill(kind, &gold, &killed, &settings) else {
                continue;
            };
            let before = passes(&ended);
            if all > 0 && before == all {
                continue;
            }
            let again = train(kind, &gold, &killed, &settings).end().expect(0);
            assert!(
                again.err.contains("resuming an interrupted training"),
                "{}",
                again.err
            );
            assert!(
                all == 0 || (1..all).contains(&passes(&again)),
                "{kind}: of {all} passes, {before} and {} were made",
                passes(&again)
            );
            assert!(files(&whole) == files(&killed), "{kind}");
            break;
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_of_any_kind() {
    let place = Place::new();
    let gold = place.write("gold.jsonl", gold(40));
    for kind in lethe_members::kinds() {
        let (_, settings) = short(kind);
        let settings = [set(&settings), vec!["--seed", "7"]].concat();
        let twice = ["first", "second"].map(|time| {
            let model = place.at(&format!("{kind}-{time}"));
            train(kind, &gold, &model, &settings).end().expect(0);
            files(&model)
        });
        assert!(twice[0] == twice[1], "{kind}");
    }
}

#[test]
fn cross_validation_predicts_every_document_once_and_does_not_do_a_fold_twice() {
    let place = Place::new();
    let gold = place.write("gold.jsonl", gold(60));
    let out = place.at("folds");
    let crossval = |folds: &str| {
        let arguments = [
            "crossval",
            "ogd",
            "--train",
            gold.to_str().unwrap(),
            "--folds",
            folds,
            "--by",
            "patient",
        ];
        Lethe::new(arguments.into_iter().chain(["--out", out.to_str().unwrap()])).end()
    };
    crossval("3").expect(0).says("60 documents in 3 folds");
    let first = std::fs::read(out.join("predictions.jsonl")).unwrap();
    let mut ids: Vec<String> = String::from_utf8(first.clone())
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["doc_id"].to_string())
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 60);
    std::fs::remove_file(out.join("fold-02.jsonl")).unwrap();
    let again = crossval("3").expect(0);
    assert_eq!(again.err.matches("already done").count(), 2);
    assert!(std::fs::read(out.join("predictions.jsonl")).unwrap() == first);
    crossval("4").expect(2).says("use another --out");
}

#[test]
fn a_search_scores_every_combination_and_its_best_settings_train_a_model() {
    let place = Place::new();
    let gold = place.write("gold.jsonl", gold(60));
    let grid = place.write(
        "grid.toml",
        "epochs = [1, 4]\n\"features.lists\" = [true, false]\n",
    );
    let out = place.at("tuned");
    let tune = |more: &[&str]| {
        let arguments = ["tune", "mira", "--train", gold.to_str().unwrap(), "--folds", "3"];
        let rest = ["--grid", grid.to_str().unwrap(), "--out", out.to_str().unwrap()];
        Lethe::new([&arguments[..], &rest, more].concat())
    };
    let found = tune(&["--json"]).end().expect(0).out;
    let found: Value = serde_json::from_str(&found).unwrap();
    let points = found["points"].as_array().unwrap();
    assert_eq!((points.len(), found["documents"].as_u64()), (4, Some(60)));
    let values: Vec<f64> = points
        .iter()
        .map(|point| point["value"].as_f64().unwrap())
        .collect();
    assert!(values.is_sorted_by(|a, b| a >= b), "{values:?}");
    // Its score is that of cross-validation with the same settings.
    let set = points[0]["set"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one.as_str().unwrap());
    let settings: Vec<&str> = set.flat_map(|one| ["--set", one]).collect();
    let folds = place.at("folds");
    let arguments = [
        "crossval",
        "mira",
        "--train",
        gold.to_str().unwrap(),
        "--folds",
        "3",
        "--out",
        folds.to_str().unwrap(),
    ];
    let once = Lethe::new([&arguments[..], &settings].concat()).end().expect(0);
    once.says(&format!("F1 {:.4}", points[0]["f1"]["value"].as_f64().unwrap()));
    let again = tune(&[]).end().expect(0).says("fold-01: already done");
    assert!(again.out.contains("best first by f1"), "{}", again.out);
    let best = out.join("best.toml");
    train(
        "mira",
        &gold,
        &place.at("model"),
        &["--settings", best.to_str().unwrap()],
    )
    .end()
    .expect(0);
    place.write("grid.toml", "epochs = 4\n");
    tune(&[])
        .end()
        .expect(2)
        .says("grid.toml: `epochs`: not a list of values");
}

#[test]
fn every_fold_also_trains_on_documents_that_are_not_predicted() {
    let place = Place::new();
    let (few, many) = (
        place.write("few.jsonl", gold(6)),
        place.write("many.jsonl", gold(40)),
    );
    let out = place.at("folds");
    let crossval = |also: &[&str]| {
        let arguments = [
            "crossval",
            "ogd",
            "--train",
            few.to_str().unwrap(),
            "--folds",
            "2",
        ];
        let out = ["--hold-out", "0", "--out", out.to_str().unwrap()];
        Lethe::new(arguments.iter().chain(also).chain(&out)).end()
    };
    crossval(&["--also", many.to_str().unwrap()])
        .expect(0)
        .says("6 documents in 2 folds");
    let found = std::fs::read_to_string(out.join("predictions.jsonl")).unwrap();
    assert_eq!(found.lines().count(), 6);
    for fold in ["fold-01", "fold-02"] {
        let page = std::fs::read_to_string(out.join(fold).join("member.toml")).unwrap();
        let page: toml::Table = page.parse().unwrap();
        assert_eq!(page["training"]["documents"].as_integer(), Some(3 + 40));
    }
    crossval(&[]).expect(2).says("use another --out");
    Lethe::new([
        "crossval",
        "gazetteer",
        "--train",
        few.to_str().unwrap(),
        "--also",
        many.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
    ])
    .end()
    .expect(2)
    .says("is not trained");
}

#[test]
fn a_damaged_model_is_refused_by_the_name_of_its_file() {
    let place = Place::new();
    let gold = place.write("gold.jsonl", gold(40));
    let model = place.at("model");
    train("ogd", &gold, &model, &[]).end().expect(0);
    let weights = model.join("weights.bin");
    let bytes = std::fs::read(&weights).unwrap();
    std::fs::write(&weights, &bytes[..bytes.len() / 2]).unwrap();
    Lethe::new(["annotate", "--member", model.to_str().unwrap()])
        .end_with("{\"text\": \"x\"}\n")
        .expect(2)
        .says("weights.bin: its digest is not the one in member.toml");
}

#[test]
fn members_read_the_part_of_speech_taggers_that_ship() {
    let place = Place::new();
    let gold = place.write("gold.jsonl", gold(40));
    let network = ["--set", "architecture.speech=15", "--set", "schedule.epochs=1"];
    for (member, tagger, more) in [("ogd", "en-pos", &[][..]), ("lstm-l", "es-pos", &network[..])] {
        let tagger = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../models")
            .join(tagger);
        let (pos, model) = (format!("features.pos={}", tagger.display()), place.at(member));
        let settings = [&["--set", &pos], more].concat();
        train(member, &gold, &model, &settings).end().expect(0);
        let file = |folder: &Path| std::fs::read(folder.join("pos.bin")).unwrap();
        assert!(file(&model) == file(&tagger), "{member}");
    }
}

#[test]
fn errors_of_a_training_are_reported_before_it_begins() {
    let place = Place::new();
    let gold_path = place.write("gold.jsonl", gold(10));
    let out = place.at("model");
    train("crf", &gold_path, &out, &["--set", "colour=3"])
        .end()
        .expect(2)
        .says("colour");
    train("crf", &gold_path, &out, &["--set", "l1"])
        .end()
        .expect(2)
        .says("KEY=VALUE");
    train("hmm", &gold_path, &out, &[]).end().expect(2).says("crf");
    let bad = place.write(
        "bad.jsonl",
        "{\"text\": \"Secreto\", \"spans\": [{\"start\": 3, \"end\": 99, \"label\": \"X\"}]}\n",
    );
    let ended = train("crf", &bad, &out, &[]).end().expect(2).says("bad.jsonl");
    assert!(!ended.err.contains("Secreto"), "{}", ended.err);
    assert!(!out.exists());
}

#[test]
fn a_trained_model_runs_in_the_engine_with_the_rules() {
    let place = Place::new();
    let gold = place.write("gold.jsonl", gold(80));
    let model = place.at("model");
    train("crf", &gold, &model, &[]).end().expect(0);
    let config = place.write(
        "lethe.toml",
        format!(
            "[engine]\nmembers = [{{ kind = \"pattern\" }}, {{ kind = \"model\", path = {}, name = \"ours\" }}]\nlabels = {}\n",
            common::quoted(&model),
            common::quoted(place.write(
                "labels.toml",
                "id = \"forms\"\nversion = 1\nfallback = \"OTHER\"\n[[label]]\nname = \"NAME\"\ncategory = \"NAME\"\nhipaa = \"A\"\n[[label]]\nname = \"DATE\"\ncategory = \"DATE\"\nhipaa = \"C\"\n[[label]]\nname = \"CITY\"\ncategory = \"LOCATION\"\nhipaa = \"B\"\n[[label]]\nname = \"OTHER\"\ncategory = \"OTHER\"\nhipaa = \"R\"\n",
            )),
        ),
    );
    let note = json!({"text": "Nombre: Elena Salas.\nVisto el 12/03/2011 en Montoro por dolor, talla 160, sin fiebre.\n"});
    let ended = Lethe::new(["annotate", "--explain", "-c", config.to_str().unwrap()])
        .end_with(note.to_string())
        .expect(0);
    let document: Value = serde_json::from_str(&ended.out).unwrap();
    let found: Vec<String> = document["spans"]
        .as_array()
        .unwrap()
        .iter()
        .map(|span| format!("{} {}", span["label"], span["members"]))
        .collect();
    assert!(found.contains(&"\"NAME\" [\"ours\"]".to_owned()), "{found:?}");
    assert!(
        found.contains(&"\"DATE\" [\"pattern\",\"ours\"]".to_owned()),
        "{found:?}"
    );
    let rules = document["spans"].as_array().unwrap().iter();
    let rules: Vec<_> = rules.map(|span| span["deciding_rule"].as_str()).collect();
    assert!(rules.iter().all(|&rule| rule == Some("votes")), "{rules:?}");
}
