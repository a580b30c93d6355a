//! The list of all metrics: their names, descriptions and labels.
//!
//! Names are Prometheus names. OTLP uses the same names without unit and `_total`, with a dot for the first
//! underscore. Tests check that dashboards, alerts and documentation name only these metrics.

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A value that only increases.
    Counter,
    /// A current value.
    Gauge,
    /// A distribution: `_bucket`, `_sum` and `_count` are appended to the name.
    Histogram,
}

/// One metric.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metric {
    /// The Prometheus name.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// The description, with its unit.
    pub(crate) help: &'static str,
    /// Its labels. Each has few values, none of which comes from a note.
    pub(crate) labels: &'static [&'static str],
}

macro_rules! metrics {
    ($($constant:ident = $kind:ident $name:literal [$($label:literal),*] $help:literal;)+) => {
        $(pub(crate) const $constant: Metric = Metric {
            name: $name,
            kind: Kind::$kind,
            help: $help,
            labels: &[$($label),*],
        };)+
        /// All metrics, in the order of the documentation.
        pub(crate) const ALL: &[Metric] = &[$($constant),+];
    };
}

metrics! {
    RECORDS = Counter "lethe_records_total" ["outcome"] "Records that became rows, by outcome: note, tombstone, structured, quarantined";
    NOTE_BYTES = Counter "lethe_note_bytes_total" ["outcome"] "Bytes of payloads (for file sources, of texts) of records that became rows, by outcome";
    SPANS = Counter "lethe_spans_total" ["label", "members"] "Redacted spans, by label and by the members that decided them";
    QUARANTINED = Counter "lethe_quarantined_total" ["code"] "Quarantined records, by code";
    REVIEWS = Counter "lethe_reviews_total" ["reason"] "Notes flagged for review, by reason";
    FILES = Counter "lethe_files_total" ["reason"] "Committed files, by the reason for closing them";
    STORE_RETRIES = Counter "lethe_store_retries_total" ["operation"] "Retried requests to a store, a key service or a registry, by operation";
    REBALANCES = Counter "lethe_rebalances_total" ["kind"] "Partitions assigned, revoked and lost, by kind";
    FENCED = Counter "lethe_fenced_writes_total" [] "Files lost to a concurrent writer";
    HALTED = Counter "lethe_lanes_halted_total" ["code"] "Lanes that halted and need an operator, by code";
    HALTED_NOW = Gauge "lethe_lanes_halted" [] "Currently halted lanes";
    SOURCE_ERRORS = Counter "lethe_source_errors_total" ["kind"] "Errors of the Kafka consumer, by kind: authorization, login, topic, fenced, evicted, unreadable, other";
    CACHE = Counter "lethe_cache_lookups_total" ["member", "result"] "Cache lookups of a member for words and contexts, by result: hit, miss";
    CACHE_BYTES = Gauge "lethe_cache_bytes" ["member"] "Bytes of memory that the caches of a member take";
    DRIFT_WARNINGS = Counter "lethe_drift_warnings_total" ["signal"] "Drift warnings: times that a signal of the feed left its usual range";
    STAGE = Histogram "lethe_stage_seconds" ["stage"] "Seconds that a batch (for seal and store, a file) spent in a stage: queue, decode, tag, encode, seal, store";
    BATCH_RECORDS = Histogram "lethe_batch_records" [] "Records per batch";
    BATCH_BYTES = Histogram "lethe_batch_bytes" [] "Bytes of memory per batch";
    FILE_BYTES = Histogram "lethe_file_bytes" [] "Bytes per committed notes file";
    COMMIT = Histogram "lethe_commit_seconds" [] "Seconds from closing a file until it is durable";
    VOTE_MARGIN = Histogram "lethe_vote_margin" [] "Mean member score per redacted span; abstentions count as 0";
    LAG_RECORDS = Gauge "lethe_lag_records" ["topic", "partition"] "Records of a partition that are not durable yet";
    LAG_SECONDS = Gauge "lethe_lag_seconds" ["topic", "partition"] "Age in seconds of the oldest record of a partition that is not durable yet, if known; 0 if all are durable";
    QUEUE_RECORDS = Gauge "lethe_queue_records" ["topic", "partition"] "Records waiting in a lane's queue";
    MEMORY_BUDGET = Gauge "lethe_memory_budget_bytes" [] "Bytes of memory that all lanes together may hold";
    MEMORY_HELD = Gauge "lethe_memory_held_bytes" [] "Bytes of memory that lanes hold";
    LANES = Gauge "lethe_lanes" [] "Running lanes";
    PHI_DENSITY = Gauge "lethe_phi_per_thousand_tokens" [] "Redacted spans per thousand recent tokens";
    DRIFT = Gauge "lethe_drift" ["signal"] "A signal of the feed over recent tokens, relative to its long-term value: phi_density, vote_margin";
    BACKFILL_ROWS = Counter "lethe_backfill_rows_total" ["outcome"] "Table rows that a backfill processed, by outcome: redacted, quarantined";
    BACKFILL_BYTES = Counter "lethe_backfill_bytes_total" [] "Bytes of input text that a backfill redacted";
    BACKFILL_UNITS = Gauge "lethe_backfill_units" ["state"] "Units of this backfill shard, by state: total, done";
    BACKFILL_LEFT = Gauge "lethe_backfill_seconds_left" [] "Estimated seconds until this backfill shard is done";
    TABLE_PUBLISHES = Counter "lethe_table_publishes_total" ["outcome"] "Attempts to publish the table of `sink.table`, by outcome: published, failed";
    READY = Gauge "lethe_ready" [] "1 if the program can take records, else 0";
    BUILD_INFO = Gauge "lethe_build_info" ["version", "bundle", "policy"] "Always 1; the labels identify the version, the bundle and the policy";
    RESIDENT = Gauge "process_resident_memory_bytes" [] "Resident memory of the process in bytes";
    OPEN_FDS = Gauge "process_open_fds" [] "Open file descriptors";
    MAX_FDS = Gauge "process_max_fds" [] "Maximum number of open file descriptors";
    CPU = Counter "process_cpu_seconds_total" [] "Seconds of processor time of all threads";
    STARTED = Gauge "process_start_time_seconds" [] "Start time of the process, in seconds since 1970";
}

impl Metric {
    /// Returns the OpenTelemetry name of the instrument, from which the exporter derives [`Metric::name`],
    /// and its unit (UCUM).
    pub(crate) fn instrument(&self) -> (String, &'static str) {
        let name = match self.kind {
            Kind::Counter => self.name.strip_suffix("_total").unwrap_or(self.name),
            _ => self.name,
        };
        let (name, unit) = match (name.strip_suffix("_seconds"), name.strip_suffix("_bytes")) {
            (Some(name), _) => (name, "s"),
            (_, Some(name)) => (name, "By"),
            _ => (name, ""),
        };
        (name.replacen('_', ".", 1), unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_conventions_of_prometheus() {
        for metric in ALL {
            let letters = metric.name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            assert!(letters, "{}", metric.name);
            assert_eq!(
                metric.name.ends_with("_total"),
                metric.kind == Kind::Counter,
                "{}",
                metric.name
            );
            assert!(
                !metric.help.ends_with('.') && metric.labels.len() <= 3,
                "{}",
                metric.name
            );
        }
        let mut names: Vec<_> = ALL.iter().map(|metric| metric.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }

    #[test]
    fn the_operators_guide_names_no_other_metric() {
        let guide = include_str!("../../../../docs/operating.md");
        let words = guide.split(|c: char| !(c.is_ascii_lowercase() || c == '_'));
        for word in words.filter(|word| word.starts_with("lethe_")) {
            assert!(ALL.iter().any(|metric| metric.name == word), "{word}");
        }
    }

    #[test]
    fn an_instruments_name_leaves_unit_and_suffix_to_the_exporter() {
        assert_eq!(STAGE.instrument(), ("lethe.stage".to_owned(), "s"));
        assert_eq!(CPU.instrument(), ("process.cpu".to_owned(), "s"));
        assert_eq!(RECORDS.instrument(), ("lethe.records".to_owned(), ""));
        assert_eq!(NOTE_BYTES.instrument(), ("lethe.note".to_owned(), "By"));
    }
}
