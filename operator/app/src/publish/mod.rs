//! Starts the program that publishes a dataset as a table.
//!
//! Delta's kernel would make this program a tenth larger for everybody, so that another one has it.

mod child;
mod periodic;
mod version;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cli::PublishDatasetArgs;
use crate::exit::usage;
use crate::logging;

pub(crate) use periodic::Publisher;
pub(crate) use version::fill_in;

/// The program that publishes.
const PROGRAM: &str = "lethe-publish";
/// The dataset whose store's settings are on standard input. They can hold secrets, which do not belong on a command
/// line.
const STANDARD_INPUT: &str = "-";

/// Returns the program that publishes with these options. It logs as this one does.
pub(crate) fn command(args: &PublishDatasetArgs) -> Command {
    let program = std::env::current_exe().ok().and_then(|lethe| next_to(&lethe));
    let mut command = Command::new(program.unwrap_or_else(|| PROGRAM.into()));
    command.args(logging::options()).args(arguments(args));
    command
}

/// The error if the program that publishes is not installed.
pub(crate) fn missing() -> anyhow::Error {
    usage(format!(
        "cannot find the program `{PROGRAM}`, which publishes; install it from the same release as this one, next to it or on PATH"
    ))
}

/// Returns the program that publishes if it lies next to this one.
fn next_to(lethe: &Path) -> Option<PathBuf> {
    let program = lethe.with_file_name(PROGRAM);
    program.is_file().then_some(program)
}

/// Returns the arguments of the program that publishes.
fn arguments(args: &PublishDatasetArgs) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::new();
    for (name, value) in [
        ("delta", &args.delta),
        ("iceberg", &args.iceberg),
        ("catalog", &args.catalog),
        ("warehouse", &args.warehouse),
        ("audit-table", &args.audit_table),
    ] {
        if let Some(value) = value {
            let mut option = OsString::from(format!("--{name}="));
            option.push(value);
            arguments.push(option);
        }
    }
    for (name, is_given) in [("--check", args.check), ("--json", args.json)] {
        if is_given {
            arguments.push(name.into());
        }
    }
    if let Some(version) = args.list {
        arguments.push(format!("--list={version}").into());
    }
    // A path may begin with a dash.
    arguments.extend(["--".into(), args.dataset.clone()]);
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_passed_on() {
        let args = PublishDatasetArgs {
            dataset: "-data".into(),
            delta: Some("table".into()),
            audit_table: Some("audit".into()),
            check: true,
            json: true,
            ..PublishDatasetArgs::default()
        };
        assert_eq!(
            arguments(&args),
            [
                "--delta=table",
                "--audit-table=audit",
                "--check",
                "--json",
                "--",
                "-data"
            ]
        );
        let args = PublishDatasetArgs {
            dataset: "data".into(),
            iceberg: Some("lake.notes".into()),
            catalog: Some("https://catalog.example".into()),
            warehouse: Some("clinic".into()),
            ..PublishDatasetArgs::default()
        };
        assert_eq!(
            arguments(&args),
            [
                "--iceberg=lake.notes",
                "--catalog=https://catalog.example",
                "--warehouse=clinic",
                "--",
                "data"
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
