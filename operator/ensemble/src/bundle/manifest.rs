//! `bundle.toml`: what an ensemble is made of, where it comes from, what it was measured to do and to cost.

use lethe_core::{LabelSet, TOKENIZER_VERSION, VoteSpec};
use serde::{Deserialize, Serialize};

use super::sha256;

/// Goes up when a bundle's manifest changes its meaning.
pub const BUNDLE_VERSION: u32 = 1;

/// A bundle's manifest. It holds no date and no path of a machine: the same parts give the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleManifest {
    /// [`BUNDLE_VERSION`] of the writer.
    pub format: u32,
    /// [`TOKENIZER_VERSION`] that the members were trained over.
    pub tokenizer: u32,
    /// The label set that decisions are in: the name of one that ships, or the set itself as TOML.
    pub labels: String,
    /// The digest of the base bundle, if this bundle was trained on a site's corrections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrects: Option<String>,
    /// How members are combined.
    pub combine: Rule,
    /// What it was fitted to.
    pub provenance: Provenance,
    /// What it was measured to do, and where.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<Measured>,
    /// The members that are left, the best of cross-validation first: their order is their rank.
    pub members: Vec<Part>,
    /// The digest of the file that the page was read from or written to.
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
    /// A combiner that was fitted, in a file of its own.
    Fitted {
        /// One of [`Fitted::KINDS`](crate::Fitted::KINDS).
        kind: String,
        /// The file's digest.
        digest: String,
        /// Rule members that it was not fitted on, the last of the members: their spans are redacted, too.
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
    /// What it is, as an engine's configuration says it; paths are relative to the bundle.
    pub member: toml::Table,
    /// The digest of what it reads: a model's manifest, which holds those of its files. Rules read nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Its strict micro-F1 in cross-validation, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub f1: Option<f64>,
    /// Its cost in µs per token on one core, including work that it shares with no other member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// What an ensemble was fitted to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The program's version.
    pub version: String,
    /// The seed.
    pub seed: u64,
    /// How many documents' cross-validated predictions it was fitted to.
    pub documents: usize,
    /// SHA-256 over their ids, texts and gold marks, in order.
    pub data: String,
    /// What it was fitted for, in words: an objective, with its floor and ceiling.
    #[serde(default)]
    pub objective: String,
}

/// A measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// On what, in words.
    pub on: String,
    /// On how many documents.
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
    /// Creates a page of this program's versions.
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
            provenance,
            corrects: None,
            measured: Vec::new(),
            members,
            file_digest: None,
        }
    }

    /// Returns the SHA-256 of `bundle.toml`, which identifies the bundle, since it holds the digests of all that its members read.
    ///
    /// It is that of the file's bytes as the page was last read or written: a bundle that an earlier version wrote, under earlier
    /// names of keys, keeps its digest.
    pub fn digest(&self) -> String {
        if let Some(digest) = &self.file_digest {
            return digest.clone();
        }
        // What was read from TOML can be written as TOML.
        sha256(toml::to_string(self).unwrap_or_default().as_bytes())
    }
}
