//! Every metric that the program has, in one list: what it is called, what it counts, by what.
//!
//! Names are Prometheus names. What OTLP carries is the same under the name without unit and `_total`, dots for the first
//! underscore. A dashboard, an alert or a page of the documentation may name these and no others, which tests hold.

/// What kind of metric it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Only grows.
    Counter,
    /// A value of now.
    Gauge,
    /// How values are distributed: `_bucket`, `_sum` and `_count` stand behind the name.
    Histogram,
}

/// One metric.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metric {
    /// As Prometheus has it.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// What it tells, with its unit.
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
        /// All of them, in the order of the documentation.
        pub(crate) const ALL: &[Metric] = &[$($constant),+];
    };
}

metrics! {
    RECORDS = Counter "lethe_records_total" ["outcome"] "Records that became rows, by what they are: note, tombstone, quarantined";
    NOTE_BYTES = Counter "lethe_note_bytes_total" ["outcome"] "Bytes of records' payloads, or of notes' texts where a file source read them, by what became of the record";
    SPANS = Counter "lethe_spans_total" ["label", "members"] "Redacted spans, by label and by the members that decided them";
    QUARANTINED = Counter "lethe_quarantined_total" ["code"] "Quarantined records, by code";
    REVIEWS = Counter "lethe_reviews_total" ["reason"] "Notes flagged for a human, by reason";
    FILES = Counter "lethe_files_total" ["reason"] "Files committed, by why they were closed";
    STORE_RETRIES = Counter "lethe_store_retries_total" ["operation"] "Times that a store, a key service or a registry could not answer and was asked again";
    REBALANCES = Counter "lethe_rebalances_total" ["kind"] "Partitions assigned, revoked and lost";
    FENCED = Counter "lethe_fenced_writes_total" [] "Files that another writer's took the place of";
    HALTED = Counter "lethe_lanes_halted_total" ["code"] "Lanes that halted for an operator to decide, by code";
    HALTED_NOW = Gauge "lethe_lanes_halted" [] "Lanes that are halted";
    SOURCE_ERRORS = Counter "lethe_source_errors_total" ["kind"] "Errors that the Kafka consumer met, by kind: authorization, login, topic, fenced, evicted, unreadable, other";
    CACHE = Counter "lethe_cache_lookups_total" ["member", "result"] "Words and contexts that a member had computed before (hit) or not (miss)";
    DRIFT_WARNINGS = Counter "lethe_drift_warnings_total" ["signal"] "Times that a feed's signal left its usual range";
    STAGE = Histogram "lethe_stage_seconds" ["stage"] "Seconds that a batch, or a file for seal and store, spent in a stage: queue, decode, tag, encode, seal, store";
    BATCH_RECORDS = Histogram "lethe_batch_records" [] "Records tagged together";
    BATCH_BYTES = Histogram "lethe_batch_bytes" [] "Bytes that records tagged together hold in memory";
    FILE_BYTES = Histogram "lethe_file_bytes" [] "Bytes of a committed notes file";
    COMMIT = Histogram "lethe_commit_seconds" [] "Seconds from closing a file until it was durable";
    VOTE_MARGIN = Histogram "lethe_vote_margin" [] "Of a redacted span the members' mean score, silence counting as 0";
    LAG_RECORDS = Gauge "lethe_lag_records" ["topic", "partition"] "Records of a partition that are not durable yet";
    LAG_SECONDS = Gauge "lethe_lag_seconds" ["topic", "partition"] "Age of the oldest record of a partition that is not durable yet, as far as is known; 0 if all are";
    QUEUE_RECORDS = Gauge "lethe_queue_records" ["topic", "partition"] "Records that wait in a lane's queue";
    MEMORY_BUDGET = Gauge "lethe_memory_budget_bytes" [] "Memory that lanes may hold together";
    MEMORY_HELD = Gauge "lethe_memory_held_bytes" [] "Memory that lanes hold";
    LANES = Gauge "lethe_lanes" [] "Lanes that run";
    PHI_DENSITY = Gauge "lethe_phi_per_thousand_tokens" [] "Redacted spans in a thousand tokens, over the recent ones";
    DRIFT = Gauge "lethe_drift" ["signal"] "A feed's signal over the recent tokens as a multiple of what it is over many: phi_density, vote_margin";
    BACKFILL_ROWS = Counter "lethe_backfill_rows_total" ["outcome"] "Rows of tables that a backfill handled: redacted, quarantined";
    BACKFILL_BYTES = Counter "lethe_backfill_bytes_total" [] "Bytes of text that a backfill redacted, as they came";
    BACKFILL_UNITS = Gauge "lethe_backfill_units" ["state"] "Units of this shard of a backfill: total, done";
    BACKFILL_LEFT = Gauge "lethe_backfill_seconds_left" [] "About how long the rest of this shard of a backfill will take";
    READY = Gauge "lethe_ready" [] "1 where the program can take records, else 0";
    BUILD_INFO = Gauge "lethe_build_info" ["version", "bundle", "policy"] "Always 1; tells what runs";
    RESIDENT = Gauge "process_resident_memory_bytes" [] "Memory of the process";
    OPEN_FDS = Gauge "process_open_fds" [] "Open file descriptors";
    MAX_FDS = Gauge "process_max_fds" [] "File descriptors that may be open";
    CPU = Counter "process_cpu_seconds_total" [] "Seconds of processor time, all threads";
    STARTED = Gauge "process_start_time_seconds" [] "When the process began, in seconds since 1970";
}

impl Metric {
    /// The name that an instrument of OpenTelemetry has, from which the exporter makes [`Metric::name`], and its unit (UCUM).
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
    fn the_operators_guide_has_every_metric_and_no_other() {
        let guide = include_str!("../../../docs/operating.md");
        for metric in ALL {
            let row = format!(
                "| `{}` | {} | {} |",
                metric.name,
                metric.labels.join(", "),
                metric.help
            );
            assert!(guide.contains(&row), "{row}");
        }
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
