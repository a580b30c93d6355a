//! From payloads to redacted rows: a worker's processing of a batch.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use lethe_connectors::format::Format;
use lethe_connectors::store::crash;
use lethe_core::{BatchError, Coordinates, NoteBatch, Pace, Processed, QuarantineCode, Record};

use super::cost::{Cost, Limits, TOGETHER, over_memory};
use super::engine_version::EngineVersion;
use super::incoming::{HeavyRecord, Incoming};
use super::lane::LaneContext;
use super::load::Load;
use super::stride::Stride;
use crate::telemetry::{Drift, LaneBoard, Measures, Seen, Stage, Telemetry, Work};

/// Why a batch has no rows.
pub(crate) enum TransformError {
    /// A service that decoding or redaction needs is unavailable; the records, for a retry.
    Away(Vec<Incoming>, String),
    /// Its records do not fit together; the parts to process instead. None of them has rows yet.
    Parts(Vec<Vec<Incoming>>),
    /// It will never have rows.
    Broken(String),
}

/// The limits and context of processing a batch.
#[derive(Clone)]
pub(crate) struct Terms {
    /// The limits of a record.
    pub(crate) limits: Limits,
    /// The memory of this work if it is on one record, in bytes; at most the limit.
    pub(crate) memory: usize,
    /// Whether a batch that would take too much memory is returned in parts.
    pub(crate) parts: bool,
    /// The lane whose progress is reported.
    pub(crate) board: Option<Arc<LaneBoard>>,
    /// The load that this work yields to.
    pub(crate) yields: Option<Arc<Load>>,
}

impl Terms {
    /// Creates terms for whole batches, whose records may each use the limit.
    pub(crate) const fn whole(limits: Limits) -> Self {
        Self {
            limits,
            memory: limits.record,
            parts: false,
            board: None,
            yields: None,
        }
    }

    /// Returns whether a larger turn allows this many bytes of spans for a record whose payload had `size`
    /// bytes.
    fn may_have(&self, wanted: usize, record: &Record, size: usize) -> bool {
        let most = self.limits.spans(record, size, self.limits.record);
        self.memory < self.limits.record && wanted <= most
    }

    fn pace(&self, bytes: usize) -> Stride {
        Stride::begin(bytes, self.board.as_ref(), self.yields.as_ref())
    }
}

/// Turns payloads into redacted rows. A panic costs only the record that caused it.
pub(super) fn transform(
    context: &LaneContext,
    engine_version: &EngineVersion,
    records: Vec<Incoming>,
    terms: &Terms,
    work: &mut Work,
) -> Result<Processed, TransformError> {
    let begun = Instant::now();
    // One format for the whole batch, so that what it has prepared stays available.
    let format = context.format.get();
    let sizes: Vec<usize> = records.iter().map(Incoming::size).collect();
    let done = process(format.as_ref(), engine_version, records, terms)?;
    work.stages.push((Stage::Decode, done.decoded - begun));
    work.stages.push((Stage::Tag, done.decoded.elapsed()));
    context.counters.count(done.processed.redacted.record());
    let members = engine_version.engine.members().len();
    told(&context.telemetry, &done.processed, &sizes, members, done.tokens);
    Ok(done.processed)
}

/// A decoded and redacted batch.
pub(crate) struct Done {
    pub(crate) processed: Processed,
    /// When it was decoded.
    decoded: Instant,
    tokens: u64,
}

/// Decodes and redacts records, and counts nothing. A panic costs only the record that caused it, and so does
/// exceeding a record's memory.
pub(crate) fn process(
    format: &dyn Format,
    engine_version: &EngineVersion,
    records: Vec<Incoming>,
    terms: &Terms,
) -> Result<Done, TransformError> {
    if let Some(why) = records.iter().find_map(|record| missing(format, record)) {
        return Err(TransformError::Away(records, why));
    }
    let place = records.first().map(|record| (record.size(), record.timestamp()));
    let (size, timestamp) = place.unwrap_or_default();
    let records = decode_all(format, records, terms)?;
    let decoded = Instant::now();
    let done = match (attempt(engine_version, &records, size, terms), records.as_slice()) {
        (Err(error), _) => Err(error),
        (Ok(Attempt::Done(processed, tokens)), _) => Ok((processed, tokens)),
        (Ok(Attempt::Over(wanted)), [record]) if terms.parts && terms.may_have(wanted, record, size) => {
            let whole = |record| {
                vec![Incoming::Heavy(HeavyRecord {
                    record,
                    cost: terms.limits.record,
                    size,
                    timestamp,
                })]
            };
            return Err(TransformError::Parts(records.into_iter().map(whole).collect()));
        }
        (Ok(Attempt::Over(_)), _) => without(engine_version, &records, terms),
    };
    match done {
        Ok((processed, tokens)) => Ok(Done {
            processed,
            decoded,
            tokens,
        }),
        Err(BatchError::Unavailable(why)) => {
            let again = records.into_iter().map(Incoming::Read).collect();
            Err(TransformError::Away(again, why.to_owned()))
        }
        Err(error) => Err(TransformError::Broken(error.to_string())),
    }
}

/// Decodes records that may be processed together, else returns [`TransformError::Parts`]. Decoding stops at the
/// record that exceeds the limit, so that a batch of small payloads that expand is never in memory as a
/// whole.
fn decode_all(
    format: &dyn Format,
    records: Vec<Incoming>,
    terms: &Terms,
) -> Result<Vec<Record>, TransformError> {
    let mut decoded: Vec<Record> = Vec::with_capacity(records.len());
    let mut together = 0;
    let mut left = records.into_iter();
    while let Some(incoming) = left.next() {
        let (size, timestamp) = (incoming.size(), incoming.timestamp());
        let record = match incoming {
            // It has its turn.
            Incoming::Heavy(heavy) => {
                decoded.push(heavy.record);
                continue;
            }
            Incoming::Raw(raw) if terms.limits.of_payload(size) == Cost::Over => {
                Record::Quarantined(raw.at, over_memory())
            }
            other => decode(format, other),
        };
        let heavy = match terms.limits.of_record(&record, size) {
            Cost::Light => None,
            Cost::Heavy(cost) => Some(cost),
            Cost::Over => {
                decoded.push(Record::Quarantined(record.at().clone(), over_memory()));
                continue;
            }
        };
        let bytes = text_bytes(&record);
        if terms.parts && (heavy.is_some() || (together + bytes > TOGETHER && !decoded.is_empty())) {
            let alone = match heavy {
                Some(cost) => Incoming::Heavy(HeavyRecord {
                    record,
                    cost,
                    size,
                    timestamp,
                }),
                None => Incoming::Read(record),
            };
            let before = decoded.into_iter().map(Incoming::Read).collect();
            let parts = [before, vec![alone], left.collect::<Vec<_>>()];
            return Err(TransformError::Parts(
                parts.into_iter().filter(|part| !part.is_empty()).collect(),
            ));
        }
        together += bytes;
        decoded.push(record);
    }
    Ok(decoded)
}

fn text_bytes(record: &Record) -> usize {
    match record {
        Record::Note(event) => event.text.len(),
        _ => 0,
    }
}

/// Redacts records, and returns the number of their tokens. A panic costs only the record that caused it, and
/// so does exceeding a record's time or memory.
///
/// # Errors
/// As for [`Engine::process`](lethe_core::Engine::process).
pub(crate) fn redact(
    engine_version: &EngineVersion,
    records: &[Record],
    terms: &Terms,
) -> Result<(Processed, u64), BatchError> {
    match attempt(engine_version, records, 0, terms)? {
        Attempt::Done(processed, tokens) => Ok((processed, tokens)),
        Attempt::Over(_) => without(engine_version, records, terms),
    }
}

/// Returns the quarantined rows of records whose spans take too much memory.
fn without(
    engine_version: &EngineVersion,
    records: &[Record],
    terms: &Terms,
) -> Result<(Processed, u64), BatchError> {
    let instead = records
        .iter()
        .map(|record| Record::Quarantined(record.at().clone(), over_memory()));
    let instead: Vec<Record> = instead.collect();
    handle(engine_version, &instead, &Arc::new(terms.pace(0)))
}

/// The result of an attempt to redact records.
enum Attempt {
    /// Their rows, and the number of their tokens.
    Done(Processed, u64),
    /// The bytes of spans that a single record needs, which exceed the limit.
    Over(usize),
}

/// As [`redact`]. The payload of a single record had `size` bytes.
fn attempt(
    engine_version: &EngineVersion,
    records: &[Record],
    size: usize,
    terms: &Terms,
) -> Result<Attempt, BatchError> {
    // Records that are processed together are so short that their spans fit.
    let spans = match records {
        [record] => Some(terms.limits.spans(record, size, terms.memory)),
        _ => None,
    };
    let pace = Arc::new(
        terms
            .pace(records.iter().map(text_bytes).sum())
            .with_memory(spans),
    );
    let done = catch_unwind(AssertUnwindSafe(|| handle(engine_version, records, &pace)));
    if let Some(wanted) = pace.over_memory() {
        return Ok(Attempt::Over(wanted));
    }
    let done = match done {
        Ok(done) if records.len() > 1 && pace.is_over() => {
            // One of them has used up the time of all, so each is tried alone; the other results are
            // discarded.
            drop(done);
            survivors(engine_version, records, terms)
        }
        Ok(done) => done,
        // The panic was outside the members, which are isolated one by one, so each record is tried alone.
        Err(_) => survivors(engine_version, records, terms),
    };
    done.map(|(processed, tokens)| Attempt::Done(processed, tokens))
}

/// Redacts records after each was tried alone; those that panic or take too long are quarantined.
fn survivors(
    engine_version: &EngineVersion,
    records: &[Record],
    terms: &Terms,
) -> Result<(Processed, u64), BatchError> {
    let tried: Vec<Option<Record>> = records
        .iter()
        .map(|record| casualty(engine_version, record, terms))
        .collect();
    let left = records.iter().zip(&tried);
    let pace = Arc::new(terms.pace(records.iter().map(text_bytes).sum()));
    handle(
        engine_version,
        left.map(|(record, instead)| instead.as_ref().unwrap_or(record)),
        &pace,
    )
}

/// Counts the results of a batch, whose records had these `sizes` in bytes.
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
    record_drift(telemetry.drift(), measures, &seen);
}

/// Warns when a feed has changed.
fn record_drift(drift: &Drift, measures: &Measures, seen: &Seen) {
    for (signal, ratio) in drift.add(seen) {
        measures.drifted(signal);
        tracing::warn!(
            signal,
            "the feed has changed: the signal is {ratio:.2} times its usual value; see docs/operating.md"
        );
    }
}

/// Returns the rows, and the number of the notes' tokens.
fn handle<'a>(
    engine_version: &EngineVersion,
    records: impl IntoIterator<Item = &'a Record>,
    pace: &Arc<Stride>,
) -> Result<(Processed, u64), BatchError> {
    let observed = records.into_iter().inspect(|record| {
        if let Record::Note(event) = record {
            crash::panic_on(event.text.expose());
            crash::abort_on(event.text.expose());
        }
    });
    let batch = NoteBatch::from_records(observed)?.paced(Arc::clone(pace) as Arc<dyn Pace>);
    let tokens = batch.notes().map(|note| note.tokens.len() as u64).sum();
    Ok((engine_version.engine.process(&batch)?, tokens))
}

/// Returns the quarantined record for one that panics or takes too long; `None` for any other.
fn casualty(engine_version: &EngineVersion, record: &Record, terms: &Terms) -> Option<Record> {
    let pace = Arc::new(terms.pace(text_bytes(record)));
    let code = match catch_unwind(AssertUnwindSafe(|| handle(engine_version, [record], &pace))) {
        Ok(Ok(_)) if pace.is_over() => QuarantineCode::OverBudget,
        Ok(Ok(_) | Err(BatchError::Unavailable(_))) => return None,
        _ => QuarantineCode::MemberPanic,
    };
    Some(Record::Quarantined(record.at().clone(), code.into()))
}

/// Returns what the format needs for this record and cannot get now, such as its schema.
fn missing(format: &dyn Format, record: &Incoming) -> Option<String> {
    let Incoming::Raw(record) = record else {
        return None;
    };
    let payload = record.payload.as_ref()?;
    // A panic is due to the payload, and is reported when it is decoded.
    let prepared = catch_unwind(AssertUnwindSafe(|| format.prepare(&payload.0)));
    prepared.ok()?.err().map(|unavailable| unavailable.to_string())
}

fn decode(format: &dyn Format, record: Incoming) -> Record {
    let record = match record {
        Incoming::Raw(record) => record,
        Incoming::Read(record) => return record,
        Incoming::Heavy(heavy) => return heavy.record,
    };
    let at = record.at;
    let Some(payload) = record.payload else {
        return Record::Tombstone(at);
    };
    let spare: Coordinates = at.clone();
    catch_unwind(AssertUnwindSafe(|| format.decode(at, &payload.0)))
        .unwrap_or(Record::Quarantined(spare, QuarantineCode::InvalidPayload.into()))
}
