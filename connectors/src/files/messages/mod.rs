//! Reads files of messages in any format: a file, a folder or a bucket of HL7 v2, FHIR, C-CDA, JSON or plain
//! text, also compressed or in archives.
//!
//! `framing.rs` cuts a file into payloads, and the format parses them like those of a topic. Records are
//! numbered from 0 in a chain per file; files that are one record each share chains. By default, random codes
//! (`codes.rs`) name the chains.
//!
//! A payload over the limit and an unreadable archive become a quarantined record in their place. A file that
//! the system cannot read yields no record, so that a later run can read it.

mod archive;
mod content;
mod framing;
mod hl7v2;
mod place;
mod records;
mod tar;
mod zip;

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;

use super::FileError;
use super::codes::{Codes, Names, Slot};
use super::inputs::{Input, find};
use crate::format::{FormatConfig, MAX_NOTE_BYTES};
use crate::store::StoreConfig;
use crate::tables::Remote;
use framing::Cut;
use place::Place;

pub use archive::{Archive, ArchiveEntry, Compressor, Packing, decompress};
pub use content::{ArchiveLimits, is_compressed_or_archive};
pub use framing::{Framing, Payloads, Piece};
pub use hl7v2::{BatchSegment, Gap};
pub use records::{FilePayload, FileRecords, MessageFile};

/// Extensions of archives, whose files are separate records.
const ARCHIVES: [&str; 5] = [".zip", ".tar", ".tgz", ".tar.gz", ".tar.zst"];
/// Extensions of compressed files; the extension before them determines the format.
const COMPRESSED: [&str; 4] = [".gz", ".gzip", ".zst", ".zstd"];

/// Settings of the source `kind = "files"`.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageFilesConfig {
    /// A file, or a folder whose files are read at any depth, except hidden ones. Set either this or `store`.
    #[serde(default)]
    #[schemars(extend("examples" = ["/feeds/adt"]))]
    pub input: Option<PathBuf>,
    /// A bucket to read instead of `input`.
    #[serde(default)]
    pub store: Option<StoreConfig>,
    /// The folder of `store` to read; empty means all of it.
    #[serde(default)]
    pub folder: String,
    /// Extensions of the files to read, before any compression suffix. By default Lethe reads all files.
    #[serde(default)]
    #[schemars(extend("examples" = [[".hl7", ".txt"]]))]
    pub endings: Vec<String>,
    /// How a file is cut into records.
    #[serde(default)]
    pub framing: Framing,
    /// Records over this size are quarantined.
    #[serde(default = "max_record_bytes")]
    pub max_record_bytes: usize,
    /// Limits of archives and compressed files.
    #[serde(default)]
    pub archives: ArchiveLimits,
    /// How chains are named. `safe-harbor` and `limited-data-set` refuse `paths`.
    #[serde(default = "names")]
    pub names: Names,
    /// Store of the list of files and codes: a private folder or bucket outside the dataset. Needed unless
    /// `names = "paths"`.
    #[serde(default)]
    pub codes: Option<StoreConfig>,
    /// The input's id in that list. Default: its folder or bucket.
    #[serde(default)]
    pub input_id: Option<String>,
}

const fn max_record_bytes() -> usize {
    MAX_NOTE_BYTES
}

const fn names() -> Names {
    Names::Codes
}

impl MessageFilesConfig {
    /// Lists the files in the order of their names.
    ///
    /// # Errors
    /// [`FileError`] if the settings are invalid, or the input cannot be listed or has no file.
    pub fn find(&self, format: &FormatConfig, runtime: &Handle) -> Result<MessageFiles, FileError> {
        let setting = |key, problem| FileError::Setting { key, problem };
        let files = match (&self.input, &self.store) {
            (Some(input), None) => self.local(input)?,
            (None, Some(store)) => self.remote(store, runtime)?,
            (None, None) => {
                return Err(setting(
                    "input",
                    "is missing; set a file or a folder, or a bucket in `store`",
                ));
            }
            (Some(_), Some(_)) => {
                return Err(setting(
                    "input",
                    "cannot be combined with `store`; set only one of the two",
                ));
            }
        };
        Ok(MessageFiles {
            files,
            reading: Rc::new(Reading {
                cut: Cut::of(self.framing, format),
                limit: self.max_record_bytes,
                archives: self.archives.clone(),
                endings: self.endings.clone(),
            }),
        })
    }

    /// Returns the input's id in the list of codes.
    pub fn input_id(&self) -> String {
        let described = || match (&self.input, &self.store) {
            (Some(input), _) => format!("folder {}", input.display()),
            (None, Some(store)) => store.uri(),
            (None, None) => String::new(),
        };
        self.input_id.clone().unwrap_or_else(described)
    }

    fn wanted(&self, name: &str) -> bool {
        wanted(&self.endings, name)
    }

    fn local(&self, input: &Path) -> Result<Vec<Found>, FileError> {
        let inputs = find(input, &|name| self.wanted(name)).map_err(|error| error.about(input))?;
        if inputs.is_empty() {
            return Err(self.none(input.display().to_string()));
        }
        if inputs.windows(2).any(|pair| pair[0].name == pair[1].name) {
            return Err(FileError::Setting {
                key: "input",
                problem: "has files whose names are not UTF-8 and cannot be distinguished; rename them",
            });
        }
        let found = |Input { name, path }| Found {
            name,
            place: Place::Local(path),
        };
        Ok(inputs.into_iter().map(found).collect())
    }

    fn remote(&self, config: &StoreConfig, runtime: &Handle) -> Result<Vec<Found>, FileError> {
        let store = config.build().map_err(FileError::Store)?;
        let listed = runtime
            .block_on(store.list(self.folder.trim_matches('/')))
            .map_err(|error| FileError::Store(error.renamed("")))?;
        let objects = listed.into_iter().filter(|object| self.wanted(&object.name));
        let found: Vec<Found> = objects
            .map(|object| Found {
                name: object.name.clone(),
                place: Place::Remote(Remote::new(Arc::clone(&store), object, runtime.clone())),
            })
            .collect();
        if found.is_empty() {
            return Err(self.none(format!("{}, folder `{}`", store.describe(), self.folder)));
        }
        Ok(found)
    }

    fn none(&self, place: String) -> FileError {
        FileError::NoFiles {
            path: place.into(),
            endings: match self.endings.as_slice() {
                [] => "anything".to_owned(),
                endings => endings.join(", "),
            },
        }
    }
}

/// Returns whether to read a file, or an entry of an archive.
fn wanted(endings: &[String], name: &str) -> bool {
    let hidden = |part: &str| part.starts_with('.') || part == "__MACOSX";
    if name.split(['/', '\\']).any(hidden) {
        return false;
    }
    let lower = name.to_ascii_lowercase();
    let plain = COMPRESSED.iter().find_map(|ending| lower.strip_suffix(ending));
    let plain = plain.unwrap_or(&lower);
    endings.is_empty()
        || is_archive(&lower)
        || endings
            .iter()
            .any(|ending| plain.ends_with(&ending.to_ascii_lowercase()))
}

fn is_archive(lower: &str) -> bool {
    ARCHIVES.iter().any(|ending| lower.ends_with(ending))
}

/// How to read the files.
struct Reading {
    cut: Cut,
    limit: usize,
    archives: ArchiveLimits,
    endings: Vec<String>,
}

impl Reading {
    /// Returns whether a file is one record by its kind, so that it shares a chain with others.
    fn is_single(&self, found: &Found) -> bool {
        self.cut == Cut::Whole && !is_archive(&found.name.to_ascii_lowercase())
    }
}

struct Found {
    name: String,
    place: Place,
}

/// The files of an input.
pub struct MessageFiles {
    files: Vec<Found>,
    reading: Rc<Reading>,
}

impl MessageFiles {
    /// Returns the number of files.
    pub const fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns whether there are no files.
    pub const fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the files with positions by code, in reading order. Assigns codes to new files first.
    ///
    /// # Errors
    /// [`FileError::Codes`].
    pub fn coded(self, codes: &mut Codes) -> Result<Vec<MessageFile>, FileError> {
        let (single, several): (Vec<&Found>, Vec<&Found>) =
            self.files.iter().partition(|found| self.reading.is_single(found));
        codes.assign(several.iter().map(|found| found.name.as_str()), false)?;
        codes.assign(single.iter().map(|found| found.name.as_str()), true)?;
        let mut files = Vec::with_capacity(self.files.len());
        for found in self.files {
            // Each was assigned one above.
            let Some(slot) = codes.slot(&found.name) else {
                continue;
            };
            let single = self.reading.is_single(&found);
            files.push(MessageFile::new(slot.clone(), single, found.place, &self.reading));
        }
        files.sort_by_key(|file| file.slot.order);
        Ok(files)
    }

    /// Returns the files with positions by their own names.
    pub fn named(self) -> Vec<MessageFile> {
        let reading = self.reading;
        let file = |(order, found): (usize, Found)| {
            let slot = Slot {
                topic: found.name.as_str().into(),
                offset: 0,
                order,
            };
            MessageFile::new(slot, false, found.place, &reading)
        };
        self.files.into_iter().enumerate().map(file).collect()
    }
}
