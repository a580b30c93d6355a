//! What the `lethe` program does: [`main`] maps the command line to a command, and its result to an exit code.
//!
//! It is a library so that the program itself is a crate of a few lines (`operator/src/main.rs`): the optimiser works on the whole
//! shipped program at the level of that crate, while this one is compiled for size.

mod backfill;
mod background;
#[cfg(feature = "kafka")]
mod brokers;
mod bundle_argument;
mod cli;
mod clinical;
mod commands;
mod compare;
mod config;
mod corpora;
mod credential_reload;
mod dumps;
mod exit;
mod gate;
mod interrupt;
mod logging;
mod looking;
mod pipeline;
mod profile;
mod progress;
mod publish;
mod redact;
mod reference;
mod replay;
mod report;
mod serve;
mod signals;
#[cfg(test)]
mod simulation;
mod telemetry;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs the program on the arguments of the process and ends it with the command's exit code.
pub fn main() -> ! {
    let cli = cli::parse();
    logging::start(&cli.log, cli.terminal.quiet);
    if cli.terminal.quiet {
        progress::turn_off();
    }
    dumps::turn_off();
    let result = commands::run(cli.command);
    logging::tell_left_out();
    exit::leave(exit::report(result))
}
