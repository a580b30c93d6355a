//! `lethe redact` on files, folders, archives and tables, and `lethe profile`.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::Place;
use common::process::Lethe;

/// Members that find what these notes contain, without the time that a network takes to load.
const RULES: &str = "[engine]\nmembers = [{ kind = \"known\" }, { kind = \"pattern\" }, { kind = \"gazetteer\" }, { kind = \"context\" }]\n";

const NOTE: &str = "Seen by Dr. Henry Quill. Call (612) 555-0142.\n";

/// Runs `lethe redact` with the rules on these arguments.
fn redact<'a>(place: &Place, arguments: impl IntoIterator<Item = &'a str>) -> Lethe {
    let rules = place.write("rules.toml", RULES);
    let rules = rules.to_str().unwrap().to_owned();
    let first = ["redact".to_owned(), "--config".to_owned(), rules];
    Lethe::new(first.into_iter().chain(arguments.into_iter().map(str::to_owned)))
}

/// Returns the files below a folder, with their content.
fn files(folder: &Path) -> BTreeMap<String, String> {
    fn walk(folder: &Path, prefix: &str, all: &mut BTreeMap<String, String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{prefix}{}", path.file_name().unwrap().to_string_lossy());
            if path.is_dir() {
                walk(&path, &format!("{name}/"), all);
            } else {
                all.insert(
                    name,
                    String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned(),
                );
            }
        }
    }
    let mut all = BTreeMap::new();
    walk(folder, "", &mut all);
    all
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Writes a folder of files of several formats, one of them damaged.
fn mixed(place: &Place) -> PathBuf {
    let folder = place.at("in");
    std::fs::create_dir_all(folder.join("sub")).unwrap();
    for (name, content) in [
        ("note.txt", NOTE),
        (
            "sub/page.html",
            "<p>Seen by Dr. Henry <b>Quill</b>.</p><p>Call (612) 555-0142.</p>",
        ),
        (
            "sub/letter.rtf",
            "{\\rtf1 Seen by Dr. Henry Quill. Call (612) 555-0142.}",
        ),
        (
            "notes.jsonl",
            "{\"doc_id\": 1, \"text\": \"Call (612) 555-0142.\", \"mrn\": 4471902}\n",
        ),
        (
            "mail.eml",
            "From: Henry Quill <quill@example.org>\r\nSubject: A call\r\n\r\nCall (612) 555-0142.\r\n",
        ),
        (
            "adt.hl7",
            "MSH|^~\\&|A|B|C|D|20190305||ORU^R01|1|P|2.5.1\rPID|1||4471902^^^MERCY||QUILL^HENRY||19500101|F\r\
             OBR|1|||11506-3^Progress note^LN\rOBX|1|TX|11506-3^Progress note^LN||Call (612) 555-0142.||||||F\r",
        ),
        ("sub/damaged.pdf", "%PDF-1.7 Henry Quill (612) 555-0142"),
    ] {
        std::fs::write(folder.join(name), content).unwrap();
    }
    folder
}

#[test]
fn a_folder_keeps_its_tree_and_a_damaged_file_is_named_while_others_are_finished() {
    let place = Place::new();
    let (folder, out) = (mixed(&place), place.at("out"));
    let ended = redact(&place, [text(&folder), "--out", text(&out)])
        .end()
        .expect(1);
    assert!(ended.err.contains("sub/damaged.pdf: "), "{}", ended.err);
    let written = files(&out);
    let names: Vec<&str> = written.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "adt.hl7",
            "lethe-redact.jsonl",
            "mail.eml.txt",
            "note.txt",
            "notes.jsonl",
            "sub/letter.rtf.txt",
            "sub/page.html.txt",
        ]
    );
    for (name, content) in &written {
        assert!(
            !content.contains("555-0142") && !content.to_lowercase().contains("quill"),
            "{name}: {content}"
        );
        assert!(!content.contains("4471902"), "{name}: {content}");
    }
    assert!(!ended.err.to_lowercase().contains("quill"), "{}", ended.err);
}

#[test]
fn a_second_run_redacts_only_what_is_new_and_another_configuration_is_refused() {
    let place = Place::new();
    let (folder, out) = (place.at("in"), place.at("out"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("a.txt"), NOTE).unwrap();
    let run = || redact(&place, [text(&folder), "--out", text(&out)]);
    run().end().expect(0).says("files=1");
    run().end().expect(0).says("kept=1");
    std::fs::write(folder.join("b.txt"), NOTE).unwrap();
    run().end().expect(0).says("files=1").says("kept=1");
    // A changed output is written again, and so is a changed input.
    std::fs::write(out.join("a.txt"), "changed").unwrap();
    run().end().expect(0).says("files=1");
    assert!(files(&out)["a.txt"].starts_with("Seen by Dr. "));
    let other = [text(&folder), "--out", text(&out), "--keep", "ward"];
    redact(&place, other).end().expect(2).says("--overwrite");
    redact(&place, other.into_iter().chain(["--overwrite"]))
        .end()
        .expect(0)
        .says("files=2");
}

#[test]
fn an_output_never_takes_the_place_of_an_input_unless_the_input_is_kept() {
    let place = Place::new();
    let note = place.write("note.txt", NOTE);
    redact(&place, [text(&note), "--suffix", ".redacted"])
        .end()
        .expect(0);
    assert_eq!(std::fs::read_to_string(&note).unwrap(), NOTE);
    let beside = std::fs::read_to_string(place.at("note.redacted.txt")).unwrap();
    assert!(!beside.contains("555-0142"));
    redact(&place, [text(&note), "--in-place", ".orig"])
        .end()
        .expect(0);
    assert_eq!(std::fs::read_to_string(&note).unwrap(), beside);
    assert_eq!(std::fs::read_to_string(place.at("note.txt.orig")).unwrap(), NOTE);
    redact(&place, [text(&note), "--in-place", ".orig"])
        .end()
        .expect(0)
        .says("kept=1");
    let several = [text(&note), text(&place.at("note.redacted.txt"))].map(str::to_owned);
    redact(&place, several.iter().map(String::as_str))
        .end()
        .expect(2)
        .says("--out DIR");
}

#[test]
fn a_dry_run_lists_the_inputs_and_writes_nothing() {
    let place = Place::new();
    let (folder, out) = (mixed(&place), place.at("out"));
    let ended = redact(
        &place,
        [
            text(&folder),
            "--out",
            text(&out),
            "--dry-run",
            "--glob",
            "*.{txt,html}",
        ],
    )
    .end()
    .expect(0);
    let lines: Vec<&str> = ended.out.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ended.out);
    assert!(lines[0].starts_with("note.txt: text -> ") && lines[1].starts_with("sub/page.html: html -> "));
    assert!(!out.exists());
}

const TABLE: &str = "note_id;patient_name;mrn;note;sex\r\n\
    1;\"Quill; Henry\";4471902;\"Mr Quill came.\r\nHe is \"\"well\"\". Call (612) 555-0142.\";M\r\n\
    2;Ann Zorvane;4471903;;F\r\n";

#[test]
fn a_csv_table_keeps_its_columns_their_order_and_its_rows() {
    let place = Place::new();
    let table = place.write("notes.csv", TABLE);
    let columns = [
        "--text-columns",
        "note",
        "--known",
        "patient_name=PATIENT",
        "--keep",
        "sex",
    ];
    let ended = redact(&place, [text(&table)].into_iter().chain(columns))
        .end()
        .expect(0);
    assert_eq!(
        ended.out,
        "note_id;patient_name;mrn;note;sex\r\n\
         ;[PATIENT];;\"Mr [PATIENT] came.\r\nHe is \"\"well\"\". Call [PHONE].\";M\r\n\
         ;[PATIENT];;;F\r\n"
    );
    ended.says("columns left empty: `mrn`, `note_id`");
    let missing = [text(&table), "--text-columns", "notes"];
    redact(&place, missing)
        .end()
        .expect(1)
        .says("column `notes` does not exist");
    let label = [text(&table), "--known", "mrn=MRN"];
    redact(&place, label).end().expect(2).says("--known mrn=MRN");
}

#[test]
fn a_table_without_options_is_redacted_as_its_columns_look() {
    let place = Place::new();
    let table = place.write("notes.csv", TABLE);
    let ended = redact(&place, [text(&table)]).end().expect(0);
    let lower = ended.out.to_lowercase();
    for part in ["quill", "zorvane", "4471902", "555-0142"] {
        assert!(!lower.contains(part), "{}", ended.out);
    }
    ended.says("columns were guessed");
}

#[test]
fn the_first_row_of_a_table_without_a_header_is_neither_written_nor_logged() {
    let place = Place::new();
    for row in [
        "Quill,4471902,Mr Quill came for a follow-up of his back pain today.\n",
        "Quill,Henry,M\n",
    ] {
        let table = place.write("notes.csv", row.repeat(3));
        for (options, why) in [
            (&[][..], "not a header"),
            (&["--text-columns", "note"], "the first line has 3 columns"),
        ] {
            let ended = redact(&place, [&[text(&table)], options].concat());
            let ended = ended.end().expect(1).says(why);
            assert!(
                !ended.out.contains("Quill") && !ended.err.contains("Quill"),
                "{} {}",
                ended.out,
                ended.err
            );
        }
    }
}

#[test]
fn a_proposal_for_columns_is_a_file_that_redact_takes() {
    let place = Place::new();
    let mut rows = "report_id,patient,accession,modality,report\n".to_owned();
    for i in 0..40 {
        rows += &format!(
            "R{i:05},Quill Henry{i},A77{i:05},{},\"No change since the study of Mr Quill, all in all.\"\n",
            ["CT", "MR"][i % 2]
        );
    }
    let (table, plan) = (place.write("reports.csv", rows), place.at("columns.toml"));
    let ended = Lethe::new(["profile", text(&table), "--out", text(&plan)])
        .end()
        .expect(0);
    assert!(ended.out.contains("redact as text"), "{}", ended.out);
    assert!(
        !ended.out.contains("Quill"),
        "values are not shown: {}",
        ended.out
    );
    let written = std::fs::read_to_string(&plan).unwrap();
    assert!(written.contains("keep = [\"modality\"]"), "{written}");
    let ended = redact(&place, [text(&table), "--columns", text(&plan)])
        .end()
        .expect(0);
    let second = ended.out.lines().nth(1).unwrap();
    assert!(second.starts_with("[IDNUM],[PATIENT],[IDNUM],CT,"), "{second}");
    assert!(!ended.out.contains("Quill"), "{}", ended.out);
}
