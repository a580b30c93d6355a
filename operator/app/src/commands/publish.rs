//! `lethe publish`: registers the files of chains in a table.
//!
//! Delta's kernel would make this program a tenth larger for everybody, so that another one has it.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use clap::ValueEnum as _;

use crate::cli::{LogArgs, PublishDatasetArgs};
use crate::exit::usage;

/// The program that publishes.
const PROGRAM: &str = "lethe-publish";

/// Becomes the program that publishes. Returns only if that fails.
pub(crate) fn run(args: &PublishDatasetArgs, log: &LogArgs, quiet: bool) -> anyhow::Result<()> {
    let program = std::env::current_exe().ok().and_then(|lethe| next_to(&lethe));
    let program = program.unwrap_or_else(|| PROGRAM.into());
    let error = Command::new(&program).args(arguments(args, log, quiet)).exec();
    if error.kind() == ErrorKind::NotFound {
        return Err(usage(format!(
            "cannot find the program `{PROGRAM}`, which publishes; install it from the same release as this one, next to it or on PATH"
        )));
    }
    Err(error).with_context(|| format!("cannot run {}", program.display()))
}

/// Returns the program that publishes if it lies next to this one.
fn next_to(lethe: &Path) -> Option<PathBuf> {
    let program = lethe.with_file_name(PROGRAM);
    program.is_file().then_some(program)
}

/// Returns the arguments of the program that publishes.
fn arguments(args: &PublishDatasetArgs, log: &LogArgs, quiet: bool) -> Vec<OsString> {
    let format = log.log_format.to_possible_value();
    let mut arguments: Vec<OsString> = Vec::new();
    let mut option = |name: &str, value: &OsStr| {
        let mut option = OsString::from(format!("--{name}="));
        option.push(value);
        arguments.push(option);
    };
    option("log", (if quiet { "error" } else { &log.log }).as_ref());
    if let Some(format) = format {
        option("log-format", format.get_name().as_ref());
    }
    for (name, value) in [
        ("delta", &args.delta),
        ("iceberg", &args.iceberg),
        ("catalog", &args.catalog),
        ("warehouse", &args.warehouse),
        ("audit-table", &args.audit_table),
    ] {
        if let Some(value) = value {
            option(name, value);
        }
    }
    for (name, is_given) in [("--check", args.check), ("--json", args.json)] {
        if is_given {
            arguments.push(name.into());
        }
    }
    // A path may begin with a dash.
    arguments.extend(["--".into(), args.dataset.clone()]);
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::LogFormat;

    #[test]
    fn every_option_is_passed_on() {
        let log = LogArgs {
            log: "debug".into(),
            log_format: LogFormat::Json,
        };
        let args = PublishDatasetArgs {
            dataset: "-data".into(),
            delta: Some("table".into()),
            iceberg: None,
            catalog: None,
            warehouse: None,
            audit_table: Some("audit".into()),
            check: true,
            json: true,
        };
        assert_eq!(
            arguments(&args, &log, false),
            [
                "--log=debug",
                "--log-format=json",
                "--delta=table",
                "--audit-table=audit",
                "--check",
                "--json",
                "--",
                "-data"
            ]
        );
        assert_eq!(arguments(&args, &log, true)[0], "--log=error");
        let args = PublishDatasetArgs {
            delta: None,
            iceberg: Some("lake.notes".into()),
            catalog: Some("https://catalog.example".into()),
            warehouse: Some("clinic".into()),
            ..args
        };
        assert_eq!(
            arguments(&args, &log, false)[2..5],
            [
                "--iceberg=lake.notes",
                "--catalog=https://catalog.example",
                "--warehouse=clinic"
            ]
        );
    }

    #[test]
    fn the_program_next_to_this_one_is_used_if_it_is_there() {
        let place = tempfile::tempdir().unwrap();
        let lethe = place.path().join("lethe");
        assert_eq!(next_to(&lethe), None);
        std::fs::write(place.path().join(PROGRAM), "").unwrap();
        assert_eq!(next_to(&lethe), Some(place.path().join(PROGRAM)));
    }
}
