//! The formats that gold is read from: one list, and the guess which one a file is in.

use std::collections::{BTreeMap, HashMap};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{CorpusError, content};
use crate::xml::Xml;
use crate::{Document, brat, i2b2, inline, jsonl};

/// Where a document stands, for messages about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stand {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1, where documents stand on lines.
    pub line: Option<usize>,
}

/// A format that gold or predictions are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[non_exhaustive]
pub enum Format {
    /// XML with `TEXT` and `TAGS`, one document a file: the 2014 i2b2 track, 2016 N-GRID, MEDDOCAN.
    #[serde(rename = "i2b2")]
    I2b2,
    /// XML with `PHI` elements within the text, many records a file: the 2006 i2b2 track.
    #[serde(rename = "i2b2-2006")]
    I2b2Inline,
    /// brat stand-off: `.txt` and `.ann`.
    #[serde(rename = "brat")]
    Brat,
    /// A JSON object a line: `doc_id`, `text`, `spans`.
    #[serde(rename = "jsonl")]
    Jsonl,
}

impl Format {
    /// Every format, its name, and the extensions that a folder's files of it have.
    const LIST: [(Self, &'static str, &'static [&'static str]); 4] = [
        (Self::I2b2, "i2b2", &["xml"]),
        (Self::I2b2Inline, "i2b2-2006", &["xml"]),
        (Self::Brat, "brat", &["ann", "txt"]),
        (Self::Jsonl, "jsonl", &["jsonl", "ndjson"]),
    ];

    /// Every format.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::LIST.iter().map(|&(format, ..)| format)
    }

    /// The name that configurations and commands call it by.
    pub fn name(self) -> &'static str {
        self.entry().1
    }

    /// The format of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::all().find(|format| format.name() == name)
    }

    fn entry(self) -> &'static (Self, &'static str, &'static [&'static str]) {
        let place = match self {
            Self::I2b2 => 0,
            Self::I2b2Inline => 1,
            Self::Brat => 2,
            Self::Jsonl => 3,
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
            Self::Jsonl => {
                let numbered = jsonl::read_numbered(path)?.into_iter();
                numbered
                    .map(|(document, line)| (document, stand(Some(line))))
                    .collect()
            }
        })
    }

    /// What a file's name, else its content, says.
    fn guess(path: &Path) -> Result<Self, CorpusError> {
        if matches!(extension(path), Some("ann" | "txt")) {
            return Ok(Self::Brat);
        }
        let unknown =
            || CorpusError::whole(path, "neither XML, nor brat's `.ann` and `.txt`, nor JSON lines");
        let mut start = Vec::new();
        std::fs::File::open(path)
            .and_then(|file| file.take(4096).read_to_end(&mut start))
            .map_err(|source| CorpusError::io(path, source))?;
        let start = start.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&start);
        match start.trim_ascii_start().first() {
            Some(b'{') => Ok(Self::Jsonl),
            // A file of no lines holds no documents, in whatever format its name says.
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

/// Reads gold or predictions from a file, or from a folder's files in the order of their names.
///
/// Without a format each file's own is guessed from its content. A folder is not searched any deeper; files with other
/// extensions, and hidden ones, are passed over.
///
/// # Errors
/// [`CorpusError`], naming file and line, and never quoting text.
pub fn read(path: &Path, format: Option<Format>) -> Result<Vec<Document>, CorpusError> {
    let placed = read_placed(path, format)?.into_iter();
    let documents: Vec<Document> = placed.map(|(document, _)| document).collect();
    different(&documents)?;
    Ok(documents)
}

/// The same, each document with its place; ids may be the same.
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

/// The files to read of a folder, sorted by name; of a brat pair, one.
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
    // Text files are brat's only beside its marks; alone they may be anything, a licence for instance.
    if format.is_none() && !by_kind.contains_key("ann") {
        by_kind.remove("txt");
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
                "no file of a format that is read: .xml, .ann with .txt, .jsonl",
            ));
        }
        1 => {}
        _ => {
            return Err(CorpusError::whole(
                folder,
                "files of more than one format; say which to read",
            ));
        }
    }
    let mut files: Vec<PathBuf> = by_kind.into_values().flatten().collect();
    if files.iter().any(|file| extension(file) == Some("ann")) {
        // Either of a pair stands for both, and one without the other is found when it is read.
        files.iter_mut().for_each(|file| {
            file.set_extension("ann");
        });
    }
    files.sort();
    files.dedup();
    Ok(files)
}

fn extension(path: &Path) -> Option<&str> {
    path.extension()?.to_str()
}

/// Whether every document has an id of its own.
fn different(documents: &[Document]) -> Result<(), CorpusError> {
    let mut seen = HashMap::new();
    for (second, document) in documents.iter().enumerate() {
        if let Some(first) = seen.insert(document.id.as_str(), second) {
            return Err(CorpusError::SameId { first, second });
        }
    }
    Ok(())
}

/// A file's name without its extension: the id of the one document in it.
pub(crate) fn file_name(path: &Path) -> Result<String, CorpusError> {
    let stem = path.file_stem().and_then(std::ffi::OsStr::to_str);
    stem.map(str::to_owned)
        .ok_or_else(|| CorpusError::whole(path, "the file's name is not UTF-8"))
}

/// Writes documents to files of their own, named by their ids.
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
            return Err(unwritable("its id is no file name"));
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
