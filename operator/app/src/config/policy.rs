//! Where a policy comes from: a table of the configuration, a file that it names, or one that the command line names.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lethe_core::{CarriedField, LabelSet};
use lethe_dictionaries::Dictionary;
use lethe_policy::{Policy, PolicyError, PolicyFile};

use super::Config;
use super::paths::Base;
use crate::exit::usage;

/// A policy that was read, and what to call it in messages.
#[derive(Clone, Debug)]
pub(crate) struct PolicySource {
    origin: String,
    pub(crate) file: PolicyFile,
}

impl PolicySource {
    /// Reads a policy file, whose relative paths start at its folder.
    ///
    /// # Errors
    /// A usage error that names the file.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let origin = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| usage(format!("{origin}: {error}")))?;
        let file = PolicyFile::parse(&text, &origin).map_err(usage)?;
        Self::new(origin, file, &Base::of(path))
    }

    fn new(origin: String, file: PolicyFile, base: &Base) -> anyhow::Result<Self> {
        let file = file.with_paths(|key, path| {
            base.resolve(path)
                .map_err(|why| usage(format!("{origin}, key `{key}`: {why}")))
        })?;
        Ok(Self { origin, file })
    }

    /// What to call it in messages.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// Holds it against its mode's rules, reads its keys, opens its vault.
    ///
    /// # Errors
    /// A usage error that names the key, and the clause where a rule is why. For a vault that is away, an error for which
    /// [`is_away`] holds.
    pub(crate) fn build(
        &self,
        labels: &Arc<LabelSet>,
        dictionary: &Arc<Dictionary>,
        carried: &[CarriedField],
    ) -> anyhow::Result<Policy> {
        Policy::build(&self.file, &self.origin, labels, dictionary, carried).map_err(refused)
    }
}

/// The error of a policy: of usage, unless a restart may help.
pub(crate) fn refused(error: PolicyError) -> anyhow::Error {
    if error.is_temporary() {
        error.into()
    } else {
        usage(error)
    }
}

/// Whether something that a policy needs is away for now, so that the same call may succeed later.
pub(crate) fn is_away(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<PolicyError>()
        .is_some_and(PolicyError::is_temporary)
}

impl Config {
    /// Takes the policy from where the file says; `origin` is the file and `base` its folder. Called once, after it is read.
    ///
    /// # Errors
    /// A usage error if it is in two places, or cannot be read.
    pub(super) fn take_policy(&mut self, origin: &str, base: &Base) -> anyhow::Result<()> {
        self.engine.policy = match (self.policy.take(), self.policy_file.take()) {
            (Some(_), Some(_)) => {
                return Err(usage(format!(
                    "{origin}: `[policy]` and `policy_file`: leave one of the two out"
                )));
            }
            (Some(file), None) => Some(PolicySource::new(format!("{origin}, `[policy]`"), file, base)?),
            (None, Some(path)) => Some(PolicySource::read(&path)?),
            (None, None) => None,
        };
        Ok(())
    }

    /// Replaces the configuration's policy with that of the command line, if it names one.
    ///
    /// # Errors
    /// As [`PolicySource::read`].
    pub(crate) fn with_policy(mut self, path: Option<&PathBuf>) -> anyhow::Result<Self> {
        if let Some(path) = path {
            self.engine.policy = Some(PolicySource::read(path)?);
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use lethe_core::NoteBatch;

    /// Returns a note as an engine of rules redacts it under a policy.
    fn redacted(policy: &str, note: &str) -> String {
        let members = "[engine]\nmembers = [{ kind = \"pattern\" }, { kind = \"context\" }]\n";
        let text = format!("{members}[policy]\n{policy}\n");
        let config = crate::config::load::parse(&text, "lethe.toml").unwrap();
        let engine = config.engine.build().unwrap().engine;
        let batch = NoteBatch::from_texts([note]).unwrap();
        let outcome = engine.decide(&batch).remove(0);
        engine.redact(&batch, 0, &outcome).unwrap().text
    }

    #[test]
    fn a_title_goes_with_its_name_if_the_policy_says_so() {
        let note = "Seen by Dr. Okafor. Mrs. Pellworth slept; OKAFOR and Dr. Okafor agree.";
        assert_eq!(
            redacted("mode = \"safe-harbor\"\ntitles = true", note),
            "Seen by [DOCTOR]. [PATIENT] slept; [DOCTOR] and [DOCTOR] agree."
        );
        assert_eq!(
            redacted("mode = \"safe-harbor\"", note),
            "Seen by Dr. [DOCTOR]. Mrs. [PATIENT] slept; [DOCTOR] and Dr. [DOCTOR] agree."
        );
    }
}
