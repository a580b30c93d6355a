//! Measurements that a bundle's manifest records.

use anyhow::Context as _;
use lethe_corpus::Document;
use lethe_ensemble::{Measured, OperatingPoint};
use lethe_evaluate::{Estimate, Interval, Options, evaluate};

/// Computes the measures with intervals over documents.
pub(crate) fn measured(
    on: String,
    cost: f64,
    gold: &[Document],
    documents: Vec<Document>,
) -> anyhow::Result<Measured> {
    let report = evaluate(gold, &[("ensemble".to_owned(), documents)], &Options::default())?;
    let system = report.systems.first().context("one system was scored")?;
    let figures = |estimate: &Estimate| {
        let interval = estimate.interval.unwrap_or(Interval {
            low: estimate.value,
            high: estimate.value,
        });
        [estimate.value, interval.low, interval.high]
    };
    Ok(Measured {
        on,
        point: OperatingPoint::default(),
        documents: gold.len(),
        f1: figures(&system.measures.strict.f1),
        recall: figures(&system.measures.character.recall),
        cost: Some(cost).filter(|cost| *cost > 0.0),
    })
}
