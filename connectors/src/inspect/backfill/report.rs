//! What an inspection of a backfill found.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::{Look, merge};
use crate::inspect::{Fault, Head};
use crate::sink::Totals;

/// Files that are named in the text at most; JSON has all of them.
const SHOWN: usize = 10;

/// What a backfill wrote, inspected.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BackfillReport {
    /// Runs, by what they had to do.
    pub plans: Vec<Plan>,
    /// Files of rows.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of their audit files.
    pub audit_bytes: u64,
    /// Rows that were redacted.
    pub redacted: u64,
    /// Rows that were quarantined.
    pub quarantined: u64,
    /// Quarantined rows by code.
    pub codes: BTreeMap<String, u64>,
    /// Redacted spans by label.
    pub labels: BTreeMap<String, u64>,
    /// Rows that a human should look at.
    pub review: u64,
    /// Files that a manifest of an earlier version stands for, which holds no digests.
    pub uncovered: u64,
    /// Files that no manifest stands for yet.
    pub unfinished: Vec<String>,
    /// Objects that could not be read to their ends, as the manifests have them.
    pub broken: BTreeMap<String, String>,
    /// The manifests of all shards and their digests, to be kept elsewhere.
    pub heads: Vec<Head>,
    /// What is wrong.
    pub faults: Vec<Fault>,
}

/// One run of a backfill: the units that there were, by all shards.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Stands for the units.
    pub plan: String,
    /// How many shards there are.
    pub shards: usize,
    /// How many of them are through.
    pub finished: usize,
    /// Whether the manifest of all shards is there.
    pub complete: bool,
    /// The sums over the shards that are through.
    pub totals: Totals,
}

impl BackfillReport {
    /// Rows of all parts.
    pub const fn rows(&self) -> u64 {
        self.redacted + self.quarantined
    }

    /// Whether every part belongs to a run that is through, and there is such a run.
    pub fn is_finished(&self) -> bool {
        self.unfinished.is_empty() && self.plans.iter().any(|plan| plan.complete)
    }

    pub(super) fn take(&mut self, look: Look<'_>) {
        if let Some(footer) = &look.footer {
            self.redacted += footer.redacted;
            self.quarantined += footer.quarantined;
            self.review += footer.review;
        }
        self.audit_bytes += look.audit_bytes;
        merge(&mut self.codes, look.codes);
        merge(&mut self.labels, look.labels);
        self.faults.extend(look.faults);
    }
}

impl fmt::Display for BackfillReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "backfill: {} rows in {} files ({} redacted, {} quarantined)",
            self.rows(),
            self.files,
            self.redacted,
            self.quarantined
        )?;
        for plan in &self.plans {
            let Totals {
                units,
                files,
                rows_in,
                rows_out,
                ..
            } = plan.totals;
            let state = match plan.complete {
                true => "complete".to_owned(),
                false => format!("{} of {} shards finished", plan.finished, plan.shards),
            };
            writeln!(
                f,
                "  manifest {}: {state}; {rows_in} rows in, {rows_out} rows out, {units} units, {files} files",
                plan.plan
            )?;
        }
        for (code, count) in &self.codes {
            writeln!(f, "  quarantined, {code}: {count}")?;
        }
        for object in self.broken.keys() {
            writeln!(f, "  not read to its end: {object}")?;
        }
        if self.uncovered > 0 {
            writeln!(
                f,
                "  not covered: {} files are listed by a manifest of an earlier version, which holds no digests",
                self.uncovered
            )?;
        }
        if !self.is_finished() {
            writeln!(
                f,
                "  unfinished: no manifest lists {} files; run the same `lethe backfill` again, and inspect when it has ended",
                self.unfinished.len()
            )?;
            for file in self.unfinished.iter().take(SHOWN) {
                writeln!(f, "    {file}")?;
            }
        }
        for fault in &self.faults {
            writeln!(f, "  FAULT: {fault}")?;
        }
        if !self.faults.is_empty() {
            writeln!(
                f,
                "  to repair: restore the named files from a replica or an earlier version of the bucket, or run `lethe backfill` into a new dataset"
            )?;
        }
        for head in &self.heads {
            let file = head.file.as_deref().unwrap_or_default();
            writeln!(f, "  head {}  {file}", head.digest)?;
        }
        Ok(())
    }
}
