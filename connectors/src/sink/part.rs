//! The sink of a backfill: parts of tables, each created once as a file under a name that is derived from its
//! input.
//!
//! So a run skips existing parts and writes missing ones, without coordination between processes. A unit's
//! parts are numbered, and the name of the last one marks it as the last.
//!
//! Invariants: a file is never changed, rows are written after their audit, and no footer or statistic
//! contains text of a note, as in chains.

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, ParquetMetaData};

use super::digest::digest_of;
use super::encode::{Sheet, kind};
use super::stored::without_ids;
use super::{ChainError, Damage, Encoding, FORMAT, Fingerprints, FooterPairs, check_all, read_metadata};
use crate::store::{Store, StoreError};

/// Folders of rows and of their audit.
const ROWS: &str = "rows";
const AUDIT: &str = "audit";

/// Identifies a part of a unit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartName {
    /// Id of the object: 16 hexadecimal digits.
    pub object: String,
    /// Id of everything that determines the rows: 16 more digits.
    pub unit: String,
    /// Its number, from 0.
    pub part: u32,
    /// Whether it is the unit's last.
    pub last: bool,
}

impl PartName {
    /// Returns the folder of all parts.
    pub const fn folder() -> &'static str {
        ROWS
    }

    fn stem(&self) -> String {
        let last = if self.last { "-last" } else { "" };
        format!("{}-{}-{:06}{last}", self.object, self.unit, self.part)
    }

    /// Returns the file's name.
    pub fn path(&self) -> String {
        format!("{ROWS}/{}.parquet", self.stem())
    }

    /// Parses a part's file name.
    pub fn parse(path: &str) -> Option<Self> {
        let stem = path
            .strip_prefix(ROWS)?
            .strip_prefix('/')?
            .strip_suffix(".parquet")?;
        let mut words = stem.split('-');
        let (object, unit, part) = (words.next()?, words.next()?, words.next()?);
        let name = Self {
            object: object.to_owned(),
            unit: unit.to_owned(),
            part: part.parse().ok()?,
            last: words.next() == Some("last"),
        };
        // A name that does not round-trip was not written by this program.
        (name.path() == path).then_some(name)
    }

    /// Parses an audit file's name to its part.
    pub fn parse_audit(path: &str) -> Option<Self> {
        let stem = path
            .strip_prefix(AUDIT)?
            .strip_prefix('/')?
            .strip_suffix(".parquet")?;
        let (stem, digest) = stem.rsplit_once('-')?;
        let is_short = digest.len() == 16 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        Self::parse(&format!("{ROWS}/{stem}.parquet")).filter(|_| is_short)
    }
}

/// The fields of a part's footer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartFooter {
    /// The object's name.
    pub object: String,
    /// The object's version in its store.
    pub version: String,
    /// The unit's row groups of the object, as `FROM..TO`; empty for all.
    pub groups: String,
    /// Number of the unit's rows before this file.
    pub first: u64,
    /// Number of the unit's rows up to the end of this file.
    pub next: u64,
    /// Number of redacted rows.
    pub redacted: u64,
    /// Number of quarantined rows.
    pub quarantined: u64,
    /// Number of redacted texts; a row has several if several columns or lists hold text.
    pub texts: u64,
    /// Bytes of those texts before redaction.
    pub text_bytes: u64,
    /// Number of values that were replaced whole.
    pub identifiers: u64,
    /// Number of replaced spans, which equals the audit rows.
    pub spans: u64,
    /// Number of rows flagged for review.
    pub review: u64,
    /// The audit file and its SHA-256, unless nothing was replaced.
    pub audit: Option<(String, String)>,
    /// The fingerprints of the content.
    pub fingerprints: Fingerprints,
}

impl PartFooter {
    /// Returns the counts with their names.
    fn counts(&self) -> [(&'static str, u64); 9] {
        [
            ("first_row", self.first),
            ("next_row", self.next),
            ("redacted", self.redacted),
            ("quarantined", self.quarantined),
            ("texts", self.texts),
            ("text_bytes", self.text_bytes),
            ("identifiers", self.identifiers),
            ("audit_rows", self.spans),
            ("review", self.review),
        ]
    }

    fn to_pairs(&self) -> Vec<KeyValue> {
        let pair = |key: &str, value: String| KeyValue::new(format!("lethe.{key}"), value);
        let mut pairs = vec![
            pair("format", FORMAT.to_string()),
            pair("object", self.object.clone()),
            pair("version", self.version.clone()),
            pair("groups", self.groups.clone()),
        ];
        pairs.extend(self.counts().map(|(key, count)| pair(key, count.to_string())));
        if let Some((audit, digest)) = &self.audit {
            pairs.push(pair("audit", audit.clone()));
            pairs.push(pair("audit_digest", digest.clone()));
        }
        for (name, value) in self.fingerprints.entries() {
            pairs.push(pair(&format!("fingerprint.{name}"), value.to_owned()));
        }
        pairs
    }

    fn from_metadata(metadata: &ParquetMetaData) -> Result<Self, Damage> {
        let pairs = FooterPairs::of(metadata);
        let footer = Self {
            object: pairs.text("object")?,
            version: pairs.text("version")?,
            groups: pairs.text("groups")?,
            first: pairs.count("first_row")?,
            next: pairs.count("next_row")?,
            redacted: pairs.count("redacted")?,
            quarantined: pairs.count("quarantined")?,
            texts: pairs.count("texts")?,
            text_bytes: pairs.count("text_bytes")?,
            identifiers: pairs.count("identifiers")?,
            spans: pairs.count("audit_rows")?,
            review: pairs.count("review")?,
            audit: pairs.find("audit").zip(pairs.find("audit_digest")),
            fingerprints: Fingerprints::read(|key| pairs.find(key)),
        };
        let rows = u64::try_from(metadata.file_metadata().num_rows()).unwrap_or(0);
        let next = footer.first.checked_add(rows);
        let counted = footer.redacted.checked_add(footer.quarantined);
        check_all([(
            next == Some(footer.next) && counted == Some(rows),
            "its rows do not add up to the counts in its footer",
        )])?;
        Ok(footer)
    }
}

/// Reads the footer of a part's file.
///
/// # Errors
/// [`ChainError::Footer`] if this program did not write it, or the store's error.
pub async fn read_part(store: &dyn Store, path: &str) -> Result<PartFooter, ChainError> {
    let metadata = read_metadata(store, path).await?.0;
    PartFooter::from_metadata(&metadata).map_err(|damage| ChainError::Footer {
        name: path.into(),
        why: damage.to_string(),
    })
}

/// A part under construction, in memory.
pub struct Part {
    rows: Sheet,
    audit: Sheet,
}

/// An encoded part that is not written yet.
#[derive(Debug)]
pub struct SealedPart {
    path: String,
    digest: String,
    rows: Bytes,
    audit: Option<(String, Bytes)>,
}

/// A part could not be encoded. The library's message is dropped, since it could quote a value.
#[derive(Debug, thiserror::Error)]
#[error("a part could not be encoded: {0}")]
pub struct EncodeError(&'static str);

impl From<ParquetError> for EncodeError {
    fn from(error: ParquetError) -> Self {
        Self(kind(&error))
    }
}

impl Part {
    /// Returns an empty part with these columns.
    pub fn new(rows: &Schema, audit: &Schema, encoding: Encoding) -> Self {
        Self {
            rows: Sheet::new(without_ids(rows), encoding),
            audit: Sheet::of_audit(audit, encoding),
        }
    }

    /// Adds rows with their audit.
    ///
    /// # Errors
    /// [`EncodeError`], after which the part must be dropped.
    pub fn push(&mut self, rows: &RecordBatch, audit: &RecordBatch) -> Result<(), EncodeError> {
        self.rows.write(rows)?;
        Ok(self.audit.write(audit)?)
    }

    /// Returns the number of rows.
    pub const fn rows(&self) -> u64 {
        self.rows.rows()
    }

    /// Encodes the files and sets the footer's audit.
    ///
    /// # Errors
    /// [`EncodeError`].
    pub fn seal(mut self, name: &PartName, footer: &mut PartFooter) -> Result<SealedPart, EncodeError> {
        let mut audit = None;
        if self.audit.rows() > 0 {
            let bytes = self.audit.finish(footer.to_pairs())?;
            let digest = digest_of(&bytes);
            // The name also depends on the bytes, so that the file of an interrupted run does not collide.
            let short: String = digest.chars().take(16).collect();
            let path = format!("{AUDIT}/{}-{short}.parquet", name.stem());
            footer.audit = Some((path.clone(), digest));
            audit = Some((path, bytes));
        }
        let rows = self.rows.finish(footer.to_pairs())?;
        Ok(SealedPart {
            path: name.path(),
            digest: digest_of(&rows),
            rows,
            audit,
        })
    }
}

impl SealedPart {
    /// Returns the SHA-256 of its file of rows, hex.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns its size in bytes, including the audit.
    pub fn size(&self) -> u64 {
        (self.rows.len() + self.audit.as_ref().map_or(0, |(_, bytes)| bytes.len())) as u64
    }

    /// Writes the part unless it exists, and returns whether it did. A caller may retry after any error.
    ///
    /// # Errors
    /// The store's error.
    pub async fn create(&self, store: &dyn Store) -> Result<bool, StoreError> {
        let once = async |path: &str, bytes: &Bytes| match store.create(path, bytes.clone()).await {
            Ok(()) => Ok(true),
            Err(StoreError::Exists(_)) => Ok(false),
            Err(error) => Err(error),
        };
        if let Some((path, bytes)) = &self.audit {
            once(path, bytes).await?;
        }
        once(&self.path, &self.rows).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Memory;
    use arrow_array::{Int64Array, RecordBatch};
    use arrow_schema::{DataType, Field, Schema};
    use std::sync::Arc;

    fn name(last: bool) -> PartName {
        PartName {
            object: "0123456789abcdef".into(),
            unit: "fedcba9876543210".into(),
            part: 7,
            last,
        }
    }

    #[test]
    fn a_name_reads_back_and_other_files_are_none() {
        for last in [false, true] {
            assert_eq!(PartName::parse(&name(last).path()), Some(name(last)));
        }
        for other in [
            "rows/a.parquet",
            "audit/0-1-2.parquet",
            "rows/0-1-2-lost.parquet",
            "rows/0-1-7.parquet",
        ] {
            assert_eq!(PartName::parse(other), None, "{other}");
        }
    }

    #[tokio::test]
    async fn a_part_is_created_once_and_its_footer_counts_its_rows() {
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, false)]));
        let rows =
            RecordBatch::try_new(schema.clone(), vec![Arc::new(Int64Array::from(vec![1, 2, 3]))]).unwrap();
        let make = |footer: &mut PartFooter| {
            let mut part = Part::new(&schema, &schema, Encoding::default());
            part.push(&rows, &rows.slice(0, 1)).unwrap();
            part.seal(&name(true), footer).unwrap()
        };
        let mut footer = PartFooter {
            object: "a.parquet".into(),
            first: 10,
            next: 13,
            redacted: 2,
            quarantined: 1,
            spans: 1,
            ..PartFooter::default()
        };
        let sealed = make(&mut footer);
        let store = Memory::default();
        assert!(sealed.create(&store).await.unwrap());
        assert!(!make(&mut footer.clone()).create(&store).await.unwrap());
        assert_eq!(read_part(&store, &name(true).path()).await.unwrap(), footer);
        footer.next = 14;
        // Counts that would add up if overflow were ignored.
        let overflowing = PartFooter {
            next: 13,
            redacted: u64::MAX,
            quarantined: 4,
            ..footer.clone()
        };
        for mut footer in [footer, overflowing] {
            let wrong = make(&mut footer);
            let other = Memory::default();
            wrong.create(&other).await.unwrap();
            assert!(read_part(&other, &name(true).path()).await.is_err());
        }
    }
}
