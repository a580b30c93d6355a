//! Publishes the dataset of a run while the stream goes on.

use std::io::ErrorKind;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use anyhow::Context as _;
use lethe_connectors::Stop;
use serde_json::Value;

use super::{STANDARD_INPUT, child, command, missing};
use crate::config::{Config, TableConfig};
use crate::exit::Stopped;
use crate::telemetry::Telemetry;

/// Publishes the dataset of a run as a table, by a program of its own: a failure there neither stops nor delays the
/// stream, and the next attempt continues where the last one ended.
pub(crate) struct Publisher<'a> {
    config: &'a Config,
    table: &'a TableConfig,
    every: Duration,
    telemetry: Arc<Telemetry>,
}

impl<'a> Publisher<'a> {
    /// Returns the publisher of a configuration; `None` if it names no table.
    ///
    /// # Errors
    /// A usage error if a setting is invalid or the program that publishes is not installed.
    pub(crate) fn of(config: &'a Config, telemetry: &Arc<Telemetry>) -> anyhow::Result<Option<Self>> {
        let Some(table) = config.sink.as_ref().and_then(|sink| sink.table.as_ref()) else {
            return Ok(None);
        };
        let publisher = Self {
            config,
            table,
            every: table.every()?,
            telemetry: Arc::clone(telemetry),
        };
        publisher.check_program()?;
        Ok(Some(publisher))
    }

    fn check_program(&self) -> anyhow::Result<()> {
        let mut program = command(&self.table.options(STANDARD_INPUT));
        // It prints its version and ends, whatever else is asked of it.
        let ended = program
            .arg("--version")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        match ended {
            Err(error) if error.kind() == ErrorKind::NotFound => Err(missing()),
            Err(error) => {
                Err(error).with_context(|| format!("cannot run {}", program.get_program().display()))
            }
            Ok(_) => Ok(()),
        }
    }

    /// Publishes at intervals until the stream ends. Failures are logged.
    pub(crate) fn repeat(&self, over: &Receiver<()>, stop: &Stop) {
        let stopped = || stop.is_requested() || over.try_recv() == Err(TryRecvError::Disconnected);
        while over.recv_timeout(self.every) == Err(RecvTimeoutError::Timeout) {
            match self.publish(&stopped) {
                Ok(()) => {}
                Err(error) if error.is::<Stopped>() => return,
                Err(error) => tracing::warn!(
                    "the table was not published: {error:#}; the stream goes on, and Lethe tries again in {} s",
                    self.every.as_secs()
                ),
            }
        }
    }

    /// Publishes what a run to the end has written.
    ///
    /// # Errors
    /// If the table is not complete; [`Stopped`] as soon as the stop is requested.
    pub(crate) fn complete(&self, stop: &Stop) -> anyhow::Result<()> {
        self.publish(&|| stop.is_requested()).map_err(|error| match error.is::<Stopped>() {
            true => error,
            false => error.context("the dataset is complete, but the table was not published; `lethe publish` or another run continues there"),
        })
    }

    /// Runs the program that publishes once.
    fn publish(&self, stopped: &dyn Fn() -> bool) -> anyhow::Result<()> {
        let published = self.attempt(stopped);
        match &published {
            Ok(report) => {
                self.telemetry.measures().published("published");
                tracing::info!("published the table: {}", summary(report));
            }
            Err(error) if error.is::<Stopped>() => {}
            Err(_) => self.telemetry.measures().published("failed"),
        }
        published.map(drop)
    }

    /// Returns the report of the program that publishes.
    fn attempt(&self, stopped: &dyn Fn() -> bool) -> anyhow::Result<Value> {
        // Keys can have changed since the start.
        let config = self.config.again()?;
        let store = config.sink.as_ref().map(|sink| &sink.store);
        let store = store.context("the configuration has no `[sink]`")?;
        child::run(command(&self.table.options(STANDARD_INPUT)), store, stopped)
    }
}

/// Returns what was published to each table.
fn summary(report: &Value) -> String {
    let tables = report["tables"].as_array().into_iter().flatten();
    let described = tables.map(|table| {
        format!(
            "{} new files with {} rows in {}",
            table["files"],
            table["rows"],
            table["table"].as_str().unwrap_or_default()
        )
    });
    described.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_summed_up_a_table_at_a_time() {
        let report = serde_json::json!({ "tables": [
            { "table": "lake/audit", "files": 1, "rows": 7 },
            { "table": "lake/notes", "files": 2, "rows": 3 },
        ] });
        assert_eq!(
            summary(&report),
            "1 new files with 7 rows in lake/audit, 2 new files with 3 rows in lake/notes"
        );
    }
}
