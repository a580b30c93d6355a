//! Compares a dataset with its topic, to find lost, duplicated, reordered and half-redacted rows, and rows of
//! another topic.
//!
//! Both sides are streamed in the order of offsets. Memory holds one row group of one notes file, the spans
//! of that file's audit, one record, and the findings: each kind lists a limited number and counts all.
//! Reports contain no text and no id.

mod findings;
mod original;
mod report;
mod rows;
mod text;

use crate::sink::{ChainError, ChainId};
use crate::store::{Object, Store, StoreError};
use findings::Ranges;
pub use findings::{Finding, Findings};
pub use original::Original;
pub use report::{PartitionReport, TopicReport};
use rows::{ChainRows, Disorder, Row};

/// The range of a partition's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Log {
    /// First offset.
    pub low: i64,
    /// Offset after the last.
    pub high: i64,
}

/// Rows whose note id differs from their record's, to be looked for in the whole topic: offset and id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suspects(Vec<(i64, String)>);

impl Suspects {
    /// Maximum number of kept rows; further ones count as rows of another topic.
    const MOST: usize = 100_000;

    /// Returns the ids.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(_, id)| id.as_str())
    }
}

/// Returns the notes files of each chain of a dataset, by name.
///
/// # Errors
/// The store's error.
pub async fn chain_files(
    store: &dyn Store,
) -> Result<std::collections::BTreeMap<ChainId, Vec<Object>>, StoreError> {
    Ok(super::chains(store, &mut Vec::new()).await?.0)
}

/// The comparison of one partition. Records must be passed in the order of their offsets.
pub struct Compared<'a> {
    rows: ChainRows<'a>,
    /// The next row that was not compared yet.
    row: Option<Row>,
    begun: bool,
    log: Log,
    lost: Ranges,
    report: PartitionReport,
    suspects: Suspects,
}

impl<'a> Compared<'a> {
    /// Starts the comparison of a chain's files with a partition's log.
    pub fn new(store: &'a dyn Store, chain: ChainId, files: &'a [Object], log: Log) -> Self {
        Self {
            report: PartitionReport {
                chain: chain.clone(),
                low: log.low,
                high: log.high,
                ..PartitionReport::default()
            },
            rows: ChainRows::new(store, chain, files),
            row: None,
            begun: false,
            log,
            lost: Ranges::default(),
            suspects: Suspects::default(),
        }
    }

    /// Compares the record at an offset.
    ///
    /// # Errors
    /// The store's error. Faults of a file go to the report.
    pub async fn record(&mut self, offset: i64, original: &Original) -> Result<(), StoreError> {
        self.report.records += 1;
        self.begin().await?;
        while let Some(row) = self.row.take_if(|row| row.offset < offset) {
            self.without_record(&row);
            self.advance().await?;
        }
        if let Some(row) = self.row.take_if(|row| row.offset == offset) {
            self.compare(&row, original);
            return self.advance().await;
        }
        if self.rows.is_in_gap(offset) {
            self.report.bridged += 1;
        } else if self.row.is_none() && offset >= self.rows.end() {
            self.report.pending += 1;
        } else {
            self.lost.add(offset);
        }
        Ok(())
    }

    /// Finishes after the last record. Returns the report, and the rows whose ids are to be looked for in the
    /// whole topic.
    ///
    /// # Errors
    /// As [`Compared::record`].
    pub async fn finish(mut self) -> Result<(PartitionReport, Suspects), StoreError> {
        self.begin().await?;
        while let Some(row) = self.row.take() {
            self.without_record(&row);
            self.advance().await?;
        }
        self.report.end = self.rows.end();
        self.report.unreadable = std::mem::take(&mut self.rows.unreadable);
        for (from, to) in self.lost.iter() {
            self.report.lost.add_range(from, to, "no_row");
        }
        Ok((self.report, self.suspects))
    }

    async fn begin(&mut self) -> Result<(), StoreError> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        self.advance().await
    }

    async fn advance(&mut self) -> Result<(), StoreError> {
        self.row = match self.rows.next().await {
            Ok(row) => row,
            Err(ChainError::Store(error)) => return Err(error),
            // The row iterator has recorded the file.
            Err(_) => None,
        };
        for disorder in self.rows.disorders.drain(..) {
            self.report.rows += 1;
            match disorder {
                Disorder::Twice(offset) => self.report.duplicated.add(offset, "offset_twice"),
                Disorder::Late(offset) => {
                    // Its record has passed.
                    self.lost.remove(offset);
                    self.report.reordered.add(offset, "after_later_offsets");
                    self.report.skip("reordered_across_files");
                }
                Disorder::Moved(offset) => {
                    self.report.rows -= 1;
                    self.report.reordered.add(offset, "after_later_offsets");
                }
            }
        }
        Ok(())
    }

    /// Counts a row at an offset without a record in the log.
    fn without_record(&mut self, row: &Row) {
        self.report.rows += 1;
        if row.offset >= self.log.high {
            self.report.foreign.add(row.offset, "after_the_log_ends");
        } else if row.is_foreign {
            self.report.foreign.add(row.offset, "other_topic_or_partition");
        } else if row.offset < self.log.low {
            self.report.before_log += 1;
        } else {
            self.report.without_record += 1;
        }
    }

    fn compare(&mut self, row: &Row, original: &Original) {
        let report = &mut self.report;
        report.rows += 1;
        if row.is_foreign {
            report.foreign.add(row.offset, "other_topic_or_partition");
            return;
        }
        match (row.kind.as_str(), original) {
            ("erased", _) => report.skip("erased"),
            ("tombstone", Original::Tombstone) => report.matched += 1,
            ("tombstone", _) | (_, Original::Tombstone) => report.foreign.add(row.offset, "kind_differs"),
            ("quarantined", _) => report.skip("quarantined"),
            (_, Original::Unread(why)) => report.skip(why),
            ("structured", Original::Note { structured: true, .. }) => report.matched += 1,
            (
                "note",
                Original::Note {
                    note_id,
                    text,
                    structured: false,
                },
            ) => {
                let ours = row.note_id.as_deref().filter(|_| !note_id.expose().is_empty());
                match ours {
                    Some(ours) if ours != note_id.expose() => {
                        if self.suspects.0.len() < Suspects::MOST {
                            self.suspects.0.push((row.offset, ours.to_owned()));
                        } else {
                            report.foreign.add(row.offset, "other_note_id");
                        }
                    }
                    _ => Self::compare_text(report, row, text.expose()),
                }
            }
            _ => report.foreign.add(row.offset, "kind_differs"),
        }
    }

    fn compare_text(report: &mut PartitionReport, row: &Row, original: &str) {
        let Some(redacted) = &row.text else {
            report.half_redacted.add(row.offset, "no_text");
            return;
        };
        let Some(spans) = &row.spans else {
            report.skip("no_audit_file");
            return;
        };
        if spans.len() != row.redactions as usize {
            report.half_redacted.add(row.offset, "redactions_without_audit");
            return;
        }
        let compared = text::compare(original, redacted, spans);
        report.unchanged += compared.unchanged;
        match compared.wrong {
            Some(why) => report.half_redacted.add(row.offset, why),
            None => report.matched += 1,
        }
        report.texts += 1;
    }
}
