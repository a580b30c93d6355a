//! Processes one unit, from the first row that is not durable to its end.

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use anyhow::Context as _;
use lethe_connectors::Backoff;
use lethe_connectors::sink::{ChainError, Part, PartFooter, PartName, read_part};
use lethe_connectors::store::StoreError;
use lethe_connectors::tables::TableError;

use super::plan::{Job, groups};
use super::rows::{redacted, schema};
use super::summary::Redactions;
use super::{BackfillContext, Stopped, audit};
use crate::clinical::TermCounts;
use crate::telemetry::{Closing, Stage};

/// Attempts to reach the store.
const ATTEMPTS: u32 = 12;

/// Processes a unit.
///
/// # Errors
/// [`TableError`] if it cannot be read, [`Stopped`] if the program is to end. Durable rows stay.
pub(super) fn work(context: &Arc<BackfillContext>, job: &Job) -> anyhow::Result<()> {
    if job.is_done() {
        context.progress.unit(&job.unit, 0.0);
        return Ok(());
    }
    let mut part = job.done.len() as u32;
    let mut next = match job.done.last() {
        Some(last) => {
            let path = last.path();
            retried(context, || {
                context.runtime.block_on(read_part(context.store.as_ref(), &path))
            })?
            .next
        }
        None => 0,
    };
    let (shape, mut slabs) = context.tables.read(&job.unit, next)?;
    let object = Arc::clone(&job.unit.shown);
    let columns = schema(&shape)?;
    let care = context
        .care
        .unit(&job.id, i64::try_from(next).unwrap_or(i64::MAX));
    let mut done_share = 0.0;
    let mut slab = slabs.next().transpose()?;
    loop {
        let mut sheet = Part::new(&columns, &audit::schema(), context.encoding);
        let mut redactions = Redactions::default();
        let mut clinical = TermCounts::default();
        let mut footer = PartFooter {
            object: object.to_string(),
            version: job.unit.object.version.clone(),
            groups: groups(&job.unit),
            first: next,
            fingerprints: context.engine_version.fingerprints.clone(),
            ..PartFooter::default()
        };
        while let Some(mut now) = slab.take() {
            if context.is_stopped() {
                return Err(Stopped.into());
            }
            let begun = Instant::now();
            care.vet(&object, &mut now, |row| {
                redacted(context, &object, &shape, row).map(drop)
            })?;
            let done = care.work(&now, |slab| redacted(context, &object, &shape, slab))?;
            let redacted_at = Instant::now();
            sheet.push(&done.rows, &done.audit)?;
            redactions.add(&done.audit);
            clinical.add(&done.clinical);
            context
                .telemetry
                .measures()
                .stage(Stage::Tag, redacted_at - begun);
            context
                .telemetry
                .measures()
                .stage(Stage::Encode, redacted_at.elapsed());
            add(&mut footer, &done.counts);
            context.progress.rows(&done.counts);
            context.progress.share(&job.unit, now.share - done_share);
            done_share = done_share.max(now.share);
            context.telemetry.board().polled();
            slab = slabs.next().transpose()?;
            if footer.text_bytes >= context.part_bytes {
                break;
            }
        }
        let name = job.part(part, slab.is_none());
        next = footer.first + sheet.rows();
        footer.next = next;
        commit(context, job, sheet, &name, footer)?;
        let mut all = context.redactions.lock().unwrap_or_else(PoisonError::into_inner);
        all.merge(redactions);
        drop(all);
        let mut all = context.clinical.lock().unwrap_or_else(PoisonError::into_inner);
        all.add(&clinical);
        drop(all);
        part += 1;
        if slab.is_none() {
            context.progress.unit(&job.unit, done_share);
            return Ok(());
        }
    }
}

fn add(footer: &mut PartFooter, counts: &PartFooter) {
    footer.redacted += counts.redacted;
    footer.quarantined += counts.quarantined;
    footer.texts += counts.texts;
    footer.text_bytes += counts.text_bytes;
    footer.identifiers += counts.identifiers;
    footer.spans += counts.spans;
    footer.review += counts.review;
}

/// Makes a part durable, unless its object has changed in the meantime.
fn commit(
    context: &BackfillContext,
    job: &Job,
    sheet: Part,
    name: &PartName,
    mut footer: PartFooter,
) -> anyhow::Result<()> {
    let begun = Instant::now();
    let sealed = sheet.seal(name, &mut footer)?;
    let sealed_at = Instant::now();
    context.telemetry.measures().stage(Stage::Seal, sealed_at - begun);
    retried(context, || match context.tables.check(&job.unit) {
        Err(TableError::Store(error)) => Err(AttemptError::Store(error)),
        other => Ok(other),
    })??;
    let is_new = retried(context, || {
        let created = context.runtime.block_on(sealed.create(context.store.as_ref()));
        created.map_err(AttemptError::Store)
    })?;
    if is_new {
        let mut digests = context.digests.lock().unwrap_or_else(PoisonError::into_inner);
        digests.insert(name.path(), sealed.digest().to_owned());
    } else {
        tracing::debug!(
            file = name.path(),
            "exists already: another run processes this unit too"
        );
    }
    context
        .telemetry
        .measures()
        .stage(Stage::Store, sealed_at.elapsed());
    context
        .telemetry
        .measures()
        .file(Closing::Part, sealed.size(), begun.elapsed());
    Ok(())
}

/// Why an operation on the store failed.
enum AttemptError {
    Store(StoreError),
    Other(anyhow::Error),
}

impl From<ChainError> for AttemptError {
    fn from(error: ChainError) -> Self {
        match error {
            ChainError::Store(error) => Self::Store(error),
            other => Self::Other(other.into()),
        }
    }
}

/// Tries as often as is worth it, as long as the store says that it cannot now.
fn retried<T, E: Into<AttemptError>>(
    context: &BackfillContext,
    mut attempt: impl FnMut() -> Result<T, E>,
) -> anyhow::Result<T> {
    let mut backoff = Backoff::new("backfill").attempts(ATTEMPTS);
    loop {
        match attempt().map_err(Into::into) {
            Ok(done) => return Ok(done),
            Err(AttemptError::Store(error)) if error.is_transient() => {
                let Some(wait) = backoff.pause() else {
                    return Err(error).context("the store of the output");
                };
                tracing::warn!(%error, "store; trying again in {} ms", wait.as_millis());
                context.telemetry.measures().retry("commit");
                context.telemetry.board().polled();
                if context.is_stopped() {
                    return Err(Stopped.into());
                }
                std::thread::sleep(wait);
            }
            Err(AttemptError::Store(error)) => return Err(error).context("the output store failed"),
            Err(AttemptError::Other(error)) => return Err(error),
        }
    }
}
