//! Names of replayed parts and of their audit files.

use crate::sink::ChainId;

/// The prefix of a chain's folders.
const PREFIX: &str = "replayed/";

/// Identifies a replayed part of a notes file.
///
/// ```
/// use lethe_connectors::replay::ReplayName;
/// use lethe_connectors::sink::ChainId;
///
/// let name = ReplayName { chain: ChainId::new("letters", 0), first: 7, number: 1 };
/// let path = "replayed/notes/topic=letters/partition=0/00000000000000000007-000001.parquet";
/// assert_eq!(name.path(), path);
/// assert_eq!(ReplayName::parse(path), Some(name));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplayName {
    /// The chain of the notes file.
    pub chain: ChainId,
    /// The first offset of the notes file.
    pub first: i64,
    /// Its number among the parts of that notes file, from 0.
    pub number: u32,
}

impl ReplayName {
    /// The folder of all replayed parts.
    pub const NOTES_FOLDER: &str = "replayed/notes";

    /// The folder of the audit files of all replayed parts.
    pub const AUDIT_FOLDER: &str = "replayed/audit";

    /// Returns the folder of a chain's replayed parts.
    pub fn folder(chain: &ChainId) -> String {
        format!("{PREFIX}{}", chain.notes_folder())
    }

    /// Returns the notes file that the part belongs to.
    pub fn original(&self) -> String {
        self.chain.notes_name(self.first)
    }

    /// Returns the part's file name.
    pub fn path(&self) -> String {
        format!(
            "{}/{:020}-{:06}.parquet",
            Self::folder(&self.chain),
            self.first,
            self.number
        )
    }

    /// Returns the name of the audit file for that attempt to write the part.
    pub fn audit_path(&self, commit: uuid::Uuid) -> String {
        let folder = self.chain.audit_folder();
        format!(
            "{PREFIX}{folder}/{:020}-{:06}-{commit}.parquet",
            self.first, self.number
        )
    }

    /// Parses a part's file name; the inverse of [`ReplayName::path`].
    pub fn parse(path: &str) -> Option<Self> {
        let (folder, file) = path.strip_prefix(PREFIX)?.rsplit_once('/')?;
        let (first, number) = file.strip_suffix(".parquet")?.split_once('-')?;
        // The name of the notes file contains chain and offset, and its parser checks both.
        let (chain, first) = ChainId::parse_notes(&format!("{folder}/{first}.parquet"))?;
        let name = Self {
            chain,
            first,
            number: number.parse().ok()?,
        };
        (name.path() == path).then_some(name)
    }

    /// Parses an audit file's name; the inverse of [`ReplayName::audit_path`].
    pub fn parse_audit(path: &str) -> Option<Self> {
        let (folder, file) = path.strip_prefix(PREFIX)?.rsplit_once('/')?;
        let mut words = file.strip_suffix(".parquet")?.splitn(3, '-');
        let (first, number, commit) = (words.next()?, words.next()?, words.next()?);
        let (chain, first, commit) = ChainId::parse_audit(&format!("{folder}/{first}-{commit}.parquet"))?;
        let name = Self {
            chain,
            first,
            number: number.parse().ok()?,
        };
        (name.audit_path(commit) == path).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_name_reads_back_as_it_was_written(
            topic in ".{0,40}", partition in 0..i32::MAX, first in 0..i64::MAX, number: u32, commit: u128,
        ) {
            let name = ReplayName { chain: ChainId::new(topic, partition), first, number };
            prop_assert_eq!(ReplayName::parse(&name.path()), Some(name.clone()));
            let audit = name.audit_path(uuid::Uuid::from_u128(commit));
            prop_assert_eq!(ReplayName::parse_audit(&audit), Some(name.clone()));
            prop_assert_eq!(ReplayName::parse(&audit), None);
            prop_assert_eq!(ReplayName::parse_audit(&name.path()), None);
        }
    }

    #[test]
    fn other_names_are_none_of_a_part() {
        for other in [
            "replayed/notes/topic=t/partition=0/00000000000000000007.parquet",
            "replayed/notes/topic=t/partition=0/7-000001.parquet",
            "replayed/notes/topic=t/partition=0/00000000000000000007-1.parquet",
            "replayed/notes/topic=t/partition=0/00000000000000000007-000001.txt",
            "notes/topic=t/partition=0/00000000000000000007-000001.parquet",
            "replayed/readme.txt",
        ] {
            assert_eq!(ReplayName::parse(other), None, "{other}");
            assert_eq!(ReplayName::parse_audit(other), None, "{other}");
        }
    }
}
