//! The manifest of a backfill: which parts its units have, the digest of each, and the sums of rows in and out.
//!
//! A shard writes its manifest when all of its units are durable, and the manifest of all shards is written last. That one holds
//! the digests of the others, so that its own digest answers for every file of the backfill: manifests, parts, and, through the
//! parts' footers, audit files. Manifests of earlier versions list no files and hold no digests; they still read.

use std::collections::BTreeMap;

use bytes::Bytes;
use lethe_core::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::PartFooter;

/// The folder of manifests.
pub(crate) const MANIFESTS: &str = "manifest";
/// What a dataset says of the configuration that began it.
pub const BEGUN: &str = "backfill.json";

/// Sums over units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Units.
    pub units: u64,
    /// Files of rows.
    pub files: u64,
    /// Rows that the units' files say they stand for, one after the other without a gap: rows in.
    pub rows_in: u64,
    /// Rows in the files: rows out.
    pub rows_out: u64,
    /// Rows that were redacted.
    pub redacted: u64,
    /// Rows that were quarantined.
    pub quarantined: u64,
    /// Texts that were redacted.
    pub texts: u64,
    /// Bytes of those texts before.
    pub text_bytes: u64,
    /// Values that were replaced whole.
    pub identifiers: u64,
    /// Spans that were replaced.
    pub spans: u64,
    /// Rows that a human should look at.
    pub review: u64,
}

impl Totals {
    /// Adds other sums. What anybody may have written could be more than a number holds; such sums stay at its largest, and do not
    /// add up to what is there.
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

/// One object, as far as a shard has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The object's version, as its store had it.
    pub version: String,
    /// Sums over its units.
    #[serde(flatten)]
    pub totals: Totals,
    /// SHA-256 of each of its parts, by their names. Empty in manifests of earlier versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, String>,
}

/// What one shard did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardManifest {
    /// Stands for the units of all shards.
    pub plan: String,
    /// Which shard, from 0.
    pub shard: usize,
    /// Of how many.
    pub shards: usize,
    /// Sums over its units.
    pub totals: Totals,
    /// Objects that could not be read to their ends, and why. What was read of them before is out, and counted.
    pub broken: BTreeMap<String, String>,
    /// Every object of which the shard has units.
    pub objects: BTreeMap<String, Entry>,
}

impl ShardManifest {
    /// Its name.
    pub fn path(&self) -> String {
        shard_path(&self.plan, self.shard, self.shards)
    }

    /// What a version without digests would have written.
    #[must_use]
    pub fn without_digests(&self) -> Self {
        let mut bare = self.clone();
        bare.objects.values_mut().for_each(|entry| entry.parts.clear());
        bare
    }
}

/// What all shards did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WholeManifest {
    /// Stands for the units of all shards.
    pub plan: String,
    /// How many shards there were.
    pub shards: usize,
    /// Sums over all units.
    pub totals: Totals,
    /// Objects that could not be read to their ends, and why.
    pub broken: BTreeMap<String, String>,
    /// SHA-256 of the shards' manifests and of the dataset's description, by their names. Empty in manifests of earlier versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}

impl WholeManifest {
    /// The sum of all shards. `files` are left out.
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

    /// Its name.
    pub fn path(&self) -> String {
        whole_path(&self.plan)
    }

    /// What a version without digests would have written.
    #[must_use]
    pub fn without_digests(&self) -> Self {
        Self {
            files: BTreeMap::new(),
            ..self.clone()
        }
    }
}

/// The name of one shard's manifest.
pub fn shard_path(plan: &str, shard: usize, shards: usize) -> String {
    format!("{MANIFESTS}/{plan}/shard-{shard}-of-{shards}.json")
}

/// The name of the manifest of all shards.
pub(crate) fn whole_path(plan: &str) -> String {
    format!("{MANIFESTS}/{plan}.json")
}

/// A manifest as it is written: the same manifest always has the same bytes.
///
/// # Errors
/// What the library says; a manifest has nothing that it cannot write.
pub fn encode_manifest(manifest: &impl Serialize) -> serde_json::Result<Bytes> {
    let mut bytes = serde_json::to_vec_pretty(manifest)?;
    bytes.push(b'\n');
    Ok(bytes.into())
}

/// Stands for an object, or for a unit, in the names of parts: 16 hexadecimal digits.
fn short(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes())).chars().take(16).collect()
}

/// Stands for an object in the names of its parts. It derives from the name that the output gives the object, so from a code where
/// objects have codes (45 CFR 164.514(c)).
pub fn object_id(object: &str) -> String {
    short(object)
}

/// Stands for a unit in the names of its parts: an object in one version, row groups of it (empty for all), and the digest of the
/// configuration.
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
    fn sums_of_more_than_a_number_holds_do_not_begin_anew() {
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
