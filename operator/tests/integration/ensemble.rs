//! From cross-validated members to a bundle in the stream, through the command line.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use std::path::{Path, PathBuf};

use common::Place;
use common::bundle::through_stream;
use common::gold::{gold, quarrelsome_gold};
use common::process::{Ended, Lethe};
use serde_json::Value;

const MEMBERS: [&str; 3] = ["mira", "ogd", "naive-bayes"];

/// Folders of members that were cross-validated and trained on the same gold.
struct Trained {
    place: Place,
    gold: PathBuf,
}

impl Trained {
    fn new() -> Self {
        let place = Place::new();
        // If all members agreed on everything, nothing could be learnt about them.
        let gold = place.write("gold.jsonl", quarrelsome_gold(60));
        let file = gold.to_str().unwrap();
        for member in MEMBERS {
            for (command, folder) in [("crossval", "cv"), ("train", "models")] {
                let out = place.at(folder).join(member);
                let out = out.to_str().unwrap();
                let more: &[&str] = if command == "crossval" {
                    &["--folds", "3"]
                } else {
                    &[]
                };
                let arguments = [command, member, "--train", file, "--out", out, "--hold-out", "0"];
                Lethe::new(arguments.iter().chain(more)).end().expect(0);
            }
        }
        Self { place, gold }
    }

    /// Runs `lethe ensemble` with gold, every member's predictions, and more arguments.
    fn ensemble(&self, command: &[&str], more: &[&str]) -> Ended {
        let predictions = MEMBERS.map(|member| self.place.at("cv").join(member));
        let mut arguments = vec!["ensemble".to_owned()];
        arguments.extend(command.iter().map(|&part| part.to_owned()));
        arguments.push(self.gold.to_str().unwrap().to_owned());
        arguments.extend(predictions.iter().map(|path| path.to_str().unwrap().to_owned()));
        arguments.extend(more.iter().map(|&part| part.to_owned()));
        Lethe::new(arguments).end()
    }

    fn models(&self) -> String {
        self.place.at("models").to_str().unwrap().to_owned()
    }

    /// Writes a label set that includes the labels of rules.
    fn labels(&self) -> String {
        let labels = "id = \"towns\"\nversion = 1\nfallback = \"CITY\"\n".to_owned()
            + &["NAME", "DATE", "CITY", "VILLAGE"]
                .map(|name| format!("[[label]]\nname = {name:?}\ncategory = {name:?}\nhipaa = \"A\"\n"))
                .concat();
        let labels = self.place.write("labels.toml", labels);
        labels.to_str().unwrap().to_owned()
    }

    fn bundle(&self) -> PathBuf {
        let bundle = self.place.at("bundle");
        let more = [
            "--models",
            &self.models(),
            "--labels",
            &self.labels(),
            "--union-rule",
            "known",
            "--out",
        ];
        let out = bundle.to_str().unwrap();
        let more: Vec<&str> = more.into_iter().chain([out]).collect();
        self.ensemble(&["fit", "voting-pruned"], &more)
            .expect(0)
            .says("strict F1");
        bundle
    }
}

#[test]
fn a_bundle_says_in_the_stream_what_it_says_of_documents_byte_for_byte() {
    let trained = Trained::new();
    let place = &trained.place;
    let bundle = trained.bundle();
    let shown = Lethe::new(["ensemble", "show", bundle.to_str().unwrap()])
        .end()
        .expect(0);
    for told in ["labels", "votes", "fitted to   60 documents", "measured", "known"] {
        assert!(shown.out.contains(told), "{told}: {}", shown.out);
    }
    // Models of dropped members are not in the bundle.
    let left = std::fs::read_dir(bundle.join("members")).unwrap().count();
    assert!(shown.out.matches("us/token").count() >= left && left <= MEMBERS.len());

    let texts: Vec<String> = std::fs::read_to_string(&trained.gold)
        .unwrap()
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["text"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    let (config, streamed) = through_stream(place, &bundle, &texts);
    let annotated = common::bundle::annotated(place, &["--bundle", bundle.to_str().unwrap()]);
    assert!(annotated.len() > 150, "{}", annotated.len());
    assert_eq!(streamed, annotated);
    assert_eq!(
        annotated,
        common::bundle::annotated(place, &["-c", config.to_str().unwrap()])
    );

    // A member that was altered stops the stream before a note is read.
    let weights = bundle
        .join("members")
        .join(
            std::fs::read_dir(bundle.join("members"))
                .unwrap()
                .next()
                .unwrap()
                .unwrap()
                .file_name(),
        )
        .join("weights.bin");
    let mut bytes = std::fs::read(&weights).unwrap();
    bytes[20] ^= 1;
    std::fs::write(&weights, bytes).unwrap();
    Lethe::through(&config).end().expect(2).says("weights.bin");
}

#[test]
fn pruning_reports_each_threshold_s_path_and_refuses_what_does_not_fit() {
    let trained = Trained::new();
    let page = trained.place.at("page.html");
    let table = trained
        .ensemble(&["prune"], &["--html", page.to_str().unwrap()])
        .expect(0)
        .out;
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("naive-bayes") && page.contains("<svg"));
    for member in MEMBERS {
        assert!(table.contains(member), "{table}");
    }
    assert!(table.contains("chosen") && table.contains("left: "), "{table}");
    let json = trained
        .ensemble(&["prune"], &["--json", "--measure", "f2", "--keep", "ogd"])
        .expect(0)
        .out;
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["paths"].as_array().unwrap().len(), MEMBERS.len());
    let chosen = report["chosen"]["members"].as_array().unwrap();
    assert!(chosen.contains(&Value::from(1)), "ogd is kept: {json}");

    // Measured costs can be reused.
    let measured = trained
        .ensemble(&["prune"], &["--json", "--models", &trained.models()])
        .expect(0)
        .out;
    let costs = trained.place.write("costs.json", &measured);
    let again = trained.ensemble(&["prune"], &["--json", "--costs", costs.to_str().unwrap()]);
    assert_eq!(again.expect(0).out, measured);
    let report = trained.place.write("report.json", &json);
    let report = report.to_str().unwrap();

    for (more, told) in [
        (
            &["--keep", "crf"][..],
            "no member `crf`; choose from mira, ogd, naive-bayes",
        ),
        (&["--floor", "characters:2"], "is not a floor"),
        (&["--ceiling", "1"], "a ceiling needs the costs of the members"),
        (&["--costs", report], "no cost of `mira`"),
        (&["--costs", "nowhere.json"], "--costs nowhere.json"),
        (&["--models", "mira=nowhere"], "nowhere/member.toml"),
    ] {
        trained.ensemble(&["prune"], more).expect(2).says(told);
    }
    // Predictions can be renamed, but a model cannot.
    let rename = trained.place.write("rename.toml", "[labels]\nCITY = \"PLACE\"\n");
    let rename = rename.to_str().unwrap();
    trained
        .ensemble(&["prune"], &["--rename", rename, "--models", &trained.models()])
        .expect(2)
        .says("predicts CITY")
        .says(&format!("lethe train mira --rename {rename}"));
    let other = trained.place.write("other.jsonl", quarrelsome_gold(61));
    let file = trained.place.at("cv").join("mira");
    Lethe::new([
        "ensemble",
        "prune",
        other.to_str().unwrap(),
        file.to_str().unwrap(),
    ])
    .end()
    .expect(2)
    .says("no predictions for document `n60`");
    let fit = [
        "--models",
        &trained.models(),
        "--out",
        trained.place.path().to_str().unwrap(),
    ];
    trained
        .ensemble(&["fit", "voting"], &fit)
        .expect(2)
        .says("already exists and is not empty");
}

#[test]
fn what_is_kept_by_offsets_alone_prunes_the_same_under_other_names_too() {
    let trained = Trained::new();
    let kept = trained.place.at("kept.jsonl");
    let kept = kept.to_str().unwrap();
    trained
        .ensemble(&["export-offsets"], &["--out", kept])
        .expect(0)
        .says("3 members' spans of 60 documents");
    let content = std::fs::read_to_string(kept).unwrap();
    let gold = std::fs::read_to_string(&trained.gold).unwrap();
    let first: Value = serde_json::from_str(gold.lines().next().unwrap()).unwrap();
    let words = first["text"].as_str().unwrap().split_whitespace();
    for word in words.filter(|word| word.len() > 4) {
        assert!(!content.contains(word), "{word}");
    }
    let names = trained.place.write(
        "names.toml",
        "[labels]\nCITY = \"PLACE\"\nVILLAGE = \"PLACE\"\nDATE = \"\"\n",
    );
    let rename = ["--rename", names.to_str().unwrap(), "--json"];
    let file = trained.gold.to_str().unwrap();
    let [plain, renamed] = [&["--json"][..], &rename].map(|more| {
        let report = trained.ensemble(&["prune"], more).expect(0).out;
        let arguments = ["ensemble", "prune", file, kept];
        let again = Lethe::new(arguments.iter().chain(more)).end().expect(0).out;
        assert_eq!(report, again);
        let report: Value = serde_json::from_str(&report).unwrap();
        report["all"]["shared_errors"]["gold"].as_u64().unwrap()
    });
    assert!(renamed < plain, "gold's dates are left out: {renamed} of {plain}");
    // As separate systems, together with one that was not exported.
    let mira = format!("alone={}", trained.place.at("cv").join("mira").to_str().unwrap());
    let named = format!("kept={kept}");
    let arguments = ["evaluate", file, &named, &mira, "--json"];
    let report = Lethe::new(arguments).end().expect(0).out;
    let report: Value = serde_json::from_str(&report).unwrap();
    let systems = report["systems"].as_array().unwrap();
    let names: Vec<&str> = systems
        .iter()
        .map(|system| system["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["kept.mira", "kept.ogd", "kept.naive-bayes", "alone"]);
    assert_eq!(systems[0]["measures"], systems[3]["measures"]);
}

#[test]
fn every_way_of_combining_is_fitted_compared_and_bundled() {
    let trained = Trained::new();
    let test = trained.place.write("test.jsonl", gold(40));
    for member in MEMBERS {
        let (model, found) = (
            trained.place.at("models").join(member),
            trained.place.at("test").join(member),
        );
        std::fs::create_dir_all(found.parent().unwrap()).unwrap();
        let (model, found) = (model.to_str().unwrap(), found.with_extension("jsonl"));
        let arguments = [
            "annotate",
            "--member",
            model,
            "--input",
            test.to_str().unwrap(),
            "--output",
        ];
        Lethe::new(arguments.into_iter().chain([found.to_str().unwrap()]))
            .end()
            .expect(0);
    }
    let (test, folder, out) = (
        test.to_str().unwrap(),
        trained.place.at("test"),
        trained.place.at("said"),
    );
    let more = [
        "--test",
        test,
        "--test-predictions",
        folder.to_str().unwrap(),
        "--json",
        "--out",
    ];
    let more: Vec<&str> = more.into_iter().chain([out.to_str().unwrap()]).collect();
    let report = trained.ensemble(&["compare"], &more).expect(0).out;
    let report: Value = serde_json::from_str(&report).unwrap();
    let systems = report["systems"].as_array().unwrap();
    let methods = [
        "voting",
        "voting-pruned",
        "decision-templates",
        "stacked-svm",
        "stacked-searn",
        "stacked-lstm",
    ];
    for (system, name) in systems.iter().zip(methods.iter().chain(&MEMBERS)) {
        assert_eq!(system["name"], **name);
        let f1 = system["measures"]["strict"]["f1"]["value"].as_f64().unwrap();
        assert!(f1 > 0.8, "{name}: {f1}");
    }
    assert_eq!(systems.len(), methods.len() + MEMBERS.len());

    // A fitted combiner survives its file: the bundle's predictions for the test match the comparison.
    for method in &methods[2..] {
        let bundle = trained.place.at(&format!("bundle-{method}"));
        let bundle = bundle.to_str().unwrap();
        trained
            .ensemble(
                &["fit", method],
                &["--models", &trained.models(), "--out", bundle],
            )
            .expect(0);
        let found = trained.place.at("found.jsonl");
        let arguments = ["annotate", "--bundle", bundle, "--input", test, "--output"];
        Lethe::new(arguments.into_iter().chain([found.to_str().unwrap()]))
            .end()
            .expect(0);
        let spans = |path: &Path| -> Vec<Vec<(Value, Value, Value)>> {
            let of = |line: &str| {
                let document: Value = serde_json::from_str(line).unwrap();
                let spans = document["spans"].as_array().unwrap().iter();
                spans
                    .map(|s| (s["start"].clone(), s["end"].clone(), s["label"].clone()))
                    .collect()
            };
            std::fs::read_to_string(path).unwrap().lines().map(of).collect()
        };
        assert_eq!(
            spans(&found),
            spans(&out.join(format!("{method}.jsonl"))),
            "{method}"
        );
    }
    // Under a ceiling, a fitted combiner also uses fewer members, and reports its cross-validated score.
    let costs = MEMBERS.map(|name| serde_json::json!({"name": name, "cost": {"own": 1.0}}));
    let costs = serde_json::json!({"members": costs}).to_string();
    let costs = trained.place.write("costs.json", costs);
    let small = trained.place.at("small");
    let ceiling = [
        "--models",
        &trained.models(),
        "--costs",
        costs.to_str().unwrap(),
        "--ceiling",
        "2",
        "--out",
        small.to_str().unwrap(),
    ];
    trained
        .ensemble(&["fit", "decision-templates"], &ceiling)
        .expect(0);
    let left = std::fs::read_dir(small.join("members")).unwrap().count();
    assert!((1..=2).contains(&left), "{left} of three at a µs each");
    let shown = Lethe::new(["ensemble", "show", small.to_str().unwrap()]);
    let shown = shown.end().expect(0).out;
    assert!(shown.contains("by what was fitted to the others"), "{shown}");
    let only = ["--only", "mira,ogd", "--json"];
    let report = trained.ensemble(&["prune"], &only).expect(0).out;
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["members"].as_array().unwrap().len(), 2);

    // The spans of a union rule are redacted regardless of the combiner.
    let machine = trained.place.at("machine");
    let (models, labels) = (trained.models(), trained.labels());
    let out = machine.to_str().unwrap();
    let union = ["--models", &models, "--union-rule", "known", "--out", out];
    let fit = |more: &[&str]| trained.ensemble(&["fit", "stacked-svm"], &[&union[..], more].concat());
    fit(&[]).expect(2).says("--union-rule known: label set");
    fit(&["--labels", &labels]).expect(0);
    let shown = Lethe::new(["ensemble", "show", out]).end().expect(0).out;
    assert!(
        shown.contains("every span of known is redacted") && shown.contains("without known"),
        "{shown}"
    );
    let page = machine.join("bundle.toml");
    let text = std::fs::read_to_string(&page).unwrap();
    std::fs::write(
        &page,
        text.replace("union_rules = [\"known\"]", "union_rules = []"),
    )
    .unwrap();
    let refused = Lethe::new(["ensemble", "show", out]).end().expect(2);
    refused.says("it was fitted on");
}
