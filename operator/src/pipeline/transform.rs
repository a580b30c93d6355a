//! From payloads to redacted rows: what a worker does with a batch.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use lethe_connectors::format::Format;
use lethe_connectors::store::crash;
use lethe_core::{BatchError, Coordinates, NoteBatch, Processed, QuarantineCode, Record};

use super::edition::Edition;
use super::lane::{Incoming, Shop};
use crate::telemetry::{Drift, Measures, Seen, Stage, Telemetry, Work};

/// Why a batch has no rows.
pub(crate) enum Fault {
    /// Something that reading or redacting needs is away: its records, to be tried again.
    Away(Vec<Incoming>, String),
    /// It will never have any.
    Broken(String),
}

/// From payloads to redacted rows. A panic costs the record that caused it.
pub(super) fn transform(
    shop: &Shop,
    edition: &Edition,
    records: Vec<Incoming>,
    work: &mut Work,
) -> Result<Processed, Fault> {
    let begun = Instant::now();
    // One for the whole batch: what it has prepared it has.
    let format = shop.format.get();
    let sizes: Vec<usize> = records.iter().map(Incoming::size).collect();
    let done = process(format.as_ref(), edition, records)?;
    work.stages.push((Stage::Decode, done.decoded - begun));
    work.stages.push((Stage::Tag, done.decoded.elapsed()));
    shop.counters.count(done.processed.redacted.record());
    let members = edition.engine.members().len();
    told(&shop.telemetry, &done.processed, &sizes, members, done.tokens);
    Ok(done.processed)
}

/// A batch that was decoded and redacted.
pub(crate) struct Done {
    pub(crate) processed: Processed,
    /// When it was decoded.
    decoded: Instant,
    tokens: u64,
}

/// Decodes and redacts records, and counts nothing. A panic costs the record that caused it.
pub(crate) fn process(format: &dyn Format, edition: &Edition, records: Vec<Incoming>) -> Result<Done, Fault> {
    if let Some(why) = records.iter().find_map(|record| missing(format, record)) {
        return Err(Fault::Away(records, why));
    }
    let records: Vec<Record> = records.into_iter().map(|record| decode(format, record)).collect();
    let decoded = Instant::now();
    match redact(edition, &records) {
        Ok((processed, tokens)) => Ok(Done {
            processed,
            decoded,
            tokens,
        }),
        Err(BatchError::Unavailable(why)) => {
            let again = records.into_iter().map(Incoming::Read).collect();
            Err(Fault::Away(again, why.to_owned()))
        }
        Err(error) => Err(Fault::Broken(error.to_string())),
    }
}

/// Redacts records, and says how many tokens they have. A panic costs the record that caused it.
///
/// # Errors
/// As [`Engine::process`](lethe_core::Engine::process).
pub(crate) fn redact(edition: &Edition, records: &[Record]) -> Result<(Processed, u64), BatchError> {
    match catch_unwind(AssertUnwindSafe(|| handle(edition, records.to_vec()))) {
        Ok(done) => done,
        // Outside the members, which are isolated one by one: find the record that does it.
        Err(_) => handle(
            edition,
            records
                .iter()
                .map(|record| survivor(edition, record.clone()))
                .collect(),
        ),
    }
}

/// Counts what became of a batch, whose records had these `sizes` in bytes.
pub(crate) fn told(
    telemetry: &Telemetry,
    processed: &Processed,
    sizes: &[usize],
    members: usize,
    tokens: u64,
) {
    let measures = telemetry.measures();
    let mut seen = measures.processed(processed, sizes, members);
    seen.tokens = tokens;
    watch(telemetry.drift(), measures, &seen);
}

/// Says so when a feed is no longer what it was.
fn watch(drift: &Drift, measures: &Measures, seen: &Seen) {
    for (signal, ratio) in drift.add(seen) {
        measures.drifted(signal);
        tracing::warn!(
            signal,
            "the feed has changed: {ratio:.2} times what was usual; docs/operating.md says what to look at"
        );
    }
}

/// The rows, and how many tokens the notes have.
fn handle(edition: &Edition, records: Vec<Record>) -> Result<(Processed, u64), BatchError> {
    for record in &records {
        if let Record::Note(event) = record {
            crash::panic_on(event.text.expose());
        }
    }
    let batch = NoteBatch::from_records(records)?;
    let tokens = batch.notes().map(|note| note.tokens.len() as u64).sum();
    Ok((edition.engine.process(&batch)?, tokens))
}

fn survivor(edition: &Edition, record: Record) -> Record {
    match catch_unwind(AssertUnwindSafe(|| handle(edition, vec![record.clone()]))) {
        Ok(Ok(_) | Err(BatchError::Unavailable(_))) => record,
        _ => Record::Quarantined(record.at().clone(), QuarantineCode::MemberPanic.into()),
    }
}

/// What the format needs for this record and cannot have now, such as its schema.
fn missing(format: &dyn Format, record: &Incoming) -> Option<String> {
    let Incoming::Raw(record) = record else {
        return None;
    };
    let payload = record.payload.as_ref()?;
    // A panic is the payload's, and told when it is read.
    let prepared = catch_unwind(AssertUnwindSafe(|| format.prepare(&payload.0)));
    prepared.ok()?.err().map(|unavailable| unavailable.to_string())
}

fn decode(format: &dyn Format, record: Incoming) -> Record {
    let record = match record {
        Incoming::Raw(record) => record,
        Incoming::Read(record) => return record,
    };
    let at = record.at;
    let Some(payload) = record.payload else {
        return Record::Tombstone(at);
    };
    let spare: Coordinates = at.clone();
    catch_unwind(AssertUnwindSafe(|| format.decode(at, &payload.0)))
        .unwrap_or(Record::Quarantined(spare, QuarantineCode::InvalidPayload.into()))
}
