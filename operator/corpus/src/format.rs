//! The formats that gold is read from: one list, and the detection of a file's format.

use std::collections::{BTreeMap, HashMap};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{CorpusError, content};
use crate::xml::Xml;
use crate::{Document, brat, i2b2, inline, jsonl, mat_json, physionet};

/// The position of a document, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stand {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1, in formats with one document per line.
    pub line: Option<usize>,
}

/// A format that gold or predictions are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[non_exhaustive]
pub enum Format {
    /// XML with `TEXT` and `TAGS`, one document per file: the 2014 i2b2 track, 2016 N-GRID, MEDDOCAN.
    #[serde(rename = "i2b2")]
    I2b2,
    /// XML with `PHI` elements within the text, many records per file: the 2006 i2b2 track.
    #[serde(rename = "i2b2-2006")]
    I2b2Inline,
    /// brat stand-off: `.txt` and `.ann`.
    #[serde(rename = "brat")]
    Brat,
    /// One JSON object per line: `doc_id`, `text`, `spans`.
    #[serde(rename = "jsonl")]
    Jsonl,
    /// MAT-JSON, the documents of MIST: `signal` and `asets`, one document per file, named by the file.
    #[serde(rename = "mat-json")]
    MatJson,
    /// The input of PhysioNet's deid (`.text`) with its output (`.info`, or `.phi`, which has no types). Documents
    /// are named `PATIENT-NOTE`.
    #[serde(rename = "physionet-deid")]
    PhysionetDeid,
}

impl Format {
    /// Every format with its name and its file extensions.
    const LIST: [(Self, &'static str, &'static [&'static str]); 6] = [
        (Self::I2b2, "i2b2", &["xml"]),
        (Self::I2b2Inline, "i2b2-2006", &["xml"]),
        (Self::Brat, "brat", &["ann", "txt"]),
        (Self::Jsonl, "jsonl", &["jsonl", "ndjson"]),
        (Self::MatJson, "mat-json", &["json"]),
        (Self::PhysionetDeid, "physionet-deid", &["info", "phi", "text"]),
    ];

    /// Returns every format.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::LIST.iter().map(|&(format, ..)| format)
    }

    /// Returns the name that configurations and commands use.
    pub fn name(self) -> &'static str {
        self.entry().1
    }

    /// Finds the format of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::all().find(|format| format.name() == name)
    }

    fn entry(self) -> &'static (Self, &'static str, &'static [&'static str]) {
        let place = match self {
            Self::I2b2 => 0,
            Self::I2b2Inline => 1,
            Self::Brat => 2,
            Self::Jsonl => 3,
            Self::MatJson => 4,
            Self::PhysionetDeid => 5,
        };
        &Self::LIST[place]
    }

    fn read(self, path: &Path) -> Result<Vec<(Document, Stand)>, CorpusError> {
        let stand = |line| Stand {
            file: path.to_owned(),
            line,
        };
        let whole = |document| (document, stand(None));
        Ok(match self {
            Self::I2b2 => vec![whole(i2b2::read(path)?)],
            Self::I2b2Inline => inline::read(path)?.into_iter().map(whole).collect(),
            Self::Brat => vec![whole(brat::read(path)?)],
            Self::MatJson => vec![whole(mat_json::read(path)?)],
            Self::PhysionetDeid => physionet::read(path)?.into_iter().map(whole).collect(),
            Self::Jsonl => {
                let numbered = jsonl::read_numbered(path)?.into_iter();
                numbered
                    .map(|(document, line)| (document, stand(Some(line))))
                    .collect()
            }
        })
    }

    /// Detects the format from a file's name, else from its content.
    fn guess(path: &Path) -> Result<Self, CorpusError> {
        if matches!(extension(path), Some("ann" | "txt")) {
            return Ok(Self::Brat);
        }
        if matches!(extension(path), Some("info" | "phi" | "text")) {
            return Ok(Self::PhysionetDeid);
        }
        let unknown = || {
            CorpusError::whole(
                path,
                "unknown format; expected i2b2 XML, brat (`.ann` with `.txt`), JSON lines, MAT-JSON, or `.text` of PhysioNet's deid",
            )
        };
        let mut start = Vec::new();
        std::fs::File::open(path)
            .and_then(|file| file.take(4096).read_to_end(&mut start))
            .map_err(|source| CorpusError::io(path, source))?;
        let start = start.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&start);
        match start.trim_ascii_start().first() {
            Some(b'{') if extension(path) == Some("json") => {
                let source = content(path)?;
                let source = source.strip_prefix('\u{feff}').unwrap_or(&source);
                Ok(match mat_json::is_mat(source) {
                    true => Self::MatJson,
                    false => Self::Jsonl,
                })
            }
            Some(b'{') => Ok(Self::Jsonl),
            // An empty file holds no documents, whatever its format.
            None if matches!(extension(path), Some("jsonl" | "ndjson")) => Ok(Self::Jsonl),
            Some(b'<') => {
                let source = content(path)?;
                let mut xml = Xml::new(path, &source);
                let root = xml.child()?;
                let first = if root.is_some() { xml.child()? } else { None };
                Ok(match first {
                    Some(element) if element.name == "RECORD" => Self::I2b2Inline,
                    _ => Self::I2b2,
                })
            }
            _ => Err(unknown()),
        }
    }
}

/// Reads gold or predictions from a file, or from the files of a folder in the order of their names.
///
/// Without a format each file's format is detected from its content. Subfolders, hidden files and files with
/// other extensions are ignored.
///
/// # Errors
/// [`CorpusError`], which names file and line and never quotes text.
pub fn read(path: &Path, format: Option<Format>) -> Result<Vec<Document>, CorpusError> {
    let placed = read_placed(path, format)?.into_iter();
    let documents: Vec<Document> = placed.map(|(document, _)| document).collect();
    different(&documents)?;
    Ok(documents)
}

/// Returns the format that [`read`] detects in a file, or in the first file of a folder; `None` for a folder without
/// files.
///
/// # Errors
/// As [`read`].
pub fn detect(path: &Path) -> Result<Option<Format>, CorpusError> {
    if !path.is_dir() {
        return Format::guess(path).map(Some);
    }
    let files = files_of(path, None)?;
    files.first().map(|file| Format::guess(file)).transpose()
}

/// As [`read`], each document with its position; ids may repeat.
pub(crate) fn read_placed(
    path: &Path,
    format: Option<Format>,
) -> Result<Vec<(Document, Stand)>, CorpusError> {
    let files = if path.is_dir() {
        files_of(path, format)?
    } else {
        vec![path.to_owned()]
    };
    let mut documents = Vec::new();
    for file in files {
        let format = format.map_or_else(|| Format::guess(&file), Ok)?;
        documents.extend(format.read(&file)?);
    }
    Ok(documents)
}

/// The extensions of the outputs of other tools.
const OUTPUTS: [&str; 4] = ["json", "info", "phi", "text"];

/// Returns the files to read in a folder, sorted by name; one per brat pair.
fn files_of(folder: &Path, format: Option<Format>) -> Result<Vec<PathBuf>, CorpusError> {
    let io = |source| CorpusError::io(folder, source);
    let mut by_kind: BTreeMap<&str, Vec<PathBuf>> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let hidden = path
            .file_name()
            .is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
        let kind = extension(&path).and_then(|extension| {
            let mut known = Format::LIST.iter().flat_map(|(_, _, extensions)| *extensions);
            known.find(|known| **known == extension)
        });
        if let Some(kind) = kind.filter(|_| !hidden && path.is_file()) {
            by_kind.entry(kind).or_default().push(path);
        }
    }
    // A text file belongs to brat only if there are annotation files; else it may be anything, such as a
    // licence.
    if format.is_none() && !by_kind.contains_key("ann") {
        by_kind.remove("txt");
    }
    // Such files may be anything, too, next to files of the other formats.
    if format.is_none() && by_kind.keys().any(|kind| !OUTPUTS.contains(kind)) {
        by_kind.retain(|kind, _| !OUTPUTS.contains(kind));
    }
    if let Some(format) = format {
        by_kind.retain(|kind, _| format.entry().2.contains(kind));
    }
    let formats = Format::LIST.iter().filter(|(format, _, extensions)| {
        *format != Format::I2b2Inline && extensions.iter().any(|extension| by_kind.contains_key(extension))
    });
    match formats.count() {
        0 => {
            return Err(CorpusError::whole(
                folder,
                "no file that can be read; expected .xml, .ann with .txt, .jsonl, .json of MIST, or .text with .info or .phi",
            ));
        }
        1 => {}
        _ => {
            return Err(CorpusError::whole(
                folder,
                "files of more than one format; name the one to read",
            ));
        }
    }
    let mut files: Vec<PathBuf> = by_kind.into_values().flatten().collect();
    if files.iter().any(|file| extension(file) == Some("ann")) {
        // One file of a pair represents both; a missing partner is reported when the pair is read.
        files.iter_mut().for_each(|file| {
            file.set_extension("ann");
        });
    }
    if files.iter().any(|file| extension(file) == Some("text")) {
        // The notes stand for their output, as above.
        files.iter_mut().for_each(|file| {
            file.set_extension("text");
        });
    }
    files.sort();
    files.dedup();
    Ok(files)
}

pub(crate) fn extension(path: &Path) -> Option<&str> {
    path.extension()?.to_str()
}

/// Checks that every document has its own id.
fn different(documents: &[Document]) -> Result<(), CorpusError> {
    let mut seen = HashMap::new();
    for (second, document) in documents.iter().enumerate() {
        if let Some(first) = seen.insert(document.id.as_str(), second) {
            return Err(CorpusError::SameId { first, second });
        }
    }
    Ok(())
}

/// Returns a file's name without its extension, which is the id of the one document in it.
pub(crate) fn file_name(path: &Path) -> Result<String, CorpusError> {
    let stem = path.file_stem().and_then(std::ffi::OsStr::to_str);
    stem.map(str::to_owned)
        .ok_or_else(|| CorpusError::whole(path, "the file's name is not UTF-8"))
}

/// Writes each document to a file named by its id.
pub(crate) fn into_folder(
    folder: &Path,
    format: &'static str,
    documents: &[Document],
    files: impl Fn(&Document) -> Result<Vec<(&'static str, String)>, &'static str>,
) -> Result<(), CorpusError> {
    different(documents)?;
    std::fs::create_dir_all(folder).map_err(|source| CorpusError::io(folder, source))?;
    for (i, document) in documents.iter().enumerate() {
        let unwritable = |problem| CorpusError::Unwritable {
            document: i,
            format,
            problem,
        };
        if document.id.is_empty() || document.id.starts_with('.') || document.id.contains(['/', '\\', '\0']) {
            return Err(unwritable("its id is not a file name"));
        }
        for (extension, content) in files(document).map_err(unwritable)? {
            let path = folder.join(format!("{}.{extension}", document.id));
            std::fs::write(&path, content).map_err(|source| CorpusError::io(&path, source))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
