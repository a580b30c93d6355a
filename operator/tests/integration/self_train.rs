//! Self-training through the command line: a member is trained further on unlabelled text, by itself or
//! taught by a bundle, and is refused if it becomes worse on the held-out set.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::common;

use std::path::Path;

use common::Place;
use common::gold::gold;
use common::process::{Ended, Lethe};

/// Returns the same forms in the style of another institute.
fn elsewhere(count: usize) -> String {
    gold(count)
        .replace("Visto el", "Acude el")
        .replace(" por dolor", " con fiebre")
}

struct Asked<'a> {
    model: &'a Path,
    train: &'a Path,
    unlabelled: &'a Path,
    held_out: &'a Path,
}

impl Asked<'_> {
    fn to(&self, out: &Path, more: &[&str]) -> Ended {
        let mut arguments = vec!["adapt", "self-train", self.model.to_str().unwrap()];
        arguments.extend(["--train", self.train.to_str().unwrap()]);
        arguments.extend(["--unlabelled", self.unlabelled.to_str().unwrap()]);
        arguments.extend(["--held-out", self.held_out.to_str().unwrap()]);
        arguments.extend(["--out", out.to_str().unwrap()]);
        arguments.extend(more);
        Lethe::new(arguments).end()
    }
}

fn train(kind: &str, gold: &Path, out: &Path, more: &[&str]) {
    let arguments = [
        "train",
        kind,
        "--train",
        gold.to_str().unwrap(),
        "--hold-out",
        "0",
        "--out",
    ];
    let all = arguments.into_iter().chain([out.to_str().unwrap()]);
    Lethe::new(all.chain(more.iter().copied())).end().expect(0);
}

#[test]
fn a_crf_and_a_network_train_themselves_the_same_way_every_time_and_tell_what_was_corrected() {
    let place = Place::new();
    let (home, there) = (
        place.write("home.jsonl", gold(40)),
        place.write("there.jsonl", elsewhere(30)),
    );
    let kept = place.write("kept.jsonl", gold(20));
    let network = [
        "--set",
        "architecture={word=12, hidden=16, layer=16}",
        "--set",
        "schedule={epochs=12, rate=0.02, dropout=0.0, batch=4}",
        "--set",
        "vectors={none=true}",
    ];
    let few = [
        "--set",
        "schedule.epochs=3",
        "--set",
        "refresh=2",
        "--bound",
        "10",
    ];
    for (kind, own, more) in [
        ("crf", &[][..], &["--set", "rounds=2"][..]),
        ("lstm-l", &network, &few),
    ] {
        let [old, new, again] = ["old", "new", "again"].map(|name| place.at(&format!("{kind}-{name}")));
        train(kind, &home, &old, own);
        let asked = Asked {
            model: &old,
            train: &home,
            unlabelled: &there,
            held_out: &kept,
        };
        let told = place.at(&format!("{kind}-told"));
        let mut all = more.to_vec();
        all.extend(["--test", there.to_str().unwrap(), "--label", "NAME"]);
        all.extend(["--analysis", told.to_str().unwrap()]);
        asked
            .to(&new, &all)
            .expect(0)
            .says("held out")
            .says("strict F1 on the target");
        let page = std::fs::read_to_string(new.join("member.toml")).unwrap();
        assert!(page.contains("goes_on_from = \""), "{page}");
        let analysis = std::fs::read_to_string(told.join("analysis.json")).unwrap();
        assert!(analysis.contains("\"corrected\""), "{analysis}");
        assert!(!analysis.contains("Quiroga"), "no text of a note");
        asked.to(&again, more).expect(0);
        let file = if kind == "crf" {
            "weights.bin"
        } else {
            "weights.safetensors"
        };
        for file in ["member.toml", file] {
            let read = |folder: &Path| std::fs::read(folder.join(file)).unwrap();
            assert_eq!(read(&new), read(&again), "{kind}: {file}");
        }
        asked.to(&new, more).expect(2).says("--restart");
    }
}

#[test]
fn a_model_that_lost_too_much_at_home_is_not_written_and_other_kinds_are_refused() {
    let place = Place::new();
    let (home, there) = (
        place.write("home.jsonl", gold(40)),
        place.write("there.jsonl", elsewhere(30)),
    );
    let kept = place.write("kept.jsonl", gold(20));
    let (crf, svm, out) = (place.at("crf"), place.at("svm"), place.at("out"));
    train("crf", &home, &crf, &[]);
    train("svm", &home, &svm, &[]);
    let asked = |model| Asked {
        model,
        train: &home,
        unlabelled: &there,
        held_out: &kept,
    };
    // No loss is allowed, and a gain is required.
    asked(&crf)
        .to(&out, &["--set", "rounds=1", "--bound=-1"])
        .expect(5)
        .says("nothing was written")
        .says("from 100.00 to");
    assert!(!out.exists());
    asked(&svm)
        .to(&out, &[])
        .expect(2)
        .says("crf, lstm-crf-n, lstm-crf-l, lstm-l");
    asked(&crf)
        .to(&out, &["--set", "colour=3"])
        .expect(2)
        .says("colour");
    let wards = place.write("wards.jsonl", gold(5).replace("\"CITY\"", "\"WARD\""));
    asked(&crf)
        .to(&out, &["--labelled", wards.to_str().unwrap()])
        .expect(2)
        .says("WARD");
    assert!(!out.exists());
}

#[test]
fn a_bundle_teaches_one_of_its_kind() {
    let place = Place::new();
    let (home, there) = (
        place.write("home.jsonl", gold(40)),
        place.write("there.jsonl", elsewhere(30)),
    );
    let kept = place.write("kept.jsonl", gold(20));
    let (crf, predictions, bundle, out) = (
        place.at("crf"),
        place.at("said"),
        place.at("bundle"),
        place.at("out"),
    );
    train("crf", &home, &crf, &[]);
    std::fs::create_dir_all(&predictions).unwrap();
    let annotate = [
        "annotate",
        "--member",
        crf.to_str().unwrap(),
        "--input",
        home.to_str().unwrap(),
        "--output",
    ];
    let file = predictions.join("crf.jsonl");
    Lethe::new(annotate.into_iter().chain([file.to_str().unwrap()]))
        .end()
        .expect(0);
    let fit = [
        "ensemble",
        "fit",
        "voting",
        home.to_str().unwrap(),
        file.to_str().unwrap(),
        "--models",
    ];
    let model = format!("crf={}", crf.display());
    Lethe::new(
        fit.into_iter()
            .chain([model.as_str(), "--out", bundle.to_str().unwrap()]),
    )
    .end()
    .expect(0);
    Asked {
        model: &crf,
        train: &home,
        unlabelled: &there,
        held_out: &kept,
    }
    .to(
        &out,
        &["--set", "rounds=1", "--teacher", bundle.to_str().unwrap()],
    )
    .expect(0)
    .says("held out");
    assert!(out.join("member.toml").exists());
}
