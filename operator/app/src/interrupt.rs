//! Ctrl-C in commands that end by themselves: they report the complete work and how to continue, and end with 130.
//!
//! Commands that run until they are stopped drain instead ([`crate::signals`]).

use std::fmt::Display;
use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};

use crate::exit::{Coded, Failure, end};

/// Whether the user asked for the end.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Makes Ctrl-C end the process at once, after a message with this advice: for work whose files are complete
/// or resumable at every moment.
pub(crate) fn end_at_once(advice: impl Display) {
    let advice = advice.to_string();
    on_interrupt(move |_| leave(&advice));
}

/// Makes the first Ctrl-C set what [`is_requested`] returns, and a second one end the process at once. If the
/// input is typed at the terminal, the first one ends it: nothing more would arrive.
pub(crate) fn end_in_order(input: &Path) {
    let is_typed = input == Path::new("-") && std::io::stdin().is_terminal();
    on_interrupt(move |count| {
        if count > 1 || is_typed {
            leave("the output is not complete");
        }
        // First the message: the work may end before the next line.
        tracing::warn!("interrupted: ending after what was already read; press Ctrl-C again to end at once");
        INTERRUPTED.store(true, Ordering::Relaxed);
    });
}

/// Returns whether the work is to end.
pub(crate) fn is_requested() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Returns the error of an end in order, with what was written and how to continue.
pub(crate) fn interrupted(advice: impl Display) -> anyhow::Error {
    Coded(Failure::Interrupted, format!("interrupted; {advice}")).into()
}

/// Calls `act` with the number of interrupts so far at each one, on a thread of its own.
fn on_interrupt(act: impl Fn(u32) + Send + 'static) {
    // As for any other program, `nohup` and a shell's `&` protect from interrupts.
    if is_ignored() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    // Without a handler an interrupt ends the process anyway.
    let Ok(runtime) = runtime else { return };
    let inside = runtime.enter();
    let Ok(mut interrupts) = signal(SignalKind::interrupt()) else {
        return;
    };
    drop(inside);
    std::thread::spawn(move || {
        for count in 1.. {
            if runtime.block_on(interrupts.recv()).is_none() {
                return;
            }
            act(count);
        }
    });
}

/// Returns whether the process was started with interrupts ignored, as far as the system says.
fn is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignores(&status, SignalKind::interrupt().as_raw_value())
}

/// Returns whether a process with this status ignores a signal.
fn ignores(status: &str, signal: i32) -> bool {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

#[expect(
    clippy::print_stderr,
    reason = "the last message must appear even if logs are off"
)]
fn leave(advice: &str) {
    // The terminal shows `^C`, perhaps behind a progress bar.
    let gap = if std::io::stderr().is_terminal() { "\n" } else { "" };
    eprintln!("{gap}lethe: interrupted; {advice}");
    end(Failure::Interrupted as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_signal_is_seen_in_the_status_of_the_process() {
        let status = "Name:\tlethe\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000001002\nSigCgt:\t0\n";
        assert!(ignores(status, 2) && ignores(status, 13));
        assert!(!ignores(status, 15) && !ignores("", 2));
    }
}
