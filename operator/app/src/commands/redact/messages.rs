//! Redacts messages, and writes them in the framing in which they arrived.
//!
//! A message passes the format with `keep_message` and the engine, as in the stream, so that the same
//! allowlist applies to its structured part. Batch segments of HL7 v2 are rewritten, since the sender's name
//! places, people and files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Cursor, Read, Write};
use std::path::Path;

use anyhow::Context as _;
use lethe_connectors::files::{BatchSegment, Framing, Gap, Payloads, is_compressed_or_archive};
use lethe_connectors::format::{Format, FormatConfig, MAX_NOTE_BYTES};
use lethe_core::{Coordinates, Engine, NoteBatch, Outcome, Quarantine, QuarantineCode, Record, Unredacted};

use crate::cli::{InputFormat, RedactArgs};
use crate::commands::documents::{create, shown};
use crate::config::load;
use crate::exit::{Coded, Failure, usage};
use crate::interrupt::{self, interrupted};
use crate::progress::Progress;

/// The most messages that are processed together, and their bytes.
const CHUNK: (usize, usize) = (256, 8 << 20);
/// The bytes that identify compressed files.
const HEAD: u64 = 512;

/// Redacts a file of messages.
pub(super) fn run(args: &RedactArgs, engine: &Engine) -> anyhow::Result<()> {
    if let Some(key) = args.keep.first() {
        return Err(usage(format!(
            "--keep {key}: only for --format jsonl; for messages, the format and the policy decide what is kept"
        )));
    }
    let config = settings(args)?;
    let format = config
        .build()
        .map_err(|error| usage(format!("--format: {error}")))?;
    let mut payloads = Payloads::new(open(args.source())?, Framing::Auto, &config, MAX_NOTE_BYTES);
    let mut redactor = Redactor {
        engine,
        format: format.as_ref(),
        output: Output::new(create(&args.output)?, &config),
        skip: args.skip_refused,
        number: 0,
        refused: BTreeMap::new(),
        progress: Progress::start("messages", "messages", None),
    };
    let mut chunk = Vec::new();
    let mut bytes = 0;
    let read = |error: io::Error| anyhow::anyhow!("cannot read {}: {error}", args.source().display());
    let done = loop {
        if interrupt::is_requested() {
            break redactor.redact(std::mem::take(&mut chunk)).and_then(|()| {
                let count = redactor.number;
                Err(interrupted(format!(
                    "{count} messages are complete in {}; to continue, process those after them",
                    shown(&args.output)
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
    done?;
    redactor.end()
}

/// Returns the format's settings, from the configuration if it has them, with the message kept.
fn settings(args: &RedactArgs) -> anyhow::Result<FormatConfig> {
    let configured = match &args.config {
        Some(path) => load(path)?.format,
        None => FormatConfig::default(),
    };
    let mut config = match (args.format, configured) {
        (InputFormat::Hl7v2, config @ FormatConfig::Hl7v2(_))
        | (InputFormat::Fhir, config @ FormatConfig::Fhir(_))
        | (InputFormat::Ccda, config @ FormatConfig::Cda(_)) => config,
        (InputFormat::Hl7v2, _) => FormatConfig::Hl7v2(lethe_connectors::format::Hl7v2Config::default()),
        (InputFormat::Fhir, _) => FormatConfig::Fhir(lethe_connectors::format::FhirConfig::default()),
        (_, _) => FormatConfig::Cda(lethe_connectors::format::CdaConfig::default()),
    };
    match &mut config {
        FormatConfig::Hl7v2(config) => config.keep_message = true,
        FormatConfig::Fhir(config) => config.keep_message = true,
        FormatConfig::Cda(config) => config.keep_message = true,
        _ => {}
    }
    Ok(config)
}

/// Opens a file, or standard input for `-`.
fn open(path: &Path) -> anyhow::Result<Box<dyn Read>> {
    let mut reader: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path).with_context(|| format!("cannot read {}", path.display()))?)
    };
    let mut head = Vec::new();
    let read = reader.by_ref().take(HEAD).read_to_end(&mut head);
    read.with_context(|| format!("cannot read {}", path.display()))?;
    if is_compressed_or_archive(&head) {
        return Err(usage(format!(
            "{}: compressed or an archive; unpack it first, or read it with `[source] kind = \"files\"`",
            path.display()
        )));
    }
    Ok(Box::new(Cursor::new(head).chain(reader)))
}

/// The text before a message, and the message's bytes; `None` if it exceeds the size limit.
type Piece = (Gap, Option<Vec<u8>>);

/// Redacts messages in order.
struct Redactor<'a> {
    engine: &'a Engine,
    format: &'a dyn Format,
    output: Output,
    /// Whether refused messages are skipped.
    skip: bool,
    /// The number of messages so far.
    number: u64,
    /// Skipped messages, by the error that a quarantined row would have.
    refused: BTreeMap<String, u64>,
    progress: Progress,
}

impl Redactor<'_> {
    /// Detects identifiers in a chunk's messages on all cores, then redacts and writes them in order: a
    /// message may tell the policy the patient of a later one.
    fn redact(&mut self, chunk: Vec<Piece>) -> anyhow::Result<()> {
        if chunk.is_empty() {
            return Ok(());
        }
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let share = chunk.len().div_ceil(workers);
        let (engine, format, first) = (self.engine, self.format, self.number);
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
                self.progress.add(1);
                let redacted = match row {
                    Ok(row) => self
                        .engine
                        .redact(
                            &batch,
                            row,
                            outcomes.get(row).unwrap_or(&Err(QuarantineCode::MemberError)),
                        )
                        .and_then(|note| {
                            note.message
                                .ok_or(Unredacted::Quarantined(QuarantineCode::MessageNotClosed))
                        }),
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

    /// Skips the message, or returns an error that ends the program.
    fn refuse(&mut self, why: &str) -> anyhow::Result<()> {
        if !self.skip {
            anyhow::bail!(
                "message {}: {why}; this message and later ones were not written; see docs/quarantine.md, or skip such messages with --skip-refused",
                self.number
            );
        }
        *self.refused.entry(why.to_owned()).or_default() += 1;
        Ok(())
    }

    fn end(self) -> anyhow::Result<()> {
        let messages = self.progress.finish();
        let refused: u64 = self.refused.values().sum();
        tracing::info!("{} messages redacted", messages - refused);
        if refused == 0 {
            return Ok(());
        }
        let codes: Vec<String> = self
            .refused
            .iter()
            .map(|(why, count)| format!("{why}: {count}"))
            .collect();
        let told = format!(
            "{refused} of {messages} messages were refused and skipped ({}); docs/quarantine.md explains each code",
            codes.join(", ")
        );
        Err(Coded(Failure::Quarantined, told).into())
    }
}

/// The ensemble's decisions for some messages.
struct Part {
    batch: NoteBatch,
    outcomes: Vec<Outcome>,
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
    let outcomes = engine.decide(&batch);
    Ok(Part {
        batch,
        outcomes,
        rows,
    })
}

/// The output, with its framing.
struct Output {
    to: Box<dyn Write>,
    hl7v2: bool,
    fhir: bool,
    /// Messages in the current batch, and batches in the file.
    counts: (u64, u64),
}

impl Output {
    const fn new(to: Box<dyn Write>, config: &FormatConfig) -> Self {
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
