//! Waiting for a store that cannot answer now.

use std::time::Duration;

use lethe_connectors::Stop;
use lethe_connectors::kafka::source::LaneError;
use lethe_connectors::sink::ChainError;

use crate::exit::Stopped;
use crate::telemetry::Telemetry;

/// First and longest pause before a store is asked again.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(15));
/// How often the board hears that the reader waits for a store: a restart would wait too, so `/live` stays 200.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// Why a store gave no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// The program was asked to stop.
    Stopped,
    /// The store answered with an error that waiting does not cure.
    Refused(ChainError),
}

impl From<Unanswered> for anyhow::Error {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::Stopped => Stopped.into(),
            Unanswered::Refused(error) => error.into(),
        }
    }
}

impl From<Unanswered> for LaneError {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::Stopped => Self::Stopped,
            Unanswered::Refused(error) => Self::Failed(error.to_string()),
        }
    }
}

/// Asks a store until it answers, or until the stop is requested, which ends a request under way too.
pub(crate) async fn until_answered<T, F: Future<Output = Result<T, ChainError>>>(
    telemetry: &Telemetry,
    stop: &Stop,
    ask: impl Fn() -> F,
) -> Result<T, Unanswered> {
    let asking = async {
        let mut pause = BACKOFF.0;
        loop {
            match ask().await {
                Err(ChainError::Store(error)) if error.is_transient() => {
                    tracing::warn!(%error, "store not read; trying again in {} ms", pause.as_millis());
                    telemetry.measures().retry("open");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(BACKOFF.1);
                }
                answer => return answer.map_err(Unanswered::Refused),
            }
        }
    };
    let living = async {
        loop {
            tokio::time::sleep(SIGN_OF_LIFE).await;
            telemetry.board().still_reading();
        }
    };
    tokio::select! {
        biased;
        () = stop.requested() => Err(Unanswered::Stopped),
        answer = asking => answer,
        () = living => unreachable!("the sign of life has no end"),
    }
}
