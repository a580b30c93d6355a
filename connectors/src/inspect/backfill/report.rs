//! The result of inspecting a backfill.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::{Look, merge};
use crate::inspect::{DatasetError, Head};
use crate::sink::Totals;

/// Maximum number of files listed in the text; JSON lists all.
const SHOWN: usize = 10;

/// The report of a backfill.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BackfillReport {
    /// Runs, by their plan.
    pub plans: Vec<Plan>,
    /// Number of files of rows.
    pub files: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Size of their audit files in bytes.
    pub audit_bytes: u64,
    /// Number of redacted rows.
    pub redacted: u64,
    /// Number of quarantined rows.
    pub quarantined: u64,
    /// Quarantined rows by code.
    pub codes: BTreeMap<String, u64>,
    /// Redacted spans by label.
    pub labels: BTreeMap<String, u64>,
    /// Number of rows flagged for review.
    pub review: u64,
    /// Number of files that only a manifest of an earlier version covers, which holds no digests.
    pub uncovered: u64,
    /// Files that no manifest lists yet.
    pub unfinished: Vec<String>,
    /// Objects that could not be read to the end, as the manifests list them.
    pub broken: BTreeMap<String, String>,
    /// The manifests of all shards and their digests, to store elsewhere.
    pub heads: Vec<Head>,
    /// The faults.
    pub faults: Vec<DatasetError>,
}

/// One run of a backfill over a set of units, by all shards.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Identifies the set of units.
    pub plan: String,
    /// Number of shards.
    pub shards: usize,
    /// Number of finished shards.
    pub finished: usize,
    /// Whether the manifest of all shards exists.
    pub complete: bool,
    /// The totals of the finished shards.
    pub totals: Totals,
}

impl BackfillReport {
    /// Returns the number of rows of all parts.
    pub const fn rows(&self) -> u64 {
        self.redacted + self.quarantined
    }

    /// Returns whether every part belongs to a finished run, and there is one.
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
            writeln!(f, "  not read to the end: {object}")?;
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
                "  unfinished: no manifest lists {} files; run the same `lethe backfill` again, and inspect again when it has finished",
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
