//! `lethe skip`: confirms that records are lost.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use lethe_connectors::Stop;
use lethe_connectors::sink::{ChainId, bridge, read_tail};

use super::run::{fingerprints, runtime};
use crate::brokers::{identity, topic_ids};
use crate::cli::SkipArgs;
use crate::config::{SourceConfig, load};
use crate::exit::{Coded, Failure, usage};

/// Bridges a gap in a chain with a file that has no rows and gives the reason.
pub(crate) fn run(args: &SkipArgs) -> anyhow::Result<()> {
    let config = load(&args.config)?;
    let sink = config
        .sink
        .as_ref()
        .ok_or_else(|| usage("the configuration has no `[sink]`"))?;
    let (cluster, topic_id) = match &config.source {
        Some(SourceConfig::Kafka(kafka)) => {
            let (stop, at_once) = (Stop::new(Duration::ZERO), Some(Duration::ZERO));
            let cluster = identity(kafka, &stop, at_once)?;
            let ids = topic_ids(kafka, &stop, at_once)?;
            (cluster, ids.get(args.topic.as_str()).map(Arc::clone))
        }
        _ => (None, None),
    };
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
