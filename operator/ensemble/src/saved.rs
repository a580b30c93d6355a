//! The file format of fitted combiners: a header of readable settings, then numbers; the kind, the version
//! and a checksum are verified.

use lethe_core::{LabelSet, MemberSet};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::PredictionSet;

const MAGIC: &[u8; 8] = b"LETHECOM";
const VERSION: u32 = 1;

/// Why bytes are not a fitted combiner of the requested kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SavedError {
    /// They do not begin like a combiner.
    #[error("not a fitted combiner")]
    Magic,
    /// Another version of the program wrote them.
    #[error("a combiner of version {found}, but this program reads version {VERSION}; fit it again")]
    Version {
        /// The version that wrote them.
        found: u32,
    },
    /// They are a combiner of another kind.
    #[error("a combiner of another kind than `{wanted}`")]
    Kind {
        /// The requested kind.
        wanted: &'static str,
    },
    /// They are truncated, altered, or contain invalid values.
    #[error("damaged combiner: cut short or altered; copy the file again or fit it again")]
    Damaged,
    /// It was fitted under other labels.
    #[error(
        "fitted under labels that differ from the label set `{set}`; use the label set that it was fitted with"
    )]
    Labels {
        /// The label set's id.
        set: String,
    },
    /// The header cannot be written.
    #[error("the combiner's settings cannot be written: {0}")]
    Header(String),
}

/// The members and labels that a combiner was fitted on: the header before the numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FittedOn {
    /// The members, in the order in which it takes their predictions.
    pub(crate) members: Vec<String>,
    /// Each member's rank by strict micro-F1, 0 the best.
    pub(crate) ranks: Vec<u32>,
    /// The label set's labels, in order.
    pub(crate) labels: Vec<String>,
}

impl FittedOn {
    pub(crate) fn of(predictions: &PredictionSet) -> Self {
        Self {
            members: predictions.members.clone(),
            ranks: predictions.ranks(),
            labels: names(&predictions.labels),
        }
    }

    /// Refuses an invalid number of members, and labels other than those it was fitted with.
    pub(crate) fn check(&self, labels: &LabelSet) -> Result<(), SavedError> {
        if !are_ranked(&self.members, &self.ranks) {
            return Err(SavedError::Damaged);
        }
        same_labels(&self.labels, labels)
    }
}

/// Returns whether the number of members is valid and each of them has a rank.
pub(crate) fn are_ranked(members: &[String], ranks: &[u32]) -> bool {
    (1..=MemberSet::CAPACITY).contains(&members.len()) && ranks.len() == members.len()
}

/// Combines header and numbers.
///
/// # Errors
/// [`SavedError::Header`].
pub(crate) fn pack(
    kind: &'static str,
    header: &impl Serialize,
    numbers: &[u8],
) -> Result<Vec<u8>, SavedError> {
    let header = toml::to_string(header).map_err(|error| SavedError::Header(error.to_string()))?;
    let mut rest = vec![kind.len() as u8];
    rest.extend_from_slice(kind.as_bytes());
    rest.extend_from_slice(&(header.len() as u32).to_le_bytes());
    rest.extend_from_slice(header.as_bytes());
    rest.extend_from_slice(numbers);
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&checksum(&rest).to_le_bytes());
    bytes.extend_from_slice(&rest);
    Ok(bytes)
}

/// Splits header and numbers.
///
/// # Errors
/// Any [`SavedError`] except those about labels: nothing of damaged bytes is used.
pub(crate) fn unpack<'b, P: DeserializeOwned>(
    kind: &'static str,
    bytes: &'b [u8],
) -> Result<(P, &'b [u8]), SavedError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(SavedError::Magic)?;
    let (&version, rest) = rest.split_first_chunk().ok_or(SavedError::Damaged)?;
    let found = u32::from_le_bytes(version);
    if found != VERSION {
        return Err(SavedError::Version { found });
    }
    let (&sum, rest) = rest.split_first_chunk().ok_or(SavedError::Damaged)?;
    if u64::from_le_bytes(sum) != checksum(rest) {
        return Err(SavedError::Damaged);
    }
    let (&length, rest) = rest.split_first().ok_or(SavedError::Damaged)?;
    let (named, rest) = rest.split_at_checked(length.into()).ok_or(SavedError::Damaged)?;
    if named != kind.as_bytes() {
        return Err(SavedError::Kind { wanted: kind });
    }
    let (&length, rest) = rest.split_first_chunk().ok_or(SavedError::Damaged)?;
    let (header, numbers) = rest
        .split_at_checked(u32::from_le_bytes(length) as usize)
        .ok_or(SavedError::Damaged)?;
    let header = toml::from_slice(header).map_err(|_| SavedError::Damaged)?;
    Ok((header, numbers))
}

/// Returns the names of a set's labels, in order, which identify the set for combiners that store labels as
/// numbers.
pub(crate) fn names(labels: &LabelSet) -> Vec<String> {
    labels.labels().iter().map(|label| label.name.clone()).collect()
}

/// Refuses labels other than those that a combiner was fitted with.
pub(crate) fn same_labels(fitted: &[String], labels: &LabelSet) -> Result<(), SavedError> {
    if fitted == names(labels) {
        Ok(())
    } else {
        Err(SavedError::Labels {
            set: labels.id().to_owned(),
        })
    }
}

/// Computes FNV-1a, which detects damage, but not manipulation.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, &byte: &u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Header {
        rate: f64,
    }

    #[test]
    fn what_is_packed_is_unpacked_and_every_cut_or_altered_byte_is_noticed() {
        let bytes = pack("trial", &Header { rate: 0.1 }, &[1, 2, 3]).unwrap();
        let (header, numbers): (Header, _) = unpack("trial", &bytes).unwrap();
        assert_eq!((header, numbers), (Header { rate: 0.1 }, [1, 2, 3].as_slice()));
        for at in 0..bytes.len() {
            assert!(unpack::<Header>("trial", &bytes[..at]).is_err());
            let mut altered = bytes.clone();
            altered[at] ^= 4;
            assert!(unpack::<Header>("trial", &altered).is_err());
        }
        assert_eq!(
            unpack::<Header>("other", &bytes).unwrap_err(),
            SavedError::Kind { wanted: "other" }
        );
        assert_eq!(
            unpack::<Header>("trial", b"something").unwrap_err(),
            SavedError::Magic
        );
    }
}
