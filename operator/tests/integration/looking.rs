//! `lethe show`, `lethe explain` and `lethe report`.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use std::path::Path;

use crate::common;

use common::Place;
use common::process::Lethe;
use serde_json::{Value, json};

const RULES: &str = "[engine]\nmembers = [{ kind = \"known\" }, { kind = \"pattern\" }, { kind = \"gazetteer\" }, { kind = \"context\" }]\n";

const NOTE: &str = "Seen by Dr. Henry Quill.\nCall (612) 555-0142. Afebrile.\n";

/// Returns a command with the rules on a note.
fn on_note(place: &Place, first: &[&str], more: &[&str]) -> Lethe {
    let (rules, note) = (place.write("rules.toml", RULES), place.write("note.txt", NOTE));
    let paths = [note.to_str().unwrap(), "--config", rules.to_str().unwrap()];
    Lethe::new([first, &paths, more].concat())
}

#[test]
fn a_note_is_shown_with_label_score_and_members_of_each_span() {
    let place = Place::new();
    let ended = on_note(&place, &["show"], &["--color", "never"]).end().expect(0);
    assert!(
        ended.out.contains("Call [(612) 555-0142]PHONE. Afebrile."),
        "{}",
        ended.out
    );
    let line = ended
        .out
        .lines()
        .find(|line| line.contains("PHONE") && line.contains("pattern"));
    assert!(line.is_some_and(|line| line.contains("30-44")), "{}", ended.out);
    assert!(!ended.out.contains('\u{1b}'), "{}", ended.out);
    let ended = on_note(&place, &["show"], &["--color", "always"]).end().expect(0);
    assert!(ended.out.contains('\u{1b}'), "{}", ended.out);
}

#[test]
fn the_lines_that_change_are_shown_before_and_after() {
    let place = Place::new();
    let ended = on_note(&place, &["show"], &["--diff", "--color", "never"])
        .end()
        .expect(0);
    assert!(
        ended
            .out
            .ends_with("2\n-Call (612) 555-0142. Afebrile.\n+Call [PHONE]. Afebrile.\n"),
        "{}",
        ended.out
    );
}

#[test]
fn a_page_contains_the_note_and_needs_nothing_else() {
    let place = Place::new();
    let page = place.at("note.html");
    on_note(&place, &["show"], &["--html", page.to_str().unwrap()])
        .end()
        .expect(0);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains("(612) 555-0142<small>PHONE</small>") && page.contains("Call [PHONE]."),
        "{page}"
    );
    assert!(
        !page.contains("<script") && !page.contains("src=") && !page.contains("href="),
        "{page}"
    );
}

#[test]
fn a_word_is_explained_member_by_member() {
    let place = Place::new();
    let ended = on_note(&place, &["explain", "555-0142"], &[]).end().expect(0);
    assert!(
        ended.out.starts_with("line 2, bytes 36-44: redacted as PHONE\n"),
        "{}",
        ended.out
    );
    assert!(
        ended.out.contains("  gazetteer  nothing\n") && ended.out.contains("redacted because"),
        "{}",
        ended.out
    );
    let ended = on_note(&place, &["explain", "Afebrile"], &[]).end().expect(0);
    assert!(ended.out.contains(": not redacted\n"), "{}", ended.out);
    let missing = on_note(&place, &["explain", "Zorvane"], &[]).end().expect(1);
    assert!(missing.err.contains("does not occur"), "{}", missing.err);
}

#[test]
fn programs_get_spans_and_explanations_as_json() {
    let place = Place::new();
    let json = |first: &[&str]| -> Value {
        let out = on_note(&place, first, &["--json"]).end().expect(0).out;
        serde_json::from_str(&out).unwrap()
    };
    let shown = json(&["show"]);
    let span = &shown["spans"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&span["start"], &span["end"], &span["label"]),
        (&30.into(), &44.into(), &"PHONE".into())
    );
    assert!(shown["redacted"].as_str().unwrap().contains("Call [PHONE]."));
    let places = json(&["explain", "555-0142"]);
    assert_eq!(places[0]["line"], 2);
    assert_eq!(places[0]["decisions"][0]["label"], "PHONE");
    let voted = |name: &str| {
        let members = places[0]["members"].as_array().unwrap();
        let member = members.iter().find(|member| member["member"] == name).unwrap();
        member["predictions"].as_array().unwrap().len()
    };
    assert_eq!((voted("pattern"), voted("gazetteer")), (1, 0));
}

#[test]
fn a_report_sums_up_what_redact_did() {
    let place = Place::new();
    let folder = place.at("in");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("a.txt"), NOTE).unwrap();
    std::fs::write(folder.join("b.txt"), "Afebrile.\n").unwrap();
    std::fs::write(folder.join("c.pdf"), "%PDF-1.7 damaged").unwrap();
    std::fs::write(folder.join("d.docx"), "no document").unwrap();
    let (rules, out) = (place.write("rules.toml", RULES), place.at("out"));
    let arguments = [
        "redact",
        folder.to_str().unwrap(),
        "--config",
        rules.to_str().unwrap(),
        "--out",
    ];
    Lethe::new([&arguments[..], &[out.to_str().unwrap()]].concat())
        .end()
        .expect(1);
    let report = Lethe::new(["report", out.to_str().unwrap()]).end().expect(0).out;
    assert!(
        report.contains("4 files in") && report.contains("2 redacted, 2 not"),
        "{report}"
    );
    assert!(report.contains("| PHONE | tag | 1 |"), "{report}");
    assert!(
        report.contains("| in which nothing was found | 1 | 50.0 % |"),
        "{report}"
    );
    assert!(
        report.contains("| c.pdf | ") && report.contains("| d.docx | "),
        "{report}"
    );
    assert!(
        report.contains("clinical terms in the notes, a redaction covered 0"),
        "{report}"
    );
    assert!(report.contains("No bundle was used"), "{report}");
    assert!(
        !report.contains("Quill") && !report.contains("555-0142"),
        "{report}"
    );
    let json = Lethe::new(["report", out.to_str().unwrap(), "--json"])
        .end()
        .expect(0)
        .out;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["sections"][0]["title"], "Source");
    let empty = place.at("empty");
    std::fs::create_dir(&empty).unwrap();
    Lethe::new(["report", empty.to_str().unwrap()]).end().expect(2);
}

#[test]
fn an_evaluation_gates_a_release_and_is_in_its_report() {
    let place = Place::new();
    let line = |id: usize, end: usize| {
        let span = json!({"start": 8, "end": end, "label": "DOCTOR"});
        json!({"doc_id": id.to_string(), "text": "Seen by Quill today.", "spans": [span]}).to_string() + "\n"
    };
    let (gold, found, evaluation) = (
        place.at("gold.jsonl"),
        place.at("found.jsonl"),
        place.at("evaluation.json"),
    );
    std::fs::write(&gold, (0..100).map(|id| line(id, 13)).collect::<String>()).unwrap();
    // One letter of the last name stays.
    let end = |id| if id == 99 { 12 } else { 13 };
    std::fs::write(&found, (0..100).map(|id| line(id, end(id))).collect::<String>()).unwrap();
    let evaluate = |more: &[&str]| {
        let arguments = [
            "evaluate",
            gold.to_str().unwrap(),
            found.to_str().unwrap(),
            "--labels",
            "i2b2-2014",
        ];
        Lethe::new([&arguments[..], more].concat()).end()
    };
    // Clopper and Pearson: 99 of 100 has a lower limit of 94.55 %.
    evaluate(&["--require", "documents:0.94", "--require", "leaks:40"]).expect(0);
    evaluate(&["--require", "documents:0.95", "--require", "characters:0.9"])
        .expect(5)
        .says("found: as few as 94.55 % of the documents have no leak")
        .says("`documents:0.95` is required");
    evaluate(&["--require", "documents:95"])
        .expect(2)
        .says("documents:95");
    std::fs::write(&evaluation, evaluate(&["--json"]).expect(0).out).unwrap();

    let (note, out) = (place.at("note.txt"), place.at("out"));
    std::fs::write(&note, "Seen by Dr. Henry Quill.\n").unwrap();
    let [input, output] = [&note, &out].map(|path| path.to_str().unwrap());
    Lethe::new(["redact", input, "--bundle", "en-fast", "--out", output])
        .end()
        .expect(0);
    let report = |evaluation: &Path| {
        Lethe::new(["report", output, "--evaluation", evaluation.to_str().unwrap()]).end()
    };
    let text = report(&evaluation).expect(0).out;
    assert!(
        text.contains("| found | 99 of 100, 99.00 % | 94.55 to 99.97 % | 10.0 |"),
        "{text}"
    );
    report(&gold)
        .expect(2)
        .says("gold.jsonl: not a report of this version's `lethe evaluate --json`");
    assert!(!text.contains("Quill"), "{text}");
}

#[test]
fn a_report_counts_redacted_clinical_terms_and_names_the_measured_recall() {
    let place = Place::new();
    let folder = place.at("in");
    std::fs::create_dir(&folder).unwrap();
    let note = "Polypharmacy. Seen by Dr. Henry Quill on 3 May 2019. Bedaquiline stopped.\n";
    std::fs::write(folder.join("a.txt"), note).unwrap();
    let out = place.at("out");
    let [input, output] = [&folder, &out].map(|path| path.to_str().unwrap());
    Lethe::new(["redact", input, "--bundle", "en-fast", "--out", output])
        .end()
        .expect(0);
    let report = Lethe::new(["report", output]).end().expect(0).out;
    assert!(
        report.contains("## Clinical terms that were redacted"),
        "{report}"
    );
    assert!(report.contains("## Measured recall of the bundle"), "{report}");
    let shown = Lethe::new(["bundle", "show", "en-fast", "--json"])
        .end()
        .expect(0)
        .out;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    for measured in shown["measured"].as_array().unwrap() {
        let recall = format!("{:.2} %", 100.0 * measured["recall"][0].as_f64().unwrap());
        let on = measured["on"].as_str().unwrap();
        assert!(
            report
                .lines()
                .any(|line| line.contains(on) && line.contains(&recall)),
            "{report}"
        );
    }
    // A record of an earlier version has no such counts.
    let record = out.join("lethe-redact.jsonl");
    let lines = std::fs::read_to_string(&record).unwrap();
    let mut earlier = String::new();
    for line in lines.lines() {
        let mut line: Value = serde_json::from_str(line).unwrap();
        if let Some(counts) = line["counts"].as_object_mut() {
            assert!(counts.remove("clinical").is_some());
        }
        earlier.push_str(&format!("{line}\n"));
    }
    std::fs::write(&record, earlier).unwrap();
    let report = Lethe::new(["report", output]).end().expect(0).out;
    assert!(report.contains("Not counted in 1 files"), "{report}");
}

#[test]
fn a_report_on_a_stream_counts_rows_by_outcome() {
    let place = Place::new();
    let notes = place.write("notes.jsonl", "{\"note_id\": \"1\", \"text\": \"Call (612) 555-0142.\"}\n{\"note_id\": \"2\", \"text\": \"Afebrile.\"}\nno note\n");
    let out = place.at("data");
    let config = format!(
        "{RULES}[source]\nkind = \"jsonl\"\ninput = {notes:?}\n[sink]\nstore = {{ kind = \"folder\", path = {out:?} }}\n"
    );
    let config = place.write("lethe.toml", config);
    Lethe::new(["run", "-c", config.to_str().unwrap(), "--until-end"])
        .end()
        .expect(0);
    let report = Lethe::new(["report", out.to_str().unwrap()]).end().expect(0).out;
    for line in [
        "| note | 2 | 66.7 % |",
        "| quarantined | 1 | 33.3 % |",
        "| PHONE | tag | 1 |",
        "## Quarantined rows",
        "Not counted: the output of a stream or a backfill does not hold the original text",
    ] {
        assert!(report.contains(line), "{line}: {report}");
    }
}
