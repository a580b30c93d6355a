//! The examples of the command reference, run as a reader would run them.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common;

use common::database::Schema;
use common::process::TIMEOUT;
use common::{Place, bucket_variables, fill_bucket, kafka};

/// The scripts, each with a test below.
const SCRIPTS: [&str; 13] = [
    "adapt", "backfill", "bucket", "compare", "database", "ensemble", "files", "first", "messages", "serve",
    "stream", "tables", "train",
];

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

/// Runs a script in an empty folder, with the program on its path and these variables.
#[track_caller]
fn run(script: &str, variables: &[(&str, &str)]) {
    let place = Place::new();
    let [programs, work] = ["programs", "work"].map(|name| place.at(name));
    std::fs::create_dir(&programs).unwrap();
    std::fs::create_dir(&work).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_lethe"), programs.join("lethe")).unwrap();
    let path = format!("{}:{}", programs.display(), common::env("PATH"));
    // `timeout` ends what the script started, too.
    let done = Command::new("timeout")
        .arg("--kill-after=10")
        .arg(TIMEOUT.as_secs().to_string())
        .args(["bash", "-euxo", "pipefail"])
        .arg(docs().join(format!("reference/examples/{script}.sh")))
        .current_dir(&work)
        .env("PATH", path)
        .env("DOCS", docs().canonicalize().unwrap())
        .env_remove("LETHE_LOG")
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let [out, err] = [&done.stdout, &done.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(
        done.status.success(),
        "{script}.sh: {:?}\n{out}\n{err}",
        done.status
    );
}

#[test]
fn every_script_of_examples_has_a_test() {
    let folder = std::fs::read_dir(docs().join("reference/examples")).unwrap();
    let names: BTreeSet<String> = folder
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names, SCRIPTS.iter().map(|name| format!("{name}.sh")).collect());
}

#[test]
fn examples_of_adapting_models_run() {
    run("adapt", &[]);
}

#[test]
fn examples_of_backfills_run() {
    run("backfill", &[]);
}

#[test]
fn examples_of_buckets_run() {
    let prefix = kafka::name("examples");
    let note = b"Dr. Orla Penhallow called (612) 555-0142.\n".to_vec();
    fill_bucket(&prefix, [("first.txt", note.clone()), ("2026/second.txt", note)]);
    let place = format!("s3://{}/{prefix}", common::env("LETHE_TEST_S3_BUCKET"));
    let variables = bucket_variables();
    let variables = variables.iter().map(|(name, value)| (*name, value.as_str()));
    run(
        "bucket",
        &variables.chain([("LETTERS", place.as_str())]).collect::<Vec<_>>(),
    );
}

#[test]
fn examples_of_comparisons_run() {
    run("compare", &[]);
}

#[test]
fn examples_of_databases_run() {
    let schema = Schema::with_notes(20);
    run(
        "database",
        &[("DATABASE", &schema.url()), ("PGPASSWORD", &Schema::password())],
    );
}

#[test]
fn examples_of_ensembles_run() {
    run("ensemble", &[]);
}

#[test]
fn examples_of_files_run() {
    run("files", &[]);
}

#[test]
fn examples_of_the_first_minutes_run() {
    run("first", &[]);
}

#[test]
fn examples_of_messages_run() {
    run("messages", &[]);
}

#[test]
fn examples_of_serving_run() {
    // Nobody else gets the port soon after it is free again.
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port().to_string();
    drop(free);
    run("serve", &[("PORT", &port)]);
}

#[test]
fn examples_of_streams_run() {
    let (brokers, topic) = (common::env("LETHE_TEST_KAFKA"), kafka::name("examples"));
    let catalogue = common::env("LETHE_TEST_CATALOGUE");
    run(
        "stream",
        &[("KAFKA", &brokers), ("TOPIC", &topic), ("CATALOG", &catalogue)],
    );
}

#[test]
fn examples_of_tables_run() {
    run("tables", &[]);
}

#[test]
fn examples_of_training_run() {
    run("train", &[]);
}
