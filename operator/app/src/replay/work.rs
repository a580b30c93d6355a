//! Threads that decode and redact the records of a replay in batches, and return the batches in order.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::anyhow;
use lethe_connectors::Backoff;
use lethe_connectors::format::Format;
use lethe_core::Processed;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::pipeline::{EngineVersion, Incoming, Limits, Pool, Terms, TransformError, process};

/// The maximum number of records in a batch.
const BATCH_RECORDS: usize = 256;
/// The maximum bytes of a batch, unless a single record has more.
const BATCH_BYTES: usize = 2 << 20;
/// Attempts to redact a batch while something that it needs is away.
const ATTEMPTS: u32 = 8;

/// Rows and audit of a batch.
pub(super) type Redacted = Processed;

/// The threads and the batches in progress: at most two per thread.
pub(crate) struct Workers {
    runtime: Handle,
    pool: Arc<Pool>,
    format: Arc<dyn Format>,
    engine_version: Arc<EngineVersion>,
    terms: Terms,
    /// The maximum number of batches in progress.
    most: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    batch: Vec<Incoming>,
    bytes: usize,
    under_way: VecDeque<JoinHandle<anyhow::Result<Redacted>>>,
}

impl Workers {
    /// Starts `workers` threads.
    ///
    /// # Errors
    /// If the system cannot create a thread.
    pub(crate) fn start(
        workers: usize,
        runtime: Handle,
        format: Arc<dyn Format>,
        engine_version: Arc<EngineVersion>,
        limits: Limits,
    ) -> std::io::Result<Self> {
        Ok(Self {
            runtime,
            pool: Arc::new(Pool::start(workers)?),
            format,
            terms: Terms::whole(limits.of(&engine_version.engine)),
            engine_version,
            most: workers.max(1) * 2,
            state: Mutex::default(),
        })
    }

    /// Takes a record, and returns the finished batches in the order of their records.
    ///
    /// # Errors
    /// If a batch cannot be redacted, permanently or now.
    pub(super) fn give(&self, record: Incoming) -> anyhow::Result<Vec<Redacted>> {
        // One thread alone gives records and takes batches.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let weight = record.weight();
        let is_full = state.batch.len() == BATCH_RECORDS || state.bytes + weight > BATCH_BYTES;
        let mut done = Vec::new();
        if is_full && !state.batch.is_empty() {
            self.send(&mut state);
            if state.under_way.len() >= self.most {
                done.extend(self.wait(&mut state)?);
            }
        }
        state.bytes += weight;
        state.batch.push(record);
        Ok(done)
    }

    /// Returns all batches in progress.
    ///
    /// # Errors
    /// As for [`Workers::give`].
    pub(super) fn drain(&self) -> anyhow::Result<Vec<Redacted>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.batch.is_empty() {
            self.send(&mut state);
        }
        let mut done = Vec::new();
        while let Some(batch) = self.wait(&mut state)? {
            done.push(batch);
        }
        Ok(done)
    }

    fn send(&self, state: &mut State) {
        let records = std::mem::take(&mut state.batch);
        state.bytes = 0;
        let (pool, format, engine_version) = (
            Arc::clone(&self.pool),
            Arc::clone(&self.format),
            Arc::clone(&self.engine_version),
        );
        let task = self
            .runtime
            .spawn(run(pool, format, engine_version, self.terms.clone(), records));
        state.under_way.push_back(task);
    }

    fn wait(&self, state: &mut State) -> anyhow::Result<Option<Redacted>> {
        let Some(task) = state.under_way.pop_front() else {
            return Ok(None);
        };
        let done = self.runtime.block_on(task);
        done.map_err(|_| anyhow!("a worker panicked"))?.map(Some)
    }
}

/// Redacts a batch, and retries for a while if a service is unavailable.
async fn run(
    pool: Arc<Pool>,
    format: Arc<dyn Format>,
    engine_version: Arc<EngineVersion>,
    terms: Terms,
    mut records: Vec<Incoming>,
) -> anyhow::Result<Redacted> {
    let mut backoff = Backoff::new("replay").attempts(ATTEMPTS);
    loop {
        let (format, engine_version, terms) =
            (Arc::clone(&format), Arc::clone(&engine_version), terms.clone());
        let done = pool
            .run(move || process(format.as_ref(), &engine_version, records, &terms))
            .await?;
        match done {
            Ok(done) => return Ok(done.processed),
            Err(TransformError::Broken(error)) => return Err(anyhow!(error)),
            Err(TransformError::Parts(_)) => unreachable!("on these terms no batch is given back in parts"),
            Err(TransformError::Away(again, why)) => {
                let Some(wait) = backoff.pause() else {
                    return Err(anyhow!("{why}; run the replay again once it is back"));
                };
                tracing::warn!(why, "trying again in {} ms", wait.as_millis());
                tokio::time::sleep(wait).await;
                records = again;
            }
        }
    }
}
