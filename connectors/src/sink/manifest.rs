//! The manifest of a backfill: the parts of its units with their digests, and the totals of rows in and out.
//!
//! A shard writes its manifest when all of its units are durable, and the manifest of all shards is written
//! last. It holds the digests of the others, so that its own digest covers every file of the backfill:
//! manifests, parts, and, through the parts' footers, audit files. Manifests of earlier versions list no
//! files and no digests; they can still be read.

use std::collections::BTreeMap;

use bytes::Bytes;
use lethe_core::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::PartFooter;

/// The folder of manifests.
pub(crate) const MANIFESTS: &str = "manifest";
/// The description of the configuration that began the dataset.
pub const BEGUN: &str = "backfill.json";

/// Totals over units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Number of units.
    pub units: u64,
    /// Number of files of rows.
    pub files: u64,
    /// Number of rows in: the rows that the units' files cover, one after another without a gap.
    pub rows_in: u64,
    /// Number of rows in the files: rows out.
    pub rows_out: u64,
    /// Number of redacted rows.
    pub redacted: u64,
    /// Number of quarantined rows.
    pub quarantined: u64,
    /// Number of redacted texts.
    pub texts: u64,
    /// Bytes of those texts before redaction.
    pub text_bytes: u64,
    /// Number of values that were replaced whole.
    pub identifiers: u64,
    /// Number of replaced spans.
    pub spans: u64,
    /// Number of rows flagged for review.
    pub review: u64,
}

impl Totals {
    /// Adds other totals. Untrusted counts could overflow; such totals saturate, and then contradict the
    /// actual counts.
    pub fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.units, other.units),
            (&mut self.files, other.files),
            (&mut self.rows_in, other.rows_in),
            (&mut self.rows_out, other.rows_out),
            (&mut self.redacted, other.redacted),
            (&mut self.quarantined, other.quarantined),
            (&mut self.texts, other.texts),
            (&mut self.text_bytes, other.text_bytes),
            (&mut self.identifiers, other.identifiers),
            (&mut self.spans, other.spans),
            (&mut self.review, other.review),
        ];
        for (sum, more) in pairs {
            *sum = sum.saturating_add(more);
        }
    }

    /// Adds one part of a unit.
    pub fn add_part(&mut self, footer: &PartFooter) {
        self.add(&Self {
            units: 0,
            files: 1,
            rows_in: footer.next.saturating_sub(footer.first),
            rows_out: footer.redacted.saturating_add(footer.quarantined),
            redacted: footer.redacted,
            quarantined: footer.quarantined,
            texts: footer.texts,
            text_bytes: footer.text_bytes,
            identifiers: footer.identifiers,
            spans: footer.spans,
            review: footer.review,
        });
    }
}

/// A shard's entry of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The object's version in its store.
    pub version: String,
    /// Totals over its units.
    #[serde(flatten)]
    pub totals: Totals,
    /// SHA-256 of each of its parts by name. Empty in manifests of earlier versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, String>,
}

/// The manifest of one shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardManifest {
    /// Identifies the set of units of all shards.
    pub plan: String,
    /// The shard's index, from 0.
    pub shard: usize,
    /// Number of shards.
    pub shards: usize,
    /// Totals over its units.
    pub totals: Totals,
    /// Objects that could not be read to the end, with the reason. The rows before the error are written and
    /// counted.
    pub broken: BTreeMap<String, String>,
    /// Every object of which the shard has units.
    pub objects: BTreeMap<String, Entry>,
}

impl ShardManifest {
    /// Returns its name.
    pub fn path(&self) -> String {
        shard_path(&self.plan, self.shard, self.shards)
    }

    /// Returns the manifest that a version without digests would have written.
    #[must_use]
    pub fn without_digests(&self) -> Self {
        let mut bare = self.clone();
        bare.objects.values_mut().for_each(|entry| entry.parts.clear());
        bare
    }
}

/// The manifest of all shards.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WholeManifest {
    /// Identifies the set of units of all shards.
    pub plan: String,
    /// Number of shards.
    pub shards: usize,
    /// Totals over all units.
    pub totals: Totals,
    /// Objects that could not be read to the end, with the reason.
    pub broken: BTreeMap<String, String>,
    /// SHA-256 of the shards' manifests and of the dataset's description by name. Empty in manifests of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}

impl WholeManifest {
    /// Returns the sum of all shards, without `files`.
    pub fn of<'a>(plan: &str, shards: impl IntoIterator<Item = &'a ShardManifest>) -> Self {
        let mut whole = Self {
            plan: plan.to_owned(),
            ..Self::default()
        };
        for shard in shards {
            whole.shards = shard.shards;
            whole.totals.add(&shard.totals);
            whole.broken.extend(shard.broken.clone());
        }
        whole
    }

    /// Returns its name.
    pub fn path(&self) -> String {
        whole_path(&self.plan)
    }

    /// Returns the manifest that a version without digests would have written.
    #[must_use]
    pub fn without_digests(&self) -> Self {
        Self {
            files: BTreeMap::new(),
            ..self.clone()
        }
    }
}

/// Returns the name of one shard's manifest.
pub fn shard_path(plan: &str, shard: usize, shards: usize) -> String {
    format!("{MANIFESTS}/{plan}/shard-{shard}-of-{shards}.json")
}

/// Returns the name of the manifest of all shards.
pub(crate) fn whole_path(plan: &str) -> String {
    format!("{MANIFESTS}/{plan}.json")
}

/// Encodes a manifest; equal manifests have equal bytes.
///
/// # Errors
/// The library's error, which does not occur for a manifest.
pub fn encode_manifest(manifest: &impl Serialize) -> serde_json::Result<Bytes> {
    let mut bytes = serde_json::to_vec_pretty(manifest)?;
    bytes.push(b'\n');
    Ok(bytes.into())
}

/// Returns the id of an object or a unit in the names of parts: 16 hexadecimal digits.
fn short(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes())).chars().take(16).collect()
}

/// Returns the id of an object in the names of its parts. It derives from the object's name in the output,
/// and so from its code if objects have codes (45 CFR 164.514(c)).
pub fn object_id(object: &str) -> String {
    short(object)
}

/// Returns the id of a unit in the names of its parts. It covers an object in one version, its row groups
/// (empty for all), and the digest of the configuration.
pub fn unit_id(object: &str, version: &str, groups: &str, configuration: &str) -> String {
    short(&format!("{object}\n{version}\n{groups}\n{configuration}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_without_digests_reads_and_is_written_as_it_was() {
        let old = "{\n  \"plan\": \"p\",\n  \"shards\": 1,\n  \"totals\": {\n    \"units\": 1,\n    \"files\": 2,\n    \"rows_in\": 3,\n    \"rows_out\": 3,\n    \"redacted\": 3,\n    \"quarantined\": 0,\n    \"texts\": 3,\n    \"text_bytes\": 9,\n    \"identifiers\": 0,\n    \"spans\": 1,\n    \"review\": 0\n  },\n  \"broken\": {}\n}\n";
        let read: WholeManifest = serde_json::from_str(old).unwrap();
        assert_eq!(encode_manifest(&read).unwrap(), old.as_bytes());
        let mut new = read.clone();
        new.files.insert("a".into(), "b".into());
        assert_eq!(new.without_digests(), read);
    }

    #[test]
    fn sums_saturate() {
        let most = Totals {
            rows_out: u64::MAX,
            ..Totals::default()
        };
        let mut sum = Totals {
            rows_out: 2,
            ..Totals::default()
        };
        sum.add(&most);
        assert_eq!(sum, most);
    }
}
