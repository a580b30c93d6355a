//! Where a policy comes from: a table of the configuration, a file that it names, or one that the command line names.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lethe_core::{CarriedField, LabelSet};
use lethe_dictionaries::Dictionary;
use lethe_policy::{Policy, PolicyFile};

use super::Config;
use crate::exit::usage;

/// A policy that was read, and what to call it in messages.
#[derive(Clone, Debug)]
pub(crate) struct PolicySource {
    origin: String,
    pub(crate) file: PolicyFile,
}

impl PolicySource {
    /// Reads a policy file.
    ///
    /// # Errors
    /// A usage error that names the file.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let origin = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| usage(format!("{origin}: {error}")))?;
        let file = PolicyFile::parse(&text, &origin).map_err(usage)?;
        Ok(Self { origin, file })
    }

    /// What to call it in messages.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// Holds it against its mode's rules, reads its keys, opens its vault.
    ///
    /// # Errors
    /// A usage error that names the key, and the clause where a rule is why.
    pub(crate) fn build(
        &self,
        labels: &Arc<LabelSet>,
        dictionary: &Arc<Dictionary>,
        carried: &[CarriedField],
    ) -> anyhow::Result<Policy> {
        Policy::build(&self.file, &self.origin, labels, dictionary, carried).map_err(usage)
    }
}

impl Config {
    /// Takes the policy from where the file says; `origin` is the file. Called once, after it is read.
    ///
    /// # Errors
    /// A usage error if it is in two places, or cannot be read.
    pub(super) fn take_policy(&mut self, origin: &str) -> anyhow::Result<()> {
        self.engine.policy = match (self.policy.take(), self.policy_file.take()) {
            (Some(_), Some(_)) => {
                return Err(usage(format!(
                    "{origin}: `[policy]` and `policy_file`: leave one of the two out"
                )));
            }
            (Some(file), None) => Some(PolicySource {
                origin: format!("{origin}, `[policy]`"),
                file,
            }),
            (None, Some(path)) => Some(PolicySource::read(&path)?),
            (None, None) => None,
        };
        Ok(())
    }

    /// Takes the policy that the command line names, if it names one, in the place of the configuration's.
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
