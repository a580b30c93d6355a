//! Counts the contribution of each member: its votes, and the spans that it alone caught.

use std::collections::BTreeMap;
use std::fmt;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int64Type, UInt32Type};
use arrow_array::{RecordBatch, StructArray};
use lethe_core::AuditBatch;
use serde::Serialize;

use super::columns::{Batches, Wanted};
use super::replayed::replays;
use super::{Progress, add, chains};
use crate::replay::read_replay;
use crate::sink::{ChainError, ChainId, Fingerprints, read_footer};
use crate::store::Store;

/// The contribution of each member to a dataset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemberReport {
    /// Number of redacted spans.
    pub spans: u64,
    /// By member, including members that caught nothing.
    pub members: BTreeMap<String, ByMember>,
}

/// One member's spans by label.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ByMember {
    /// Redacted spans that it voted for.
    pub voted: BTreeMap<String, u64>,
    /// Redacted spans for which only it voted and no other member's overlapping span was overruled: without
    /// the member, their text would not be redacted.
    pub alone: BTreeMap<String, u64>,
}

/// A span that only one member caught: coordinates, no text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Caught<'a> {
    /// Topic.
    pub topic: &'a str,
    /// Partition.
    pub partition: i32,
    /// Offset of the note.
    pub offset: i64,
    /// First byte in the original.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
    /// First byte in the redacted text.
    pub out_start: u32,
    /// The byte after the last.
    pub out_end: u32,
    /// The label.
    pub label: &'a str,
    /// The member.
    pub member: &'a str,
}

/// Counts the contribution of each member over the audit files of notes files and replayed parts, and passes
/// each span that only one member caught to `caught`. Calls `progress` after each notes file.
///
/// # Errors
/// [`ChainError::Footer`] for a file that cannot be read, or the store's error.
pub async fn by_member(
    store: &dyn Store,
    mut caught: impl FnMut(&Caught<'_>) + Send,
    mut progress: impl FnMut(Progress) + Send,
) -> Result<MemberReport, ChainError> {
    let wanted = Wanted {
        schema: &AuditBatch::schema(),
        must: &[
            "offset",
            "start",
            "end",
            "out_start",
            "out_end",
            "label",
            "members",
            "beat",
        ],
        may: &[],
    };
    let mut report = MemberReport::default();
    let (chains, of) = chains(store, &mut Vec::new()).await?;
    let mut done = Progress {
        of,
        ..Progress::default()
    };
    let replayed = replays(store).await?;
    done.of += replayed.len() as u64;
    let mut look = async |chain: &ChainId, fingerprints: &Fingerprints, audit: Option<&str>| {
        for member in names(&fingerprints.members) {
            report.member(member);
        }
        if let Some(audit) = audit {
            let mut batches = Batches::open(store, audit, &wanted).await?;
            while let Some(batch) = batches.next().await? {
                report.count(chain, &batch, &mut caught);
                done.rows += batch.num_rows() as u64;
            }
        }
        done.files += 1;
        progress(done);
        Ok::<(), ChainError>(())
    };
    for (chain, files) in chains {
        for file in files {
            let footer = read_footer(store, &file.name).await?;
            look(&chain, &footer.fingerprints, footer.audit.as_deref()).await?;
        }
    }
    for file in replayed {
        let footer = read_replay(store, &file.name).await?;
        let audit = footer.audit.as_ref().map(|(audit, _)| audit.as_str());
        look(&footer.name.chain, &footer.fingerprints, audit).await?;
    }
    Ok(report)
}

/// Returns the members in a cell.
pub(super) fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split(',').filter(|name| !name.is_empty())
}

impl MemberReport {
    fn member(&mut self, name: &str) -> &mut ByMember {
        if !self.members.contains_key(name) {
            self.members.insert(name.to_owned(), ByMember::default());
        }
        self.members.entry(name.to_owned()).or_default()
    }

    fn count(&mut self, chain: &ChainId, batch: &RecordBatch, caught: &mut impl FnMut(&Caught<'_>)) {
        let offsets = batch["offset"].as_primitive::<Int64Type>();
        let numbers = |name: &str| batch[name].as_primitive::<UInt32Type>();
        let (start, end) = (numbers("start"), numbers("end"));
        let (out_start, out_end) = (numbers("out_start"), numbers("out_end"));
        let labels = batch["label"].as_string::<i32>();
        let members = batch["members"].as_string::<i32>();
        let beat = batch["beat"].as_list::<i32>();
        // A row of a message's field has no span.
        self.spans += (0..batch.num_rows())
            .filter(|&row| start.value(row) < end.value(row))
            .count() as u64;
        for row in 0..batch.num_rows() {
            let label = labels.value(row);
            for name in names(members.value(row)) {
                add(&mut self.member(name).voted, label);
            }
            let Some(member) = sole(members.value(row)) else {
                continue;
            };
            let lost = beat.value(row);
            let lost: &StructArray = lost.as_struct();
            let losers = lost
                .column_by_name("members")
                .map(|column| column.as_string::<i32>());
            if losers.is_some_and(|losers| losers.iter().flatten().any(|of| sole(of) != Some(member))) {
                continue;
            }
            add(&mut self.member(member).alone, label);
            caught(&Caught {
                topic: &chain.topic,
                partition: chain.partition,
                offset: offsets.value(row),
                start: start.value(row),
                end: end.value(row),
                out_start: out_start.value(row),
                out_end: out_end.value(row),
                label,
                member,
            });
        }
    }
}

/// Returns the member of a cell that has only one.
fn sole(cell: &str) -> Option<&str> {
    let mut all = names(cell);
    all.next().filter(|_| all.next().is_none())
}

fn sum(counts: &BTreeMap<String, u64>) -> u64 {
    counts.values().sum()
}

impl fmt::Display for MemberReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let longest = self.members.keys().map(|name| name.chars().count()).max();
        let width = longest.unwrap_or_default().max(6);
        writeln!(f, "{} spans redacted", self.spans)?;
        writeln!(
            f,
            "{:<width$}  {:>12}  {:>12}  by label",
            "member", "voted for", "alone caught"
        )?;
        for (name, by) in &self.members {
            write!(
                f,
                "{name:<width$}  {:>12}  {:>12}",
                sum(&by.voted),
                sum(&by.alone)
            )?;
            let mut before = "  ";
            for (label, voted) in &by.voted {
                let alone = by.alone.get(label).copied().unwrap_or_default();
                write!(f, "{before}{label} {voted} ({alone})")?;
                before = ", ";
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Caught<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}/{}@{}:{}  bytes {}..{} of the original, {}..{} of the redacted text  {}",
            self.topic,
            self.partition,
            self.offset,
            self.out_start,
            self.start,
            self.end,
            self.out_start,
            self.out_end,
            self.label
        )
    }
}
