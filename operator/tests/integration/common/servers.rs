//! Servers of a single test, which may kill and restart them. They end with the test, however it ends.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::env;
use super::process::system;

/// A server started by one of the project's scripts.
pub(crate) struct Server {
    script: String,
    dir: PathBuf,
    env: HashMap<String, String>,
}

impl Server {
    /// Starts a Kafka broker; `more` are additional arguments of `scripts/kafka start`.
    pub(crate) fn kafka(more: &[&str]) -> Self {
        Self::start("LETHE_TEST_KAFKA_SCRIPT", "kafka", more)
    }

    /// Starts an S3-compatible store; `more` are additional arguments of `scripts/s3 start`.
    pub(crate) fn s3(more: &[&str]) -> Self {
        Self::start("LETHE_TEST_S3_SCRIPT", "s3", more)
    }

    /// Returns the table that names it as the sink, with additional keys.
    pub(crate) fn as_store(&self, prefix: &str, more: &str) -> String {
        format!(
            "[sink.store]\nkind = \"s3\"\nbucket = {:?}\nprefix = {prefix:?}\nendpoint = {:?}\nregion = {:?}\n{more}\n",
            self.get("BUCKET"),
            self.get("ENDPOINT"),
            self.get("REGION"),
        )
    }

    /// Starts a server by the script that a variable names; `more` are additional arguments of its `start`.
    pub(crate) fn start(script: &str, kind: &str, more: &[&str]) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let script = env(script);
        let owner = std::process::id().to_string();
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let dir = PathBuf::from(env("LETHE_TEST_SERVERS_DIR")).join(format!("{kind}-{owner}-{number}"));
        let place = dir.to_str().unwrap();
        let mut arguments = vec!["start", "--dir", place, "--owner", &owner];
        arguments.extend(more);
        let printed = system(&script, arguments);
        let env = printed
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        Self {
            script,
            dir,
            env: env.collect(),
        }
    }

    /// Returns a value of the server's `env` file.
    pub(crate) fn get(&self, key: &str) -> &str {
        self.env
            .get(key)
            .map(String::as_str)
            .unwrap_or_else(|| panic!("the server has no {key}"))
    }

    /// Runs a command of its script.
    pub(crate) fn tell(&self, arguments: &[&str]) -> String {
        let place = self.dir.to_str().unwrap();
        system(&self.script, arguments.iter().copied().chain(["--dir", place]))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let stopped = std::process::Command::new(&self.script)
            .args(["stop", "--dir"])
            .arg(&self.dir)
            .output();
        if !stopped.is_ok_and(|stopped| stopped.status.success()) {
            // The script ends the server with this process in any case (`--owner`).
            eprintln!("{} was not stopped", self.dir.display());
        }
    }
}
