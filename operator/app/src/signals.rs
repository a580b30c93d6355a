//! Signals that stop the program.

use std::sync::mpsc::Sender;
use std::time::Duration;

use anyhow::Context as _;
use lethe_connectors::Stop;
use lethe_connectors::source::Command;
use tokio::runtime::Runtime;

use crate::exit::{Failure, end};

/// The time in seconds after the drain limit within which a stopping process ends.
pub(crate) const LEAVE_SECONDS: u64 = 2;

/// The time after the drain limit at which a stopping process is ended, slightly earlier to be on time.
pub(crate) const LEAVE: Duration = Duration::from_millis(LEAVE_SECONDS * 1000 - 250);

/// What happens to a process that has not ended [`LEAVE`] after the drain limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overrun {
    /// It ends without the remaining work.
    Exit,
    /// It continues: its work is worth the wait.
    Wait,
}

/// Makes SIGTERM and SIGINT request the stop; a second one ends the process immediately.
///
/// # Errors
/// If the system does not accept a signal handler.
pub(crate) fn stop_on_signal(
    runtime: &Runtime,
    commands: Sender<Command>,
    stop: &Stop,
    overrun: Overrun,
) -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let _inside = runtime.enter();
    let mut terminate = signal(SignalKind::terminate()).context("cannot handle SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot handle SIGINT")?;
    let stop = stop.clone();
    runtime.spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if stop.is_requested() {
                // Safe at any moment: offsets of rows that are not durable were never released.
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

/// Ends the process [`LEAVE`] after the drain limit, on a thread of its own that a hanging task cannot block.
fn exit_after_drain(stop: &Stop) {
    let Some(deadline) = stop.deadline() else { return };
    let last = deadline.into_std() + LEAVE;
    std::thread::spawn(move || {
        std::thread::sleep(last.saturating_duration_since(std::time::Instant::now()));
        tracing::warn!(
            "not everything ended within the drain limit; exiting, records that are not durable will be read again"
        );
        end(0);
    });
}
