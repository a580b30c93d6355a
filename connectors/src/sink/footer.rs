//! The footer of a notes file: key-value pairs in its Parquet footer, readable with any Parquet tool.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use parquet::file::metadata::{KeyValue, ParquetMetaData, ParquetMetaDataReader};

use super::{ChainError, ChainId, Damage, Fingerprints, FooterPairs, check_all};
use crate::store::Store;

/// Version of the layout: names, columns and footer. Raised if a reader of the previous version would misread
/// it.
pub const FORMAT: u32 = 1;

/// The fields of a notes file's footer.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Footer {
    /// The chain it belongs to.
    pub chain: ChainId,
    /// Uniquely identifies this write attempt, so that a writer recognises its own file.
    pub commit: String,
    /// Identifies the writer.
    pub writer: String,
    /// First offset.
    pub first: i64,
    /// Offset after the last: the name of the next file.
    pub next: i64,
    /// Number of notes.
    pub notes: u64,
    /// Number of tombstones.
    pub tombstones: u64,
    /// Number of quarantined events.
    pub quarantined: u64,
    /// Number of messages without narrative; 0 in files of earlier versions.
    pub structured: u64,
    /// The audit file, unless nothing was redacted.
    pub audit: Option<String>,
    /// Number of rows that an erasure emptied.
    pub erased: u64,
    /// Number of rows of the audit file.
    pub audit_rows: u64,
    /// Number of audit rows that belong to fields of messages, not to redacted spans.
    pub audit_fields: u64,
    /// SHA-256 of the audit file, hex; `None` in files from before chains had digests.
    pub audit_digest: Option<String>,
    /// SHA-256 of the previous notes file, hex; `None` in a chain's first file, and in files from before
    /// chains had digests.
    pub previous: Option<String>,
    /// Number of notes flagged for review.
    pub review: u64,
    /// The fingerprints of the content.
    pub fingerprints: Fingerprints,
    /// Why the file bridges offsets that were never read. Such a file has no rows.
    pub gap: Option<String>,
}

impl Footer {
    /// Returns the number of rows.
    pub const fn rows(&self) -> u64 {
        self.notes + self.tombstones + self.quarantined + self.structured + self.erased
    }

    /// Returns the number of offsets without a row: transaction markers, aborted and compacted records; all,
    /// in a gap.
    pub const fn skipped(&self) -> u64 {
        // Next is never before first plus rows: the reader and the writer check it.
        ((self.next - self.first) as u64).saturating_sub(self.rows())
    }

    /// Returns the pairs to write.
    pub(crate) fn to_pairs(&self) -> Vec<KeyValue> {
        let mut pairs = Vec::new();
        let mut put = |key: &str, value: String| pairs.push(KeyValue::new(format!("lethe.{key}"), value));
        put("format", FORMAT.to_string());
        put("topic", self.chain.topic.to_string());
        put("partition", self.chain.partition.to_string());
        put("commit", self.commit.clone());
        put("writer", self.writer.clone());
        put("first_offset", self.first.to_string());
        put("next_offset", self.next.to_string());
        put("rows", self.rows().to_string());
        put("notes", self.notes.to_string());
        put("tombstones", self.tombstones.to_string());
        put("quarantined", self.quarantined.to_string());
        put("structured", self.structured.to_string());
        if self.erased > 0 {
            put("erased", self.erased.to_string());
        }
        put("skipped", self.skipped().to_string());
        put("audit_rows", self.audit_rows.to_string());
        put("audit_fields", self.audit_fields.to_string());
        if let Some(audit) = &self.audit {
            put("audit", audit.clone());
        }
        if let Some(digest) = &self.audit_digest {
            put("audit_digest", digest.clone());
        }
        if let Some(previous) = &self.previous {
            put("previous", previous.clone());
        }
        put("review", self.review.to_string());
        for (name, value) in self.fingerprints.entries() {
            put(&format!("fingerprint.{name}"), value.to_owned());
        }
        if let Some(gap) = &self.gap {
            put("gap", gap.clone());
        }
        pairs
    }

    /// Reads the pairs and checks their consistency.
    ///
    /// # Errors
    /// The missing or inconsistent fields.
    pub(crate) fn from_metadata(metadata: &ParquetMetaData) -> Result<Self, Damage> {
        let pairs = FooterPairs::of(metadata);
        pairs.check_format()?;
        let partition = i32::try_from(pairs.offset("partition")?);
        let footer = Self {
            chain: ChainId {
                topic: Arc::from(pairs.text("topic")?),
                partition: partition.map_err(|_| Damage::Contradiction("its partition is too large"))?,
            },
            commit: pairs.text("commit")?,
            writer: pairs.text("writer")?,
            first: pairs.offset("first_offset")?,
            next: pairs.offset("next_offset")?,
            notes: pairs.count("notes")?,
            tombstones: pairs.count("tombstones")?,
            quarantined: pairs.count("quarantined")?,
            structured: pairs.later_count("structured")?,
            erased: pairs.later_count("erased")?,
            audit: pairs.find("audit"),
            audit_rows: pairs.count("audit_rows")?,
            audit_fields: pairs.later_count("audit_fields")?,
            audit_digest: pairs.digest("audit_digest")?,
            previous: pairs.digest("previous")?,
            review: pairs.later_count("review")?,
            fingerprints: Fingerprints::read(|key| pairs.find(key)),
            gap: pairs.find("gap"),
        };
        let rows = pairs.offset("rows")?;
        let counted = footer.notes.checked_add(footer.tombstones);
        let counted = counted.and_then(|counted| counted.checked_add(footer.quarantined));
        let counted = counted.and_then(|counted| counted.checked_add(footer.structured));
        let counted = counted.and_then(|counted| counted.checked_add(footer.erased));
        let skipped = pairs.offset("skipped")?;
        let span = footer.next - footer.first;
        check_all([
            (footer.next > footer.first, "it ends before it begins"),
            (
                counted == Some(rows.unsigned_abs()),
                "its kinds of rows do not add up to its rows",
            ),
            (
                rows == metadata.file_metadata().num_rows(),
                "it has another number of rows than its footer counts",
            ),
            (
                rows.checked_add(skipped) == Some(span),
                "its rows and its skipped offsets do not add up to its offsets",
            ),
            (footer.gap.is_none() || rows == 0, "it is a gap but has rows"),
            (
                // An erasure may leave an audit file without rows.
                footer.audit.is_some() == (footer.audit_rows > 0)
                    || (footer.erased > 0 && footer.audit_rows == 0),
                "it has audit rows without an audit file, or the reverse",
            ),
            (
                footer.audit_digest.is_none() || footer.audit.is_some(),
                "it has a digest of an audit file, but no audit file",
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

/// Returns whether the text has the 64 lower-case hexadecimal digits of a SHA-256.
pub(crate) fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Reads the footer of a notes file.
///
/// # Errors
/// [`ChainError::Footer`] if this program did not write it, or the store's error.
pub async fn read_footer(store: &dyn Store, name: &str) -> Result<Footer, ChainError> {
    read_footer_at(store, name).await
}

pub(crate) async fn read_footer_at(store: &dyn Store, name: &str) -> Result<Footer, ChainError> {
    let metadata = read_metadata(store, name).await?.0;
    Footer::from_metadata(&metadata).map_err(|damage| ChainError::Footer {
        name: name.into(),
        why: damage.to_string(),
    })
}

/// Reads a Parquet file's metadata and its size.
pub(crate) async fn read_metadata(
    store: &dyn Store,
    name: &str,
) -> Result<(ParquetMetaData, u64), ChainError> {
    /// Covers most footers, so that one request suffices.
    const GUESS: u64 = 64 << 10;
    /// Metadata length and magic number, at the end of every Parquet file.
    const TRAILER: usize = 8;
    let damaged = |why: &str| ChainError::Footer {
        name: name.into(),
        why: why.into(),
    };
    let mut end = store.read_tail(name, GUESS).await?;
    let length = trailer(&end.bytes).ok_or_else(|| damaged("it is not a Parquet file"))?;
    if length + TRAILER > end.bytes.len() {
        if (length + TRAILER) as u64 > end.size {
            return Err(damaged("its metadata is truncated"));
        }
        end = store.read_tail(name, (length + TRAILER) as u64).await?;
    }
    let to = end.bytes.len() - TRAILER;
    let from = to
        .checked_sub(length)
        .ok_or_else(|| damaged("its metadata is truncated"))?;
    // The bytes are untrusted: a panic of the library means a damaged file.
    let decode = || ParquetMetaDataReader::decode_metadata(&end.bytes[from..to]);
    let metadata = catch_unwind(AssertUnwindSafe(decode)).ok().and_then(Result::ok);
    let metadata = metadata.ok_or_else(|| damaged("its metadata cannot be decoded"))?;
    Ok((metadata, end.size))
}

fn trailer(end: &Bytes) -> Option<usize> {
    let (rest, magic) = end.split_last_chunk::<4>()?;
    let (_, length) = rest.split_last_chunk::<4>()?;
    (magic == b"PAR1").then(|| u32::from_le_bytes(*length) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Memory;

    #[tokio::test]
    async fn what_is_no_file_of_ours_is_named_and_refused() {
        let store = Memory::default();
        for (name, bytes) in [
            ("short", "PAR1"),
            ("text", "a text, not a Parquet file"),
            ("cut", "\u{1}\0\0\u{1}PAR1"),
        ] {
            store
                .create(name, Bytes::from_static(bytes.as_bytes()))
                .await
                .unwrap();
            let error = read_footer(&store, name).await.unwrap_err();
            assert!(
                matches!(&error, ChainError::Footer { name: named, .. } if named == name),
                "{error}"
            );
        }
    }
}
