//! External tools as live members, with a real process and a real HTTP server: the script
//! `operator/taggers/tests/tool.py`, which misbehaves as asked.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::dataset::Dataset;
use common::process::{Ended, Lethe, TIMEOUT};
use common::search::Search;
use common::{Place, folder_sink, quoted};

const TOOL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/taggers/tests/tool.py");

/// The number of notes, of which every tenth mentions trouble.
const NOTES: usize = 60;

/// Returns the keys of a process with these arguments, and more keys.
fn process(arguments: &[&str], keys: &str) -> String {
    let command: Vec<&str> = ["python3", TOOL]
        .into_iter()
        .chain(arguments.iter().copied())
        .collect();
    format!("process = {{ command = {command:?}, {keys} }}")
}

/// Writes notes and a configuration whose one member is the tool, and returns its path.
fn config(place: &Place, tool: &str, out: &Path, more: &str) -> std::path::PathBuf {
    let event = |number: usize| {
        let trouble = if number.is_multiple_of(10) { " trouble" } else { "" };
        let text = format!("Ünseen by Okafor and Lindqvist{trouble}, visit {number}.");
        serde_json::json!({ "note_id": format!("n{number}"), "text": text }).to_string()
    };
    let lines: Vec<String> = (0..NOTES).map(event).collect();
    let input = place.write("in/notes.jsonl", lines.join("\n"));
    place.write(
        "lethe.toml",
        format!(
            "[source]\nkind = \"jsonl\"\ninput = {}\n[[engine.members]]\nkind = \"external\"\nname = \"tool\"\nversion = \"1\"\n\
             labels = {{ PERSON = \"PATIENT\" }}\n{tool}\n{more}\n{}",
            quoted(&input),
            folder_sink(out)
        ),
    )
}

/// Runs the notes through the tool, and returns the end and each row: its text, or its error.
fn run(place: &Place, tool: &str, more: &str, code: i32) -> (Ended, Vec<String>) {
    let out = place.at("out");
    if out.exists() {
        std::fs::remove_dir_all(&out).unwrap();
    }
    let ended = Lethe::through(&config(place, tool, &out, more))
        .end()
        .expect(code);
    let data = Dataset::read(&out);
    assert_eq!(data.faults(&out), Vec::<String>::new());
    let rows = data.rows().into_iter();
    let rows = rows.map(|row| row.error.clone().or_else(|| row.text.clone()).unwrap_or_default());
    let mut search = Search::new(["Okafor", "Lindqvist"]);
    search.words("run", &ended);
    search.folder(&out);
    search.assert_clean();
    (ended, rows.collect())
}

/// Returns the rows of an undisturbed run, with an error in place of the notes that mention trouble.
fn expected(error: Option<&str>) -> Vec<String> {
    let row = |number: usize| match error.filter(|_| number.is_multiple_of(10)) {
        Some(error) => error.to_owned(),
        None => {
            let trouble = if number.is_multiple_of(10) { " trouble" } else { "" };
            format!("Ünseen by [PATIENT] and [PATIENT]{trouble}, visit {number}.")
        }
    };
    (0..NOTES).map(row).collect()
}

#[test]
fn a_tool_votes_in_a_stream_and_the_output_does_not_depend_on_the_number_of_lanes_and_processes() {
    let place = Place::new();
    for (keys, workers) in [("", 1), ("processes = 1", 4), ("processes = 3", 4)] {
        let more = format!("[resources]\nworkers = {workers}");
        let (_, rows) = run(&place, &process(&[], keys), &more, 0);
        assert_eq!(rows, expected(None), "{keys}");
    }
}

#[test]
fn a_process_that_ends_midway_is_started_again_and_the_output_is_that_of_an_undisturbed_run() {
    let place = Place::new();
    let once = place.at("once");
    let tool = process(
        &["--on", "trouble", "crash", "--once", once.to_str().unwrap()],
        "",
    );
    let (_, rows) = run(&place, &tool, "", 0);
    assert_eq!(rows, expected(None));
    assert!(once.exists());
}

#[test]
fn a_note_that_the_tool_fails_on_is_quarantined_with_its_code_and_the_others_are_finished() {
    let place = Place::new();
    for (mode, keys, code) in [
        ("hang", "timeout_seconds = 1", "tool_timeout"),
        ("crash", "", "tool_failed"),
        ("range", "", "tool_answer"),
        ("label", "", "tool_answer"),
        ("text", "", "tool_answer"),
    ] {
        let (ended, rows) = run(&place, &process(&["--on", "trouble", mode], keys), "", 0);
        assert_eq!(rows, expected(Some(code)), "{mode}");
        assert!(ended.err.contains("member `tool`: "), "{mode}: {}", ended.err);
    }
}

#[test]
fn a_tool_that_does_not_work_ends_the_program_before_the_first_note() {
    let place = Place::new();
    let tool = process(&["--no-such-option"], "restarts = 0");
    let out = place.at("out");
    let config = config(&place, &tool, &out, "");
    Lethe::through(&config)
        .end()
        .expect(2)
        .says("key `engine.members`: member `tool`: the process ");
    assert!(!out.exists());
    let check = |more: &[&str]| {
        let arguments = ["check", "-c", config.to_str().unwrap()];
        Lethe::new(arguments.iter().chain(more)).end()
    };
    check(&[]).expect(0);
    check(&["--connect"])
        .expect(4)
        .says("member `tool`: the process ");
    let good = self::config(&place, &process(&[], ""), &out, "");
    let found = Lethe::new(["check", "--connect", "-c", good.to_str().unwrap()])
        .end()
        .expect(0);
    assert!(
        found.out.contains("answered an invented sentence with 2 spans"),
        "{}",
        found.out
    );
}

#[test]
fn a_stopped_program_takes_its_processes_along() {
    let place = Place::new();
    let pid = place.at("pid");
    let script = format!(
        "echo $$ > {}; exec python3 {TOOL} --on trouble hang",
        pid.display()
    );
    let tool =
        format!("process = {{ command = [\"sh\", \"-c\", {script:?}], processes = 1, timeout_seconds = 5 }}");
    let running = Lethe::run(&config(&place, &tool, &place.at("out"), "")).start();
    let until = Instant::now() + TIMEOUT;
    let pid = loop {
        match std::fs::read_to_string(&pid) {
            Ok(pid) if pid.ends_with('\n') => break pid.trim().to_owned(),
            _ => assert!(Instant::now() < until, "the tool does not start"),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    running.signal("TERM");
    running.wait(TIMEOUT);
    let line = Path::new("/proc").join(&pid).join("cmdline");
    while std::fs::read(&line).is_ok_and(|line| !line.is_empty()) {
        assert!(Instant::now() < until, "the tool lives on");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A service that cannot outlive its test.
struct Service {
    child: Child,
    url: String,
}

impl Service {
    fn start(place: &Place, arguments: &[&str]) -> Self {
        let port = place.at("port");
        drop(std::fs::remove_file(&port));
        let child = Command::new("python3")
            .arg(TOOL)
            .args(arguments)
            .arg("--serve")
            .arg(&port)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let until = Instant::now() + TIMEOUT;
        while !port.exists() {
            assert!(Instant::now() < until, "the service does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        let port = std::fs::read_to_string(port).unwrap();
        Self {
            child,
            url: format!("http://127.0.0.1:{port}/annotate"),
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn a_service_votes_over_http_with_a_token_and_its_failures_are_quarantined() {
    let place = Place::new();
    let token = place.write("token", "quiet-token\n");
    for (arguments, keys, error) in [
        (&[][..], "", None),
        (
            &["--on", "trouble", "hang"],
            "timeout_seconds = 2",
            Some("tool_timeout"),
        ),
        (&["--on", "trouble", "refuse"], "", Some("tool_answer")),
        (&["--on", "trouble", "range"], "", Some("tool_answer")),
    ] {
        let service = Service::start(&place, &[&["--token", "quiet-token"], arguments].concat());
        let tool = format!(
            "service = {{ url = {:?}, token_file = {}, {keys} }}",
            service.url,
            quoted(&token)
        );
        let (ended, rows) = run(&place, &tool, "", 0);
        assert_eq!(rows, expected(error), "{arguments:?}");
        assert!(!ended.err.contains("quiet-token"), "{}", ended.err);
    }
    let service = Service::start(&place, &["--token", "another"]);
    let tool = format!("service = {{ url = {:?}, retries = 0 }}", service.url);
    let config = config(&place, &tool, &place.at("other"), "");
    Lethe::new(["check", "--connect", "-c", config.to_str().unwrap()])
        .end()
        .expect(4)
        .says("status 401; check `service.token_file`");
}

#[test]
fn a_service_that_goes_away_quarantines_what_it_did_not_answer() {
    let place = Place::new();
    // Each note ends the service for good, since several are asked about at the same time, in no fixed order. So every
    // note fails, and a source of which most is quarantined ends the run.
    let service = Service::start(&place, &["--on", "visit", "crash"]);
    let tool = format!("service = {{ url = {:?}, retries = 0 }}", service.url);
    let (_, rows) = run(&place, &tool, "", 6);
    assert_eq!(rows, vec!["tool_failed"; NOTES]);
}

#[test]
fn the_example_of_the_documentation_works() {
    let place = Place::new();
    let page = include_str!("../../../docs/external.md");
    let (_, example) = page.split_once("```python\n").unwrap();
    let example = place.write("example.py", example.split_once("```").unwrap().0);
    let config = place.write(
        "lethe.toml",
        format!(
            "[[engine.members]]\nkind = \"external\"\nname = \"numbers\"\nversion = \"1\"\nlabels = {{ TELEPHONE = \"PHONE\" }}\n\
             process = {{ command = [\"python3\", {}] }}\n",
            quoted(&example)
        ),
    );
    let redacted = Lethe::new(["redact", "--config", config.to_str().unwrap(), "-"])
        .end_with("Reach Ms Quill\u{e9}n at 555-0142.\n")
        .expect(0);
    assert_eq!(redacted.out, "Reach Ms Quill\u{e9}n at [PHONE].\n");
}
