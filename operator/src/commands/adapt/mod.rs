//! `lethe adapt`: what a site does with a model from elsewhere, given what it has itself.

mod incremental;

use crate::cli::AdaptCommand;

/// Does what was asked.
pub(crate) fn run(command: &AdaptCommand) -> anyhow::Result<()> {
    match command {
        AdaptCommand::Incremental(args) => incremental::run(args),
    }
}
