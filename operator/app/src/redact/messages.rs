//! Redacts messages, and writes them in the framing in which they arrived.
//!
//! A message passes the format with `keep_message` and the engine, as in the stream, so that the same
//! allowlist applies to its structured part. Batch segments of HL7 v2 are rewritten, since the sender's name
//! places, people and files.

use std::io::{self, Read, Write};

use anyhow::Context as _;
use lethe_connectors::files::{BatchSegment, Framing, Gap, Payloads};
use lethe_connectors::format::{CdaConfig, FhirConfig, Format, FormatConfig, Hl7v2Config, MAX_NOTE_BYTES};
use lethe_core::{
    Coordinates, Engine, NoteBatch, Outcome, Quarantine, QuarantineCode, Record, Review, Unredacted,
};

use super::Job;
use super::counts::Counts;
use super::kind::FileKind;
use crate::interrupt::{self, interrupted};

/// The most messages that are processed together, and their bytes.
const CHUNK: (usize, usize) = (256, 8 << 20);

/// Redacts a file of messages.
///
/// # Errors
/// If the file cannot be read, or a message is refused and not skipped.
pub(super) fn redact(
    job: &Job,
    kind: FileKind,
    content: Box<dyn Read + Send>,
    output: &mut dyn Write,
    progress: &mut dyn FnMut(u64),
) -> anyhow::Result<Counts> {
    let config = settings(kind, job.format.clone());
    let format = config.build()?;
    let mut payloads = Payloads::new(content, Framing::Auto, &config, MAX_NOTE_BYTES);
    let mut redactor = Redactor {
        job,
        format: format.as_ref(),
        output: Output::new(output, &config),
        number: 0,
        counts: Counts::default(),
        progress,
    };
    let mut chunk = Vec::new();
    let mut bytes = 0;
    let read = |error: io::Error| anyhow::anyhow!("cannot be read: {error}");
    let done = loop {
        if interrupt::is_requested() {
            break redactor.redact(std::mem::take(&mut chunk)).and_then(|()| {
                let count = redactor.number;
                Err(interrupted(format!(
                    "{count} messages are complete in the output; to continue, process those after them"
                )))
            });
        }
        let piece = match payloads.next().map_err(read) {
            Ok(piece) => piece,
            Err(error) => break Err(error),
        };
        let ended = piece.is_none();
        if let Some(piece) = piece {
            bytes += piece.payload.as_ref().map_or(0, |payload| payload.0.len());
            chunk.push((piece.before, piece.payload.map(|payload| payload.0)));
        }
        if ended || chunk.len() == CHUNK.0 || bytes >= CHUNK.1 {
            bytes = 0;
            if let Err(error) = redactor.redact(std::mem::take(&mut chunk)) {
                break Err(error);
            }
        }
        if ended {
            break redactor.output.gap(&payloads.rest());
        }
    };
    redactor.output.to.flush()?;
    done.map(|()| redactor.counts)
}

/// Returns the format's settings, from the configuration if it has them, with the message kept.
fn settings(kind: FileKind, configured: FormatConfig) -> FormatConfig {
    let mut config = match (kind, configured) {
        (FileKind::Hl7v2, config @ FormatConfig::Hl7v2(_))
        | (FileKind::Fhir, config @ FormatConfig::Fhir(_))
        | (FileKind::Ccda, config @ FormatConfig::Cda(_)) => config,
        (FileKind::Hl7v2, _) => FormatConfig::Hl7v2(Hl7v2Config::default()),
        (FileKind::Fhir, _) => FormatConfig::Fhir(FhirConfig::default()),
        (_, _) => FormatConfig::Cda(CdaConfig::default()),
    };
    match &mut config {
        FormatConfig::Hl7v2(config) => config.keep_message = true,
        FormatConfig::Fhir(config) => config.keep_message = true,
        FormatConfig::Cda(config) => config.keep_message = true,
        _ => {}
    }
    config
}

/// The text before a message, and the message's bytes; `None` if it exceeds the size limit.
type Piece = (Gap, Option<Vec<u8>>);

/// Redacts messages in order.
struct Redactor<'a> {
    job: &'a Job,
    format: &'a dyn Format,
    output: Output<'a>,
    /// The number of messages so far.
    number: u64,
    counts: Counts,
    progress: &'a mut dyn FnMut(u64),
}

impl Redactor<'_> {
    /// Detects identifiers in a chunk's messages on all cores, then redacts and writes them in order: a
    /// message may tell the policy the patient of a later one.
    fn redact(&mut self, chunk: Vec<Piece>) -> anyhow::Result<()> {
        if chunk.is_empty() {
            return Ok(());
        }
        let share = chunk.len().div_ceil(self.job.workers);
        let engine = &*self.job.built.engine;
        let (format, first) = (self.format, self.number);
        let decided = std::thread::scope(|scope| {
            let parts: Vec<_> = (0..)
                .step_by(share)
                .zip(chunk.chunks(share))
                .map(|(start, part)| scope.spawn(move || decide(engine, format, first + start, part)))
                .collect();
            let parts = parts
                .into_iter()
                .map(|part| part.join().ok().context("a worker panicked"));
            parts.collect::<anyhow::Result<Vec<_>>>()
        })?;
        let mut pieces = chunk.iter();
        for part in decided {
            let Part {
                batch,
                outcomes,
                rows,
            } = part?;
            for row in rows {
                let Some((before, _)) = pieces.next() else { break };
                self.output.gap(before)?;
                self.number += 1;
                (self.progress)(1);
                let redacted = match row {
                    Ok(row) => {
                        let missing = (Err(QuarantineCode::MemberError), Review::default());
                        let (outcome, review) = outcomes.get(row).unwrap_or(&missing);
                        engine.redact(&batch, row, outcome).and_then(|mut note| {
                            let message = note.message.take();
                            let message =
                                message.ok_or(Unredacted::Quarantined(QuarantineCode::MessageNotClosed))?;
                            let terms = self.job.terms.as_ref();
                            self.counts
                                .note((engine, terms), &batch, row, outcome, *review, &note);
                            Ok(message)
                        })
                    }
                    Err(why) => {
                        self.refuse(&why.to_string())?;
                        continue;
                    }
                };
                match redacted {
                    Ok(message) => self.output.message(before, &message)?,
                    Err(Unredacted::Quarantined(code)) => self.refuse(code.name())?,
                    Err(Unredacted::Unavailable(why)) => {
                        anyhow::bail!(
                            "message {}: {why}; this message and later ones were not written",
                            self.number
                        )
                    }
                }
            }
        }
        Ok(())
    }

    /// Skips the message, or returns an error that ends the file.
    fn refuse(&mut self, why: &str) -> anyhow::Result<()> {
        if !self.job.skip_refused {
            anyhow::bail!(
                "message {}: {why}; this message and later ones were not written; see docs/quarantine.md, or skip such messages with --skip-refused",
                self.number
            );
        }
        *self.counts.refused.entry(why.to_owned()).or_default() += 1;
        Ok(())
    }
}

/// The ensemble's decisions for some messages.
struct Part {
    batch: NoteBatch,
    outcomes: Vec<(Outcome, Review)>,
    /// For each message its row, or the reason why it has none.
    rows: Vec<Result<usize, Quarantine>>,
}

fn decide(engine: &Engine, format: &dyn Format, first: u64, pieces: &[Piece]) -> anyhow::Result<Part> {
    let mut notes = Vec::new();
    let mut rows = Vec::with_capacity(pieces.len());
    for (number, (_, payload)) in (first..).zip(pieces) {
        let at = Coordinates {
            topic: "message".into(),
            partition: 0,
            offset: i64::try_from(number).unwrap_or(i64::MAX),
        };
        let record = match payload {
            Some(payload) => format.decode(at, payload),
            None => Record::Quarantined(at, QuarantineCode::TooLarge.into()),
        };
        rows.push(match record {
            Record::Quarantined(_, why) => Err(why),
            record => {
                notes.push(record);
                Ok(notes.len() - 1)
            }
        });
    }
    let batch = NoteBatch::from_records(notes)?;
    let outcomes = engine.decide_and_review(&batch);
    Ok(Part {
        batch,
        outcomes,
        rows,
    })
}

/// The output, with its framing.
struct Output<'a> {
    to: &'a mut dyn Write,
    hl7v2: bool,
    fhir: bool,
    /// Messages in the current batch, and batches in the file.
    counts: (u64, u64),
}

impl<'a> Output<'a> {
    const fn new(to: &'a mut dyn Write, config: &FormatConfig) -> Self {
        Self {
            to,
            hl7v2: matches!(config, FormatConfig::Hl7v2(_)),
            fhir: matches!(config, FormatConfig::Fhir(_)),
            counts: (0, 0),
        }
    }

    /// Writes the segments of a batch, without the sender's content (HL7 v2.5.1, section 2.14).
    fn gap(&mut self, gap: &Gap) -> anyhow::Result<()> {
        for segment in &gap.segments {
            match segment {
                BatchSegment::Fhs => self.to.write_all(b"FHS|^~\\&\r")?,
                BatchSegment::Bhs => {
                    self.counts = (0, self.counts.1 + 1);
                    self.to.write_all(b"BHS|^~\\&\r")?;
                }
                BatchSegment::Bts => write!(self.to, "BTS|{}\r", self.counts.0)?,
                BatchSegment::Fts => write!(self.to, "FTS|{}\r", self.counts.1)?,
            }
        }
        Ok(())
    }

    fn message(&mut self, before: &Gap, message: &[u8]) -> anyhow::Result<()> {
        self.counts.0 += 1;
        if before.framed {
            self.to.write_all(b"\x0b")?;
        }
        self.to.write_all(message)?;
        if self.hl7v2 && !message.ends_with(b"\r") {
            self.to.write_all(b"\r")?;
        }
        if before.framed {
            self.to.write_all(b"\x1c\r")?;
        }
        if self.fhir {
            self.to.write_all(b"\n")?;
        }
        Ok(())
    }
}
