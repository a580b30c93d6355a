//! The page of every metric, from the catalogue.

use super::markdown::{GENERATED, code, table};
use crate::telemetry::catalogue::{ALL, Kind};

const INTRODUCTION: &str = "# Metrics

Every metric of `/metrics`. [Operating](../operating.md#what-to-monitor-first) explains which to watch. OTLP
uses the same metrics under the name without unit and `_total`, with a dot for the first underscore:
`lethe_stage_seconds` is `lethe.stage`. A histogram has the suffixes `_bucket`, `_sum` and `_count`. No label
has a value from a note.

";

/// Returns the page.
pub(super) fn page() -> String {
    let rows = ALL.iter().map(|metric| {
        let kind = match metric.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let unit = match metric.instrument().1 {
            "s" => "s",
            "By" => "bytes",
            _ => "",
        };
        let labels: Vec<_> = metric.labels.iter().map(|label| code(label)).collect();
        [
            code(metric.name),
            kind.to_owned(),
            unit.to_owned(),
            labels.join(", "),
            metric.help.to_owned(),
        ]
    });
    let head = ["metric", "type", "unit", "labels", "description"];
    format!("{GENERATED}{INTRODUCTION}{}", table(head, rows))
}
