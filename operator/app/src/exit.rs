//! Exit codes, for scripts and orchestrators.

use std::fmt;
use std::io::Write as _;

/// The reason why the program ends without success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Failure {
    /// Something failed at run time; a restart may help.
    Runtime = 1,
    /// The command line or the configuration is wrong; a restart will not help.
    Usage = 2,
    /// A lane halted: its offsets are outside the log, or its chain belongs to another log. An operator must
    /// decide.
    Halted = 3,
    /// `inspect` or `check` found an error.
    Found = 4,
    /// A model was worse than the bound allows, and was not written; or an evaluation does not meet `--require`.
    Worse = 5,
    /// A run to the end wrote everything, but more than half of the records are quarantined; or refused
    /// messages were skipped.
    Quarantined = 6,
    /// `inspect` found a backfill that has not ended, and no error in its files.
    Unfinished = 7,
    /// The user interrupted a command that ends by itself: 128 and the number of the signal, as shells count.
    Interrupted = 130,
}

/// An error with its exit code. The default is [`Failure::Runtime`].
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

/// Returns an error of wrong usage or configuration.
pub(crate) fn usage(message: impl fmt::Display) -> anyhow::Error {
    Coded(Failure::Usage, message.to_string()).into()
}

/// Ends the process once only abandoned threads are left: flushes standard output, and ends as [`end`] does.
pub(crate) fn leave(code: u8) -> ! {
    // A closed pipe is not a failure.
    drop(std::io::stdout().flush());
    end(code)
}

/// Ends the process immediately, without the exit handlers of libraries. OpenSSL's handler would free memory
/// that abandoned threads still use: those of a consumer whose brokers do not respond, or of a vault's
/// connection. Nothing is lost, since logs and files are not buffered here.
#[expect(unsafe_code, reason = "the only exit that runs no exit handlers")]
pub(crate) fn end(code: u8) -> ! {
    // Processes of external members must not outlive this one.
    lethe_members::stop_tools();
    // SAFETY: it takes no pointer, touches no memory of this program, and does not return.
    unsafe { libc::_exit(i32::from(code)) }
}

/// Returns an error with its causes, except those that it already contains.
pub(crate) fn whole(error: &anyhow::Error) -> String {
    error.chain().skip(1).fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        if text.contains(&cause) {
            text
        } else {
            format!("{text}: {cause}")
        }
    })
}

/// Prints an error, if any, and returns its exit code.
#[expect(
    clippy::print_stderr,
    reason = "the final error must appear even if logs are off"
)]
pub(crate) fn report(result: anyhow::Result<()>) -> u8 {
    match result {
        Ok(()) => 0,
        Err(error) if error.chain().any(|cause| cause.is::<Stopped>()) => 0,
        Err(error) => {
            // A closed pipe is not a failure: `lethe annotate | head`.
            if error.chain().any(|cause| {
                cause
                    .downcast_ref::<std::io::Error>()
                    .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
            }) {
                return 0;
            }
            eprintln!("lethe: {}", whole(&error));
            let code = error
                .chain()
                .find_map(|cause| cause.downcast_ref::<Coded>())
                .map_or(Failure::Runtime, |coded| coded.0);
            code as u8
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context as _;

    #[test]
    fn a_cause_that_an_error_repeats_is_printed_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("member.toml: {source}")]
        struct Repeats {
            source: std::io::Error,
        }
        let source = std::io::Error::other("disk is gone");
        let error = anyhow::Error::from(Repeats { source }).context("cannot open the model");
        assert_eq!(whole(&error), "cannot open the model: member.toml: disk is gone");
        let error = Err::<(), _>(std::io::Error::other("no such file"))
            .context("a.csv")
            .unwrap_err();
        assert_eq!(whole(&error), "a.csv: no such file");
    }
}
