//! Secrets that change while the program runs: their files are looked at, and what they are for is made anew.
//!
//! Keys of the policy are never taken up by a running program: what it writes in a name's place would become another in
//! the middle of a patient's notes.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use lethe_connectors::store::{Store, StoreConfig};
use tokio::runtime::Handle;

use crate::config::{Config, SecretFile};

/// How often files are looked at.
pub(crate) const EVERY: Duration = Duration::from_secs(10);

/// How long a store may take to let new keys in.
const ASK: Duration = Duration::from_secs(10);

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The login to the brokers that notes come from.
    Source,
    /// The store of the output.
    Store,
    /// The registry of the payloads' schemas.
    Format,
    /// Where messages go.
    Emit,
    /// What is taken up by the next start alone.
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

/// The files of a configuration, each as it was when it was last taken up.
pub(crate) struct Secrets<'a> {
    config: &'a Config,
    files: Vec<SecretFile>,
}

impl<'a> Secrets<'a> {
    /// Those that parts of the program can take up, and those that none can.
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

    /// Looks at each file. `take_up` is given each part that has other files now, and the configuration with them; what it
    /// refuses is tried again at the next look.
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
                        "changed, and not taken up: {names}: {error:#}; going on with what was there, trying again in {} s",
                        EVERY.as_secs()
                    );
                    continue;
                }
                tracing::info!("changed, and taken up: {names}");
            }
            for (_, now) in these {
                self.files
                    .iter_mut()
                    .filter(|file| file.is_at(&now))
                    .for_each(|file| file.clone_from(&now));
            }
        }
    }

    /// Looks at them until it is over.
    pub(crate) fn watch(
        mut self,
        over: &Receiver<()>,
        take_up: impl Fn(Part, &Config) -> anyhow::Result<()>,
    ) {
        while over.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
            self.look(&take_up);
        }
    }
}

/// Has a store take up other credentials.
///
/// # Errors
/// Why it does not: they are refused, or it has not said in time. Whoever stops the program waits for this.
pub(crate) fn renew_store(runtime: &Handle, store: &dyn Store, config: &StoreConfig) -> anyhow::Result<()> {
    let asked = runtime.block_on(async { tokio::time::timeout(ASK, store.renew(config)).await });
    asked.map_err(|_| anyhow::anyhow!("the store has not said within {} s", ASK.as_secs()))??;
    Ok(())
}

/// The file of the policy's keys, if it is another than at the start.
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
        assert_eq!(look(), 1, "it was refused");
        refuse.replace(false);
        assert_eq!(look(), 1);
        assert_eq!(look(), 0);
        assert_eq!(other_keys(&config), None);
        std::fs::write(path("keys"), "two").unwrap();
        assert_eq!(look(), 0, "keys are for the next start");
        assert!(other_keys(&config).unwrap().contains("policy.keys.file"));
    }
}
