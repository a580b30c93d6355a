//! The study of incremental learning through the command line: the model from elsewhere is trained once, the
//! same seed gives the same report, and errors are reported.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::common;

use std::path::Path;

use common::Place;
use common::gold::gold;
use common::process::Lethe;
use serde_json::Value;

/// Returns the same forms in the style of another institute.
fn local(count: usize) -> String {
    gold(count).replace(" por dolor", " por fiebre")
}

fn study(stream: &Path, test: &Path, out: &Path, more: &[&str]) -> Lethe {
    let mut arguments = vec!["adapt", "incremental", "--stream", stream.to_str().unwrap()];
    arguments.extend(["--test", test.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    arguments.extend(["--repeats", "2", "--batch", "8", "--increments", "3"]);
    arguments.extend(more);
    Lethe::new(arguments)
}

fn read(folder: &Path, file: &str) -> String {
    std::fs::read_to_string(folder.join(file)).unwrap()
}

#[test]
fn a_study_writes_its_numbers_page_and_plots_and_trains_the_model_from_elsewhere_once() {
    let place = Place::new();
    let (home, here) = (
        place.write("home.jsonl", gold(30)),
        place.write("here.jsonl", local(40)),
    );
    let (model, out, again) = (place.at("model"), place.at("out"), place.at("again"));
    let first = [
        "--first",
        model.to_str().unwrap(),
        "--first-train",
        home.to_str().unwrap(),
    ];
    study(&here, &here, &out, &first)
        .end()
        .expect(0)
        .says("the report is");
    let report: Value = serde_json::from_str(&read(&out, "study.json")).unwrap();
    let increments = report["increments"].as_array().unwrap();
    // The model has been trained before anything arrives.
    assert_eq!(increments.len(), 4);
    assert_eq!(increments[0]["weight"][0]["mean"], 1.0);
    assert!(increments[3]["mixture"][0]["mean"].as_f64().unwrap() > 0.8);
    let page = read(&out, "README.md");
    for plot in [
        "f1.svg",
        "weight.svg",
        "stationary.svg",
        "loss-by-weight.svg",
        "f1-by-weight.svg",
    ] {
        assert!(
            read(&out, plot).starts_with("<svg") && page.contains(plot),
            "{plot}"
        );
    }

    let written = std::fs::metadata(model.join("member.toml"))
        .unwrap()
        .modified()
        .unwrap();
    study(&here, &here, &again, &[&first[..], &["--jobs", "1"]].concat())
        .end()
        .expect(0)
        .says("already trained");
    assert_eq!(
        std::fs::metadata(model.join("member.toml"))
            .unwrap()
            .modified()
            .unwrap(),
        written
    );
    for file in ["study.json", "README.md", "f1.svg"] {
        assert_eq!(read(&out, file), read(&again, file), "{file}");
    }

    let other = [
        "--first",
        model.to_str().unwrap(),
        "--first-train",
        here.to_str().unwrap(),
    ];
    study(&here, &here, &again, &other)
        .end()
        .expect(2)
        .says("trained on other documents");
}

#[test]
fn a_model_that_goes_on_learns_what_arrives_and_one_from_nothing_has_no_curve_before_it() {
    let place = Place::new();
    let (home, here) = (
        place.write("home.jsonl", gold(30)),
        place.write("here.jsonl", local(40).replace("\"CITY\"", "\"WARD\"")),
    );
    let (model, out) = (place.at("model"), place.at("out"));
    let first = [
        "--first",
        model.to_str().unwrap(),
        "--first-train",
        home.to_str().unwrap(),
        "--first-learns",
    ];
    study(&here, &here, &out, &first).end().expect(0);
    let report: Value = serde_json::from_str(&read(&out, "study.json")).unwrap();
    let f1 = |at: usize| report["increments"][at]["first"]["mean"].as_f64().unwrap();
    // Wards are a label that it did not have.
    assert!(f1(3) > f1(0) + 0.05, "{} {}", f1(0), f1(3));

    study(&here, &here, &out, &["--unit", "documents"])
        .end()
        .expect(0);
    let report: Value = serde_json::from_str(&read(&out, "study.json")).unwrap();
    assert_eq!(report["increments"][0]["after"], 1);
    assert_eq!(report["setup"]["unit"], "document");
}

#[test]
fn unusable_data_is_reported() {
    let place = Place::new();
    let here = place.write("here.jsonl", local(3));
    let bare = place.write(
        "bare.jsonl",
        "{\"doc_id\": \"a\", \"text\": \"Nada.\", \"spans\": []}\n",
    );
    let out = place.at("out");
    study(&here, &here, &out, &[])
        .end()
        .expect(2)
        .says("6 units are too few for batches of 8");
    study(&bare, &here, &out, &[])
        .end()
        .expect(2)
        .says("nothing to learn");
    study(&here, &here, &out, &["--first-learns"])
        .end()
        .expect(2)
        .says("--first");
    assert!(!out.exists());
}
