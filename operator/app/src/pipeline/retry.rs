//! Retries for a store that is temporarily unavailable.

use std::time::Duration;

use lethe_connectors::sink::ChainError;
use lethe_connectors::source::LaneError;
use lethe_connectors::store::{Store, verify};
use lethe_connectors::{Backoff, Stop};

use crate::exit::Stopped;
use crate::telemetry::Telemetry;

/// How often the board hears that the reader waits for a store: a restart would wait too, so `/live` stays 200.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// Why a store request has no result.
#[derive(Debug)]
pub(crate) enum RetryError {
    /// The program was asked to stop.
    Stopped,
    /// The store responded with an error that a retry does not fix.
    Refused(ChainError),
}

impl From<RetryError> for anyhow::Error {
    fn from(unanswered: RetryError) -> Self {
        match unanswered {
            RetryError::Stopped => Stopped.into(),
            RetryError::Refused(error) => error.into(),
        }
    }
}

impl From<RetryError> for LaneError {
    fn from(unanswered: RetryError) -> Self {
        match unanswered {
            RetryError::Stopped => Self::Stopped,
            RetryError::Refused(error) => Self::Failed(error.to_string()),
        }
    }
}

/// Checks that a store supports create-only writes ([`verify`]), and retries until it responds. Nothing may
/// be written before.
pub(crate) async fn probe(
    store: &dyn Store,
    telemetry: Option<&Telemetry>,
    stop: &Stop,
) -> Result<(), RetryError> {
    until_answered(telemetry, stop, || async { Ok(verify(store).await?) }).await
}

/// Retries a request until it succeeds, or until the stop is requested, which also cancels a running request.
pub(crate) async fn until_answered<T, F: Future<Output = Result<T, ChainError>>>(
    telemetry: Option<&Telemetry>,
    stop: &Stop,
    ask: impl Fn() -> F,
) -> Result<T, RetryError> {
    let asking = async {
        let mut backoff = Backoff::new("store");
        loop {
            match ask().await {
                Err(ChainError::Store(error)) if error.is_transient() => {
                    let pause = backoff.pause().unwrap_or_default();
                    tracing::warn!(%error, "store not read; trying again in {} ms", pause.as_millis());
                    if let Some(telemetry) = telemetry {
                        telemetry.measures().retry("open");
                    }
                    tokio::time::sleep(pause).await;
                }
                answer => return answer.map_err(RetryError::Refused),
            }
        }
    };
    let living = async {
        loop {
            tokio::time::sleep(SIGN_OF_LIFE).await;
            if let Some(telemetry) = telemetry {
                telemetry.board().still_reading();
            }
        }
    };
    tokio::select! {
        biased;
        () = stop.requested() => Err(RetryError::Stopped),
        answer = asking => answer,
        () = living => unreachable!("this loop does not end"),
    }
}
