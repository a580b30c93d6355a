//! `external`: the predictions of another tool, for instance MIST, PhysioNet's deid or a hosted service.
//!
//! There are three ways: a finished file of predictions (`path`), a process that answers note by note over pipes
//! (`process`), and a service over HTTP (`service`). A note without usable predictions is
//! quarantined; it never passes with the tool's votes missing.

#[cfg(feature = "http")]
mod http;
mod labels;
mod live;
mod predictions;
mod process;
mod protocol;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use lethe_core::{AnnotationError, LabelError, LabelSet, Tagger};
use lethe_corpus::{CorpusError, Format};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use live::Live;
pub use predictions::External;
pub use process::{ProcessConfig, stop_all};
pub use protocol::Offsets;

/// Settings of an `external` member. Exactly one of `path`, `process` and `service` is set.
// Keys that cannot change an answer are not serialised: the serialised form is the member's part of the
// fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExternalConfig {
    /// The tool's name in votes and audit.
    #[schemars(extend("examples" = ["mist"]))]
    pub name: String,
    /// A file of predictions, or a folder of them. Lethe reads all of it at the start.
    #[serde(default)]
    #[schemars(extend("examples" = ["predictions/mist"]))]
    pub path: Option<PathBuf>,
    /// A process that answers note by note over pipes.
    #[serde(default)]
    pub process: Option<ProcessConfig>,
    /// A service that answers note by note over HTTP.
    #[serde(default)]
    pub service: Option<ServiceConfig>,
    /// The tool's version, required with `process` and `service`. It is a part of the fingerprint, so change it
    /// whenever the tool's answers may change. If an answer names a version, it must be this one.
    #[serde(default)]
    #[schemars(extend("examples" = ["2.0.4"]))]
    pub version: Option<String>,
    /// The unit of `start` and `end` in the answers of a `process` or `service`. Default: `chars`.
    #[serde(default)]
    pub offsets: Option<Offsets>,
    /// The format of the predictions in `path`. By default their content determines it.
    #[serde(default)]
    pub format: Option<Format>,
    /// The engine's label for each label of the tool. A label that is not named here keeps its name, or maps
    /// to the label of the engine's set that stands for it.
    #[serde(default)]
    #[schemars(extend("examples" = [{ "PERSON": "PATIENT" }]))]
    pub labels: BTreeMap<String, String>,
    /// How to treat a note without a prediction in `path`.
    #[serde(default)]
    pub missing: Missing,
}

/// A service that answers over HTTP: one POST for each note.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceConfig {
    /// The address that Lethe posts each note to. Outside of this machine it must begin with `https://`.
    #[schemars(extend("examples" = ["http://127.0.0.1:7801/annotate"]))]
    pub url: String,
    /// A file with a bearer token, which Lethe reads and sends with each request.
    #[serde(default, skip_serializing)]
    #[schemars(extend("examples" = ["/run/secrets/mist-token"]))]
    pub token_file: Option<PathBuf>,
    /// A file of certificates (PEM) that Lethe trusts in addition to those of the system.
    #[serde(default, skip_serializing)]
    #[schemars(extend("examples" = ["/etc/ssl/hospital-ca.pem"]))]
    pub ca: Option<PathBuf>,
    /// Whether to send notes unencrypted to another machine.
    #[serde(default, skip_serializing)]
    #[schemars(extend("default" = false))]
    pub plain_http: bool,
    /// How many notes to ask about at the same time. Default: one for each CPU core.
    #[serde(default, skip_serializing)]
    #[schemars(extend("examples" = [4]))]
    pub requests: Option<usize>,
    /// The time limit for the answer to one note.
    #[serde(default = "timeout_seconds", skip_serializing)]
    #[schemars(extend("default" = timeout_seconds()))]
    pub timeout_seconds: u64,
    /// How often Lethe tries to reach the service again, with growing pauses, before it quarantines a note.
    #[serde(default = "restarts", skip_serializing)]
    #[schemars(extend("default" = restarts()))]
    pub retries: u32,
}

pub(super) fn timeout_seconds() -> u64 {
    30
}

pub(super) fn restarts() -> u32 {
    10
}

/// What becomes of a note that has no prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// Quarantines the note, since the tool has not processed it.
    #[default]
    Fail,
    /// Returns no spans, for tools that omit notes without findings.
    Nothing,
}

/// Why predictions cannot be used. Contains positions, never text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExternalError {
    /// They cannot be read.
    #[error("member `{member}`: {source}")]
    Corpus {
        /// The member's name.
        member: String,
        /// The problem, with file and line.
        source: CorpusError,
    },
    /// The label set lacks a label of the tool.
    #[error("member `{member}`: key `labels.{label}`: {source}")]
    Label {
        /// The member's name.
        member: String,
        /// The tool's label.
        label: String,
        /// The reason.
        source: LabelError,
    },
    /// The configuration maps a label to one that the label set does not have.
    #[error("member `{member}`: key `labels.{label}`: label set `{set}` has no label `{target}`{near}")]
    Target {
        /// The member's name.
        member: String,
        /// The tool's label.
        label: String,
        /// The label that it is mapped to.
        target: String,
        /// The set's id.
        set: String,
        /// The end of the message: the label that was most likely meant, if one is near.
        near: String,
    },
    /// A score is not a number from 0 to 1.
    #[error(
        "member `{member}`: document {document} (counted from 1), span {span}: a score that is not between 0 and 1"
    )]
    Score {
        /// The member's name.
        member: String,
        /// The document, from 1.
        document: usize,
        /// The span's bytes in its text.
        span: lethe_core::Span,
    },
    /// A prediction lies outside its own text.
    #[error("member `{member}`: document {document} (counted from 1): {source}")]
    Span {
        /// The member's name.
        member: String,
        /// The document, from 1.
        document: usize,
        /// The problem with it.
        source: AnnotationError,
    },
    /// The settings of the member contradict each other, or cannot be used.
    #[error("member `{member}`: key `{key}`: {problem}")]
    Setting {
        /// The member's name.
        member: String,
        /// The key within the member's table.
        key: &'static str,
        /// The problem, and what to do.
        problem: String,
    },
}

impl ExternalConfig {
    /// Builds the member. A process is started, and a service asked, when the first note needs it.
    ///
    /// # Errors
    /// [`ExternalError`], naming the member, and the file and line or the key.
    pub fn member(&self, labels: &LabelSet) -> Result<Arc<dyn Tagger>, ExternalError> {
        self.check()?;
        if self.is_live() {
            return Ok(Arc::new(Live::new(self, labels)?));
        }
        Ok(Arc::new(self.build(labels)?))
    }

    /// Returns whether the tool is asked while notes stream.
    pub const fn is_live(&self) -> bool {
        self.process.is_some() || self.service.is_some()
    }

    /// Checks that the keys fit together.
    fn check(&self) -> Result<(), ExternalError> {
        let ways = [
            ("path", self.path.is_some()),
            ("process", self.process.is_some()),
            ("service", self.service.is_some()),
        ];
        let mut given = ways.iter().filter(|(_, given)| *given);
        match (given.next(), given.next()) {
            (Some(_), None) => {}
            (None, _) => {
                return Err(self.setting("path", "missing; set one of `path`, `process` and `service`"));
            }
            (Some(_), Some(&(key, _))) => {
                return Err(self.setting(key, "set only one of `path`, `process` and `service`"));
            }
        }
        if self.is_live() {
            if self
                .version
                .as_ref()
                .is_none_or(|version| version.trim().is_empty())
            {
                return Err(self.setting(
                    "version",
                    "missing; name the version of the tool, which the fingerprint of the output depends on",
                ));
            }
            let file_only = [
                ("format", self.format.is_some()),
                ("missing", self.missing != Missing::Fail),
            ];
            if let Some(&(key, _)) = file_only.iter().find(|(_, given)| *given) {
                return Err(self.setting(key, "is for predictions in `path` only; leave it out"));
            }
        } else if self.offsets.is_some() {
            return Err(self.setting("offsets", "is for `process` and `service` only; leave it out"));
        }
        Ok(())
    }

    fn setting(&self, key: &'static str, problem: impl Into<String>) -> ExternalError {
        ExternalError::Setting {
            member: self.name.clone(),
            key,
            problem: problem.into(),
        }
    }
}

#[cfg(test)]
mod tests;
