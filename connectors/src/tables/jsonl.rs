//! Reads JSON lines: columns are paths into each line's object. A value that is not a string is kept as its
//! JSON; a missing value is null.

use std::collections::BTreeSet;
use std::io::{BufReader, Read};
use std::sync::Arc;

use arrow_array::builder::LargeStringBuilder;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use lethe_core::QuarantineCode;
use serde_json::Value;

use super::blocks::Remote;
use super::decompress::{failed, open};
use super::pick::Pick;
use super::{Compression, Constant, SLAB_BYTES, SLAB_ROWS, Shape, Slab, Slabs, TableError, TablesConfig};
use crate::files::lines::Lines;

/// Room for a line's other values next to a note of maximum size, of which JSON may encode each byte as six.
const OTHER_COLUMNS: usize = 1 << 20;

pub(super) fn read(
    remote: &Remote,
    compression: Compression,
    from: u64,
    config: &TablesConfig,
    partitions: &[Constant],
) -> Result<(Shape, Slabs), TableError> {
    let wanted = config.columns.all();
    let text: Vec<&str> = config.columns.text.iter().map(String::as_str).collect();
    let columns: Vec<Column> = wanted
        .iter()
        .map(|wanted| Column {
            path: wanted.path.clone(),
            parts: wanted.path.split('.').map(str::to_owned).collect(),
            is_text: text.contains(&wanted.path.as_str()),
            constant: partitions
                .iter()
                .find(|(name, _)| *name == wanted.path)
                .and_then(|(_, value)| value.clone()),
        })
        .collect();
    let schema = schema_of(columns.iter().map(|column| column.path.as_str()));
    let shape = Shape::new(remote.label(), &schema, &config.columns)?;
    let limit = config
        .max_note_bytes
        .saturating_mul(6)
        .saturating_add(OTHER_COLUMNS);
    let mut rows = Rows {
        lines: Lines::new(open(remote, compression)?, limit),
        pick: Pick::of(columns.iter().map(|column| column.path.as_str())),
        remote: remote.clone(),
        columns,
        schema,
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

/// Lines whose keys are collected, and their bytes.
const LINES: usize = 100;
const LINE_BYTES: usize = 1 << 20;

/// Returns the keys of the first lines, those of nested objects as paths, and the number of these lines.
pub(super) fn keys(
    remote: &Remote,
    compression: Compression,
    config: &TablesConfig,
) -> Result<(BTreeSet<String>, usize), TableError> {
    let limit = config
        .max_note_bytes
        .saturating_mul(6)
        .saturating_add(OTHER_COLUMNS);
    let mut lines = Lines::new(open(remote, compression)?, limit);
    let (mut keys, mut count, mut bytes) = (BTreeSet::new(), 0, 0);
    while count < LINES && bytes < LINE_BYTES {
        let line = lines
            .next()
            .map_err(|error| failed(remote, count as i64, &error))?;
        let Some(line) = line else { break };
        count += 1;
        if let Some(line) = line.bytes {
            bytes += line.len();
            if let Ok(value) = serde_json::from_slice(line) {
                collect(&value, "", &mut keys);
            }
        }
    }
    Ok((keys, count))
}

fn collect(value: &Value, within: &str, keys: &mut BTreeSet<String>) {
    for (name, inner) in value.as_object().into_iter().flatten() {
        let path = if within.is_empty() {
            name.clone()
        } else {
            format!("{within}.{name}")
        };
        collect(inner, &path, keys);
        keys.insert(path);
    }
}

/// Returns a schema of strings.
pub(super) fn schema_of<'a>(names: impl Iterator<Item = &'a str>) -> Arc<Schema> {
    let fields = names.map(|name| Field::new(name, DataType::LargeUtf8, true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

struct Column {
    path: String,
    parts: Vec<String>,
    is_text: bool,
    constant: Option<String>,
}

impl Column {
    /// Returns the value at the path, or at the key that equals the whole path.
    fn find<'v>(&self, line: &'v Value) -> Option<&'v Value> {
        if let Some(value) = line.get(&self.path) {
            return Some(value);
        }
        self.parts.iter().try_fold(line, |value, part| value.get(part))
    }

    fn text(&self, line: &Value) -> Result<Option<String>, QuarantineCode> {
        match self.find(line) {
            None | Some(Value::Null) => Ok(self.constant.clone()),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) if self.is_text => Err(QuarantineCode::InvalidPayload),
            Some(other) => Ok(Some(other.to_string())),
        }
    }
}

struct Rows {
    lines: Lines<BufReader<Box<dyn Read + Send>>>,
    pick: Pick,
    remote: Remote,
    columns: Vec<Column>,
    schema: Arc<Schema>,
    row: i64,
}

impl Rows {
    /// Skips rows.
    fn skip(&mut self, rows: u64) -> Result<(), TableError> {
        for _ in 0..rows {
            let line = self
                .lines
                .next()
                .map_err(|error| failed(&self.remote, self.row, &error))?;
            if line.is_none() {
                break;
            }
            self.row += 1;
        }
        Ok(())
    }

    fn step(&mut self) -> Result<Option<Slab>, TableError> {
        let first = self.row;
        let mut builders: Vec<LargeStringBuilder> =
            self.columns.iter().map(|_| LargeStringBuilder::new()).collect();
        let mut bad = Vec::new();
        let (mut rows, mut bytes) = (0, 0);
        while rows < SLAB_ROWS && bytes < SLAB_BYTES {
            let line = self
                .lines
                .next()
                .map_err(|error| failed(&self.remote, self.row, &error))?;
            let Some(line) = line else { break };
            let cells = line.bytes.ok_or(QuarantineCode::TooLarge).and_then(|line| {
                bytes += line.len();
                std::str::from_utf8(line).map_err(|_| QuarantineCode::InvalidUtf8)?;
                let line = self.pick.read(line).map_err(|_| QuarantineCode::InvalidPayload)?;
                if !line.is_object() {
                    return Err(QuarantineCode::InvalidPayload);
                }
                self.columns
                    .iter()
                    .map(|column| column.text(&line))
                    .collect::<Result<Vec<_>, _>>()
            });
            let cells = cells.unwrap_or_else(|code| {
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
