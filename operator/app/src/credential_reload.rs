//! Credential reload: checks secret files while the program runs, and rebuilds the parts that use a changed
//! one.
//!
//! A running program never reloads keys of the policy: its replacements would change in the middle of a
//! patient's notes.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use lethe_connectors::store::{Store, StoreConfig};
use tokio::runtime::Handle;

use crate::config::{Config, SecretFile};

/// How often files are checked.
pub(crate) const EVERY: Duration = Duration::from_secs(10);

/// How often a wait checks whether the program stops.
const LOOK: Duration = Duration::from_millis(50);
/// The time limit for a store to accept new credentials.
const ASK: Duration = Duration::from_secs(10);

/// The part of the program that uses a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The login to the brokers that notes come from.
    Source,
    /// The store of the output.
    Store,
    /// The registry of the payloads' schemas.
    Format,
    /// The target of emitted messages.
    Emit,
    /// Everything that is only read at the start.
    Later,
}

impl Part {
    fn of(file: &SecretFile) -> Self {
        [
            ("source.security.", Self::Source),
            ("sink.store.", Self::Store),
            ("format.", Self::Format),
            ("emit.", Self::Emit),
        ]
        .iter()
        .find(|(table, _)| file.key.starts_with(table))
        .map_or(Self::Later, |&(_, part)| part)
    }
}

/// The secret files of a configuration, in their last loaded state.
pub(crate) struct Secrets<'a> {
    config: &'a Config,
    files: Vec<SecretFile>,
}

impl<'a> Secrets<'a> {
    /// Selects the files of these parts, and those that no part can reload.
    pub(crate) fn of(config: &'a Config, parts: &[Part]) -> Self {
        let mine = |file: &&SecretFile| {
            let part = Part::of(file);
            part == Part::Later || parts.contains(&part)
        };
        Self {
            config,
            files: config.secret_files().iter().filter(mine).cloned().collect(),
        }
    }

    /// Checks each file. Calls `take_up` with each part whose files have changed, and the configuration with
    /// them; a failure is tried again at the next check.
    pub(crate) fn look(&mut self, take_up: impl Fn(Part, &Config) -> anyhow::Result<()>) {
        let mut changed: Vec<(Part, SecretFile)> = self
            .files
            .iter()
            .filter_map(SecretFile::changed)
            .map(|file| (Part::of(&file), file))
            .collect();
        while let Some(&(part, _)) = changed.first() {
            let (these, rest): (Vec<_>, Vec<_>) = changed.into_iter().partition(|(of, _)| *of == part);
            changed = rest;
            let names: Vec<String> = these.iter().map(|(_, file)| file.to_string()).collect();
            let names = names.join(", ");
            if part == Part::Later {
                tracing::warn!("changed: {names}; this takes effect at the next start");
            } else {
                let done = self.config.again().and_then(|config| take_up(part, &config));
                if let Err(error) = done {
                    tracing::warn!(
                        "cannot reload {names}: {error:#}; keeping the old values, trying again in {} s",
                        EVERY.as_secs()
                    );
                    continue;
                }
                tracing::info!("reloaded: {names}");
            }
            for (_, now) in these {
                self.files
                    .iter_mut()
                    .filter(|file| file.is_at(&now))
                    .for_each(|file| file.clone_from(&now));
            }
        }
    }

    /// Checks the files until `over` has no sender left. `take_up` receives a function that returns true from
    /// then on, so that its waits do not delay the end of the program.
    pub(crate) fn poll(
        mut self,
        over: &Receiver<()>,
        take_up: impl Fn(Part, &Config, &dyn Fn() -> bool) -> anyhow::Result<()>,
    ) {
        let stopped = || over.try_recv() == Err(TryRecvError::Disconnected);
        while over.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
            self.look(|part, config| take_up(part, config, &stopped));
        }
    }
}

/// Makes a store use new credentials, unless `stopped` returns true before it responds.
///
/// # Errors
/// If the credentials are refused, the store does not respond in time, or the program stops.
pub(crate) fn reload_store(
    runtime: &Handle,
    store: &Arc<dyn Store>,
    config: &StoreConfig,
    stopped: impl Fn() -> bool,
) -> anyhow::Result<()> {
    let (store, config) = (Arc::clone(store), config.clone());
    let mut asking =
        runtime.spawn(async move { tokio::time::timeout(ASK, store.reload_credentials(&config)).await });
    let answer = runtime.block_on(async {
        loop {
            tokio::select! {
                answer = &mut asking => break Some(answer),
                () = tokio::time::sleep(LOOK) => {}
            }
            if stopped() {
                break None;
            }
        }
    });
    let Some(answer) = answer else {
        asking.abort();
        anyhow::bail!("the program stopped before the store responded");
    };
    answer?.map_err(|_| anyhow::anyhow!("the store did not respond within {} s", ASK.as_secs()))??;
    Ok(())
}

/// Returns the file of the policy's keys, if it has changed since the start.
pub(crate) fn other_keys(config: &Config) -> Option<String> {
    let mut keys = config
        .secret_files()
        .iter()
        .filter(|file| file.key.starts_with("policy."));
    keys.find_map(SecretFile::changed).map(|file| file.to_string())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::config::parse;

    #[test]
    fn what_changes_is_taken_up_once_and_what_is_refused_is_tried_again() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        for name in ["key", "secret", "keys"] {
            std::fs::write(path(name), "one").unwrap();
        }
        let text = format!(
            "[sink]\nstore = {{ kind = \"s3\", bucket = \"b\", access_key = \"${{file:{}}}\", secret_key = \"${{file:{}}}\" }}\n\
             [policy]\nmode = \"custom\"\nkeys = {{ file = {:?} }}\n",
            path("key").display(),
            path("secret").display(),
            path("keys"),
        );
        let config = parse(&text, "lethe.toml").unwrap();
        let mut secrets = Secrets::of(&config, &[Part::Store]);
        let (seen, refuse) = (RefCell::new(Vec::new()), RefCell::new(true));
        let mut look = || {
            secrets.look(|part, config| {
                seen.borrow_mut().push((part, format!("{:?}", config.sink)));
                anyhow::ensure!(!*refuse.borrow(), "not yet");
                Ok(())
            });
            seen.take().len()
        };
        assert_eq!(look(), 0);
        std::fs::write(path("key"), "two").unwrap();
        std::fs::write(path("secret"), "two").unwrap();
        assert_eq!(look(), 1, "both are of one part");
        assert_eq!(look(), 1, "the first attempt was refused");
        refuse.replace(false);
        assert_eq!(look(), 1);
        assert_eq!(look(), 0);
        assert_eq!(other_keys(&config), None);
        std::fs::write(path("keys"), "two").unwrap();
        assert_eq!(look(), 0, "keys are only read at the start");
        assert!(other_keys(&config).unwrap().contains("policy.keys.file"));
    }
}
