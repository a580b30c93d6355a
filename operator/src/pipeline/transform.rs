//! From payloads to redacted rows: what a worker does with a batch.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use lethe_connectors::format::Format;
use lethe_connectors::store::crash;
use lethe_core::{BatchError, Coordinates, NoteBatch, Pace, Processed, QuarantineCode, Record};

use super::cost::{Cost, Limits, TOGETHER, over_memory};
use super::edition::Edition;
use super::incoming::{HeavyRecord, Incoming};
use super::lane::Shop;
use super::load::Load;
use super::stride::Stride;
use crate::telemetry::{Drift, LaneBoard, Measures, Seen, Stage, Telemetry, Work};

/// Why a batch has no rows.
pub(crate) enum Fault {
    /// Something that reading or redacting needs is away: its records, to be tried again.
    Away(Vec<Incoming>, String),
    /// Its records do not fit together: what to work on instead, part by part. Nothing of it has rows yet.
    Parts(Vec<Vec<Incoming>>),
    /// It will never have any.
    Broken(String),
}

/// On which terms a batch is worked on.
#[derive(Clone)]
pub(crate) struct Terms {
    /// What a record may take.
    pub(crate) limits: Limits,
    /// What this work may take if it is on one record, in bytes: no more than the limit.
    pub(crate) memory: usize,
    /// Whether a batch is given back in parts where it would take too much memory.
    pub(crate) parts: bool,
    /// Whose progress it is.
    pub(crate) board: Option<Arc<LaneBoard>>,
    /// Which load it gives way to.
    pub(crate) yields: Option<Arc<Load>>,
}

impl Terms {
    /// Whole batches, whose records have so much memory each.
    pub(crate) const fn whole(limits: Limits) -> Self {
        Self {
            limits,
            memory: limits.record,
            parts: false,
            board: None,
            yields: None,
        }
    }

    /// Whether the spans of a record, whose payload had `size` bytes, may take so many bytes in a larger turn.
    fn may_have(&self, wanted: usize, record: &Record, size: usize) -> bool {
        let most = self.limits.spans(record, size, self.limits.record);
        self.memory < self.limits.record && wanted <= most
    }

    fn pace(&self, bytes: usize) -> Stride {
        Stride::begin(bytes, self.board.as_ref(), self.yields.as_ref())
    }
}

/// From payloads to redacted rows. A panic costs the record that caused it.
pub(super) fn transform(
    shop: &Shop,
    edition: &Edition,
    records: Vec<Incoming>,
    terms: &Terms,
    work: &mut Work,
) -> Result<Processed, Fault> {
    let begun = Instant::now();
    // One for the whole batch: what it has prepared it has.
    let format = shop.format.get();
    let sizes: Vec<usize> = records.iter().map(Incoming::size).collect();
    let done = process(format.as_ref(), edition, records, terms)?;
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

/// Decodes and redacts records, and counts nothing. A panic costs the record that caused it; so does taking more memory than
/// a record may have.
pub(crate) fn process(
    format: &dyn Format,
    edition: &Edition,
    records: Vec<Incoming>,
    terms: &Terms,
) -> Result<Done, Fault> {
    if let Some(why) = records.iter().find_map(|record| missing(format, record)) {
        return Err(Fault::Away(records, why));
    }
    let place = records.first().map(|record| (record.size(), record.timestamp()));
    let (size, timestamp) = place.unwrap_or_default();
    let records = decode_all(format, records, terms)?;
    let decoded = Instant::now();
    let done = match (attempt(edition, &records, size, terms), records.as_slice()) {
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
            return Err(Fault::Parts(records.into_iter().map(whole).collect()));
        }
        (Ok(Attempt::Over(_)), _) => without(edition, &records, terms),
    };
    match done {
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

/// Decodes records, as far as they may be worked on together. [`Fault::Parts`] otherwise: decoding stops at the record that is too
/// much, so that a batch of small payloads that expand never stands in memory as a whole.
fn decode_all(format: &dyn Format, records: Vec<Incoming>, terms: &Terms) -> Result<Vec<Record>, Fault> {
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
            return Err(Fault::Parts(
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

/// Redacts records, and says how many tokens they have. A panic costs the record that caused it, and so does taking more time
/// or memory than a record may have.
///
/// # Errors
/// As [`Engine::process`](lethe_core::Engine::process).
pub(crate) fn redact(
    edition: &Edition,
    records: &[Record],
    terms: &Terms,
) -> Result<(Processed, u64), BatchError> {
    match attempt(edition, records, 0, terms)? {
        Attempt::Done(processed, tokens) => Ok((processed, tokens)),
        Attempt::Over(_) => without(edition, records, terms),
    }
}

/// The rows of records whose spans take too much memory.
fn without(edition: &Edition, records: &[Record], terms: &Terms) -> Result<(Processed, u64), BatchError> {
    let instead = records
        .iter()
        .map(|record| Record::Quarantined(record.at().clone(), over_memory()));
    let instead: Vec<Record> = instead.collect();
    handle(edition, &instead, &Arc::new(terms.pace(0)))
}

/// What became of an attempt to redact records.
enum Attempt {
    /// Their rows, and how many tokens they have.
    Done(Processed, u64),
    /// The spans of a record that is alone would take so many bytes, which is more than they may.
    Over(usize),
}

/// As [`redact`]. The payload of a record that is alone had `size` bytes.
fn attempt(edition: &Edition, records: &[Record], size: usize, terms: &Terms) -> Result<Attempt, BatchError> {
    // Together, records are so short that their spans fit.
    let spans = match records {
        [record] => Some(terms.limits.spans(record, size, terms.memory)),
        _ => None,
    };
    let pace = Arc::new(
        terms
            .pace(records.iter().map(text_bytes).sum())
            .with_memory(spans),
    );
    let done = catch_unwind(AssertUnwindSafe(|| handle(edition, records, &pace)));
    if let Some(wanted) = pace.over_memory() {
        return Ok(Attempt::Over(wanted));
    }
    let done = match done {
        Ok(done) if records.len() > 1 && pace.is_over() => {
            // One of them has used up the time of all: find it. What the others became is made anew.
            drop(done);
            survivors(edition, records, terms)
        }
        Ok(done) => done,
        // Outside the members, which are isolated one by one: find the record that does it.
        Err(_) => survivors(edition, records, terms),
    };
    done.map(|(processed, tokens)| Attempt::Done(processed, tokens))
}

/// Redacts records after each was tried alone; those that do not survive it are quarantined.
fn survivors(edition: &Edition, records: &[Record], terms: &Terms) -> Result<(Processed, u64), BatchError> {
    let tried: Vec<Option<Record>> = records
        .iter()
        .map(|record| casualty(edition, record, terms))
        .collect();
    let left = records.iter().zip(&tried);
    let pace = Arc::new(terms.pace(records.iter().map(text_bytes).sum()));
    handle(
        edition,
        left.map(|(record, instead)| instead.as_ref().unwrap_or(record)),
        &pace,
    )
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
fn handle<'a>(
    edition: &Edition,
    records: impl IntoIterator<Item = &'a Record>,
    pace: &Arc<Stride>,
) -> Result<(Processed, u64), BatchError> {
    let watched = records.into_iter().inspect(|record| {
        if let Record::Note(event) = record {
            crash::panic_on(event.text.expose());
            crash::abort_on(event.text.expose());
        }
    });
    let batch = NoteBatch::from_records(watched)?.paced(Arc::clone(pace) as Arc<dyn Pace>);
    let tokens = batch.notes().map(|note| note.tokens.len() as u64).sum();
    Ok((edition.engine.process(&batch)?, tokens))
}

/// The row that takes the place of a record that panics or takes too long; none for any other.
fn casualty(edition: &Edition, record: &Record, terms: &Terms) -> Option<Record> {
    let pace = Arc::new(terms.pace(text_bytes(record)));
    let code = match catch_unwind(AssertUnwindSafe(|| handle(edition, [record], &pace))) {
        Ok(Ok(_)) if pace.is_over() => QuarantineCode::OverBudget,
        Ok(Ok(_) | Err(BatchError::Unavailable(_))) => return None,
        _ => QuarantineCode::MemberPanic,
    };
    Some(Record::Quarantined(record.at().clone(), code.into()))
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
