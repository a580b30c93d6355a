//! The commands besides `run`: redact, annotate, check, dictionary, demo, and their errors.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "test helpers may panic, as tests may"
)]

use crate::common;

use std::time::Duration;

use common::process::Lethe;
use common::{Place, folder_sink, quoted};
use serde_json::{Value, json};

const NOTE: &str = "Seen with her sister 👩🏽\u{200d}⚕\u{fe0f}. Call (612) 555-0142 or write to quill@example.org. Niño: sin fiebre.\n";

#[test]
fn a_text_is_redacted_from_standard_input_to_standard_output() {
    let place = Place::new();
    let rules =
        "[engine]\nmembers = [{ kind = \"pattern\" }, { kind = \"gazetteer\" }, { kind = \"context\" }]\n";
    let rules = place.write("rules.toml", rules);
    let ended = Lethe::new(["redact", "--config", rules.to_str().unwrap()])
        .end_with(NOTE)
        .expect(0);
    assert!(
        !ended.out.contains("555-0142") && !ended.out.contains("quill"),
        "{}",
        ended.out
    );
    assert!(
        ended
            .out
            .starts_with("Seen with her sister 👩🏽\u{200d}⚕\u{fe0f}. Call "),
        "{}",
        ended.out
    );
    assert!(ended.out.ends_with("Niño: sin fiebre.\n"), "{}", ended.out);
}

#[test]
fn documents_are_redacted_line_by_line_and_keep_only_what_was_asked_for() {
    let document = json!({"doc_id": 7, "text": NOTE, "known": [{"kind": "name", "value": "Zorvane"}], "ward": {"bed": 3}, "mrn": 4471902});
    let ended = Lethe::new(["redact", "--format", "jsonl", "--keep", "ward"])
        .end_with(format!("{document}\n{document}\n"))
        .expect(0);
    let lines: Vec<Value> = ended
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    for line in lines {
        assert_eq!(line["doc_id"], 7);
        assert_eq!(line["ward"], json!({"bed": 3}));
        assert!(line.get("mrn").is_none(), "a key that nobody asked for came out");
        assert!(
            line.get("known").is_none(),
            "the patient's identifiers came out with the note"
        );
        assert!(!line["text"].as_str().unwrap().contains("555-0142"));
    }
}

#[test]
fn a_bad_document_fails_the_command_at_every_log_level() {
    for level in ["error", "warn", "info"] {
        let ended = Lethe::new(["--log", level, "redact", "--format", "jsonl"])
            .end_with("no document\n".to_owned())
            .expect(1);
        assert!(ended.err.contains("line 1"), "{}", ended.err);
    }
}

#[test]
fn no_key_of_a_document_comes_out_under_a_shipped_policy() {
    const KEYS: [&str; 31] = [
        "patient_id",
        "mrn",
        "MRN",
        "patient_name",
        "name",
        "note_id",
        "doc_id",
        "id",
        "_id",
        "encounter_id",
        "csn",
        "author_id",
        "provider",
        "attending",
        "note_type",
        "type",
        "dob",
        "birth_date",
        "address",
        "phone",
        "email",
        "ssn",
        "file_name",
        "path",
        "url",
        "comment",
        "meta",
        "Zq Canary-key",
        "version",
        "authored_at",
        "text_original",
    ];
    let place = Place::new();
    let key = place.write("keys.toml", "[[keys]]\nid = \"k1\"\nstate = \"current\"\nsecret = \"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\"\n");
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let mut documents = String::new();
    for nested in [false, true] {
        let mut document =
            json!({"text": "Afebrile. Plan: fluids.", "known": [{"kind": "patient", "value": "Zqcanary"}]});
        for (i, key) in KEYS.into_iter().enumerate() {
            let canary = json!(format!("Zqcanary{i} 55501{i:02}"));
            document[key] = match key {
                // An event has its id under one of the two names, and these fields have only one type.
                "note_id" | "doc_id" if (key == "doc_id") == nested => json!("Zqcanary 5550100"),
                "note_id" | "doc_id" => continue,
                "version" => json!(5_550_199),
                "authored_at" => json!("2031-05-17T05:55:01.555Z"),
                "note_type" | "patient_id" | "encounter_id" | "author_id" => canary,
                _ if nested => json!({"value": [canary]}),
                _ => canary,
            };
        }
        documents += &format!("{document}\n");
    }
    for policy in ["safe-harbor.toml", "safe-harbor-linked.toml", "research.toml"] {
        let shipped = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../docs/policies")
            .join(policy);
        let policy_text = std::fs::read_to_string(shipped).unwrap();
        let policy_text = policy_text
            .replace("\"keys.toml\"", &quoted(&key))
            .replace("\"codes.db\"", &quoted(place.at("codes.db")));
        let file = place.write(policy, policy_text);
        let ended = Lethe::new(["redact", "--format", "jsonl", "--policy", file.to_str().unwrap()])
            .end_with(documents.clone())
            .expect(0);
        assert_eq!(ended.out.lines().count(), 2, "{policy}");
        for out in [&ended.out, &ended.err] {
            let lower = out.to_lowercase();
            assert!(
                !lower.contains("zq") && !lower.contains("55501") && !lower.contains("2031"),
                "{policy}: {out}"
            );
        }
        let refused = Lethe::new([
            "redact",
            "--format",
            "jsonl",
            "--keep",
            "mrn",
            "--policy",
            file.to_str().unwrap(),
        ]);
        assert!(
            refused
                .end_with(documents.clone())
                .expect(2)
                .err
                .contains("--keep mrn")
        );
    }
}

#[test]
fn spans_are_counted_in_the_unit_that_was_asked_for_and_ids_are_kept() {
    let place = Place::new();
    let documents = [
        json!({"doc_id": "a/1", "text": NOTE}),
        json!({"doc_id": 12, "text": NOTE}),
        json!({"note_id": "c", "text": NOTE}),
        json!({"doc_id": "", "text": ""}),
    ];
    let lines: Vec<String> = documents.iter().map(Value::to_string).collect();
    let input = place.write("in.jsonl", lines.join("\n"));
    for (unit, width) in [("code-point", 0), ("byte", 1), ("utf16", 2)] {
        let output = place.at("out.jsonl");
        let paths = [
            "--input".as_ref(),
            input.as_os_str(),
            "--output".as_ref(),
            output.as_os_str(),
        ];
        Lethe::new(
            ["annotate".as_ref(), "--offsets".as_ref(), unit.as_ref()]
                .into_iter()
                .chain(paths),
        )
        .end()
        .expect(0);
        let written = std::fs::read_to_string(&output).unwrap();
        let written: Vec<Value> = written
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(written.len(), documents.len());
        for (document, line) in documents.iter().zip(&written) {
            for key in ["doc_id", "note_id", "text"] {
                assert_eq!(line.get(key), document.get(key), "{key}");
            }
            let text = document["text"].as_str().unwrap();
            let covered: Vec<String> = line["spans"]
                .as_array()
                .unwrap()
                .iter()
                .map(|span| {
                    assert!(!span["label"].as_str().unwrap().is_empty());
                    let range =
                        span["start"].as_u64().unwrap() as usize..span["end"].as_u64().unwrap() as usize;
                    match width {
                        0 => text.chars().skip(range.start).take(range.len()).collect(),
                        1 => String::from_utf8(text.as_bytes()[range].to_vec()).unwrap(),
                        _ => String::from_utf16(&text.encode_utf16().collect::<Vec<_>>()[range]).unwrap(),
                    }
                })
                .collect();
            if text.is_empty() {
                assert!(covered.is_empty());
            } else {
                for identifier in ["(612) 555-0142", "quill@example.org"] {
                    assert!(
                        covered.iter().any(|c| c.contains(identifier)),
                        "{unit}: {covered:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_bad_document_ends_annotate_with_its_line_and_without_its_content() {
    let ended = Lethe::new(["annotate"])
        .end_with("{\"doc_id\": 1, \"text\": \"feels well\"}\n{\"doc_id\": 2, \"text\": 555014277}\n")
        .expect(1)
        .says("line 2");
    assert!(!ended.err.contains("555014277"), "{}", ended.err);
    assert_eq!(ended.out.lines().count(), 1, "what came before it is written");
}

#[test]
fn a_configuration_is_checked_and_its_faults_are_named_with_file_line_and_key() {
    let place = Place::new();
    let config = place.write("good.toml", folder_sink(&place.at("out")));
    let good = Lethe::new([
        "check".as_ref(),
        "--connect".as_ref(),
        "-c".as_ref(),
        config.as_os_str(),
    ])
    .end()
    .expect(0);
    assert!(
        good.out.contains("writable, and creates each name only once") && good.out.ends_with("ok\n"),
        "{}",
        good.out
    );
    let kafka = "[source]\nkind = \"kafka\"\nbrokers = [\"127.0.0.1:9\"]\ntopics = [\"t\"]\ngroup = \"g\"\n";
    for (toml, says) in [
        (
            "[resources]\nmemory = 1\n".to_owned(),
            ":2: unknown key `resources.memory`; expected one of",
        ),
        (format!("{kafka}start = \"middle\"\n"), "unknown value `middle`"),
        (
            format!("{kafka}properties = {{ \"enable.auto.commit\" = true }}\n"),
            "enable.auto.commit",
        ),
        (
            format!("{kafka}properties = {{ \"isolation.level\" = \"read_uncommitted\" }}\n"),
            "aborted transactions",
        ),
        ("[engine]\nmembers = []\n".to_owned(), "unredacted"),
        (
            "[engine]\nlabels = \"nobody-has-these\"\n".to_owned(),
            "engine.labels",
        ),
        (
            "[source]\nkind = \"carrier-pigeon\"\n".to_owned(),
            "carrier-pigeon",
        ),
        (
            "[source]\nkind = \"jsonl\"\ninput = \"x\"\nformat = { ward = 3 }\n".to_owned(),
            "ward",
        ),
        (
            "[sink]\nstore = { kind = \"s3\", bucket = \"b\", endpoint = \"http://10.0.0.1\" }\n".to_owned(),
            "no TLS",
        ),
        (
            "[sink]\nstore = { kind = \"folder\", path = \"${LETHE_TEST_NOBODY_SETS_THIS}\" }\n".to_owned(),
            "LETHE_TEST_NOBODY_SETS_THIS",
        ),
        (
            "[resources]\ndrain_seconds = 30\ngrace_seconds = 31\n".to_owned(),
            "resources.grace_seconds",
        ),
    ] {
        let config = place.write("bad.toml", &toml);
        let ended = Lethe::new(["check".as_ref(), "-c".as_ref(), config.as_os_str()]).end();
        assert!(ended.code == Some(2) || ended.code == Some(1), "{toml}{ended:?}");
        assert!(ended.err.contains(says), "{toml}{}", ended.err);
    }
}

#[test]
fn a_broker_that_is_not_there_is_told_by_check() {
    let place = Place::new();
    let kafka = "[source]\nkind = \"kafka\"\nbrokers = [\"127.0.0.1:9\"]\ntopics = [\"t\"]\ngroup = \"g\"\n";
    let config = place.write("lethe.toml", kafka);
    Lethe::new([
        "check".as_ref(),
        "--connect".as_ref(),
        "-c".as_ref(),
        config.as_os_str(),
    ])
    .end()
    .expect(4)
    .says("127.0.0.1:9");
}

#[test]
fn a_dictionary_is_built_from_lists_and_used() {
    let place = Place::new();
    place.write("lists/wards/items.txt", "Quillfeather\nZorvane Hollow\n");
    let source = "title = \"Wards\"\norigin = \"invented\"\nlicence = \"Apache-2.0\"\ndate = \"2024-01-01\"\nlanguage = \"en\"\nlabel = \"HOSPITAL\"\nmatch = \"exact\"\nmin-length = 3\nrole = \"phi\"\n";
    place.write("lists/wards/SOURCE.toml", source);
    let (lists, output) = (place.at("lists"), place.at("wards.lethe"));
    let arguments = [
        "--lists".as_ref(),
        lists.as_os_str(),
        "--output".as_ref(),
        output.as_os_str(),
    ];
    let built = Lethe::new(
        ["dictionary".as_ref(), "build".as_ref()]
            .into_iter()
            .chain(arguments),
    )
    .end()
    .expect(0);
    assert!(built.out.contains("1 lists"), "{}", built.out);
    let config = place.write(
        "lethe.toml",
        format!(
            "[engine]\ndictionary = {}\nmembers = [{{ kind = \"gazetteer\" }}]\n",
            quoted(&output)
        ),
    );
    let redact = ["redact".as_ref(), "-c".as_ref(), config.as_os_str()];
    let ended = Lethe::new(redact)
        .end_with("Transferred to Zorvane Hollow today.")
        .expect(0);
    assert!(!ended.out.contains("Zorvane"), "{}", ended.out);
    // An invalid dictionary is refused.
    std::fs::write(&output, "no dictionary").unwrap();
    Lethe::new(redact)
        .end_with("x")
        .expect(2)
        .says("engine.dictionary");
}

#[test]
fn a_source_that_is_mostly_quarantined_ends_with_its_own_exit_code() {
    let place = Place::new();
    // Two of three events have their id under a name that the stream does not know.
    let lines = [
        json!({"doc_id": 1, "text": NOTE}),
        json!({"doc_id": 2, "text": NOTE}),
        json!({"note_id": 3, "text": NOTE}),
    ];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let input = place.write("in.jsonl", lines.join("\n"));
    let out = place.at("out");
    let config = place.write(
        "lethe.toml",
        format!(
            "[source]\nkind = \"jsonl\"\ninput = {}\n[engine]\nmembers = [{{ kind = \"pattern\" }}]\n{}",
            quoted(&input),
            common::folder_sink(&out)
        ),
    );
    let arguments = [
        "run".as_ref(),
        "--until-end".as_ref(),
        "-c".as_ref(),
        config.as_os_str(),
    ];
    let ended = Lethe::new(arguments).end().expect(6);
    assert!(ended.err.contains("quarantined"), "{}", ended.err);
    let found = Lethe::new(["inspect".as_ref(), out.as_os_str()]).end().expect(0);
    assert!(
        found.out.contains("invalid_payload:note_id:required: 2"),
        "{}",
        found.out
    );
}

#[test]
fn a_kept_column_needs_a_reason_under_a_strict_mode() {
    let place = Place::new();
    place.write("in/a.csv", "text,provider\nSeen.,Voss\n");
    let check = |mode: &str, reasons: &str| {
        let config = place.write(
            "lethe.toml",
            format!(
                "[backfill]\ninput = {{ kind = \"folder\", path = {} }}\n[backfill.columns]\ntext = [\"text\"]\nkeep = [\"provider\"]\n{reasons}\n\
                 [policy]\nmode = \"{mode}\"\n{}",
                quoted(place.at("in")),
                common::folder_sink(&place.at("out"))
            ),
        );
        Lethe::new(["check".as_ref(), "-c".as_ref(), config.as_os_str()]).end()
    };
    for mode in ["safe-harbor", "limited-data-set"] {
        let refused = check(mode, "").expect(2);
        assert!(
            refused.err.contains("provider") && refused.err.contains("reasons"),
            "{}",
            refused.err
        );
        check(mode, "reasons = { provider = \"a code of the ward\" }").expect(0);
    }
    check("custom", "").expect(0).says("provider");
}

#[test]
fn the_demo_runs_the_whole_path_and_inspect_finds_its_output_whole() {
    let place = Place::new();
    let out = place.at("demo");
    let demo = Lethe::new(["demo".as_ref(), "--out".as_ref(), out.as_os_str()])
        .end()
        .expect(0);
    assert!(
        demo.out.contains("quarantined") && demo.out.contains("lethe inspect"),
        "{}",
        demo.out
    );
    let data = out.join("data");
    Lethe::new(["inspect".as_ref(), data.as_os_str()]).end().expect(0);
    Lethe::new(["demo".as_ref(), "--out".as_ref(), out.as_os_str()])
        .end()
        .expect(2)
        .says("already exists");
    // A truncated file is found.
    let file = common::dataset::files(&data.join("notes")).remove(0);
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let found = Lethe::new(["inspect".as_ref(), data.as_os_str()]).end().expect(4);
    assert!(
        found.out.contains(file.file_name().unwrap().to_str().unwrap()),
        "{}",
        found.out
    );
}

#[test]
fn an_audit_file_that_nobody_names_is_removed_once_nobody_can_name_it() {
    let place = Place::new();
    let input = place.write("in.jsonl", json!({"note_id": 1, "text": NOTE}).to_string());
    let out = place.at("out");
    let source = format!("[source]\nkind = \"jsonl\"\ninput = {}\n", quoted(&input));
    let config = place.write("lethe.toml", source + &folder_sink(&out));
    let killed = || {
        let killed = Lethe::through(&config)
            .env("LETHE_CRASH_AT", "audit_written")
            .end();
        assert_eq!(killed.code, None);
    };
    let audits = || common::dataset::files(&out.join("audit"));
    let clean = || {
        let folder = out.to_str().unwrap();
        let ended = Lethe::new(["inspect", folder, "--remove-orphans"])
            .end()
            .expect(0);
        assert!(ended.out.contains("orphan ("), "{}", ended.out);
        audits().len()
    };
    killed();
    // A young file may belong to a running writer that has not named it yet.
    assert_eq!(clean(), 1);
    let hours_ago = std::time::SystemTime::now() - Duration::from_secs(7_200);
    let file = std::fs::File::options().append(true).open(&audits()[0]).unwrap();
    file.set_modified(hours_ago).unwrap();
    assert_eq!(clean(), 0);
    // Once its place in the chain is taken, no writer can name it.
    killed();
    Lethe::through(&config).end().expect(0);
    assert_eq!(audits().len(), 2);
    assert_eq!(clean(), 1);
    Lethe::new(["inspect".as_ref(), out.as_os_str()]).end().expect(0);
    assert_eq!(
        common::dataset::Dataset::read(&out).faults(&out),
        Vec::<String>::new()
    );
}

#[test]
fn a_bundle_and_members_of_its_own_do_not_go_together() {
    let place = Place::new();
    for key in [
        "labels = \"meddocan\"",
        "members = [{ kind = \"known\" }]",
        "vote = { threshold = 2 }",
    ] {
        let config = format!(
            "[engine]\nbundle = \"nowhere\"\n{key}\n\n[source]\nkind = \"jsonl\"\ninput = \"x\"\n\n{}",
            folder_sink(&place.at("out"))
        );
        let config = place.write("lethe.toml", config);
        let name = key.split(' ').next().unwrap();
        Lethe::new(["check", "-c", config.to_str().unwrap()])
            .end()
            .expect(2)
            .says(&format!("engine.{name}"));
    }
}
