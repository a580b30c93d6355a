//! Runs the program that publishes for this one, to its end.

use std::io::{ErrorKind, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use lethe_connectors::store::StoreConfig;
use serde_json::Value;
use zeroize::Zeroizing;

use super::missing;
use crate::exit::{Stopped, usage};

/// The time after which the program is killed. Each of its requests has a limit of its own, so that this ends only what
/// is stuck.
const LIMIT: Duration = Duration::from_secs(30 * 60);
/// How often to check whether it has ended.
const LOOK: Duration = Duration::from_millis(50);
/// The exit code of wrong usage.
const USAGE: i32 = 2;

/// Runs the program with the settings of a store on its standard input, and returns what it prints, as JSON. Its logs
/// appear among those of this program.
///
/// # Errors
/// If it fails, which it logs; a usage error if it says so or is not installed; [`Stopped`] as soon as `stopped` returns
/// true.
pub(super) fn run(
    mut program: Command,
    store: &StoreConfig,
    stopped: &dyn Fn() -> bool,
) -> anyhow::Result<Value> {
    let settings = Zeroizing::new(store.with_secrets().to_string());
    let mut child = match program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(missing()),
        spawned => spawned.with_context(|| format!("cannot run {}", program.get_program().display()))?,
    };
    if let Some(mut input) = child.stdin.take() {
        // A program that ends before it has read them says why.
        drop(input.write_all(settings.as_bytes()));
    }
    let output = child.stdout.take();
    let reader = thread::spawn(move || {
        let mut text = String::new();
        // What is missing makes it invalid.
        output.map(|mut output| output.read_to_string(&mut text));
        text
    });
    let code = wait(&mut child, stopped)?;
    let text = reader.join().unwrap_or_default();
    match code {
        Some(0) => serde_json::from_str(&text).context("lethe-publish printed no report"),
        Some(USAGE) => Err(usage("lethe-publish refused the table; it logged why")),
        Some(code) => anyhow::bail!("lethe-publish ended with exit code {code}; it logged why"),
        None => anyhow::bail!("lethe-publish was killed"),
    }
}

/// Waits for the end of a program, and returns its exit code; `None` if a signal ended it. Kills it at a stop, or after
/// the limit: what it has committed is complete.
fn wait(child: &mut Child, stopped: &dyn Fn() -> bool) -> anyhow::Result<Option<i32>> {
    let started = Instant::now();
    loop {
        if let Some(ended) = child.try_wait()? {
            return Ok(ended.code());
        }
        let is_stopped = stopped();
        if is_stopped || started.elapsed() >= LIMIT {
            child.kill()?;
            child.wait()?;
            if is_stopped {
                return Err(Stopped.into());
            }
            anyhow::bail!("lethe-publish did not end within {} s", LIMIT.as_secs());
        }
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_does_not_end_is_killed_at_a_stop() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let error = wait(&mut child, &|| true).unwrap_err();
        assert!(error.is::<Stopped>());
        assert_eq!(child.try_wait().unwrap().unwrap().code(), None);
    }
}
