//! `lethe metrics`: lists the metrics, for authors of dashboards and alerts.

use serde::Serialize;

use super::documents::print;
use crate::cli::MetricsArgs;
use crate::telemetry::catalogue::{ALL, Kind};

/// A metric, as it is printed.
#[derive(Serialize)]
struct Metric {
    name: &'static str,
    kind: &'static str,
    labels: &'static [&'static str],
    description: &'static str,
}

/// Prints a line per metric: name, kind, labels and description, separated by tabs.
pub(crate) fn run(args: &MetricsArgs) -> anyhow::Result<()> {
    let metrics: Vec<Metric> = ALL
        .iter()
        .map(|metric| Metric {
            name: metric.name,
            kind: match metric.kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
                Kind::Histogram => "histogram",
            },
            labels: metric.labels,
            description: metric.help,
        })
        .collect();
    print(args.json, &metrics, || {
        let line = |metric: &Metric| {
            let labels = metric.labels.join(",");
            format!(
                "{}\t{}\t{labels}\t{}\n",
                metric.name, metric.kind, metric.description
            )
        };
        metrics.iter().map(line).collect()
    })
}
