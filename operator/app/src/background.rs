//! Long waits on a thread of their own, so that the end of the process does not wait for them.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use lethe_connectors::{Backoff, Stop};

use crate::config::{BuiltEngine, Config, is_away};
use crate::exit::Stopped;

/// How often a wait checks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);
/// First and longest pause before the next attempt to reach a vault.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));

/// Runs `work` on a thread of its own and returns its result, or `None` as soon as `stopped` returns true. In
/// that case the thread is abandoned: it may be in a call that only a timeout ends.
///
/// # Errors
/// If the system cannot create a thread, or the work panicked.
pub(crate) fn unless<T: Send + 'static>(
    stopped: impl Fn() -> bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> anyhow::Result<Option<T>> {
    let (give, result) = channel();
    std::thread::Builder::new()
        .name("background".to_owned())
        // After a stop nobody receives the result.
        .spawn(move || give.send(work()).unwrap_or_default())?;
    while !stopped() {
        match result.recv_timeout(LOOK) {
            Ok(done) => return Ok(Some(done)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => anyhow::bail!("a background thread failed"),
        }
    }
    Ok(None)
}

/// Builds the engine of a configuration. Waits for an unavailable vault, since the operator often starts
/// before its database does.
///
/// # Errors
/// A usage error if the engine cannot be built; [`Stopped`] as soon as the stop is requested.
pub(crate) fn engine(config: &Arc<Config>, stop: &Stop) -> anyhow::Result<BuiltEngine> {
    let mut backoff = Backoff::new("vault").between(BACKOFF.0, BACKOFF.1);
    loop {
        let own = Arc::clone(config);
        let pause = backoff.pause().unwrap_or_default();
        match unless(|| stop.is_requested(), move || ready(&own))? {
            None => return Err(Stopped.into()),
            Some(Err(error)) if is_away(&error) => {
                tracing::warn!("{error:#}; trying again in {} ms", pause.as_millis());
            }
            Some(built) => return built,
        }
        if stop.sleep(pause) {
            return Err(Stopped.into());
        }
    }
}

/// Builds the engine, and starts what its members need outside of the program.
fn ready(config: &Config) -> anyhow::Result<BuiltEngine> {
    let built = config.engine.build()?;
    built.prepare()?;
    Ok(built)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn work_that_never_ends_is_left_behind_at_a_stop() {
        let (_keep, never) = channel::<()>();
        let begun = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&begun);
        let done = unless(
            || begun.load(Ordering::SeqCst),
            move || {
                seen.store(true, Ordering::SeqCst);
                never.recv().is_ok()
            },
        );
        assert_eq!(done.unwrap(), None);
    }

    #[test]
    fn a_result_comes_back_and_a_panic_is_an_error() {
        assert_eq!(unless(|| false, || 2 + 2).unwrap(), Some(4));
        assert!(unless(|| false, || panic!("as asked")).is_err());
    }
}
