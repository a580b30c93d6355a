//! `lethe check`: checks a configuration.

use std::io::Write as _;

#[cfg(feature = "kafka")]
use std::time::Duration;

#[cfg(feature = "kafka")]
use lethe_connectors::kafka::{Cluster, KafkaConfig};
use lethe_connectors::registry;

use lethe_connectors::store::verify;
use lethe_connectors::tables::Tables;

use super::run::runtime;
use crate::cli::CheckArgs;
use crate::config::{SourceConfig, load};
use crate::exit::{Coded, Failure, usage};

/// Checks a configuration, and with `--connect` the services that it names.
pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<()> {
    let mut config = load(&args.config)?.with_policy(args.policy.as_ref())?;
    super::backfill::carry(&mut config);
    config.telemetry.check(config.resources.drain())?;
    config.resources.check_grace()?;
    let mut built = config.engine.build()?;
    registry::build(&config.format).map_err(|error| usage(format!("`[format]`, key {error}")))?;
    config.check_names(built.mode)?;
    let mut to = std::io::stdout().lock();
    writeln!(to, "members     {}", built.engine.members().join(", "))?;
    writeln!(to, "labels      {}", built.labels)?;
    writeln!(to, "dictionary  {}", built.dictionary)?;
    if let Some(mode) = built.mode {
        writeln!(to, "policy      {mode}, {}", built.policy)?;
    }
    if let Some(acknowledged) = &built.acknowledged {
        writeln!(to, "acknowledged {acknowledged}")?;
    }
    let mut wrong = Vec::new();
    match &config.source {
        #[cfg(feature = "kafka")]
        Some(SourceConfig::Kafka(kafka)) => {
            kafka
                .validate()
                .map_err(|error| usage(format!("`[source]`, key {error}")))?;
            writeln!(
                to,
                "source      kafka, {} as group {}",
                kafka.topics.join(", "),
                kafka.group
            )?;
            if args.connect {
                match examine(kafka) {
                    Ok(found) => writeln!(to, "            {found}")?,
                    Err(error) => wrong.push(error.to_string()),
                }
            }
        }
        Some(SourceConfig::Files(files)) => {
            if args.connect
                && let Err(error) = files.build()
            {
                wrong.push(error.to_string());
            }
            writeln!(to, "source      files")?;
        }
        Some(SourceConfig::Messages(files)) => {
            writeln!(to, "source      files of messages")?;
            if args.connect {
                match files.find(&config.format, runtime()?.handle()) {
                    Ok(found) => writeln!(to, "            {} files", found.len())?,
                    Err(error) => wrong.push(error.to_string()),
                }
            }
        }
        None if config.backfill.is_some() => {}
        None => writeln!(
            to,
            "source      none: only `redact` and `annotate` can use this configuration"
        )?,
    }
    if let Some(tables) = &config.backfill {
        crate::backfill::check(tables, built.engine.labels())?;
        super::backfill::keep(&tables.columns, &mut built)?;
        config.check_object_names()?;
        writeln!(to, "backfill    {}", tables.input.build()?.describe())?;
        if args.connect {
            let runtime = runtime()?;
            match Tables::open(tables, runtime.handle().clone()).and_then(|tables| tables.units(None)) {
                Ok(found) => {
                    writeln!(to, "            {} units", found.units.len())?;
                    wrong.extend(found.broken.into_iter().map(|(_, error)| error.to_string()));
                }
                Err(error) => wrong.push(error.to_string()),
            }
        }
    }
    if let Some(kept) = &built.kept {
        writeln!(to, "kept        {kept}")?;
    }
    if let Some(sink) = &config.sink {
        let store = sink.store.build()?;
        writeln!(to, "sink        {}", store.describe())?;
        if args.connect {
            let runtime = runtime()?;
            match runtime.block_on(verify(store.as_ref())) {
                Ok(()) => writeln!(to, "            writable, and creates each name only once")?,
                Err(error) => wrong.push(error.to_string()),
            }
        }
    }
    if let Some(corrections) = &config.corrections {
        corrections.check(&config)?;
        #[cfg(not(feature = "kafka"))]
        writeln!(to, "corrections a file")?;
        #[cfg(feature = "kafka")]
        match corrections.kafka(&config)? {
            Some(kafka) => {
                writeln!(
                    to,
                    "corrections kafka, {} as group {}",
                    kafka.topics.join(", "),
                    kafka.group
                )?;
                if args.connect {
                    match examine(&kafka) {
                        Ok(found) => writeln!(to, "            {found}")?,
                        Err(error) => wrong.push(error.to_string()),
                    }
                }
            }
            None => writeln!(to, "corrections a file")?,
        }
    }
    if wrong.is_empty() {
        writeln!(to, "ok")?;
        return Ok(());
    }
    Err(Coded(Failure::Found, wrong.join("\n       ")).into())
}

/// Connects to the brokers and finds each topic.
#[cfg(feature = "kafka")]
fn examine(kafka: &KafkaConfig) -> anyhow::Result<String> {
    let cluster = Cluster::connect(kafka, Duration::from_secs(10))?;
    let id = cluster.id()?;
    let mut found = format!("cluster {}", id.as_deref().unwrap_or("without an id"));
    for name in &kafka.topics {
        let topic = cluster.topic(name)?;
        let mut waiting = 0;
        for &partition in &topic.partitions {
            let (low, high) = cluster.watermarks(name, partition)?;
            waiting += high - low;
        }
        found += &format!(
            "; topic {name}: {} partitions, {waiting} records in the log",
            topic.partitions.len()
        );
    }
    Ok(found)
}
