//! The `[telemetry]` table.

use std::net::SocketAddr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::exit::usage;

/// Health endpoints, metrics and traces.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TelemetryConfig {
    /// The address, as `address:port`, of `/live`, `/ready`, `/metrics` and the status page. By default Lethe
    /// listens nowhere.
    #[schemars(with = "Option<String>", extend("examples" = ["0.0.0.0:9464"]))]
    pub(crate) listen: Option<SocketAddr>,
    /// The time without progress after which `/live` fails. Waiting for a store counts as progress. At least
    /// `resources.drain_seconds`.
    pub(crate) stall_seconds: u64,
    /// The collector that receives metrics and traces. By default Lethe sends none.
    pub(crate) otlp: Option<OtlpConfig>,
}

impl Default for TelemetryConfig {
    fn default() -> Self {
        Self {
            listen: None,
            stall_seconds: 300,
            otlp: None,
        }
    }
}

impl TelemetryConfig {
    /// How long standing still is no fault.
    pub(crate) const fn stall(&self) -> Duration {
        Duration::from_secs(self.stall_seconds)
    }

    /// Checks the settings against a drain limit of `drain`.
    ///
    /// # Errors
    /// A usage error that names the key.
    pub(crate) fn check(&self, drain: Duration) -> anyhow::Result<()> {
        if self.stall() < drain {
            return Err(usage(format!(
                "key `telemetry.stall_seconds`: is {}, but a drain alone may take `resources.drain_seconds`, {}",
                self.stall_seconds,
                drain.as_secs()
            )));
        }
        self.otlp.as_ref().map_or(Ok(()), OtlpConfig::check)
    }
}

/// A collector that takes OTLP over HTTP (protobuf).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OtlpConfig {
    /// The collector's URL, without path and login.
    #[schemars(extend("examples" = ["http://collector:4318"]))]
    pub(crate) endpoint: String,
    /// The interval between two exports of metrics, at least 1.
    #[serde(default = "interval")]
    pub(crate) interval_seconds: u64,
    /// The share of batches and files whose traces are sent, 0 to 1.
    #[serde(default)]
    #[schemars(extend("x-unit" = "share", "examples" = [0.01]))]
    pub(crate) traces: f64,
}

const fn interval() -> u64 {
    30
}

impl OtlpConfig {
    /// The address of one of its paths.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}/{path}", self.endpoint.trim_end_matches('/'))
    }

    /// Whether the settings can be.
    ///
    /// # Errors
    /// A usage error that names the key.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let url = reqwest::Url::parse(&self.endpoint);
        let usable =
            url.is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.username().is_empty());
        if !usable {
            return Err(usage(
                "key `telemetry.otlp.endpoint`: is no http or https address without a login",
            ));
        }
        if self.interval_seconds == 0 {
            return Err(usage("key `telemetry.otlp.interval_seconds`: give at least 1"));
        }
        if !(0.0..=1.0).contains(&self.traces) {
            return Err(usage(format!(
                "key `telemetry.otlp.traces`: is {}, but a share is 0 to 1",
                self.traces
            )));
        }
        Ok(())
    }
}
