//! `lethe skip`: confirms that records are lost.

use std::io::Write as _;
use std::sync::Arc;

use lethe_connectors::sink::{ChainId, bridge, read_tail};

use super::run::{fingerprints, runtime};
use crate::cli::SkipArgs;
use crate::config::{Config, load};
use crate::exit::{Coded, Failure, usage};

/// Bridges a gap in a chain with a file that has no rows and gives the reason.
pub(crate) fn run(args: &SkipArgs) -> anyhow::Result<()> {
    let config = load(&args.config)?;
    let sink = config
        .sink
        .as_ref()
        .ok_or_else(|| usage("the configuration has no `[sink]`"))?;
    let (cluster, topic_id) = ids(&config, &args.topic)?;
    let fingerprints = fingerprints(&config, &config.engine.build()?, cluster).of_topic(topic_id.as_deref());
    let runtime = runtime()?;
    let chain = ChainId::new(args.topic.as_str(), args.partition);
    let receipt = runtime.block_on(async {
        let store = sink.store.build()?;
        let tail = read_tail(store.as_ref(), &chain).await?;
        if let Some(tail) = &tail {
            // Offsets of another log mean other records, so the chain cannot continue.
            tail.check_log(&fingerprints)
                .map_err(|error| Coded(Failure::Halted, error.to_string()))?;
        }
        let from = tail.map_or(0, |tail| tail.next);
        anyhow::Ok(bridge(store.as_ref(), &chain, from, args.to, &args.reason, &fingerprints).await?)
    })?;
    let mut to = std::io::stdout().lock();
    writeln!(
        to,
        "{}/{}: the chain now continues at offset {}; start the operator again",
        args.topic,
        args.partition,
        receipt.next()
    )?;
    Ok(())
}

/// Returns the ids of the cluster and of the topic; files have none.
#[cfg(feature = "kafka")]
fn ids(config: &Config, topic: &str) -> anyhow::Result<(Option<String>, Option<Arc<str>>)> {
    use std::time::Duration;

    use lethe_connectors::Stop;

    use crate::brokers::{identity, topic_ids};
    use crate::config::SourceConfig;

    let Some(SourceConfig::Kafka(kafka)) = &config.source else {
        return Ok((None, None));
    };
    let (stop, at_once) = (Stop::new(Duration::ZERO), Some(Duration::ZERO));
    let cluster = identity(kafka, &stop, at_once)?;
    let ids = topic_ids(kafka, &stop, at_once)?;
    Ok((cluster, ids.get(topic).map(Arc::clone)))
}

/// Returns the ids of the cluster and of the topic: none in a build without Kafka.
#[cfg(not(feature = "kafka"))]
fn ids(_: &Config, _: &str) -> anyhow::Result<(Option<String>, Option<Arc<str>>)> {
    Ok((None, None))
}
