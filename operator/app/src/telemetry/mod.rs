//! The observability of a running program: metrics, traces, health endpoints, and a status page.
//!
//! Labels, attributes and texts are coordinates, codes and names from the configuration; none comes from a
//! note.

mod answer;
mod backfill;
mod board;
pub(crate) mod catalogue;
pub(crate) mod connections;
mod drift;
mod export;
mod gauges;
mod halted;
mod measures;
mod page;
pub(crate) mod server;

use std::sync::Arc;

use opentelemetry::metrics::MeterProvider as _;
use prometheus::TextEncoder;
use tokio::runtime::Handle;

pub(crate) use backfill::BackfillBoard;
pub(crate) use board::{Board, Build, LaneBoard, MemberCaches};
pub(crate) use drift::{Drift, Seen};
pub(crate) use export::Work;
pub(crate) use halted::{HaltCode, Halted};
pub(crate) use measures::{Closing, Measures, Stage};
pub(crate) use server::Server;

use crate::config::TelemetryConfig;
use export::{Exports, Traces};

/// The telemetry of the program, shared by all of its parts.
pub(crate) struct Telemetry {
    board: Arc<Board>,
    drift: Arc<Drift>,
    measures: Measures,
    traces: Traces,
    exports: Exports,
}

impl Telemetry {
    /// Creates the configured telemetry. Metrics are always recorded, since the summary of a run is computed
    /// from them.
    ///
    /// # Errors
    /// A usage error that names the key.
    pub(crate) fn new(config: &TelemetryConfig, runtime: &Handle) -> anyhow::Result<Arc<Self>> {
        let board = Arc::new(Board::new(config.stall()));
        let drift = Arc::new(Drift::default());
        let exports = Exports::new(config, runtime)?;
        let meter = exports.meters.meter("lethe");
        let measures = Measures::new(&meter);
        measures.begin();
        gauges::observe(&meter, &board, &drift);
        Ok(Arc::new(Self {
            board,
            drift,
            measures,
            traces: exports.traces(),
            exports,
        }))
    }

    /// Serves the pages until the server is dropped, if an address is configured. The server has its own
    /// thread.
    ///
    /// # Errors
    /// If the address is not available.
    pub(crate) fn serve(self: &Arc<Self>, config: &TelemetryConfig) -> anyhow::Result<Option<Server>> {
        let Some(address) = config.listen else {
            return Ok(None);
        };
        let (server, address) = Server::start(address, Arc::clone(self))?;
        tracing::info!(%address, "status page, /metrics, /live and /ready");
        Ok(Some(server))
    }

    /// Returns the board.
    pub(crate) const fn board(&self) -> &Arc<Board> {
        &self.board
    }

    /// Returns the drift of the feed.
    pub(crate) fn drift(&self) -> &Drift {
        &self.drift
    }

    /// Returns the instruments.
    pub(crate) const fn measures(&self) -> &Measures {
        &self.measures
    }

    /// Returns the traces of batches and files.
    pub(crate) const fn traces(&self) -> &Traces {
        &self.traces
    }

    /// Renders all metrics in the Prometheus format.
    ///
    /// # Errors
    /// If the registry refuses a metric.
    pub(crate) fn exposition(&self) -> prometheus::Result<String> {
        TextEncoder::new().encode_to_string(&self.exports.registry.gather())
    }

    /// Returns the values of a counter or gauge, with their labels in alphabetical order of names.
    fn values(&self, name: &str) -> Vec<(Vec<String>, f64)> {
        let families = self.exports.registry.gather();
        let metrics = families.iter().filter(|family| family.name() == name);
        metrics
            .flat_map(|family| family.get_metric())
            .map(|metric| {
                let labels = metric.get_label().iter().map(|label| label.value().to_owned());
                let counter = metric.get_counter().get_value();
                (
                    labels.collect(),
                    if counter > 0.0 {
                        counter
                    } else {
                        metric.get_gauge().get_value()
                    },
                )
            })
            .collect()
    }

    /// Sends everything that is pending.
    pub(crate) fn shut_down(&self) {
        self.exports.shut_down();
    }
}
