//! The corpus, written once for all tests by `corpus/generate.py`, and the parsers of `corpus/parse.py`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde::Deserialize;

/// One message.
#[derive(Deserialize)]
pub(crate) struct Message {
    pub(crate) format: String,
    /// Message code and trigger event, or resource type.
    pub(crate) kind: String,
    /// Version of the standard.
    pub(crate) version: String,
    pub(crate) payload: String,
    /// Its narratives as pieces in order, each with whether it identifies; `None` without narrative.
    pub(crate) gold: Option<Vec<Vec<(String, bool)>>>,
}

/// Every message.
pub(crate) static MESSAGES: LazyLock<Vec<Message>> = LazyLock::new(|| {
    // Another seed gives another corpus of the same kinds.
    let seed = std::env::var("LETHE_CORPUS_SEED").unwrap_or_else(|_| "1".to_owned());
    let written = python("generate.py", &[&seed], "");
    written
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
});

/// Returns the Python that `scripts/setup` prepares.
fn interpreter() -> PathBuf {
    let named = std::env::var_os("LETHE_TEST_PYTHON").map(PathBuf::from);
    let here = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/venv/bin/python");
    let python = named.unwrap_or_else(here);
    assert!(
        python.exists(),
        "{} is missing: run scripts/setup",
        python.display()
    );
    python
}

/// Returns the output of a script in the folder `corpus`.
pub(crate) fn python(script: &str, arguments: &[&str], input: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/standards/corpus");
    let mut child = Command::new(interpreter())
        .arg("-B")
        .arg(folder.join(script))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{script} failed");
    String::from_utf8(done.stdout).unwrap()
}
