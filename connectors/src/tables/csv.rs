//! CSV (RFC 4180) with a header line. Every value is text; an empty one is null.

use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use arrow_array::builder::LargeStringBuilder;
use arrow_array::{ArrayRef, RecordBatch};
use csv::{ByteRecord, ReaderBuilder};
use lethe_core::QuarantineCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocks::Remote;
use super::decompress::{failed, open};
use super::examine::did_you_mean;
use super::jsonl::schema_of;
use super::{
    Compression, Constant, SLAB_BYTES, SLAB_ROWS, Shape, Slab, Slabs, TableError, TablesConfig, Wanted,
};

/// Room for a row's other values next to a note of maximum size, of which each byte may be a doubled quote.
pub(super) const OTHER_COLUMNS: usize = 1 << 20;

/// Maximum number of values in a header. Each takes some dozen bytes of memory, and a line can consist of
/// delimiters only.
pub(super) const MAX_COLUMNS: usize = 1 << 16;

/// The dialect of CSV.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CsvConfig {
    /// The delimiter, one ASCII character. Default: a comma, or a tab in `.tsv` files.
    #[schemars(extend("examples" = [";"]))]
    pub delimiter: Option<char>,
    /// Whether a quote within quotes is escaped by a backslash instead of doubled.
    pub backslash: bool,
}

/// An object whose header was read.
pub(super) struct Opened {
    reader: csv::Reader<Bounded<BufReader<Box<dyn Read + Send>>>>,
    since: Arc<AtomicU64>,
}

/// Returns the error of a column that the first line lacks. Without a header that line belongs to a patient, so it is
/// not shown.
pub(super) fn lacks(object: &str, wanted: &Wanted, names: &[String]) -> TableError {
    TableError::Column {
        object: object.to_owned(),
        key: wanted.key.clone(),
        column: wanted.path.clone(),
        problem: format!(
            "does not exist{}; the first line has {} columns and must be the header",
            did_you_mean(&wanted.path, names.iter().map(String::as_str)),
            names.len()
        ),
    }
}

/// Opens an object, and returns the names in its header.
pub(super) fn opened(
    remote: &Remote,
    compression: Compression,
    config: &TablesConfig,
) -> Result<(Opened, Vec<String>), TableError> {
    let delimiter = match config.csv.delimiter {
        Some(given) => u8::try_from(given).ok().filter(u8::is_ascii).ok_or_else(|| {
            TableError::broken(
                remote.label(),
                "key `backfill.csv.delimiter`: is not an ASCII character",
            )
        })?,
        None if remote.name().to_ascii_lowercase().contains(".tsv") => b'\t',
        None => b',',
    };
    let since = Arc::new(AtomicU64::new(0));
    let limit = config
        .max_note_bytes
        .saturating_mul(2)
        .saturating_add(OTHER_COLUMNS) as u64;
    let bounded = Bounded::new(open(remote, compression)?, &since, limit);
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .double_quote(!config.csv.backslash)
        .escape(config.csv.backslash.then_some(b'\\'))
        .flexible(true)
        .buffer_capacity(64 << 10)
        .from_reader(bounded);
    let header = reader
        .byte_headers()
        .map_err(|error| csv_failed(remote, 0, error))?;
    if header.len() > MAX_COLUMNS {
        let problem = format!("its header has more than {MAX_COLUMNS} columns; check the delimiter");
        return Err(TableError::broken(remote.label(), problem));
    }
    let names: Vec<String> = header
        .iter()
        .enumerate()
        .map(|(at, name)| {
            let name = if at == 0 {
                name.strip_prefix(b"\xef\xbb\xbf").unwrap_or(name)
            } else {
                name
            };
            String::from_utf8_lossy(name).trim().to_owned()
        })
        .collect();
    Ok((Opened { reader, since }, names))
}

pub(super) fn read(
    remote: &Remote,
    compression: Compression,
    from: u64,
    config: &TablesConfig,
    partitions: &[Constant],
) -> Result<(Shape, Slabs), TableError> {
    let (Opened { reader, since }, names) = opened(remote, compression, config)?;
    let wanted = config.columns.all();
    let mut columns = Vec::new();
    for wanted in &wanted {
        if let Some(at) = names.iter().position(|name| *name == wanted.path) {
            columns.push((wanted.path.as_str(), Source::Field(at)));
        } else if let Some((_, value)) = partitions.iter().find(|(name, _)| *name == wanted.path) {
            columns.push((wanted.path.as_str(), Source::Constant(value.clone())));
        } else {
            return Err(lacks(remote.label(), wanted, &names));
        }
    }
    let schema = schema_of(columns.iter().map(|(name, _)| *name));
    let shape = Shape::new(remote.label(), &schema, &config.columns)?;
    let mut rows = Rows {
        reader,
        since,
        remote: remote.clone(),
        width: names.len(),
        columns: columns.into_iter().map(|(_, source)| source).collect(),
        schema,
        record: ByteRecord::new(),
        row: 0,
    };
    let mut before = from;
    let mut ended = false;
    Ok((
        shape,
        Box::new(std::iter::from_fn(move || {
            if ended {
                return None;
            }
            let step = rows.skip(std::mem::take(&mut before)).and_then(|()| rows.step());
            let step = step.transpose();
            ended = !matches!(step, Some(Ok(_)));
            step
        })),
    ))
}

fn csv_failed(remote: &Remote, row: i64, error: csv::Error) -> TableError {
    match error.into_kind() {
        csv::ErrorKind::Io(error) if error.kind() == io::ErrorKind::FileTooLarge => TableError::broken(
            remote.label(),
            format!("row {row}: is longer than the maximum note; check for an unclosed quote"),
        ),
        csv::ErrorKind::Io(error) => failed(remote, row, &error),
        _ => remote.why(|| TableError::broken(remote.label(), format!("row {row}: is not valid CSV"))),
    }
}

/// Stops at a row without an end: an unclosed quote would take all memory.
pub(super) struct Bounded<R> {
    inner: R,
    since: Arc<AtomicU64>,
    limit: u64,
}

impl<R> Bounded<R> {
    /// Reads at most `limit` bytes after the caller last reset `since`.
    pub(super) fn new(inner: R, since: &Arc<AtomicU64>, limit: u64) -> Self {
        Self {
            inner,
            since: Arc::clone(since),
            limit,
        }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.since.load(Relaxed) > self.limit {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let count = self.inner.read(into)?;
        self.since.fetch_add(count as u64, Relaxed);
        Ok(count)
    }
}

enum Source {
    Field(usize),
    Constant(Option<String>),
}

struct Rows {
    reader: csv::Reader<Bounded<BufReader<Box<dyn Read + Send>>>>,
    since: Arc<AtomicU64>,
    remote: Remote,
    /// Number of values in the header.
    width: usize,
    columns: Vec<Source>,
    schema: Arc<arrow_schema::Schema>,
    record: ByteRecord,
    row: i64,
}

impl Rows {
    /// Reads a row; returns false at the end.
    fn advance(&mut self) -> Result<bool, TableError> {
        self.since.store(0, Relaxed);
        let read = self.reader.read_byte_record(&mut self.record);
        read.map_err(|error| csv_failed(&self.remote, self.row, error))
    }

    /// Skips rows.
    fn skip(&mut self, rows: u64) -> Result<(), TableError> {
        for _ in 0..rows {
            if !self.advance()? {
                break;
            }
            self.row += 1;
        }
        Ok(())
    }

    fn cells(&self) -> Result<Vec<Option<String>>, QuarantineCode> {
        if self.record.len() != self.width {
            return Err(QuarantineCode::InvalidPayload);
        }
        let cell = |source: &Source| match source {
            Source::Constant(value) => Ok(value.clone()),
            Source::Field(at) => match self.record.get(*at) {
                None | Some(b"") => Ok(None),
                Some(bytes) => match std::str::from_utf8(bytes) {
                    Ok(text) => Ok(Some(text.to_owned())),
                    Err(_) => Err(QuarantineCode::InvalidUtf8),
                },
            },
        };
        self.columns.iter().map(cell).collect()
    }

    fn step(&mut self) -> Result<Option<Slab>, TableError> {
        let first = self.row;
        let mut builders: Vec<LargeStringBuilder> =
            self.columns.iter().map(|_| LargeStringBuilder::new()).collect();
        let mut bad = Vec::new();
        let (mut rows, mut bytes) = (0, 0);
        while rows < SLAB_ROWS && bytes < SLAB_BYTES && self.advance()? {
            bytes += self.record.as_slice().len();
            let cells = self.cells().unwrap_or_else(|code| {
                bad.push((rows, code));
                vec![None; builders.len()]
            });
            for (builder, cell) in builders.iter_mut().zip(cells) {
                builder.append_option(cell);
            }
            rows += 1;
            self.row += 1;
        }
        if rows == 0 {
            return Ok(None);
        }
        let columns = builders
            .iter_mut()
            .map(|builder| Arc::new(builder.finish()) as ArrayRef);
        let record = RecordBatch::try_new(Arc::clone(&self.schema), columns.collect()).map_err(|_| {
            TableError::broken(
                self.remote.label(),
                format!("row {first}: cannot be put into a batch"),
            )
        })?;
        Ok(Some(Slab {
            first,
            record,
            bad,
            share: self.remote.share(),
        }))
    }
}
