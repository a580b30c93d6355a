//! `lethe adapt`: adapts a model from elsewhere to a site, with the data that the site has.

mod corrections;
mod fine_tune;
mod incremental;
mod merge;
mod self_train;

use crate::cli::AdaptCommand;

/// Runs the subcommand.
pub(crate) fn run(command: &AdaptCommand) -> anyhow::Result<()> {
    match command {
        AdaptCommand::Corrections(args) => corrections::run(args),
        AdaptCommand::Incremental(args) => incremental::run(args),
        AdaptCommand::FineTune(args) => fine_tune::run(args),
        AdaptCommand::SelfTrain(args) => self_train::run(args),
        AdaptCommand::Merge(args) => merge::run(args),
    }
}
