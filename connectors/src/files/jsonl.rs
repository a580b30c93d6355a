//! Reads JSON lines: one note event per line.
//!
//! A record's topic is the file's name relative to the input, its offset the line's number from 0. Blank
//! lines are not records and leave a gap.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::Arc;

use lethe_core::{Coordinates, Record};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::inputs::{Input, inputs};
use super::lines::Lines;
use super::{FileError, Names, OnBad, Records};
use crate::format::{Diagnosis, Format, JsonConfig, JsonFormat, PayloadError};
use crate::store::StoreConfig;

/// Extensions of the files to read.
pub(super) const ENDINGS: &[&str] = &["jsonl", "ndjson"];

/// Settings of the JSON lines source.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonlConfig {
    /// A file, or a folder of `.jsonl` and `.ndjson` files.
    #[schemars(extend("examples" = ["/feeds/notes"]))]
    pub input: PathBuf,
    /// The fields of each line, as in `[format]` with `kind = "json"`.
    #[serde(default)]
    pub format: JsonConfig,
    /// How to treat a bad line.
    #[serde(default)]
    pub on_bad: OnBad,
    /// How chains are named. Default: `paths`.
    #[serde(default)]
    pub names: Option<Names>,
    /// Store of the list of files and codes: a private folder or bucket outside the dataset. Needed with
    /// `names = "codes"`.
    #[serde(default)]
    pub codes: Option<StoreConfig>,
    /// The input's id in that list. Default: its path.
    #[serde(default)]
    pub input_id: Option<String>,
}

impl JsonlConfig {
    /// Lists the files and starts to read.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn build(&self) -> Result<Records, FileError> {
        Ok(Box::new(Jsonl {
            files: inputs(&self.input, ENDINGS)?.into_iter(),
            open: None,
            limit: line_limit(&self.format),
            format: self.format.build()?,
            on_bad: self.on_bad,
        }))
    }
}

/// A longer line cannot hold a note within the limit, since JSON needs at most six bytes per byte (`\u0001`).
/// The rest is room for the other fields.
pub(super) const fn line_limit(config: &JsonConfig) -> usize {
    config.max_note_bytes.saturating_mul(6).saturating_add(1 << 20)
}

/// The diagnosis of a line over the limit.
pub(super) const TOO_LONG: Diagnosis = Diagnosis {
    field: None,
    byte: 0,
    problem: PayloadError::TooLarge,
};

struct Jsonl {
    files: std::vec::IntoIter<Input>,
    open: Option<(Arc<str>, PathBuf, Lines<BufReader<File>>)>,
    limit: usize,
    format: JsonFormat,
    on_bad: OnBad,
}

impl Jsonl {
    fn step(&mut self) -> Result<Option<Record>, FileError> {
        loop {
            let Some((topic, path, lines)) = &mut self.open else {
                let Some(Input { name, path }) = self.files.next() else {
                    return Ok(None);
                };
                let file = File::open(&path).map_err(FileError::io(&path, "open it"))?;
                let lines = Lines::new(BufReader::with_capacity(1 << 18, file), self.limit);
                self.open = Some((name.into(), path, lines));
                continue;
            };
            let Some(line) = lines.next().map_err(FileError::io(&*path, "read it"))? else {
                self.open = None;
                continue;
            };
            let at = Coordinates {
                topic: Arc::clone(topic),
                partition: 0,
                offset: i64::try_from(line.number - 1).unwrap_or(i64::MAX),
            };
            let read = line
                .bytes
                .ok_or(TOO_LONG)
                .and_then(|bytes| self.format.read_within_limits(bytes));
            return self.on_bad.settle(at, "line", line.number, read).map(Some);
        }
    }
}

impl Iterator for Jsonl {
    type Item = Result<Record, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step().transpose();
        if matches!(step, Some(Err(_))) {
            // The iterator ends after an error, since the records after it may be wrong.
            self.open = None;
            self.files = Vec::new().into_iter();
        }
        step
    }
}
