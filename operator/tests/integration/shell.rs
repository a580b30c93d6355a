//! The program at a shell: completions, quiet, colours, interrupts, suggestions, and the first configuration.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use std::io::Write as _;

use common::Place;
use common::process::{Lethe, TIMEOUT};
use serde_json::Value;

/// The rules alone start fast.
const RULES: &str = "[engine]\nmembers = [{ kind = \"pattern\" }]\nacknowledge = [\"rules-only\"]\n";

fn document(number: usize) -> String {
    format!("{{\"doc_id\":\"{number}\",\"text\":\"Call (612) 555-0142 about visit {number}.\"}}\n")
}

#[test]
fn an_interrupt_ends_after_the_documents_that_were_read_and_says_how_many_are_complete() {
    for command in [
        &["redact", "--format", "jsonl"][..],
        &["annotate"][..],
        &["redact", "--format", "hl7v2"][..],
    ] {
        let place = Place::new();
        let rules = place.write("rules.toml", RULES);
        let out = place.at("out");
        let output = ["--output", out.to_str().unwrap()];
        // The file of `redact --output` appears only when it is complete.
        let is_file = command.contains(&"annotate");
        let arguments = command
            .iter()
            .copied()
            .chain(["--config", rules.to_str().unwrap()]);
        let arguments = arguments.chain(output.into_iter().filter(|_| is_file));
        let (mut running, mut input) = Lethe::new(arguments).interruptible().start_open();
        let is_hl7 = command.contains(&"hl7v2");
        let written = |number| match is_hl7 {
            true => format!(
                "MSH|^~\\&|A|B|C|D|20240105||MDM^T02|{number}|P|2.5\rOBX|1|TX|||Visit {number}, call (612) 555-0142.||||||F\r"
            ),
            false => document(number),
        };
        // More than a pipe holds: once all of it is written, the program reads, and its handler is there.
        for number in 0..2500 {
            input.write_all(written(number).as_bytes()).unwrap();
        }
        running.signal("INT");
        running.until_it_says("press Ctrl-C again", TIMEOUT);
        // A reader that waits for input notices the interrupt at the next record, or the end.
        drop(input);
        let ended = running.wait(TIMEOUT).expect(130).says("interrupted; ");
        let text = match is_file {
            true => std::fs::read_to_string(&out).unwrap(),
            false => ended.out.clone(),
        };
        let count = match is_hl7 {
            true => text.matches("MSH|").count(),
            false => {
                let complete = |line: &&str| serde_json::from_str::<Value>(line).is_ok();
                assert!(text.lines().all(|line| complete(&line)), "{}", ended.err);
                text.lines().count()
            }
        };
        assert!(count > 0, "{}", ended.err);
        assert!(
            ended.err.contains(&format!("interrupted; {count} ")),
            "{count}\n{}",
            ended.err
        );
    }
}

#[test]
fn a_second_interrupt_ends_the_program_at_once() {
    let place = Place::new();
    let rules = place.write("rules.toml", RULES);
    let (mut running, mut input) = Lethe::new(["annotate", "--config", rules.to_str().unwrap()])
        .interruptible()
        .start_open();
    // More than a pipe holds, and no end of the line: the program waits in the middle of a document.
    input.write_all("x".repeat(1 << 18).as_bytes()).unwrap();
    running.signal("INT");
    running.until_it_says("press Ctrl-C again", TIMEOUT);
    running.signal("INT");
    // The input stays open: nothing else ends it.
    running
        .wait(TIMEOUT)
        .expect(130)
        .says("interrupted; the output is not complete");
    drop(input);
}

#[test]
fn an_interrupted_training_says_how_to_resume() {
    let place = Place::new();
    let gold = place.at("gold.jsonl");
    let (gold, model) = (gold.to_str().unwrap(), place.at("model"));
    let model = model.to_str().unwrap();
    Lethe::new(["synthesise", "--notes", "60", "--out", gold])
        .end()
        .expect(0);
    let train = [
        "train",
        "lstm-l",
        "--train",
        gold,
        "--set",
        "schedule.epochs=1000",
        "--out",
        model,
    ];
    let mut running = Lethe::new(train).interruptible().start();
    running.until_it_says("of 1000 passes in", TIMEOUT);
    running.signal("INT");
    let advice = format!("interrupted; run the same command again to resume from {model}");
    running.wait(TIMEOUT).expect(130).says(&advice);
}

#[test]
fn quiet_logs_only_errors_and_colours_are_as_asked() {
    let loud = Lethe::new(["synthesise", "--notes", "1", "--out", "/dev/null"])
        .end()
        .expect(0);
    assert!(
        !loud.err.is_empty() && !loud.err.contains('\u{1b}'),
        "{}",
        loud.err
    );
    let quiet = Lethe::new([
        "-q",
        "--log",
        "debug",
        "synthesise",
        "--notes",
        "1",
        "--out",
        "/dev/null",
    ]);
    assert_eq!(quiet.end().expect(0).err, "");
    let coloured = Lethe::new([
        "synthesise",
        "--notes",
        "1",
        "--out",
        "/dev/null",
        "--color",
        "always",
    ]);
    assert!(coloured.end().expect(0).err.contains('\u{1b}'));
    for (variable, color, expected) in [
        ("CLICOLOR_FORCE", "auto", true),
        ("CLICOLOR_FORCE", "never", false),
        ("NO_COLOR", "auto", false),
        ("NO_COLOR", "always", true),
    ] {
        let help = Lethe::new(["--color", color, "--help"])
            .env(variable, "1")
            .end()
            .expect(0);
        assert_eq!(help.out.contains('\u{1b}'), expected, "{variable} {color}");
    }
}

#[test]
fn a_misspelt_command_key_or_label_is_answered_with_the_one_that_was_meant() {
    Lethe::new(["redcat"]).end().expect(2).says("'redact'");
    let place = Place::new();
    for (text, expected) in [
        (
            "[resources]\nworkesr = 2\n",
            ":2: unknown key `resources.workesr`; did you mean `workers`?",
        ),
        (
            "[engine]\nacknowledge = [\"rules-only\"]\nmembers = [{ kind = \"pattern\" }]\n[engine.redaction]\nlabels = { PATEINT = \"mask\" }\n",
            "did you mean `PATIENT`?",
        ),
        (
            "[policy]\nmode = \"custom\"\n[policy.labels.PHONES]\naction = \"mask\"\n",
            "did you mean `PHONE`?",
        ),
        ("[engine]\nlabels = \"medocan\"\n", "did you mean `meddocan`?"),
    ] {
        let config = place.write("lethe.toml", text);
        let ended = Lethe::new(["check", "-c", config.to_str().unwrap()]).end();
        ended.expect(2).says(expected);
    }
}

#[test]
fn what_init_writes_to_another_folder_passes_check_from_anywhere() {
    let place = Place::new();
    let arguments = [
        "init",
        "--source",
        "files",
        "--path",
        "notes",
        "--policy",
        "research",
        "--out",
        "conf/lethe.toml",
    ];
    Lethe::new(arguments).inside(place.path()).end().expect(0);
    for (folder, config) in [
        (place.path().to_owned(), "conf/lethe.toml"),
        (place.at("conf"), "lethe.toml"),
    ] {
        let checked = Lethe::new(["check", "--explain", "-c", config])
            .inside(&folder)
            .end();
        let explained = checked.expect(0).out;
        assert!(
            explained.contains(&format!("input = {:?}", place.at("notes"))),
            "{explained}"
        );
    }
}

#[test]
fn what_init_writes_passes_check_and_is_explained_without_its_secrets() {
    let place = Place::new();
    let missing = Lethe::new(["init", "--source", "kafka"])
        .inside(place.path())
        .end();
    missing.expect(2).says("--brokers and --topic and --policy");
    let arguments = [
        "init", "--source", "files", "--path", "notes", "--policy", "research",
    ];
    Lethe::new(arguments).inside(place.path()).end().expect(0);
    let check = |more: &[&str]| {
        let arguments = ["check", "-c", "lethe.toml"].iter().chain(more);
        Lethe::new(arguments).inside(place.path()).end().expect(0).out
    };
    assert!(check(&[]).ends_with("ok\n"));
    let report: Value = serde_json::from_str(&check(&["--json"])).unwrap();
    assert_eq!(report["ok"], true);
    let explained = check(&["--explain"]);
    for line in [
        "bundle = \"en-clinical\"  # default",
        "input = \"notes\"  # lethe.toml:",
        "mode = \"limited-data-set\"  # policy.toml:3, named by `policy_file` in lethe.toml",
        "# ok",
    ] {
        assert!(explained.contains(line), "{line}\n{explained}");
    }
    assert!(explained.parse::<toml::Table>().is_ok(), "{explained}");
    // A second time, nothing is overwritten.
    Lethe::new(arguments)
        .inside(place.path())
        .end()
        .expect(2)
        .says("not overwritten");
}
