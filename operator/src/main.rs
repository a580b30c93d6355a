//! The `lethe` binary: maps the command line to a command, and its result to an exit code.

mod backfill;
mod background;
#[cfg(feature = "kafka")]
mod brokers;
mod cli;
mod commands;
mod config;
mod credential_reload;
mod dumps;
mod exit;
mod gate;
mod logging;
mod pipeline;
mod progress;
mod reference;
mod replay;
mod signals;
#[cfg(test)]
mod simulation;
mod telemetry;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ! {
    let cli = cli::parse();
    logging::start(&cli.log);
    dumps::turn_off();
    let result = commands::run(cli.command);
    logging::tell_left_out();
    exit::leave(exit::report(result))
}
