//! Configuration: plain serde data in one TOML file; what it builds is elsewhere.

#[cfg(not(feature = "kafka"))]
mod absent;
mod bundles;
mod corrections;
mod engine;
mod explain;
mod load;
mod names;
mod origin;
mod paths;
mod policy;
mod renamed;
mod table;
mod telemetry;
mod union_rules;

use std::path::PathBuf;
use std::time::Duration;

#[cfg(feature = "kafka")]
use lethe_connectors::emit::KafkaEmitConfig;
use lethe_connectors::files::{
    FileSourceConfig, JsonlConfig, MessageFilesConfig, ParquetConfig, TextFolderConfig,
};
use lethe_connectors::format::FormatConfig;
#[cfg(feature = "kafka")]
use lethe_connectors::kafka::KafkaConfig;
use lethe_connectors::sink::{Encoding, Roll};
use lethe_connectors::store::StoreConfig;
use lethe_connectors::tables::TablesConfig;
use lethe_policy::PolicyFile;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::exit::usage;
use crate::pipeline::Limits;
use crate::signals::LEAVE_SECONDS;
#[cfg(not(feature = "kafka"))]
use absent::{Absent as KafkaConfig, Absent as KafkaEmitConfig};
use origin::Origin;

pub(crate) use corrections::{CorrectionSource, CorrectionsConfig};
pub(crate) use engine::{BuiltEngine, EngineConfig, label_set};
pub(crate) use load::load;
#[cfg(any(feature = "kafka", test))]
pub(crate) use load::parse;
pub(crate) use names::{Naming, is_strict};
pub(crate) use origin::SecretFile;
pub(crate) use paths::Written;
pub(crate) use policy::{PolicySource, is_away, refused};
pub(crate) use table::TableConfig;
pub(crate) use telemetry::{OtlpConfig, TelemetryConfig};

/// The least memory that the program can be held to.
const LEAST_MEMORY: usize = 384 << 20;

/// The least memory that one record can be held to: more than what an ordinary batch takes.
const LEAST_RECORD: usize = 32 << 20;
/// What a worker's ordinary batch takes above the rest, in bytes.
const WORKER: usize = 2 << 20;

/// A configuration file. Lethe refuses unknown keys.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// The source of note events. `lethe run` needs it.
    #[schemars(with = "Option<SourceTable>")]
    pub(crate) source: Option<SourceConfig>,
    /// The format of payloads.
    pub(crate) format: FormatConfig,
    /// The members, their combination and the redaction.
    pub(crate) engine: EngineConfig,
    /// The redaction policy. By default spans are replaced as in `[engine.redaction]`.
    pub(crate) policy: Option<PolicyFile>,
    /// The path of a policy file, instead of `[policy]`.
    #[schemars(extend("examples" = ["policy.toml"]))]
    pub(crate) policy_file: Option<PathBuf>,
    /// The destination of redacted notes. `lethe run` and `lethe backfill` need it.
    pub(crate) sink: Option<SinkConfig>,
    /// The destination of redacted messages, for `lethe emit`.
    pub(crate) emit: Option<EmitConfig>,
    /// The tables that `lethe backfill` reads.
    pub(crate) backfill: Option<TablesConfig>,
    /// Limits of threads, memory and time.
    pub(crate) resources: Resources,
    /// Health endpoints, metrics and traces.
    pub(crate) telemetry: TelemetryConfig,
    /// Training on corrections while notes stream, for `lethe adapt corrections`.
    pub(crate) corrections: Option<CorrectionsConfig>,
    /// The file that this was read from.
    #[serde(skip)]
    pub(crate) origin: Origin,
}

impl Config {
    /// Gives the input of a backfill its default id in the list of codes, with a path as it is written.
    fn name_input(&mut self) {
        if let Some(tables) = &mut self.backfill
            && tables.input_id.is_none()
            && let Some(StoreConfig::Folder(folder)) = &tables.input
        {
            let written = self.engine.written.path(&folder.path);
            if written != folder.path {
                tables.input_id = Some(format!("folder {}, folder {}", written.display(), tables.folder));
            }
        }
    }

    /// Checks the settings of corrections, if there are any, against the rest.
    ///
    /// # Errors
    /// A usage error that names the key.
    pub(crate) fn check_corrections(&self) -> anyhow::Result<()> {
        let corrections = self.corrections.as_ref();
        corrections.map_or(Ok(()), |corrections| corrections.check(self))
    }
}

/// Where note events come from.
#[derive(Debug, Deserialize)]
#[serde(from = "SourceTable")]
pub(crate) enum SourceConfig {
    /// Topics of a Kafka cluster.
    #[cfg(feature = "kafka")]
    Kafka(KafkaConfig),
    /// Files of notes, each a lane of its own.
    Files(FileSourceConfig),
    /// Files of messages in any format.
    Messages(MessageFilesConfig),
}

/// The source of note events: `kind` selects Kafka or a kind of files.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum SourceTable {
    /// Reads topics of a Kafka cluster.
    Kafka(KafkaConfig),
    /// Reads files of JSON lines, one note event per line.
    Jsonl(JsonlConfig),
    /// Reads a folder of plain text, one note per file.
    Text(TextFolderConfig),
    /// Reads Parquet files, one note per row.
    Parquet(ParquetConfig),
    /// Reads files of messages in any format of `[format]`.
    Files(MessageFilesConfig),
}

impl From<SourceTable> for SourceConfig {
    fn from(table: SourceTable) -> Self {
        match table {
            #[cfg(feature = "kafka")]
            SourceTable::Kafka(config) => Self::Kafka(config),
            #[cfg(not(feature = "kafka"))]
            SourceTable::Kafka(config) => match config {},
            SourceTable::Jsonl(config) => Self::Files(FileSourceConfig::Jsonl(config)),
            SourceTable::Text(config) => Self::Files(FileSourceConfig::Text(config)),
            SourceTable::Parquet(config) => Self::Files(FileSourceConfig::Parquet(config)),
            SourceTable::Files(config) => Self::Messages(config),
        }
    }
}

/// The destination of redacted notes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SinkConfig {
    /// The folder or bucket of the dataset.
    pub(crate) store: StoreConfig,
    /// Limits of a file: a lane writes its file as soon as it reaches one of them.
    #[serde(default)]
    pub(crate) roll: Roll,
    /// The Parquet encoding of files.
    #[serde(default)]
    pub(crate) encoding: Encoding,
    /// The Delta or Iceberg table in which `lethe run` registers its files. By default only `lethe publish` does.
    pub(crate) table: Option<TableConfig>,
}

/// The destination of redacted messages, which `lethe emit` publishes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum EmitConfig {
    /// Publishes to a topic of a Kafka cluster, each message exactly once.
    Kafka(KafkaEmitConfig),
    /// Writes each message as a file to a folder or a bucket.
    Files {
        /// The folder or bucket.
        store: StoreConfig,
        /// The suffix of file names.
        #[serde(default)]
        #[schemars(extend("examples" = [".json"]))]
        suffix: String,
    },
}

/// Limits of threads, memory and time.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Resources {
    /// The number of threads that tag and encode. 0 means one per core.
    #[schemars(extend("x-unit" = "threads"))]
    pub(crate) workers: usize,
    /// The memory of the whole process, at least 384 MiB. Under memory pressure Lethe pauses partitions and
    /// closes files early.
    pub(crate) memory_bytes: usize,
    /// The memory for one record, and for all long records (over 1 MiB) that are processed at the same time.
    /// A record that would take more is quarantined as `over_budget`. 0 means half of `memory_bytes` in a
    /// stream, where a long record borrows what it needs beyond five sixteenths from the memory of the lanes;
    /// in `lethe backfill` and `lethe replay` it means five sixteenths of `memory_bytes`, less 2 MiB per worker,
    /// but at least an eighth of `memory_bytes`. Other values are from 32 MiB to half of `memory_bytes`.
    pub(crate) record_bytes: usize,
    /// The time that a lane has to write its file when it loses its partition or the process stops.
    pub(crate) drain_seconds: u64,
    /// The time between SIGTERM and SIGKILL: Kubernetes' `terminationGracePeriodSeconds`, systemd's
    /// `TimeoutStopSec`. `lethe check` refuses a value less than `drain_seconds` plus 2 s. By default it is
    /// unknown and not checked.
    #[schemars(extend("examples" = [45]))]
    pub(crate) grace_seconds: Option<u64>,
}

impl Default for Resources {
    fn default() -> Self {
        Self {
            workers: 0,
            memory_bytes: 512 << 20,
            record_bytes: 0,
            drain_seconds: 30,
            grace_seconds: None,
        }
    }
}

impl Resources {
    /// Threads that tag and encode.
    pub(crate) fn worker_count(&self) -> usize {
        match self.workers {
            0 => std::thread::available_parallelism().map_or(2, usize::from),
            n => n,
        }
    }

    /// The memory budget in bytes.
    ///
    /// # Errors
    /// If it is too small for the program itself.
    pub(crate) fn memory(&self) -> anyhow::Result<usize> {
        if self.memory_bytes < LEAST_MEMORY {
            return Err(usage(format!(
                "key `resources.memory_bytes`: {} is too little; give at least {LEAST_MEMORY}",
                self.memory_bytes
            )));
        }
        Ok(self.memory_bytes)
    }

    /// What one record of a stream may take, where it may borrow from the lanes: half of the memory.
    ///
    /// # Errors
    /// As [`Self::limits`].
    pub(crate) fn stream_limits(&self) -> anyhow::Result<Limits> {
        let limits = self.limits()?;
        Ok(match self.record_bytes {
            0 => Limits::new(self.memory()? / 2).reserving(limits.record),
            _ => limits,
        })
    }

    /// What one record may take.
    ///
    /// # Errors
    /// If that is less than an ordinary batch takes, or more than the lanes leave.
    pub(crate) fn limits(&self) -> anyhow::Result<Limits> {
        let memory = self.memory()?;
        let record = match self.record_bytes {
            // At least an eighth, however many workers there are.
            0 => (memory / 16 * 5)
                .saturating_sub(self.worker_count() * WORKER)
                .max(memory / 8),
            bytes if (LEAST_RECORD..=memory / 2).contains(&bytes) => bytes,
            bytes => {
                return Err(usage(format!(
                    "key `resources.record_bytes`: {bytes} is not from {LEAST_RECORD} to half of `resources.memory_bytes` ({})",
                    memory / 2
                )));
            }
        };
        Ok(Limits::new(record))
    }

    /// Whether the orchestrator gives a stop the time that it may take.
    ///
    /// # Errors
    /// A usage error that names the key.
    pub(crate) fn check_grace(&self) -> anyhow::Result<()> {
        let least = self.drain_seconds.saturating_add(LEAVE_SECONDS);
        match self.grace_seconds {
            Some(grace) if grace < least => Err(usage(format!(
                "key `resources.grace_seconds`: is {grace}, and a stop may take `resources.drain_seconds` and {LEAVE_SECONDS} s, {least}: the \
                 program would be killed while it writes; give it more time, or lower `resources.drain_seconds`"
            ))),
            _ => Ok(()),
        }
    }

    /// The deadline of a drain.
    pub(crate) const fn drain(&self) -> Duration {
        Duration::from_secs(self.drain_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lethe_core::fingerprint;

    #[test]
    fn a_grace_period_must_cover_a_stop() {
        let with = |grace_seconds| Resources {
            drain_seconds: 30,
            grace_seconds,
            ..Resources::default()
        };
        assert!(with(None).check_grace().is_ok(), "it is not known");
        assert!(with(Some(32)).check_grace().is_ok());
        let refused = with(Some(31)).check_grace().map_err(|error| error.to_string());
        assert!(
            refused.is_err_and(|why| why.contains("resources.grace_seconds") && why.contains("32")),
            "31 s are less than a stop may take"
        );
    }

    fn fingerprint_of(toml: &str) -> String {
        let config = parse(toml, "lethe.toml").expect("the configuration is sound");
        fingerprint(&(&config.format, &config.engine))
    }

    /// Fails when a key of these tables is renamed, or its default changes: raise `FINGERPRINT_SCHEME` for the first.
    #[test]
    fn the_fingerprint_of_settings_is_the_same_in_every_build() {
        let of_defaults = "dca0a58a67a29920ae6580fc5d9e8751833aeaf8c815555d1d0ef4a13eb4f80a";
        let of_settings = "20c59561b0ded436f8d1a40691111e71ffb9e861406dbde99dfd12e2ac744d60";
        let settings = "[format]\nkind = \"hl7v2\"\n[engine]\nlabels = \"i2b2-2014\"\nacknowledge = [\"rules-only\"]\n\
            members = [{ kind = \"pattern\" }, { kind = \"known\" }]\n[engine.vote]\nthreshold = 2\nalways_redact = [\"known\"]\n\
            [engine.redaction]\nkeep = [\"note_id\"]\nlabels = { PATIENT = \"mask\" }\n";
        let both = ["", settings].map(fingerprint_of);
        assert_eq!(both, [of_defaults, of_settings]);
    }

    #[test]
    fn secrets_and_paths_are_no_part_of_the_fingerprint() {
        let with = |password: &str, dictionary: &str| {
            fingerprint_of(&format!(
                "[format]\nkind = \"avro\"\nregistry = {{ url = \"https://r.example\", user = \"u\", password = \"{password}\" }}\n\
                 [engine]\ndictionary = \"{dictionary}\"\n"
            ))
        };
        assert_eq!(with("one", "/a"), with("another", "/b"));
    }
}
