//! `bundle.toml`: the parts of an ensemble, their provenance, and the measured quality and cost.

use std::collections::BTreeMap;

use lethe_core::{LabelSet, TOKENIZER_VERSION, VoteSpec};
use serde::{Deserialize, Serialize};

use super::{OperatingPoint, sha256};

/// Raised when a bundle's manifest changes its meaning.
pub const BUNDLE_VERSION: u32 = 1;

/// A bundle's manifest. It holds no date and no path of a machine: the same parts give the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleManifest {
    /// The [`BUNDLE_VERSION`] of the writer.
    pub format: u32,
    /// The [`TOKENIZER_VERSION`] that the members were trained with.
    pub tokenizer: u32,
    /// The label set of the decisions: the name of a built-in set, or the set itself as TOML.
    pub labels: String,
    /// The digest of the dictionary that its members read. The bundle carries the file, except if the bundle is
    /// part of a program that has the same dictionary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dictionary: Option<String>,
    /// The digest of the base bundle, if a site's corrections produced this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrects: Option<String>,
    /// The digest of the bundle that this one was made from by replacing members, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// How the members are combined.
    pub combine: Rule,
    /// The votes of its other operating points.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub points: BTreeMap<OperatingPoint, VoteSpec>,
    /// The data that it was fitted to.
    pub provenance: Provenance,
    /// Its measurements.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<Measured>,
    /// The remaining members, the best of cross-validation first: their order is their rank.
    pub members: Vec<Part>,
    /// The digest of the file that the manifest was read from or written to.
    #[serde(skip)]
    pub(super) file_digest: Option<String>,
}

/// How members are combined.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Rule {
    /// Votes over identical spans (Kim 2019, 2020), pruned or not.
    Voting(VoteSpec),
    /// A fitted combiner, in a file of its own.
    Fitted {
        /// One of [`Fitted::KINDS`](crate::Fitted::KINDS).
        kind: String,
        /// The file's digest.
        digest: String,
        /// Rule members that it was not fitted on; they must come last. Their spans are redacted too.
        #[serde(default, alias = "beside", skip_serializing_if = "Vec::is_empty")]
        union_rules: Vec<String>,
    },
}

/// A member of a bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its name in votes and audit.
    pub name: String,
    /// Its kind and settings, as in an engine's configuration; paths are relative to the bundle.
    pub member: toml::Table,
    /// The digest of the files that it reads: a model's manifest holds those of its files. Rules read none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The digest of the member that it replaced in the parent, which the combination was fitted to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// Its strict micro-F1 in cross-validation, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub f1: Option<f64>,
    /// Its cost in µs per token on one core, including work that it shares with no other member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// The data that an ensemble was fitted to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The program's version.
    pub version: String,
    /// The seed.
    pub seed: u64,
    /// The number of documents whose cross-validated predictions it was fitted to.
    pub documents: usize,
    /// SHA-256 over their ids, texts and gold annotations, in order.
    pub data: String,
    /// The objective in words, with its floor and ceiling.
    #[serde(default)]
    pub objective: String,
}

/// A measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The data, in words.
    pub on: String,
    /// The operating point.
    #[serde(default, skip_serializing_if = "OperatingPoint::is_default")]
    pub point: OperatingPoint,
    /// The number of documents.
    pub documents: usize,
    /// Strict micro-F1 with its 95 % interval over documents, all 0 to 1.
    pub f1: [f64; 3],
    /// The share of gold's PHI characters that is redacted, with its interval.
    pub recall: [f64; 3],
    /// Its cost in µs per token on one core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl BundleManifest {
    /// Creates a manifest with this program's versions.
    pub fn new(labels: &LabelSet, combine: Rule, provenance: Provenance, members: Vec<Part>) -> Self {
        let ships = LabelSet::built_in_set(labels.id()).is_some_and(|set| set.to_toml() == labels.to_toml());
        Self {
            format: BUNDLE_VERSION,
            tokenizer: TOKENIZER_VERSION,
            labels: if ships {
                labels.id().to_owned()
            } else {
                labels.to_toml()
            },
            combine,
            points: BTreeMap::new(),
            provenance,
            dictionary: None,
            corrects: None,
            parent: None,
            measured: Vec::new(),
            members,
            file_digest: None,
        }
    }

    /// Returns the SHA-256 of `bundle.toml`, which identifies the bundle, since it holds the digests of all
    /// files that its members read.
    ///
    /// It covers the file's bytes as last read or written, so that a bundle from an earlier version, with
    /// earlier names of keys, keeps its digest.
    pub fn digest(&self) -> String {
        if let Some(digest) = &self.file_digest {
            return digest.clone();
        }
        // What was read from TOML can be written as TOML.
        sha256(toml::to_string(self).unwrap_or_default().as_bytes())
    }
}
