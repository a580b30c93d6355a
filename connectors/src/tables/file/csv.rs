//! Reads and writes a CSV file (RFC 4180) with all of its columns.

use std::io::{self, Cursor, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use arrow_array::builder::LargeStringBuilder;
use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use csv::{ByteRecord, QuoteStyle, ReaderBuilder, Terminator, WriterBuilder};

use super::Rows;
use crate::tables::csv::{Bounded, MAX_COLUMNS, OTHER_COLUMNS};
use crate::tables::{SLAB_BYTES, SLAB_ROWS, TableError};

/// The first bytes of a file, in which its dialect is recognised.
const HEAD: u64 = 64 << 10;

/// The byte order mark in UTF-8, which the reader skips.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How a file is written: what its output repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    delimiter: u8,
    /// Whether lines end in a carriage return and a line feed.
    returns: bool,
    /// Whether the file begins with a byte order mark.
    mark: bool,
    header: ByteRecord,
}

/// Returns the delimiter that is most frequent in the first line outside quotes.
fn delimiter_of(head: &[u8]) -> u8 {
    let mut counts = [(b',', 0_usize), (b';', 0), (b'\t', 0), (b'|', 0)];
    let mut quoted = false;
    for &byte in head {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => break,
            _ if quoted => {}
            _ => {
                if let Some((_, count)) = counts.iter_mut().find(|(delimiter, _)| *delimiter == byte) {
                    *count += 1;
                }
            }
        }
    }
    // The first of several: a comma if it has none of them.
    counts
        .iter()
        .rev()
        .max_by_key(|(_, count)| *count)
        .map_or(b',', |(delimiter, _)| *delimiter)
}

pub(super) fn open(
    name: &str,
    mut reader: Box<dyn Read + Send>,
    delimiter: Option<u8>,
    max_note_bytes: usize,
) -> Result<(SchemaRef, Rows, Dialect), TableError> {
    let mut head = Vec::new();
    let read = reader.by_ref().take(HEAD).read_to_end(&mut head);
    read.map_err(|error| TableError::broken(name, format!("cannot be read: {}", error.kind())))?;
    let delimiter = delimiter.unwrap_or_else(|| delimiter_of(&head));
    let first_end = head.iter().position(|&byte| byte == b'\n');
    let returns = first_end.is_some_and(|at| at > 0 && head.get(at - 1) == Some(&b'\r'));
    let mark = head.starts_with(BYTE_ORDER_MARK);
    let since = Arc::new(AtomicU64::new(0));
    let limit = max_note_bytes.saturating_mul(2).saturating_add(OTHER_COLUMNS) as u64;
    let bounded = Bounded::new(Cursor::new(head).chain(reader), &since, limit);
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .flexible(true)
        .from_reader(bounded);
    let header = reader
        .byte_headers()
        .map_err(|error| failed(name, 0, error))?
        .clone();
    if header.len() > MAX_COLUMNS {
        let problem = format!("its header has more than {MAX_COLUMNS} columns; check the delimiter");
        return Err(TableError::broken(name, problem));
    }
    let mut names: Vec<String> = Vec::with_capacity(header.len());
    for value in &header {
        let value = std::str::from_utf8(value)
            .map_err(|_| TableError::broken(name, "its header is not UTF-8; convert the file"))?;
        let value = value.trim();
        // Without a header the first line belongs to a patient, so no name is shown.
        if let Some(at) = names.iter().position(|other| other == value) {
            let problem = format!(
                "its header names columns {} and {} alike, twice the same name; rename one",
                at + 1,
                names.len() + 1
            );
            return Err(TableError::broken(name, problem));
        }
        names.push(value.to_owned());
    }
    let fields = names
        .iter()
        .map(|name| Field::new(name, DataType::LargeUtf8, true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let mut rows = Source {
        reader,
        since,
        name: name.to_owned(),
        schema: Arc::clone(&schema),
        record: ByteRecord::new(),
        row: 0,
    };
    let mut ended = false;
    let rows = std::iter::from_fn(move || {
        if ended {
            return None;
        }
        let step = rows.step().transpose();
        ended = !matches!(step, Some(Ok(_)));
        step
    });
    let dialect = Dialect {
        delimiter,
        returns,
        mark,
        header,
    };
    Ok((schema, Box::new(rows), dialect))
}

fn failed(name: &str, row: u64, error: csv::Error) -> TableError {
    let problem = match error.into_kind() {
        csv::ErrorKind::Io(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            format!("row {row} is longer than the maximum note; check for an unclosed quote")
        }
        csv::ErrorKind::Io(error) => format!("row {row} cannot be read: {}", error.kind()),
        _ => format!("row {row} is not valid CSV"),
    };
    TableError::broken(name, problem)
}

struct Source<R: Read> {
    reader: csv::Reader<Bounded<R>>,
    since: Arc<AtomicU64>,
    name: String,
    schema: SchemaRef,
    record: ByteRecord,
    /// The number of rows so far.
    row: u64,
}

impl<R: Read> Source<R> {
    fn step(&mut self) -> Result<Option<RecordBatch>, TableError> {
        let width = self.schema.fields().len();
        let mut builders: Vec<LargeStringBuilder> = (0..width).map(|_| LargeStringBuilder::new()).collect();
        let (mut rows, mut bytes) = (0, 0);
        while rows < SLAB_ROWS && bytes < SLAB_BYTES {
            self.since.store(0, Relaxed);
            let number = self.row + 1;
            let read = self.reader.read_byte_record(&mut self.record);
            if !read.map_err(|error| failed(&self.name, number, error))? {
                break;
            }
            if self.record.len() != width {
                let problem = format!(
                    "row {number} has {} values, the header {width}; check for unquoted delimiters or line breaks",
                    self.record.len()
                );
                return Err(TableError::broken(&self.name, problem));
            }
            for (at, (builder, value)) in builders.iter_mut().zip(&self.record).enumerate() {
                let value = std::str::from_utf8(value).map_err(|_| {
                    let problem = format!("row {number}, column {}: is not UTF-8; convert the file", at + 1);
                    TableError::broken(&self.name, problem)
                })?;
                builder.append_value(value);
            }
            bytes += self.record.as_slice().len();
            rows += 1;
            self.row = number;
        }
        if rows == 0 {
            return Ok(None);
        }
        let columns = builders
            .iter_mut()
            .map(|builder| Arc::new(builder.finish()) as ArrayRef);
        let record = RecordBatch::try_new(Arc::clone(&self.schema), columns.collect());
        record
            .map(Some)
            .map_err(|_| TableError::broken(&self.name, "its rows cannot be put into a batch"))
    }
}

/// Writes CSV.
pub struct Writer<W: Write>(csv::Writer<W>);

fn unwritten(error: csv::Error) -> TableError {
    let problem = match error.into_kind() {
        csv::ErrorKind::Io(error) => format!("cannot be written: {error}"),
        _ => "cannot be written".to_owned(),
    };
    TableError::broken("the output", problem)
}

impl<W: Write> Writer<W> {
    pub(super) fn new(mut to: W, dialect: &Dialect) -> Result<Self, TableError> {
        if dialect.mark {
            to.write_all(BYTE_ORDER_MARK)
                .map_err(|error| unwritten(error.into()))?;
        }
        let mut writer = WriterBuilder::new()
            .delimiter(dialect.delimiter)
            .terminator(match dialect.returns {
                true => Terminator::CRLF,
                false => Terminator::Any(b'\n'),
            })
            .quote_style(QuoteStyle::Necessary)
            .from_writer(to);
        writer.write_byte_record(&dialect.header).map_err(unwritten)?;
        Ok(Self(writer))
    }

    pub(super) fn write(&mut self, rows: &RecordBatch) -> Result<(), TableError> {
        let columns: Vec<_> = rows
            .columns()
            .iter()
            .map(|column| column.as_string::<i64>())
            .collect();
        for row in 0..rows.num_rows() {
            let values = columns.iter().map(|column| match column.is_valid(row) {
                true => column.value(row),
                false => "",
            });
            self.0.write_record(values).map_err(unwritten)?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<(), TableError> {
        self.0
            .flush()
            .map_err(|error| TableError::broken("the output", format!("cannot be written: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delimiter_is_the_most_frequent_one_of_the_header() {
        for (head, delimiter) in [
            ("a,b;c,d\n", b','),
            ("a;b;\"c,,,\"\n,,,,", b';'),
            ("a\tb\n", b'\t'),
            ("a|b|c\n", b'|'),
            ("note\n", b','),
        ] {
            assert_eq!(delimiter_of(head.as_bytes()), delimiter, "{head}");
        }
    }
}
