//! Tests with a real process: the script `tests/tool.py`, which misbehaves as asked.

use std::path::Path;
use std::sync::Arc;

use super::*;

const TOOL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tool.py");

/// Returns the member of a tool with these arguments, and more keys of its process.
fn member(arguments: &[&str], keys: &str) -> Live {
    let command: Vec<&str> = ["python3", TOOL]
        .into_iter()
        .chain(arguments.iter().copied())
        .collect();
    member_of(&format!("process = {{ command = {command:?}, {keys} }}"))
}

fn member_of(keys: &str) -> Live {
    let config = format!("name = \"tool\"\nversion = \"1\"\nlabels = {{ PERSON = \"PATIENT\" }}\n{keys}");
    let config: ExternalConfig = toml::from_str(&config).unwrap();
    Live::new(&config, &LabelSet::i2b2_2014()).unwrap()
}

fn tag(member: &Live, texts: &[&str]) -> Vec<Result<Vec<String>, TagError>> {
    let batch = NoteBatch::from_texts(texts.iter().copied()).unwrap();
    let found = member.tag(&batch).into_iter().zip(texts);
    let words = |(found, text): (Result<Annotations, TagError>, &&str)| {
        found.map(|found| found.iter().map(|a| a.span.of(text).to_owned()).collect())
    };
    found.map(words).collect()
}

fn words(found: &[&str]) -> Result<Vec<String>, TagError> {
    Ok(found.iter().map(|&word| word.to_owned()).collect())
}

/// The texts of most tests: the second makes the tool misbehave.
const TEXTS: [&str; 3] = ["né Okafor\nfell", "Lindqvist trouble", "Quill"];

#[test]
fn a_process_answers_note_by_note_and_long_notes_do_not_block_its_pipes() {
    let member = member(&[], "");
    assert_eq!(
        tag(&member, &TEXTS),
        [words(&["Okafor"]), words(&["Lindqvist"]), words(&["Quill"])]
    );
    let long = "é ".repeat(1 << 20) + "Okafor" + &" Quill".repeat(20_000);
    assert_eq!(tag(&member, &[&long])[0].as_ref().unwrap().len(), 20_001);
    let prepared = member.prepare().unwrap().unwrap();
    assert_eq!(prepared, "answered an invented sentence with 2 spans");
    let patient = LabelSet::i2b2_2014().by_name("PATIENT").unwrap();
    assert!(member.is_trained_on(patient));
}

#[test]
fn a_process_that_ends_on_a_note_is_started_again_and_gets_the_note_once_more() {
    let folder = tempfile::tempdir().unwrap();
    let once = folder.path().join("once");
    let member = member(
        &["--on", "trouble", "crash", "--once", once.to_str().unwrap()],
        "",
    );
    assert_eq!(
        tag(&member, &TEXTS),
        [words(&["Okafor"]), words(&["Lindqvist"]), words(&["Quill"])]
    );
    assert!(once.exists());
}

#[test]
fn a_surplus_line_of_output_costs_no_other_note() {
    let member = member(&["--on", "trouble", "later"], "processes = 1");
    for _ in 0..2 {
        assert_eq!(
            tag(&member, &TEXTS),
            [words(&["Okafor"]), words(&["Lindqvist"]), words(&["Quill"])]
        );
    }
}

#[test]
fn a_note_that_ends_or_stalls_or_confuses_the_process_fails_alone() {
    for (mode, failure) in [
        ("crash", ToolFailure::Failed),
        ("hang", ToolFailure::Timeout),
        ("flood", ToolFailure::Answer),
        ("id", ToolFailure::Answer),
        ("keys", ToolFailure::Answer),
        ("range", ToolFailure::Answer),
        ("label", ToolFailure::Answer),
        ("score", ToolFailure::Answer),
        ("two", ToolFailure::Answer),
        ("text", ToolFailure::Answer),
    ] {
        let member = member(&["--on", "trouble", mode], "processes = 1, timeout_seconds = 10");
        let member = match mode {
            "hang" => self::member(&["--on", "trouble", mode], "processes = 1, timeout_seconds = 1"),
            _ => member,
        };
        assert_eq!(
            tag(&member, &TEXTS),
            [words(&["Okafor"]), Err(failure.into()), words(&["Quill"])],
            "{mode}"
        );
    }
}

#[test]
fn a_program_that_is_not_there_or_ends_at_once_fails_every_note_and_the_check() {
    for (command, told) in [
        (
            "[\"no-such-program-of-lethe\"]",
            "cannot start `no-such-program-of-lethe`",
        ),
        ("[\"true\"]", "the process "),
        ("[\"echo\", \"ready\"]", "the "),
    ] {
        let member = member_of(&format!("process = {{ command = {command}, restarts = 1 }}"));
        assert_eq!(
            tag(&member, &["Okafor"]),
            [Err(ToolFailure::Failed.into())],
            "{command}"
        );
        let refused = member.prepare().unwrap_err();
        assert!(refused.contains(told), "{refused}");
    }
    let member = member_of("process = { command = [\"true\"], folder = \"/no/such/folder\", restarts = 0 }");
    assert!(
        member
            .prepare()
            .unwrap_err()
            .contains("no folder /no/such/folder")
    );
}

#[test]
fn a_slow_start_is_cut_off() {
    let member = member_of("process = { command = [\"sleep\", \"600\"], start_seconds = 1, restarts = 0 }");
    assert_eq!(tag(&member, &["Okafor"]), [Err(ToolFailure::Failed.into())]);
}

#[test]
fn a_process_inherits_no_secrets_and_gets_its_own_variables_and_folder() {
    let folder = tempfile::tempdir().unwrap();
    let config = format!(
        "process = {{ command = [\"sh\", \"-c\", \"env > seen; exec python3 {TOOL}\"], folder = {:?}, \
         environment = {{ MIST_MODEL = \"m\" }} }}",
        folder.path()
    );
    let member = member_of(&config);
    assert_eq!(tag(&member, &["Okafor"]), [words(&["Okafor"])]);
    let seen = std::fs::read_to_string(folder.path().join("seen")).unwrap();
    assert!(seen.contains("MIST_MODEL=m") && seen.contains("PATH="), "{seen}");
    assert!(!seen.contains("CARGO"), "{seen}");
}

#[test]
fn dropping_the_member_ends_the_process_and_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    // The child of the shell ignores the end of its input, as the shell's own process does not.
    let script = format!("sleep 600 & echo $$ $! > {}; exec python3 {TOOL}", pids.display());
    let member = member_of(&format!("process = {{ command = [\"sh\", \"-c\", {script:?}] }}"));
    assert_eq!(tag(&member, &["Okafor"]), [words(&["Okafor"])]);
    let pids = std::fs::read_to_string(&pids).unwrap();
    drop(member);
    for pid in pids.split_whitespace() {
        assert!(is_gone(pid), "{pid}");
    }
}

/// Returns whether a process has ended, or is about to: the system removes a killed child of nobody in time.
fn is_gone(pid: &str) -> bool {
    let stat = Path::new("/proc").join(pid).join("stat");
    for _ in 0..10_000 {
        match std::fs::read_to_string(&stat) {
            Err(_) => return true,
            Ok(stat) if stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")) => return true,
            Ok(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    false
}

#[test]
fn many_threads_share_few_processes_and_get_their_own_answers() {
    let member = Arc::new(member(&[], "processes = 2"));
    let threads = (0..6).map(|i| {
        let member = Arc::clone(&member);
        std::thread::spawn(move || {
            let text = format!("{}Okafor", "x ".repeat(i));
            (0..20).all(|_| tag(&member, &[&text]) == [words(&["Okafor"])])
        })
    });
    let threads: Vec<_> = threads.collect();
    assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    assert!(member.pool.lock().unwrap().idle.len() <= 2);
}

#[test]
fn only_settings_that_decide_an_answer_are_in_the_fingerprint() {
    let digest = |keys: &str| {
        let config = format!("name = \"tool\"\n{keys}");
        lethe_core::fingerprint(&toml::from_str::<ExternalConfig>(&config).unwrap())
    };
    let first = digest("version = \"1\"\nprocess = { command = [\"a\"] }");
    for same in [
        "version = \"1\"\nprocess = { command = [\"a\"], processes = 3, timeout_seconds = 1, restarts = 9 }",
        "version = \"1\"\nprocess = { command = [\"a\"], folder = \"/x\", environment = { A = \"secret\" } }",
    ] {
        assert_eq!(digest(same), first, "{same}");
    }
    for other in [
        "version = \"2\"\nprocess = { command = [\"a\"] }",
        "version = \"1\"\nprocess = { command = [\"a\", \"-x\"] }",
        "version = \"1\"\noffsets = \"bytes\"\nprocess = { command = [\"a\"] }",
        "version = \"1\"\nlabels = { A = \"PATIENT\" }\nprocess = { command = [\"a\"] }",
        "version = \"1\"\nservice = { url = \"http://127.0.0.1/a\" }",
        "version = \"1\"\nservice = { url = \"http://127.0.0.1/b\" }",
    ] {
        assert_ne!(digest(other), first, "{other}");
    }
    // A file's member has the fingerprint that it had before there were live tools.
    let file = serde_json::json!({ "name": "tool", "path": "p", "labels": {}, "missing": "fail" });
    assert_eq!(digest("path = \"p\""), lethe_core::fingerprint(&file));
}

/// A service that cannot outlive its test.
#[cfg(feature = "http")]
struct Service(std::process::Child, String);

#[cfg(feature = "http")]
impl Service {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let port = folder.join("port");
        let mut command = std::process::Command::new("python3");
        command.arg(TOOL).args(arguments).arg("--serve").arg(&port);
        let child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
        for _ in 0..60_000 {
            if port.exists() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let port = std::fs::read_to_string(port).unwrap();
        Self(child, format!("http://127.0.0.1:{port}/annotate"))
    }
}

#[cfg(feature = "http")]
impl Drop for Service {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[cfg(feature = "http")]
#[test]
fn a_note_that_a_service_refuses_or_stalls_or_ends_on_fails_and_a_wrong_token_fails_the_check() {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "quiet-token\n").unwrap();
    let last = words(&["Quill"]);
    for (mode, keys, second, third) in [
        ("none", "", words(&["Lindqvist"]), last.clone()),
        ("refuse", "", Err(ToolFailure::Answer.into()), last.clone()),
        ("range", "", Err(ToolFailure::Answer.into()), last.clone()),
        (
            "hang",
            "timeout_seconds = 1",
            Err(ToolFailure::Timeout.into()),
            last,
        ),
        (
            "crash",
            "retries = 0",
            Err(ToolFailure::Failed.into()),
            Err(ToolFailure::Failed.into()),
        ),
    ] {
        let word = if mode == "none" { "nothing" } else { "trouble" };
        let served = tempfile::tempdir().unwrap();
        let service = Service::start(served.path(), &["--token", "quiet-token", "--on", word, mode]);
        let member = member_of(&format!(
            "service = {{ url = {:?}, token_file = {token:?}, requests = 1, {keys} }}",
            service.1
        ));
        assert_eq!(
            tag(&member, &TEXTS),
            [words(&["Okafor"]), second, third],
            "{mode}"
        );
    }
    let served = tempfile::tempdir().unwrap();
    let service = Service::start(served.path(), &["--token", "another"]);
    let member = member_of(&format!(
        "service = {{ url = {:?}, token_file = {token:?} }}",
        service.1
    ));
    let refused = member.prepare().unwrap_err();
    assert!(
        refused.contains("status 401; check `service.token_file`"),
        "{refused}"
    );
    assert!(!refused.contains("quiet-token"), "{refused}");
}
