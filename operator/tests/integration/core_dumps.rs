//! A process with notes and keys leaves no core dump.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::Place;
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};

/// Starts a program that waits for unresponsive brokers, in a folder where a dump would be written.
fn waiting(config: &Path, folder: &Path, dumps: Option<&str>) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lethe"));
    command
        .args(["run".as_ref(), "-c".as_ref(), config.as_os_str()])
        .current_dir(folder)
        .env_remove("LETHE_CORE_DUMPS")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some(dumps) = dumps {
        command.env("LETHE_CORE_DUMPS", dumps);
    }
    command.spawn().unwrap()
}

/// Returns the soft and the hard limit of a core dump's size.
fn limits(process: &Child) -> String {
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", process.id())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max core file size"));
    let words: Vec<&str> = line.unwrap().split_whitespace().skip(4).take(2).collect();
    words.join(" ")
}

/// Returns whether the process dumps its core when it aborts.
fn dumps(mut process: Child) -> bool {
    let pid = Pid::from_child(&process);
    kill_process(pid, Signal::ABORT).unwrap();
    let status = process.wait().unwrap();
    assert_eq!(status.signal(), Some(Signal::ABORT.as_raw()));
    status.core_dumped()
}

#[test]
fn a_run_dumps_no_core_unless_the_environment_allows_it() {
    // The program inherits the test's limit, which is set to the maximum.
    let maximum = getrlimit(Resource::Core).maximum;
    let limit = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Core, limit).unwrap();
    let place = Place::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let config = format!(
        "[source]\nkind = \"kafka\"\nbrokers = [\"{}\"]\ntopics = [\"t\"]\ngroup = \"g\"\n\
         [sink]\nstore = {{ kind = \"folder\", path = \"out\" }}\n\
         [engine]\nmembers = [{{ kind = \"pattern\" }}]\nacknowledge = [\"rules-only\"]\n",
        silent.local_addr().unwrap()
    );
    let config = place.write("lethe.toml", config);

    let process = waiting(&config, place.path(), None);
    // It connects to the brokers after its start is done; from then on these settings do not change.
    silent.accept().unwrap();
    assert_eq!(limits(&process), "0 0");
    assert!(!dumps(process));
    assert!(files_named_core(place.path()).is_empty());

    let allowed = waiting(&config, place.path(), Some("allow"));
    silent.accept().unwrap();
    let inherited = maximum.map_or("unlimited".to_owned(), |bytes| bytes.to_string());
    assert_eq!(limits(&allowed), format!("{inherited} {inherited}"));
    dumps(allowed);
}

fn files_named_core(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("core")).collect()
}
