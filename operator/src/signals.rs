//! Signals that stop the program.

use std::sync::mpsc::Sender;
use std::time::Duration;

use anyhow::Context as _;
use lethe_connectors::Stop;
use lethe_connectors::kafka::source::Command;
use tokio::runtime::Runtime;

use crate::exit::{Failure, end};

/// How long after the drain limit a process that was asked to stop has ended, in seconds.
pub(crate) const LEAVE_SECONDS: u64 = 2;

/// How long after the drain limit it ends at the latest, so that it has ended by then.
pub(crate) const LEAVE: Duration = Duration::from_millis(LEAVE_SECONDS * 1000 - 250);

/// What becomes of a process that has not ended [`LEAVE`] after the drain limit of its stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overrun {
    /// It ends without whatever it still waits for.
    Exit,
    /// It goes on: what it has in hand is worth the wait.
    Wait,
}

/// Has SIGTERM and SIGINT request the stop; a second one ends the process at once.
///
/// # Errors
/// If the system takes no signal handler.
pub(crate) fn stop_on_signal(
    runtime: &Runtime,
    commands: Sender<Command>,
    stop: &Stop,
    overrun: Overrun,
) -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let _inside = runtime.enter();
    let mut terminate = signal(SignalKind::terminate()).context("no signal handler")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("no signal handler")?;
    let stop = stop.clone();
    runtime.spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if stop.is_requested() {
                // Safe at any moment: what is not durable was never released.
                end(Failure::Runtime as u8);
            }
            stop.request();
            tracing::info!("stopping: draining lanes; a second signal stops at once");
            drop(commands.send(Command::Stop));
            if overrun == Overrun::Exit {
                exit_after_drain(&stop);
            }
        }
    });
    Ok(())
}

/// Ends the process [`LEAVE`] after the drain limit, on a thread of its own, which nothing that hangs can hold up.
fn exit_after_drain(stop: &Stop) {
    let Some(deadline) = stop.deadline() else { return };
    let last = deadline.into_std() + LEAVE;
    std::thread::spawn(move || {
        std::thread::sleep(last.saturating_duration_since(std::time::Instant::now()));
        tracing::warn!(
            "not everything has ended within the drain limit; leaving without it, what is not durable is read again"
        );
        end(0);
    });
}
