//! A store that cannot answer now is asked again.

use std::time::Duration;

use lethe_connectors::sink::ChainError;

use crate::telemetry::Measures;

/// How often a store that cannot answer now is asked again at an assignment, and the first pause between.
const OPEN_TRIES: (u32, Duration) = (6, Duration::from_millis(250));

/// Asks a store, and again for a while if it cannot answer now.
pub(super) async fn patiently<T, F: Future<Output = Result<T, ChainError>>>(
    measures: &Measures,
    ask: impl Fn() -> F,
) -> Result<T, ChainError> {
    let (tries, mut pause) = OPEN_TRIES;
    for _ in 1..tries {
        match ask().await {
            Err(ChainError::Store(error)) if error.is_transient() => {
                tracing::warn!(%error, "chain not read; trying again in {} ms", pause.as_millis());
                measures.retry("open");
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            answer => return answer,
        }
    }
    ask().await
}
