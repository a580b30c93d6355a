//! The result of a comparison with the topic, as text and as JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use super::{Findings, Suspects};
use crate::inspect::Verdict;
use crate::sink::ChainId;

/// Number of stretches listed in the text; JSON lists a thousand.
const SHOWN: usize = 10;

/// The comparison of a dataset with its topics.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TopicReport {
    /// The verdict: `intact`, `not_intact` or `nothing_to_check`.
    pub verdict: Verdict,
    /// All partitions of the topics.
    pub partitions: Vec<PartitionReport>,
    /// Chains of the dataset that belong to none of these partitions and were not compared.
    pub other_chains: Vec<String>,
    /// Number of replayed parts, whose rows were not compared.
    pub replayed_parts: u64,
}

/// One partition.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartitionReport {
    /// Topic and partition.
    #[serde(flatten)]
    pub chain: ChainId,
    /// First offset in the log.
    pub low: i64,
    /// Offset after the log's last when the comparison began.
    pub high: i64,
    /// Offset after the chain's last.
    pub end: i64,
    /// Number of records in the log.
    pub records: u64,
    /// Number of rows in the dataset.
    pub rows: u64,
    /// Number of rows that match their records.
    pub matched: u64,
    /// Number of notes whose text was compared with the original.
    pub texts: u64,
    /// Number of spans in these whose text is unchanged, as their action allows: a surrogate that equals the
    /// original by chance, or a kept year.
    pub unchanged: u64,
    /// Number of records after the chain's end, which are not written yet.
    pub pending: u64,
    /// Number of records in gaps that an operator or the beginning of the log made.
    pub bridged: u64,
    /// Number of rows at offsets before the log's first.
    pub before_log: u64,
    /// Number of rows at offsets without a record in the log: compacted, or never one.
    pub without_record: u64,
    /// Number of rows that were not compared with their record, by the code of the reason.
    pub not_compared: BTreeMap<String, u64>,
    /// Records without a row, at offsets before the chain's end.
    pub lost: Findings,
    /// Duplicate rows.
    pub duplicated: Findings,
    /// Rows after a row with a later offset.
    pub reordered: Findings,
    /// Notes whose text is not the original with every audited span replaced.
    pub half_redacted: Findings,
    /// Rows that do not belong to a record of this partition.
    pub foreign: Findings,
    /// Notes and audit files that cannot be read.
    pub unreadable: Vec<String>,
}

impl Default for PartitionReport {
    fn default() -> Self {
        Self {
            chain: ChainId::new("", 0),
            low: 0,
            high: 0,
            end: 0,
            records: 0,
            rows: 0,
            matched: 0,
            texts: 0,
            unchanged: 0,
            pending: 0,
            bridged: 0,
            before_log: 0,
            without_record: 0,
            not_compared: BTreeMap::new(),
            lost: Findings::default(),
            duplicated: Findings::default(),
            reordered: Findings::default(),
            half_redacted: Findings::default(),
            foreign: Findings::default(),
            unreadable: Vec::new(),
        }
    }
}

impl PartitionReport {
    pub(super) fn skip(&mut self, why: &str) {
        *self.not_compared.entry(why.to_owned()).or_default() += 1;
    }

    const fn kinds(&self) -> [(&'static str, &Findings); 5] {
        [
            ("LOST", &self.lost),
            ("DUPLICATED", &self.duplicated),
            ("REORDERED", &self.reordered),
            ("HALF-REDACTED", &self.half_redacted),
            ("NOT OF THIS TOPIC", &self.foreign),
        ]
    }

    /// Returns whether there are no faults.
    pub fn is_intact(&self) -> bool {
        self.unreadable.is_empty() && self.kinds().iter().all(|(_, found)| found.count == 0)
    }

    /// Classifies the rows whose note id differs from their record's, by whether the topic has a note with
    /// that id.
    pub fn resolve(&mut self, suspects: &Suspects, in_topic: &BTreeSet<String>) {
        for (offset, id) in &suspects.0 {
            match in_topic.contains(id) {
                true => self.duplicated.add(*offset, "note_id_twice"),
                false => self.foreign.add(*offset, "other_note_id"),
            }
        }
    }
}

impl TopicReport {
    /// Sets the verdict after all partitions.
    pub fn settle(&mut self) {
        let seen = self.partitions.iter().any(|of| of.records + of.rows > 0);
        self.verdict = match (seen, self.partitions.iter().all(PartitionReport::is_intact)) {
            (_, false) => Verdict::NotIntact,
            (false, true) => Verdict::NothingToCheck,
            (true, true) => Verdict::Intact,
        };
    }
}

impl fmt::Display for TopicReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for partition in &self.partitions {
            write!(f, "{partition}")?;
        }
        for chain in &self.other_chains {
            writeln!(
                f,
                "not compared: chain {chain}, which belongs to no partition of the configured topics"
            )?;
        }
        if self.replayed_parts > 0 {
            writeln!(f, "not compared: {} replayed parts", self.replayed_parts)?;
        }
        let sum = |of: fn(&PartitionReport) -> u64| self.partitions.iter().map(of).sum::<u64>();
        let counts = format!(
            "{} lost, {} duplicated, {} reordered, {} half-redacted, {} not of the topic; {} records, {} rows",
            sum(|of| of.lost.count),
            sum(|of| of.duplicated.count),
            sum(|of| of.reordered.count),
            sum(|of| of.half_redacted.count),
            sum(|of| of.foreign.count),
            sum(|of| of.records),
            sum(|of| of.rows),
        );
        match self.verdict {
            Verdict::NothingToCheck => writeln!(
                f,
                "NOTHING TO CHECK: neither the topic nor the dataset has a record"
            ),
            Verdict::NotIntact => writeln!(f, "THE DATASET DIFFERS FROM THE TOPIC: {counts}"),
            Verdict::Intact | Verdict::Unfinished => {
                writeln!(f, "the dataset agrees with the topic: {counts}")
            }
        }
    }
}

impl fmt::Display for PartitionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: log {} to {}, {} records; dataset to {}, {} rows; {} agree, {} texts compared",
            self.chain, self.low, self.high, self.records, self.end, self.rows, self.matched, self.texts
        )?;
        for (count, what) in [
            (self.pending, "records not written yet"),
            (self.bridged, "records in gaps that the chain declares"),
            (self.before_log, "rows older than the log"),
            (self.without_record, "rows whose record is no longer in the log"),
            (self.unchanged, "spans unchanged, as their action allows"),
        ] {
            if count > 0 {
                writeln!(f, "  {count} {what}")?;
            }
        }
        for (why, count) in &self.not_compared {
            writeln!(f, "  not compared, {why}: {count}")?;
        }
        for (kind, found) in self.kinds() {
            if found.count == 0 {
                continue;
            }
            let at: Vec<String> = found.at.iter().take(SHOWN).map(ToString::to_string).collect();
            let more = if found.at.len() > SHOWN { ", ..." } else { "" };
            writeln!(f, "  {kind}: {}: {}{more}", found.count, at.join(", "))?;
        }
        for file in &self.unreadable {
            writeln!(f, "  CANNOT BE READ: {file}")?;
        }
        Ok(())
    }
}
