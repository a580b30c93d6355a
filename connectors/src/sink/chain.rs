//! Chains and the names of their files.

use std::fmt;
use std::sync::Arc;

/// The output of one partition of one topic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct ChainId {
    /// Topic, or the name of an input file.
    #[serde(serialize_with = "as_str")]
    pub topic: Arc<str>,
    /// Partition, 0 or more.
    pub partition: i32,
}

impl ChainId {
    /// Returns the chain of a topic's partition.
    pub fn new(topic: impl Into<Arc<str>>, partition: i32) -> Self {
        Self {
            topic: topic.into(),
            partition,
        }
    }

    /// Returns the folder of its notes files: `notes/topic=T/partition=P`.
    pub fn notes_folder(&self) -> String {
        self.folder("notes")
    }

    /// Returns the folder of its audit files.
    pub fn audit_folder(&self) -> String {
        self.folder("audit")
    }

    /// Returns the name of the notes file that begins at this offset.
    pub fn notes_name(&self, first: i64) -> String {
        format!("{}/{first:020}.parquet", self.notes_folder())
    }

    /// Returns the name of the audit file of that notes file and write attempt.
    pub fn audit_name(&self, first: i64, commit: uuid::Uuid) -> String {
        format!("{}/{first:020}-{commit}.parquet", self.audit_folder())
    }

    /// Parses chain and first offset from a notes file's name; the inverse of [`ChainId::notes_name`].
    pub fn parse_notes(name: &str) -> Option<(Self, i64)> {
        let (chain, file) = Self::parse_folder(name, "notes/")?;
        let first = parse_offset(file.strip_suffix(".parquet")?)?;
        Some((chain, first))
    }

    /// Parses chain, first offset and attempt from an audit file's name; the inverse of
    /// [`ChainId::audit_name`].
    pub fn parse_audit(name: &str) -> Option<(Self, i64, uuid::Uuid)> {
        let (chain, file) = Self::parse_folder(name, "audit/")?;
        let (first, commit) = file.strip_suffix(".parquet")?.split_once('-')?;
        let parsed = uuid::Uuid::parse_str(commit).ok()?;
        (parsed.to_string() == commit).then_some((chain, parse_offset(first)?, parsed))
    }

    fn folder(&self, dataset: &str) -> String {
        format!(
            "{dataset}/topic={}/partition={}",
            encode(&self.topic),
            self.partition
        )
    }

    fn parse_folder<'a>(name: &'a str, dataset: &str) -> Option<(Self, &'a str)> {
        let rest = name.strip_prefix(dataset)?.strip_prefix("topic=")?;
        let (topic, rest) = rest.split_once('/')?;
        let (partition, file) = rest.strip_prefix("partition=")?.split_once('/')?;
        let parsed: i32 = partition.parse().ok()?;
        let decoded = decode(topic)?;
        let canonical = parsed >= 0 && parsed.to_string() == partition && encode(&decoded) == topic;
        canonical.then(|| (Self::new(decoded, parsed), file))
    }
}

impl fmt::Display for ChainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.topic, self.partition)
    }
}

fn as_str<S: serde::Serializer>(topic: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(topic)
}

/// Parses exactly twenty digits.
fn parse_offset(digits: &str) -> Option<i64> {
    let plain = digits.len() == 20 && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

/// Percent-encodes (RFC 3986, section 2.1) everything except letters, digits, `.`, `_` and `-`, the
/// characters of Kafka topic names.
fn encode(topic: &str) -> String {
    use std::fmt::Write as _;
    let mut encoded = String::with_capacity(topic.len());
    for byte in topic.bytes() {
        if byte.is_ascii_alphanumeric() || b"._-".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ok = write!(encoded, "%{byte:02X}").is_ok();
        }
    }
    encoded
}

fn decode(encoded: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            bytes.push((digit()? * 16 + digit()?) as u8);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_name_is_read_back_as_it_was_written(topic in ".{0,40}", partition in 0..i32::MAX, first in 0..i64::MAX, commit: u128) {
            let chain = ChainId::new(topic, partition);
            prop_assert_eq!(ChainId::parse_notes(&chain.notes_name(first)), Some((chain.clone(), first)));
            let commit = uuid::Uuid::from_u128(commit);
            prop_assert_eq!(ChainId::parse_audit(&chain.audit_name(first, commit)), Some((chain, first, commit)));
        }

        #[test]
        fn names_of_one_chain_sort_as_their_offsets_do(a in 0..i64::MAX, b in 0..i64::MAX) {
            let chain = ChainId::new("t", 0);
            prop_assert_eq!(chain.notes_name(a).cmp(&chain.notes_name(b)), a.cmp(&b));
        }

        #[test]
        fn whatever_is_read_is_written_the_same(name in "notes/topic=[a-z%0-9A-F.]{0,6}/partition=[0-9+-]{1,3}/[0-9]{19,21}.parquet") {
            if let Some((chain, first)) = ChainId::parse_notes(&name) {
                prop_assert_eq!(chain.notes_name(first), name);
            }
        }
    }

    #[test]
    fn a_topic_cannot_lead_into_another_folder() {
        let name = ChainId::new("../../etc", 3).notes_name(7);
        assert_eq!(
            name,
            "notes/topic=..%2F..%2Fetc/partition=3/00000000000000000007.parquet"
        );
    }
}
