//! The footer of a replayed part: key-value pairs in its Parquet file.

use parquet::file::metadata::{KeyValue, ParquetMetaData};

use super::ReplayName;
use crate::sink::{ChainError, ChainId, Damage, FORMAT, Fingerprints, FooterPairs, check_all, read_metadata};
use crate::store::Store;

/// The fields of a replayed part's footer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayFooter {
    /// The part's name.
    pub name: ReplayName,
    /// Uniquely identifies this attempt to write the part.
    pub commit: String,
    /// SHA-256 of the notes file when its records were replayed, hex.
    pub original_digest: String,
    /// SHA-256 of the previous part, hex; `None` in the first part of a notes file.
    pub previous: Option<String>,
    /// Digest of the configuration: records that are quarantined again under it need not be replayed under it
    /// again.
    pub attempt: String,
    /// Offset of the first row.
    pub first: i64,
    /// The offset after the last row.
    pub next: i64,
    /// Number of rows that are notes now.
    pub notes: u64,
    /// Number of rows that are tombstones now.
    pub tombstones: u64,
    /// Number of rows that are messages without narrative now.
    pub structured: u64,
    /// Number of rows that are quarantined again.
    pub quarantined: u64,
    /// Number of rows that an erasure emptied.
    pub erased: u64,
    /// Number of notes flagged for review.
    pub review: u64,
    /// The audit file and its SHA-256, hex, unless nothing was redacted.
    pub audit: Option<(String, String)>,
    /// Number of rows of the audit file.
    pub audit_rows: u64,
    /// Number of audit rows that belong to fields of messages, not to redacted spans.
    pub audit_fields: u64,
    /// The fingerprints of the content.
    pub fingerprints: Fingerprints,
}

impl ReplayFooter {
    /// Returns a footer without counts, for the first part of an unnamed chain.
    pub(super) fn empty() -> Self {
        Self {
            name: ReplayName {
                chain: ChainId::new("", 0),
                first: 0,
                number: 0,
            },
            commit: String::new(),
            original_digest: String::new(),
            previous: None,
            attempt: String::new(),
            first: 0,
            next: 0,
            notes: 0,
            tombstones: 0,
            structured: 0,
            quarantined: 0,
            erased: 0,
            review: 0,
            audit: None,
            audit_rows: 0,
            audit_fields: 0,
            fingerprints: Fingerprints::default(),
        }
    }

    /// Returns the number of rows.
    pub const fn rows(&self) -> u64 {
        self.replayed() + self.quarantined + self.erased
    }

    /// Returns the number of rows that are no longer quarantined.
    pub const fn replayed(&self) -> u64 {
        self.notes + self.tombstones + self.structured
    }

    /// Returns the pairs to write.
    pub(super) fn to_pairs(&self) -> Vec<KeyValue> {
        let pair = |key: &str, value: String| KeyValue::new(format!("lethe.{key}"), value);
        let mut pairs = vec![
            pair("format", FORMAT.to_string()),
            pair("topic", self.name.chain.topic.to_string()),
            pair("partition", self.name.chain.partition.to_string()),
            pair("replay_of", self.name.original()),
            pair("replay_of_digest", self.original_digest.clone()),
            pair("replay_number", self.name.number.to_string()),
            pair("replay_attempt", self.attempt.clone()),
            pair("commit", self.commit.clone()),
            pair("first_offset", self.first.to_string()),
            pair("next_offset", self.next.to_string()),
            pair("rows", self.rows().to_string()),
        ];
        pairs.extend(self.counts().map(|(key, count)| pair(key, count.to_string())));
        if self.erased > 0 {
            pairs.push(pair("erased", self.erased.to_string()));
        }
        pairs.extend(
            self.previous
                .iter()
                .map(|digest| pair("previous", digest.clone())),
        );
        if let Some((audit, digest)) = &self.audit {
            pairs.push(pair("audit", audit.clone()));
            pairs.push(pair("audit_digest", digest.clone()));
        }
        for (name, value) in self.fingerprints.entries() {
            pairs.push(pair(&format!("fingerprint.{name}"), value.to_owned()));
        }
        pairs
    }

    const fn counts(&self) -> [(&'static str, u64); 7] {
        [
            ("notes", self.notes),
            ("tombstones", self.tombstones),
            ("structured", self.structured),
            ("quarantined", self.quarantined),
            ("review", self.review),
            ("audit_rows", self.audit_rows),
            ("audit_fields", self.audit_fields),
        ]
    }

    /// Reads the pairs of the part with that name and checks their consistency.
    fn from_metadata(name: ReplayName, metadata: &ParquetMetaData) -> Result<Self, Damage> {
        let pairs = FooterPairs::of(metadata);
        pairs.check_format()?;
        let required = |key: &str| {
            let missing = || Damage::MissingPair { key: key.to_owned() };
            pairs.digest(key)?.ok_or_else(missing)
        };
        let audit = pairs.find("audit");
        let footer = Self {
            commit: pairs.text("commit")?,
            original_digest: required("replay_of_digest")?,
            previous: pairs.digest("previous")?,
            attempt: pairs.text("replay_attempt")?,
            first: pairs.offset("first_offset")?,
            next: pairs.offset("next_offset")?,
            notes: pairs.count("notes")?,
            tombstones: pairs.count("tombstones")?,
            structured: pairs.count("structured")?,
            quarantined: pairs.count("quarantined")?,
            erased: pairs.later_count("erased")?,
            review: pairs.count("review")?,
            audit: audit
                .map(|audit| Ok::<_, Damage>((audit, required("audit_digest")?)))
                .transpose()?,
            audit_rows: pairs.count("audit_rows")?,
            audit_fields: pairs.count("audit_fields")?,
            fingerprints: Fingerprints::read(|key| pairs.find(key)),
            name,
        };
        let is_named = pairs.text("replay_of")? == footer.name.original()
            && pairs.count("replay_number")? == u64::from(footer.name.number);
        let kinds = [
            footer.notes,
            footer.tombstones,
            footer.structured,
            footer.quarantined,
            footer.erased,
        ];
        let counted = kinds.into_iter().try_fold(0_u64, u64::checked_add);
        let rows = u64::try_from(metadata.file_metadata().num_rows()).ok();
        check_all([
            (is_named, "the footer belongs to another notes file or number"),
            (
                counted.is_some() && counted == rows && rows == Some(pairs.count("rows")?),
                "its rows do not add up to the counts in its footer",
            ),
            (
                footer.name.first <= footer.first && footer.first < footer.next,
                "it ends before it begins, or begins before its notes file",
            ),
            (
                footer.previous.is_some() == (footer.name.number > 0),
                "the first part refers to a previous part, or a later one does not",
            ),
            (
                // An erasure may leave an audit file without rows.
                footer.audit.is_some() == (footer.audit_rows > 0)
                    || (footer.erased > 0 && footer.audit_rows == 0),
                "it has audit rows without an audit file, or the reverse",
            ),
            (
                footer.audit_fields <= footer.audit_rows,
                "it has more audit rows of fields than audit rows",
            ),
            (
                footer.review <= footer.notes,
                "it has more notes to review than notes",
            ),
        ])?;
        Ok(footer)
    }
}

/// Reads the footer of a replayed part.
///
/// # Errors
/// [`ChainError::Stray`] if its name is not that of a part, [`ChainError::Footer`] if its footer cannot be
/// read or contradicts its name, or the store's error.
pub async fn read_replay(store: &dyn Store, path: &str) -> Result<ReplayFooter, ChainError> {
    let name = ReplayName::parse(path).ok_or_else(|| ChainError::Stray { name: path.into() })?;
    let metadata = read_metadata(store, path).await?.0;
    ReplayFooter::from_metadata(name, &metadata).map_err(|damage| ChainError::Footer {
        name: path.into(),
        why: damage.to_string(),
    })
}
