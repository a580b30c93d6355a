//! Reads folders of plain text: one note per file.
//!
//! A note's id is the file's path relative to the input, without its extension. The topic is the folder's
//! name, the offset the file's number in sorted order. The text is unchanged: a byte order mark stays, and
//! offsets count it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lethe_core::{Coordinates, NoteEvent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::inputs::{Input, inputs};
use super::{FileError, Names, OnBad, Records};
use crate::format::{Diagnosis, Format, MAX_NOTE_BYTES, TextConfig, TextFormat};
use crate::store::StoreConfig;

/// Settings of the plain text source.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextFolderConfig {
    /// A file, or a folder of `.txt` files.
    #[schemars(extend("examples" = ["/feeds/notes"]))]
    pub input: PathBuf,
    /// Notes over this size are quarantined.
    #[serde(default = "max_note_bytes")]
    pub max_note_bytes: usize,
    /// How to treat a bad file.
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

const fn max_note_bytes() -> usize {
    MAX_NOTE_BYTES
}

impl TextFolderConfig {
    /// Lists the files.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn build(&self) -> Result<Records, FileError> {
        let on_bad = self.on_bad;
        let mut failed = false;
        let notes = self.notes()?.map(move |note| {
            let (at, number, read) = note?;
            on_bad.settle(at, "file", number, read)
        });
        Ok(Box::new(notes.take_while(move |record| {
            let proceed = !failed;
            failed = record.is_err();
            proceed
        })))
    }

    /// Yields each file's coordinates, its number from 1, and its result.
    pub(super) fn notes(
        &self,
    ) -> Result<impl Iterator<Item = Result<Note, FileError>> + Send + use<>, FileError> {
        let topic: Arc<str> = topic_of(&self.input).into();
        let max = self.max_note_bytes;
        let format = TextConfig { max_note_bytes: max }.build();
        let files = inputs(&self.input, &["txt"])?.into_iter().enumerate();
        Ok(files.map(move |(i, input)| {
            let at = Coordinates {
                topic: Arc::clone(&topic),
                partition: 0,
                offset: i as i64,
            };
            Ok((at, i as u64 + 1, read(&input, &format, max)?))
        }))
    }
}

type Note = (Coordinates, u64, Result<NoteEvent, Diagnosis>);

fn read(input: &Input, format: &TextFormat, max: usize) -> Result<Result<NoteEvent, Diagnosis>, FileError> {
    let file = File::open(&input.path).map_err(FileError::io(&input.path, "open it"))?;
    let mut bytes = Vec::new();
    // One byte over the limit suffices to detect that the text is too long.
    file.take((max as u64).saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(FileError::io(&input.path, "read it"))?;
    Ok(format.read(&bytes).map(|event| NoteEvent {
        note_id: stem(&input.name).into(),
        ..event
    }))
}

/// Returns the name without its extension.
fn stem(name: &str) -> String {
    Path::new(name).with_extension("").to_string_lossy().into_owned()
}

/// Returns the topic of all notes of a folder.
pub(super) fn topic_of(input: &Path) -> String {
    // "." and ".." have no name of their own.
    let named = input.file_name().map(|name| name.to_string_lossy().into_owned());
    named
        .or_else(|| {
            let whole = input.canonicalize().ok()?;
            Some(whole.file_name()?.to_string_lossy().into_owned())
        })
        .unwrap_or_else(|| "notes".to_owned())
}
