//! The instruments: what the pipeline counts and times.
//!
//! Counts are added per batch, so that their cost does not show in a profile. Values that are read on request
//! (lags, queues, memory) belong to the [`Board`](super::Board).

use std::time::Duration;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Float32Type;
use arrow_array::{Array as _, RecordBatch};
use lethe_connectors::sink::Due;
use lethe_connectors::source::ErrorKind;
use lethe_core::{Processed, Quarantine, QuarantineCode, RowKind};
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter};

use super::HaltCode;
use super::catalogue::{self as metric, Metric};
use super::drift::Seen;

/// Seconds: from a stage of a small batch to a store that is unavailable.
const SECONDS: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
];
const RECORDS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];
/// 1 KiB to 256 MiB.
const BYTES: &[f64] = &[
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
    268_435_456.0,
];
const SHARES: &[f64] = &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0];
/// The most members of a decision to name in a label; larger groups show only their number, so that a large
/// ensemble does not create thousands of series.
const NAMED: usize = 4;

/// The stage in which a batch or a file spends time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Waiting for a worker.
    Queue,
    /// From payloads to records.
    Decode,
    /// From records to redacted rows.
    Tag,
    /// From rows to pages of a file.
    Encode,
    /// From pages to a file.
    Seal,
    /// From a file to a durable one.
    Store,
}

impl Stage {
    /// Returns the name in metrics.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Decode => "decode",
            Self::Tag => "tag",
            Self::Encode => "encode",
            Self::Seal => "seal",
            Self::Store => "store",
        }
    }
}

/// Why a file is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    /// It reached a limit.
    Due(Due),
    /// Memory is tight.
    Memory,
    /// Its partition moves to another process, or the program ends.
    Drain,
    /// The engine has changed.
    EngineVersion,
    /// A reader waits for it.
    Asked,
    /// A part of a backfill is complete.
    Part,
}

impl Closing {
    /// Returns the name in metrics.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Due(due) => due.name(),
            Self::Memory => "memory",
            Self::Drain => "drain",
            Self::EngineVersion => "edition",
            Self::Asked => "asked",
            Self::Part => "part",
        }
    }
}

/// All instruments that are written to.
#[derive(Clone, Debug)]
pub(crate) struct Measures {
    records: Counter<u64>,
    note_bytes: Counter<u64>,
    spans: Counter<u64>,
    quarantined: Counter<u64>,
    reviews: Counter<u64>,
    files: Counter<u64>,
    store_retries: Counter<u64>,
    rebalances: Counter<u64>,
    fenced: Counter<u64>,
    halted: Counter<u64>,
    source_errors: Counter<u64>,
    drift_warnings: Counter<u64>,
    backfill_rows: Counter<u64>,
    backfill_bytes: Counter<u64>,
    table_publishes: Counter<u64>,
    stage: Histogram<f64>,
    batch_records: Histogram<u64>,
    batch_bytes: Histogram<u64>,
    file_bytes: Histogram<u64>,
    commit: Histogram<f64>,
    vote_margin: Histogram<f64>,
}

impl Measures {
    /// Creates the instruments of a meter.
    pub(crate) fn new(meter: &Meter) -> Self {
        let counter = |metric: Metric| {
            let (name, unit) = metric.instrument();
            let counter = meter
                .u64_counter(name)
                .with_unit(unit)
                .with_description(metric.help);
            counter.build()
        };
        let seconds = |metric: Metric, bounds: &[f64]| {
            let (name, unit) = metric.instrument();
            let histogram = meter
                .f64_histogram(name)
                .with_unit(unit)
                .with_description(metric.help);
            histogram.with_boundaries(bounds.to_vec()).build()
        };
        let sizes = |metric: Metric, bounds: &[f64]| {
            let (name, unit) = metric.instrument();
            let histogram = meter
                .u64_histogram(name)
                .with_unit(unit)
                .with_description(metric.help);
            histogram.with_boundaries(bounds.to_vec()).build()
        };
        Self {
            records: counter(metric::RECORDS),
            note_bytes: counter(metric::NOTE_BYTES),
            spans: counter(metric::SPANS),
            quarantined: counter(metric::QUARANTINED),
            reviews: counter(metric::REVIEWS),
            files: counter(metric::FILES),
            store_retries: counter(metric::STORE_RETRIES),
            rebalances: counter(metric::REBALANCES),
            fenced: counter(metric::FENCED),
            halted: counter(metric::HALTED),
            source_errors: counter(metric::SOURCE_ERRORS),
            drift_warnings: counter(metric::DRIFT_WARNINGS),
            backfill_rows: counter(metric::BACKFILL_ROWS),
            backfill_bytes: counter(metric::BACKFILL_BYTES),
            table_publishes: counter(metric::TABLE_PUBLISHES),
            stage: seconds(metric::STAGE, SECONDS),
            batch_records: sizes(metric::BATCH_RECORDS, RECORDS),
            batch_bytes: sizes(metric::BATCH_BYTES, BYTES),
            file_bytes: sizes(metric::FILE_BYTES, BYTES),
            commit: seconds(metric::COMMIT, SECONDS),
            vote_margin: seconds(metric::VOTE_MARGIN, SHARES),
        }
    }

    /// Records a batch that has reached a worker.
    pub(crate) fn batch(&self, records: usize, bytes: usize) {
        self.batch_records.record(records as u64, &[]);
        self.batch_bytes.record(bytes as u64, &[]);
    }

    /// Records the time that a batch or a file spent in a stage.
    pub(crate) fn stage(&self, stage: Stage, took: Duration) {
        let stage = [KeyValue::new("stage", stage.name())];
        self.stage.record(took.as_secs_f64(), &stage);
    }

    /// Records a redacted batch. `sizes` are the input bytes of each row; `members` is the number of members.
    /// Returns the input of the drift signals.
    pub(crate) fn processed(&self, processed: &Processed, sizes: &[usize], members: usize) -> Seen {
        self.rows(processed.redacted.record(), sizes);
        self.decisions(processed.audit.record(), members)
    }

    fn rows(&self, rows: &RecordBatch, sizes: &[usize]) {
        if let Some(kinds) = rows.column_by_name("row_kind") {
            let kinds = kinds.as_string::<i32>();
            for kind in RowKind::ALL {
                let of = kinds
                    .iter()
                    .zip(sizes)
                    .filter(|&(name, _)| name == Some(kind.name()));
                let (count, bytes) = of.fold((0, 0), |(count, bytes), (_, &size)| {
                    (count + 1, bytes + size as u64)
                });
                if count > 0 {
                    let outcome = [KeyValue::new("outcome", kind.name())];
                    self.records.add(count, &outcome);
                    self.note_bytes.add(bytes, &outcome);
                }
            }
        }
        if let Some(errors) = rows.column_by_name("error") {
            for why in errors.as_string::<i32>().iter().flatten() {
                let code = Quarantine::code_of(why).to_owned();
                self.quarantined.add(1, &[KeyValue::new("code", code)]);
            }
        }
        if let Some(reviews) = rows.column_by_name("review") {
            let flagged = reviews.as_string::<i32>().iter().flatten();
            for reason in flagged.flat_map(|reasons| reasons.split(',')) {
                self.reviews.add(1, &[KeyValue::new("reason", reason.to_owned())]);
            }
        }
    }

    fn decisions(&self, audit: &RecordBatch, members: usize) -> Seen {
        let mut seen = Seen::default();
        let text = |name: &str| audit.column_by_name(name).map(|column| column.as_string::<i32>());
        let (Some(labels), Some(names)) = (text("label"), text("members")) else {
            return seen;
        };
        let scores = audit
            .column_by_name("scores")
            .map(|column| column.as_list::<i32>());
        // No member decided about a message's fields.
        let is_field = |row| {
            audit
                .column_by_name("path")
                .is_some_and(|path| path.is_valid(row))
        };
        let mut spans = std::collections::BTreeMap::<(&str, &str), u64>::new();
        for row in (0..audit.num_rows()).filter(|&row| !is_field(row)) {
            *spans.entry((labels.value(row), names.value(row))).or_default() += 1;
            let total: f32 = scores.map_or(0.0, |scores| {
                let scores = scores.value(row);
                scores.as_primitive::<Float32Type>().values().iter().sum()
            });
            let margin = f64::from(total) / members.max(1) as f64;
            self.vote_margin.record(margin, &[]);
            seen.spans += 1;
            seen.margins += margin;
        }
        for ((label, names), count) in spans {
            let named = names.split(',').count();
            let members = if named > NAMED {
                format!("{named} members")
            } else {
                names.to_owned()
            };
            let labels = [
                KeyValue::new("label", label.to_owned()),
                KeyValue::new("members", members),
            ];
            self.spans.add(count, &labels);
        }
        seen
    }

    /// Records a file that became durable, and the time since it was closed.
    pub(crate) fn file(&self, why: Closing, bytes: u64, took: Duration) {
        self.files.add(1, &[KeyValue::new("reason", why.name())]);
        self.file_bytes.record(bytes, &[]);
        self.commit.record(took.as_secs_f64(), &[]);
    }

    /// Records the rows that a backfill processed, and their bytes of text.
    pub(crate) fn backfilled(&self, redacted: u64, quarantined: u64, bytes: u64) {
        for (outcome, rows) in [("redacted", redacted), ("quarantined", quarantined)] {
            self.backfill_rows.add(rows, &[KeyValue::new("outcome", outcome)]);
        }
        self.backfill_bytes.add(bytes, &[]);
    }

    /// Records an attempt to publish the table: `published`, `failed`.
    pub(crate) fn published(&self, outcome: &'static str) {
        self.table_publishes.add(1, &[KeyValue::new("outcome", outcome)]);
    }

    /// Records a retry of an operation: `commit`, `open`, `redact`.
    pub(crate) fn retry(&self, operation: &'static str) {
        self.store_retries
            .add(1, &[KeyValue::new("operation", operation)]);
    }

    /// Records partitions that were assigned (`assigned`) or removed (`revoked`, `lost`).
    pub(crate) fn rebalance(&self, kind: &'static str, partitions: usize) {
        self.rebalances
            .add(partitions as u64, &[KeyValue::new("kind", kind)]);
    }

    /// Records that another writer created a file of a chain first.
    pub(crate) fn fenced(&self) {
        self.fenced.add(1, &[]);
    }

    /// Records a halted lane.
    pub(crate) fn halted(&self, code: HaltCode) {
        self.halted.add(1, &[KeyValue::new("code", code.name())]);
    }

    /// Records an error of the consumer.
    pub(crate) fn source_error(&self, kind: ErrorKind) {
        self.source_errors.add(1, &[KeyValue::new("kind", kind.name())]);
    }

    /// Records a signal that left its usual range.
    pub(crate) fn drifted(&self, signal: &'static str) {
        self.drift_warnings.add(1, &[KeyValue::new("signal", signal)]);
    }

    /// Adds 0 to every code, stage, reason and outcome, so that all series exist from the start: an alert on
    /// a rate needs a first value.
    pub(crate) fn begin(&self) {
        for kind in RowKind::ALL {
            let outcome = [KeyValue::new("outcome", kind.name())];
            self.records.add(0, &outcome);
            self.note_bytes.add(0, &outcome);
        }
        for code in QuarantineCode::ALL {
            self.quarantined.add(0, &[KeyValue::new("code", code.name())]);
        }
        for reason in lethe_core::Reason::ALL {
            self.reviews.add(0, &[KeyValue::new("reason", reason.name())]);
        }
        for kind in ["assigned", "revoked", "lost"] {
            self.rebalance(kind, 0);
        }
        for signal in super::drift::SIGNALS {
            self.drift_warnings.add(0, &[KeyValue::new("signal", signal)]);
        }
        for operation in ["commit", "open", "redact"] {
            self.store_retries
                .add(0, &[KeyValue::new("operation", operation)]);
        }
        self.fenced.add(0, &[]);
        for outcome in ["published", "failed"] {
            self.table_publishes.add(0, &[KeyValue::new("outcome", outcome)]);
        }
        for code in HaltCode::ALL {
            self.halted.add(0, &[KeyValue::new("code", code.name())]);
        }
        for kind in ErrorKind::ALL {
            self.source_errors.add(0, &[KeyValue::new("kind", kind.name())]);
        }
    }
}
