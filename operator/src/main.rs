//! The `lethe` binary: maps what was typed to a command, and its result to an exit code.

mod cli;
mod commands;
mod config;
mod exit;
mod logging;
mod pipeline;
mod progress;
mod telemetry;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = cli::parse();
    logging::start(&cli.log);
    exit::report(commands::run(cli.command))
}
