//! `lethe publish`: registers the files of chains in a table.

use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;

use anyhow::Context as _;

use crate::cli::PublishDatasetArgs;
use crate::publish;

/// Becomes the program that publishes. Returns only if that fails.
pub(crate) fn run(args: &PublishDatasetArgs) -> anyhow::Result<()> {
    let mut command = publish::command(args);
    let error = command.exec();
    if error.kind() == ErrorKind::NotFound {
        return Err(publish::missing());
    }
    Err(error).with_context(|| format!("cannot run {}", command.get_program().display()))
}
