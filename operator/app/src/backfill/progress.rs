//! The progress of a backfill, for the terminal, the log and metrics.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use lethe_connectors::sink::PartFooter;
use lethe_connectors::tables::Unit;

use super::summary::RunSummary;
use crate::progress::Progress;
use crate::telemetry::{BackfillBoard, Measures};

/// The progress so far, shared by all workers.
pub(super) struct Reached {
    started: Instant,
    board: Arc<BackfillBoard>,
    measures: Measures,
    /// Bytes of processed objects, rows, and bytes of their text, in this run.
    bytes: AtomicU64,
    rows: AtomicU64,
    text: AtomicU64,
    total: u64,
    shown: Mutex<Progress>,
}

impl Reached {
    /// Starts with a total number of bytes of objects and of units.
    pub(super) fn new(board: Arc<BackfillBoard>, measures: Measures, total: u64, units: u64) -> Self {
        board.begin(units);
        Self {
            started: Instant::now(),
            board,
            measures,
            bytes: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            text: AtomicU64::new(0),
            total,
            shown: Mutex::new(Progress::start("backfill", "bytes", Some(total))),
        }
    }

    /// Counts redacted rows.
    pub(super) fn rows(&self, counts: &PartFooter) {
        let rows = counts.redacted + counts.quarantined;
        self.rows.fetch_add(rows, Relaxed);
        self.text.fetch_add(counts.text_bytes, Relaxed);
        self.measures
            .backfilled(counts.redacted, counts.quarantined, counts.text_bytes);
    }

    /// Counts a further share of a unit as read.
    pub(super) fn share(&self, unit: &Unit, share: f64) {
        let bytes = (unit.bytes as f64 * share.clamp(0.0, 1.0)) as u64;
        let done = self.bytes.fetch_add(bytes, Relaxed) + bytes;
        let seconds = self.started.elapsed().as_secs_f64().max(1e-3);
        let left = self.total.saturating_sub(done) as f64 * seconds / done.max(1) as f64;
        self.board.left(left);
        let (rows, text) = (self.rows.load(Relaxed), self.text.load(Relaxed));
        let message = format!(
            "{rows} rows, {:.0} rows/s, {:.1} MB/s of text, {left:.0} s left",
            rows as f64 / seconds,
            text as f64 / seconds / 1e6
        );
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.say(message);
        shown.at(done.min(self.total));
    }

    /// Counts a unit as done; `share` of it was counted before.
    pub(super) fn unit(&self, unit: &Unit, share: f64) {
        self.share(unit, 1.0 - share);
        self.board.unit();
    }

    /// Summarises this run.
    pub(super) fn summary(&self) -> RunSummary {
        RunSummary {
            rows: self.rows.load(Relaxed),
            text_bytes: self.text.load(Relaxed),
            seconds: self.started.elapsed().as_secs_f64().max(1e-3),
        }
    }
}
