//! `lethe skip`: an operator's word that records are gone for good.

use std::io::Write as _;
use std::time::Duration;

use lethe_connectors::Stop;
use lethe_connectors::sink::{ChainId, bridge, read_tail};

use super::run::{fingerprints, runtime};
use crate::brokers::identity;
use crate::cli::SkipArgs;
use crate::config::{SourceConfig, load};
use crate::exit::usage;

/// Bridges a gap in a chain with a file of no rows that says why.
pub(crate) fn run(args: &SkipArgs) -> anyhow::Result<()> {
    let config = load(&args.config)?;
    let sink = config
        .sink
        .as_ref()
        .ok_or_else(|| usage("the configuration has no `[sink]`"))?;
    let identity = match &config.source {
        Some(SourceConfig::Kafka(kafka)) => {
            identity(kafka, &Stop::new(Duration::ZERO), Some(Duration::ZERO))?
        }
        _ => None,
    };
    let fingerprints = fingerprints(&config, &config.engine.build()?, identity);
    let runtime = runtime()?;
    let chain = ChainId::new(args.topic.as_str(), args.partition);
    let receipt = runtime.block_on(async {
        let store = sink.store.build()?;
        let from = read_tail(store.as_ref(), &chain)
            .await?
            .map_or(0, |tail| tail.next);
        anyhow::Ok(bridge(store.as_ref(), &chain, from, args.to, &args.reason, &fingerprints).await?)
    })?;
    let mut to = std::io::stdout().lock();
    writeln!(
        to,
        "{}/{}: the chain now goes on at offset {}; start the operator again",
        args.topic,
        args.partition,
        receipt.next()
    )?;
    Ok(())
}
