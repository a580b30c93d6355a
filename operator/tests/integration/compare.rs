//! `lethe compare`: another tool's spans against Lethe's, without gold.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use std::path::PathBuf;

use crate::common;

use common::Place;
use common::process::Lethe;
use serde_json::Value;

const RULES: &str = "[engine]\nmembers = [{ kind = \"known\" }, { kind = \"pattern\" }, { kind = \"gazetteer\" }, { kind = \"context\" }]\n";

/// Lethe finds the telephone number.
const FIRST: &str = "Seen with Zorvane.\nCall (612) 555-0142. Afebrile.\n";
const SECOND: &str = "Afebrile, no complaints.\n";

/// A folder of two notes and the rules.
struct Setting {
    place: Place,
    notes: PathBuf,
    rules: PathBuf,
}

impl Setting {
    fn new() -> Self {
        let place = Place::new();
        let notes = place.at("notes");
        std::fs::create_dir(&notes).unwrap();
        std::fs::write(notes.join("first.txt"), FIRST).unwrap();
        std::fs::write(notes.join("second.txt"), SECOND).unwrap();
        let rules = place.write("rules.toml", RULES);
        Self { place, notes, rules }
    }

    fn compare(&self, other: &str, more: &[&str]) -> Lethe {
        let [notes, rules] = [&self.notes, &self.rules].map(|path| path.to_str().unwrap());
        let first = ["compare", "--other", other, notes, "--config", rules];
        Lethe::new([&first[..], more].concat())
    }

    fn write(&self, name: &str, content: &str) -> String {
        self.place.write(name, content).to_str().unwrap().to_owned()
    }
}

/// Presidio's results: the name, and the telephone number without its area code.
const PRESIDIO: &str = r#"{
  "first": [
    {"analysis_explanation": null, "entity_type": "PERSON", "start": 10, "end": 17, "score": 0.85},
    {"analysis_explanation": null, "entity_type": "PHONE_NUMBER", "start": 30, "end": 38, "score": 0.4}
  ],
  "second.txt": []
}"#;

#[test]
fn two_tools_are_compared_and_no_word_of_a_note_is_printed() {
    let setting = Setting::new();
    let other = setting.write("presidio.json", PRESIDIO);
    let out = setting.compare(&other, &[]).end().expect(0).out;
    for line in [
        "2 notes compared; the other tool's spans are of format presidio.",
        "first, line 1: other PERSON at bytes 10-17",
        "Lethe PHONE at bytes 24-38, other PHONE_NUMBER at bytes 30-38",
    ] {
        assert!(out.contains(line), "{line}: {out}");
    }
    assert!(!out.contains("Zorvane") && !out.contains("555-0142"), "{out}");
    let shown = setting.compare(&other, &["--show-text"]).end().expect(0).out;
    assert!(shown.contains("\"Zorvane\""), "{shown}");
    let json = setting.compare(&other, &["--json"]).end().expect(0).out;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["format"], "lethe-comparison");
    assert_eq!(json["spans"]["partly"], 1);
    assert_eq!(json["spans"]["only_other"], 1);
    assert_eq!(json["characters"]["both"], 8);
    assert_eq!(json["agreement"]["overlap"]["value"], 2.0 / 3.0);
    assert_eq!(json["mapping"][0]["category"], "NAME");
}

#[test]
fn a_page_shows_each_difference_and_a_file_has_all_of_them() {
    let setting = Setting::new();
    let other = setting.write("presidio.json", PRESIDIO);
    let [page, file] =
        ["page.html", "all.jsonl"].map(|name| setting.place.at(name).to_str().unwrap().to_owned());
    let more = ["--html", &page, "--differences", &file, "--examples", "0"];
    setting.compare(&other, &more).end().expect(0);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<span class=\"p\">Zorvane</span>"), "{page}");
    assert!(!page.contains("<script") && !page.contains("src="), "{page}");
    let lines = std::fs::read_to_string(&file).unwrap();
    assert!(!lines.contains("Zorvane"), "{lines}");
    let line: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(line["doc_id"], "first");
    assert_eq!(line["spans"][0]["difference"], "only_other");
    // The file is itself in a form that the command reads.
    let again = setting
        .compare(&file, &["--missing", "empty"])
        .end()
        .expect(0)
        .out;
    assert!(again.contains("format jsonl"), "{again}");
}

#[test]
fn each_format_is_recognised_and_agrees_with_itself() {
    let setting = Setting::new();
    let annotated = setting.place.at("annotated");
    std::fs::create_dir(&annotated).unwrap();
    for (name, content) in [
        (
            "comprehend.json",
            r#"{"first": {"Entities": [{"BeginOffset": 24, "EndOffset": 38, "Type": "PHONE_OR_FAX", "Score": 0.9, "Text": "555"}]}}"#,
        ),
        (
            "comprehend-right.json",
            r#"{"first": {"Entities": [{"BeginOffset": 24, "EndOffset": 38, "Type": "PHONE_OR_FAX", "Score": 0.9, "Text": "(612) 555-0142"}]}, "second": {"Entities": []}}"#,
        ),
        (
            "spans.jsonl",
            "{\"note_id\":\"first\",\"start\":24,\"end\":38,\"label\":\"PHONE\"}\n{\"note_id\":\"second\",\"spans\":[]}\n",
        ),
    ] {
        let other = setting.write(name, content);
        if name == "comprehend.json" {
            let ended = setting.compare(&other, &[]).end().expect(1);
            assert!(
                ended
                    .err
                    .contains("comprehend.json, line 1: span 1 (24..38 in code points)")
                    && ended.err.contains("(note `first`)"),
                "{}",
                ended.err
            );
            continue;
        }
        let out = setting.compare(&other, &[]).end().expect(0).out;
        assert!(
            out.contains("same span and category          100.00"),
            "{name}: {out}"
        );
    }
    let folder = setting.place.at("philter");
    std::fs::create_dir(&folder).unwrap();
    for (name, text, tags) in [
        (
            "first.xml",
            FIRST,
            "<PHONE id=\"P0\" start=\"24\" end=\"38\" text=\"(612) 555-0142\" TYPE=\"CONTACT\" comment=\"\" />",
        ),
        ("second.xml", SECOND, ""),
    ] {
        let page = format!(
            "<?xml version=\"1.0\" ?>\n<Philter>\n<TEXT><![CDATA[{text}]]></TEXT>\n<TAGS>\n{tags}\n</TAGS>\n</Philter>\n"
        );
        std::fs::write(folder.join(name), page).unwrap();
    }
    let out = setting.compare(folder.to_str().unwrap(), &[]).end().expect(0).out;
    assert!(out.contains("format philter") && out.contains("100.00"), "{out}");
    std::fs::write(
        setting.notes.join("first.ann"),
        "T1\tPHONE 24 29;30 38\t(612) 555-0142\n",
    )
    .unwrap();
    std::fs::write(setting.notes.join("second.ann"), "").unwrap();
    let out = setting
        .compare(setting.notes.to_str().unwrap(), &[])
        .end()
        .expect(0)
        .out;
    assert!(
        out.contains("2 notes compared") && out.contains("format brat"),
        "{out}"
    );
    assert!(out.contains("same span and category          100.00"), "{out}");
}

#[test]
fn annotations_of_lethe_itself_agree_with_it() {
    let setting = Setting::new();
    let documents = format!(
        "{}\n{}\n",
        serde_json::json!({ "doc_id": "é1", "text": format!("Señora. {FIRST}") }),
        serde_json::json!({ "doc_id": 2, "text": SECOND })
    );
    let notes = setting.write("notes.jsonl", &documents);
    let rules = setting.rules.to_str().unwrap();
    for unit in ["code-point", "byte", "utf16"] {
        let found = setting.place.at("found.jsonl").to_str().unwrap().to_owned();
        let annotate = [
            "annotate",
            "--input",
            &notes,
            "--output",
            &found,
            "--offsets",
            unit,
        ];
        Lethe::new([&annotate[..], &["--config", rules]].concat())
            .end()
            .expect(0);
        let compare = ["compare", "--other", &found, "--offsets", unit, &notes, "--json"];
        let out = Lethe::new([&compare[..], &["--config", rules]].concat())
            .end()
            .expect(0)
            .out;
        let json: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(json["notes"]["compared"], 2);
        assert_eq!(json["agreement"]["strict"]["value"], 1.0, "{unit}: {out}");
    }
}

#[test]
fn notes_that_one_side_lacks_are_named_and_end_with_4() {
    let setting = Setting::new();
    let other = setting.write(
        "spans.jsonl",
        "{\"note_id\":\"first\",\"spans\":[]}\n{\"note_id\":\"third\",\"spans\":[]}\n",
    );
    let ended = setting.compare(&other, &[]).end().expect(4);
    assert!(
        ended.out.contains("1 note compared")
            && ended
                .out
                .contains("missing empty counts them as notes without spans): second.")
            && ended.out.contains("or several have: third."),
        "{}",
        ended.out
    );
    let other = setting.write("one.jsonl", "{\"note_id\":\"first\",\"spans\":[]}\n");
    setting.compare(&other, &["--missing", "empty"]).end().expect(0);
    std::fs::write(setting.notes.join("damaged.pdf"), "%PDF-1.7 damaged").unwrap();
    let ended = setting.compare(&other, &["--missing", "empty"]).end().expect(1);
    assert!(ended.out.contains("damaged.pdf: "), "{}", ended.out);
    let ended = setting
        .compare(&other, &["--map", "PERSON=PATEINT"])
        .end()
        .expect(2);
    assert!(ended.err.contains("did you mean `PATIENT`?"), "{}", ended.err);
}
