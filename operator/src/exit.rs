//! Exit codes: what a script or an orchestrator can act upon.

use std::fmt;
use std::io::Write as _;

/// Why the program ends without success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Failure {
    /// Something failed at run time; a restart may help.
    Runtime = 1,
    /// The command line or the configuration is wrong; a restart will not help.
    Usage = 2,
    /// A lane halted: its offsets are outside the log, or its chain is another's. An operator must decide.
    Halted = 3,
    /// `inspect` or `check` found something wrong.
    Found = 4,
    /// A model came out worse than it may be, and was not written.
    Worse = 5,
    /// A run to the end wrote everything, and more than half of the records are quarantined; or refused messages were left out.
    Quarantined = 6,
    /// `inspect` found a backfill that has not ended, and nothing wrong with what is there.
    Unfinished = 7,
}

/// An error with the exit code that it stands for. The default is [`Failure::Runtime`].
#[derive(Debug)]
pub(crate) struct Coded(pub(crate) Failure, pub(crate) String);

impl fmt::Display for Coded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.1)
    }
}

impl std::error::Error for Coded {}

/// The program was asked to stop before it was done. It ends in order, with success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stopped")]
pub(crate) struct Stopped;

/// An error of wrong usage or configuration.
pub(crate) fn usage(message: impl fmt::Display) -> anyhow::Error {
    Coded(Failure::Usage, message.to_string()).into()
}

/// Ends the process in order, once nothing but threads that nobody waits for is left: prints what is not printed yet, and
/// ends as [`end`] does.
pub(crate) fn leave(code: u8) -> ! {
    // A reader that has gone away is no failure.
    drop(std::io::stdout().flush());
    end(code)
}

/// Ends the process at once, without the exit handlers of libraries. OpenSSL's would free what threads still use that a stop
/// has left behind: those of a consumer whose brokers do not answer, or of a vault's connection. Nothing is lost by it: logs and
/// files are not buffered here.
#[expect(unsafe_code, reason = "the only way out that runs no exit handler")]
pub(crate) fn end(code: u8) -> ! {
    // SAFETY: takes no pointer, touches no memory of this program, and does not return.
    unsafe { libc::_exit(i32::from(code)) }
}

/// Prints an error, if there is one, and gives its exit code.
#[expect(
    clippy::print_stderr,
    reason = "the last word of the program, whether or not logs are on"
)]
pub(crate) fn report(result: anyhow::Result<()>) -> u8 {
    match result {
        Ok(()) => 0,
        Err(error) if error.chain().any(|cause| cause.is::<Stopped>()) => 0,
        Err(error) => {
            // A reader that went away is no failure: `lethe annotate | head`.
            if error.chain().any(|cause| {
                cause
                    .downcast_ref::<std::io::Error>()
                    .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
            }) {
                return 0;
            }
            eprintln!("lethe: {error:#}");
            let code = error
                .chain()
                .find_map(|cause| cause.downcast_ref::<Coded>())
                .map_or(Failure::Runtime, |coded| coded.0);
            code as u8
        }
    }
}
