//! `lethe metrics`: lists the metrics, for authors of dashboards and alerts.

use std::io::Write as _;

use crate::telemetry::catalogue::{ALL, Kind};

/// Prints a line per metric: name, kind, labels and description, separated by tabs.
pub(crate) fn run() -> anyhow::Result<()> {
    let mut to = std::io::stdout().lock();
    for metric in ALL {
        let kind = match metric.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        writeln!(
            to,
            "{}\t{kind}\t{}\t{}",
            metric.name,
            metric.labels.join(","),
            metric.help
        )?;
    }
    Ok(())
}
