//! Adaptation through the command line: a member is fine-tuned on local documents, corpora are merged, and
//! errors are reported.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::common;

use std::path::Path;

use common::Place;
use common::gold::gold;
use common::process::Lethe;
use serde_json::Value;

/// Returns the same forms, with places as wards.
fn local(count: usize) -> String {
    gold(count)
        .replace("\"CITY\"", "\"WARD\"")
        .replace(" por dolor", " por fiebre")
}

fn tune<'a>(model: &'a Path, gold: &'a Path, out: &'a Path, more: &[&'a str]) -> Lethe {
    let mut arguments = vec!["adapt", "fine-tune", model.to_str().unwrap()];
    arguments.extend(["--train", gold.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    arguments.extend(more);
    Lethe::new(arguments)
}

#[test]
fn a_member_goes_on_to_local_labels_says_from_where_and_annotates() {
    let place = Place::new();
    let (home, here) = (
        place.write("home.jsonl", gold(60)),
        place.write("here.jsonl", local(40)),
    );
    let (old, new, again) = (place.at("old"), place.at("new"), place.at("again"));
    let train = ["train", "ssvm", "--train", home.to_str().unwrap()];
    Lethe::new(train.into_iter().chain(["--out", old.to_str().unwrap()]))
        .end()
        .expect(0);
    tune(&old, &here, &new, &["--seed", "7"])
        .end()
        .expect(0)
        .says("held-out F1");
    let page = std::fs::read_to_string(new.join("member.toml")).unwrap();
    assert!(
        page.contains("goes_on_from = \"") && page.contains("\"WARD\""),
        "{page}"
    );
    tune(&old, &here, &again, &["--seed", "7"]).end().expect(0);
    for file in ["member.toml", "weights.bin"] {
        let read = |folder: &Path| std::fs::read(folder.join(file)).unwrap();
        assert_eq!(read(&new), read(&again), "{file}");
    }
    let annotate = ["annotate", "--member", new.to_str().unwrap(), "--input"];
    let found = Lethe::new(annotate.into_iter().chain([here.to_str().unwrap()]))
        .end()
        .expect(0);
    let wards = found.out.matches("\"WARD\"").count();
    assert!((36..=40).contains(&wards), "{wards}");
    tune(&old, &here, &new, &[]).end().expect(2).says("--restart");
    tune(&old, &here, &place.at("x"), &["--set", "colour=3"])
        .end()
        .expect(2)
        .says("colour");
    assert!(!place.at("x").exists());
}

#[test]
fn corpora_are_joined_and_counted_and_a_label_without_a_place_is_refused_by_line() {
    let place = Place::new();
    let (home, here) = (
        place.write("home.jsonl", gold(3)),
        place.write("here.jsonl", local(2)),
    );
    let names = place.write(
        "names.toml",
        "[labels]\nWARD = \"CITY\"\nDATE = \"DATE\"\nNAME = \"\"\n",
    );
    let out = place.at("both.jsonl");
    let merge = |corpora: &[String]| {
        let mut arguments = vec!["adapt".to_owned(), "merge".to_owned()];
        for corpus in corpora {
            arguments.extend(["--corpus".to_owned(), corpus.clone()]);
        }
        arguments.extend(["--out".to_owned(), out.display().to_string()]);
        Lethe::new(arguments).end()
    };
    let plain = |path: &Path| path.display().to_string();
    let renamed = format!("there={}:{}", here.display(), names.display());
    merge(&[plain(&home), renamed.clone()])
        .expect(2)
        .says("home.jsonl, line 1")
        .says("`NAME`");
    let all = place.write(
        "all.toml",
        "[labels]\nCITY = \"CITY\"\nDATE = \"DATE\"\nNAME = \"\"\n",
    );
    let output = merge(&[format!("{}:{}", home.display(), all.display()), renamed]).expect(0);
    let counts: Vec<Vec<&str>> = output
        .out
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert!(counts.contains(&vec!["CITY", "3", "2"]), "{}", output.out);
    let lines = std::fs::read_to_string(&out).unwrap();
    let documents: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ids: Vec<&str> = documents.iter().map(|d| d["doc_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["home/n0", "home/n1", "home/n2", "there/n0", "there/n1"]);
    assert!(!lines.contains("\"NAME\"") && !lines.contains("\"WARD\""));
    merge(&[plain(&home), plain(&home)])
        .expect(2)
        .says("called `home`");
}
