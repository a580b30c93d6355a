//! Replay: quarantined records are read again, processed with the current configuration, and written next to
//! their chains.
//!
//! A source passes its records to [`Replay`], notes file by notes file. It may stop at any moment: written
//! parts stay, and the next replay continues with the rest.

mod outcome;
mod work;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use anyhow::Context as _;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use lethe_connectors::Backoff;
use lethe_connectors::replay::{
    Candidates, NotesFile, ReplayWriter, SealedReplay, Selection, candidates, notes_files,
};
use lethe_connectors::sink::{ChainError, ChainId, Encoding, Roll, check_dataset, read_tail};
use lethe_connectors::source::TopicIds;
use lethe_connectors::store::Store;
use lethe_core::Coordinates;
use tokio::runtime::Handle;

use crate::exit::{Coded, Failure};
use crate::pipeline::{EngineVersion, Incoming};
use crate::progress::Progress;
pub(crate) use outcome::Outcome;
use work::Redacted;
pub(crate) use work::Workers;

/// The number of notes files that are examined in parallel.
const AT_ONCE: usize = 8;
/// Attempts to write a part. The store has made several for each of them.
const ATTEMPTS: u32 = 6;

/// The inputs and the target of a replay.
pub(crate) struct Replay {
    pub(crate) runtime: Handle,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) engine_version: Arc<EngineVersion>,
    /// The topics' current ids: offsets of a recreated topic mean other records.
    pub(crate) topic_ids: TopicIds,
    pub(crate) workers: Workers,
    pub(crate) selection: Selection,
    pub(crate) encoding: Encoding,
    pub(crate) roll: Roll,
    /// Whether parts are written, rather than only counted.
    pub(crate) writes: bool,
}

/// A notes file with records to process again.
pub(crate) struct Planned {
    file: NotesFile,
    /// The offset after its last.
    next: i64,
    count: u64,
}

/// The notes files with records to process again, by chain, in the order of offsets.
pub(crate) type Plan = BTreeMap<ChainId, VecDeque<Planned>>;

impl Replay {
    /// Finds the records to process again.
    ///
    /// # Errors
    /// [`Failure::Halted`] if the dataset belongs to another log, or to a policy that protects more; else the
    /// store's error.
    pub(crate) fn plan(&self, outcome: &mut Outcome) -> anyhow::Result<Plan> {
        let store = self.store.as_ref();
        let now = &self.engine_version.fingerprints;
        self.runtime
            .block_on(check_dataset(store, now))
            .map_err(refused)?;
        let files = self.runtime.block_on(notes_files(store, &self.selection))?;
        let mut progress = Progress::start(
            "looking for quarantined records",
            "files",
            Some(files.len() as u64),
        );
        let mut plan = Plan::new();
        let found = stream::iter(files.iter().map(|file| candidates(store, file, &self.selection)));
        let mut found = std::pin::pin!(found.buffered(AT_ONCE));
        while let Some(found) = self.runtime.block_on(found.try_next())? {
            outcome.found(&found);
            if !found.offsets.is_empty() {
                let chain = plan.entry(found.file.chain.clone()).or_default();
                chain.push_back(Planned {
                    next: found.next,
                    count: found.offsets.len() as u64,
                    file: found.file,
                });
            }
            progress.add(1);
        }
        progress.finish();
        for chain in plan.keys() {
            let tail = self.runtime.block_on(read_tail(store, chain)).map_err(refused)?;
            let id = self.topic_ids.get(&chain.topic);
            let now = now.of_topic(id.map(AsRef::as_ref));
            tail.map_or(Ok(()), |tail| tail.check_log(&now))
                .map_err(refused)?;
        }
        Ok(plan)
    }
}

/// Converts the error of a chain that cannot be read or does not match the configuration into one for an
/// operator to decide about.
fn refused(error: ChainError) -> anyhow::Error {
    match error {
        ChainError::Store(error) => error.into(),
        error => Coded(Failure::Halted, error.to_string()).into(),
    }
}

/// A replay in progress.
pub(crate) struct Running<'a> {
    replay: &'a Replay,
    plan: Plan,
    open: Option<Open>,
    outcome: Outcome,
    progress: Progress,
}

/// The notes file whose records are being processed.
struct Open {
    candidates: Candidates,
    /// The index of the next selected offset.
    at: usize,
    writer: Option<ReplayWriter>,
}

impl<'a> Running<'a> {
    /// Starts a replay of this plan.
    pub(crate) fn new(replay: &'a Replay, plan: Plan, outcome: Outcome) -> Self {
        Self {
            progress: Progress::start("replaying", "records", Some(outcome.selected)),
            replay,
            plan,
            open: None,
            outcome,
        }
    }

    /// Returns the chains with remaining records.
    #[cfg(feature = "kafka")]
    pub(crate) fn chains(&self) -> Vec<ChainId> {
        self.plan.keys().cloned().collect()
    }

    /// Opens the next notes file of a chain and returns its selected offsets; `None` after the last. Closes
    /// the file that was open.
    ///
    /// # Errors
    /// If a file cannot be read or a part cannot be written.
    #[cfg(feature = "kafka")]
    pub(crate) fn next_file(&mut self, chain: &ChainId) -> anyhow::Result<Option<Vec<i64>>> {
        self.close()?;
        let planned = self.plan.get_mut(chain).and_then(VecDeque::pop_front);
        let Some(planned) = planned else {
            self.plan.remove(chain);
            return Ok(None);
        };
        self.open(&planned)?;
        let open = self.open.as_ref();
        Ok(open.map(|open| open.candidates.offsets.clone()))
    }

    /// Takes the next record of a source that is read from beginning to end, and skips records that are not
    /// selected.
    ///
    /// # Errors
    /// As for [`Running::next_file`].
    pub(crate) fn pass(&mut self, record: Incoming) -> anyhow::Result<()> {
        let at = record.at();
        while let Some(open) = &self.open
            && (!is_of(&open.candidates.file.chain, at) || at.offset >= open.candidates.next)
        {
            self.close()?;
        }
        if self.open.is_none() {
            let chain = ChainId::new(Arc::clone(&at.topic), at.partition);
            let Some(files) = self.plan.get_mut(&chain) else {
                return Ok(());
            };
            // Records of earlier files have passed, or do not exist.
            while let Some(planned) = files.pop_front_if(|planned| planned.next <= at.offset) {
                self.outcome.gone(&chain, planned.count);
            }
            let Some(planned) = files.pop_front_if(|planned| planned.file.first <= at.offset) else {
                return Ok(());
            };
            self.open(&planned)?;
        }
        self.take(record)
    }

    /// Returns whether all selected records have been taken.
    pub(crate) fn is_done(&self) -> bool {
        let is_read = |open: &Open| open.at >= open.candidates.offsets.len();
        self.open.as_ref().is_none_or(is_read) && self.plan.values().all(VecDeque::is_empty)
    }

    /// Returns whether records of this file, or of files in the same chain, are still needed.
    pub(crate) fn wants(&self, topic: &Arc<str>) -> bool {
        let chain = ChainId::new(Arc::clone(topic), 0);
        let is_open =
            |open: &Open| open.candidates.file.chain == chain && open.at < open.candidates.offsets.len();
        self.open.as_ref().is_some_and(is_open)
            || self.plan.get(&chain).is_some_and(|files| !files.is_empty())
    }

    /// Takes a record of the open notes file, if it is selected. Records come in the order of their offsets.
    ///
    /// # Errors
    /// As for [`Running::next_file`].
    pub(crate) fn take(&mut self, record: Incoming) -> anyhow::Result<()> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        let offset = record.at().offset;
        let mut passed = 0;
        while open
            .candidates
            .offsets
            .get(open.at)
            .is_some_and(|&wanted| wanted < offset)
        {
            open.at += 1;
            passed += 1;
        }
        let chain = &open.candidates.file.chain;
        self.outcome.gone(chain, passed);
        if open.candidates.offsets.get(open.at) != Some(&offset) {
            return Ok(());
        }
        open.at += 1;
        let done = self.replay.workers.give(record)?;
        self.write(done)
    }

    /// Closes the open file, and counts the records that never came.
    ///
    /// # Errors
    /// As for [`Running::next_file`].
    pub(crate) fn finish(mut self) -> anyhow::Result<Outcome> {
        self.close()?;
        for (chain, files) in &self.plan {
            let left = files.iter().map(|planned| planned.count).sum();
            self.outcome.gone(chain, left);
        }
        self.progress.finish();
        Ok(self.outcome)
    }

    fn open(&mut self, planned: &Planned) -> anyhow::Result<()> {
        let replay = self.replay;
        let store = replay.store.as_ref();
        let found = replay
            .runtime
            .block_on(candidates(store, &planned.file, &replay.selection))?;
        let writer = replay.writes.then(|| {
            let fingerprints = replay.engine_version.fingerprints.clone();
            let attempt = &replay.selection.attempt;
            replay.runtime.block_on(ReplayWriter::open(
                store,
                &found,
                attempt,
                fingerprints,
                replay.encoding,
            ))
        });
        self.open = Some(Open {
            writer: writer.transpose()?,
            candidates: found,
            at: 0,
        });
        Ok(())
    }

    /// Finishes the batches in progress, and writes the rest of the open file.
    fn close(&mut self) -> anyhow::Result<()> {
        let done = self.replay.workers.drain()?;
        self.write(done)?;
        let Some(mut open) = self.open.take() else {
            return Ok(());
        };
        let left = open.candidates.offsets.len().saturating_sub(open.at);
        self.outcome.gone(&open.candidates.file.chain, left as u64);
        self.seal(&mut open)
    }

    /// Writes redacted batches.
    fn write(&mut self, done: Vec<Redacted>) -> anyhow::Result<()> {
        for batch in done {
            let Some(mut open) = self.open.take() else {
                continue;
            };
            self.outcome
                .ran(&open.candidates.file.chain, batch.redacted.record());
            self.progress.add(batch.redacted.record().num_rows() as u64);
            if let Some(writer) = &mut open.writer {
                writer.push(&batch.redacted, &batch.audit)?;
                let roll = &self.replay.roll;
                if writer.encoded_bytes() >= roll.max_bytes || writer.rows() >= roll.max_rows {
                    self.seal(&mut open)?;
                }
            }
            self.open = Some(open);
        }
        Ok(())
    }

    fn seal(&mut self, open: &mut Open) -> anyhow::Result<()> {
        let Some(writer) = &mut open.writer else {
            return Ok(());
        };
        if let Some(part) = writer.seal()? {
            self.create(&part)?;
            self.outcome.wrote(part.size());
        }
        Ok(())
    }

    fn create(&self, part: &SealedReplay) -> anyhow::Result<()> {
        let mut backoff = Backoff::new("replay").attempts(ATTEMPTS);
        loop {
            match self
                .replay
                .runtime
                .block_on(part.create(self.replay.store.as_ref()))
            {
                Err(error) if error.is_transient() => {
                    let Some(pause) = backoff.pause() else {
                        return Err(error).context("a replayed part");
                    };
                    tracing::warn!(%error, "store; trying again in {} ms", pause.as_millis());
                    std::thread::sleep(pause);
                }
                done => return done.context("cannot write a replayed part"),
            }
        }
    }
}

fn is_of(chain: &ChainId, at: &Coordinates) -> bool {
    chain.topic == at.topic && chain.partition == at.partition
}
