//! The spans that another tool found in notes, without the notes: one list of formats, and the detection of a
//! file's format.
//!
//! Unlike [`read`](crate::read), the reader needs no text in the file: [`NoteSpans::place`] checks the offsets
//! against the note itself. A text that the file has must be that of the note.

mod comprehend;
mod json;
mod plain;
mod presidio;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::document::sort;
use crate::error::{CorpusError, content};
use crate::format::{extension, file_name};
use crate::places::{Claim, OffsetUnit, Places, same, settle};
use crate::{Mark, brat, i2b2};

/// A format of another tool's spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpanFormat {
    /// JSON lines: a note with its `spans`, as `lethe annotate` writes it, or one span with its note.
    Jsonl,
    /// Results of Presidio's analyzer.
    Presidio,
    /// Results of Amazon Comprehend Medical's DetectPHI.
    Comprehend,
    /// Philter's XML, and the layout of the 2014 i2b2 track.
    Philter,
    /// brat's `.ann`.
    Brat,
}

impl SpanFormat {
    /// Every format with its name.
    const LIST: [(Self, &'static str); 5] = [
        (Self::Jsonl, "jsonl"),
        (Self::Presidio, "presidio"),
        (Self::Comprehend, "comprehend"),
        (Self::Philter, "philter"),
        (Self::Brat, "brat"),
    ];

    /// Returns every format.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::LIST.iter().map(|&(format, _)| format)
    }

    /// Returns the name that commands use.
    pub fn name(self) -> &'static str {
        let entry = Self::LIST.iter().find(|(format, _)| *format == self);
        entry.map_or("", |(_, name)| name)
    }

    fn json(self) -> Option<&'static json::Form> {
        match self {
            Self::Jsonl => Some(&plain::FORM),
            Self::Presidio => Some(&presidio::FORM),
            Self::Comprehend => Some(&comprehend::FORM),
            Self::Philter | Self::Brat => None,
        }
    }
}

/// One note's spans, not yet placed in its text.
pub struct NoteSpans {
    /// The note's id in the file, or the name of the file without its extension.
    pub id: String,
    /// Whether the file itself names the note.
    pub named: bool,
    /// The file.
    pub file: PathBuf,
    /// The line at which the note begins, from 1.
    pub line: usize,
    text: Option<String>,
    claims: Vec<Claim>,
    /// Whether it came as a line of one span, so that further lines may belong to it.
    single: bool,
}

impl NoteSpans {
    /// Places the spans in the note's text; sorted, overlaps allowed.
    ///
    /// # Errors
    /// [`CorpusError::Place`], with file and line: a span outside the text or inside a character, or another
    /// text than the note's.
    pub fn place(&self, text: &str, unit: OffsetUnit) -> Result<Vec<Mark>, CorpusError> {
        let own = self.text.as_deref();
        if own.is_some_and(|own| !same(own, text)) {
            return Err(CorpusError::layout(
                &self.file,
                self.line,
                "its text differs from the note's, so that its offsets do not apply; run both tools on the same notes",
            ));
        }
        let mut readings = match unit {
            OffsetUnit::CodePoint => vec![Places::of(text)],
            OffsetUnit::Byte => vec![Places::bytes(text)],
            OffsetUnit::Utf16 => vec![Places::utf16(text)],
        };
        if unit == OffsetUnit::CodePoint && text.contains("\r\n") {
            readings.push(Places::line_ends_once(text));
            // A text without CRs shows how the tool counted.
            if own.is_some_and(|own| !own.contains('\r')) {
                readings.swap(0, 1);
                readings.truncate(1);
            }
        }
        let mut marks = settle(&self.file, text, &readings, &self.claims)?;
        sort(&mut marks);
        marks.dedup_by(|next, mark| (next.span, &next.label) == (mark.span, &mark.label));
        Ok(marks)
    }
}

impl std::fmt::Debug for NoteSpans {
    /// An id may name a patient.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NoteSpans(line {}, {} spans)", self.line, self.claims.len())
    }
}

/// Reads another tool's spans from a file, or from the files of a folder in the order of their names. Returns
/// them with the format of the first file. Without a format the content determines it.
///
/// # Errors
/// [`CorpusError`], which names file and line and never quotes text.
pub fn read_spans(
    path: &Path,
    format: Option<SpanFormat>,
) -> Result<(SpanFormat, Vec<NoteSpans>), CorpusError> {
    let files = match path.is_dir() {
        true => files_of(path)?,
        false => vec![path.to_owned()],
    };
    let mut first = format;
    let mut notes: Vec<NoteSpans> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for file in files {
        let source = content(&file)?;
        let format = match format {
            Some(format) => format,
            None => detect(&file, &source)?,
        };
        first = first.or(Some(format));
        for note in read_file(&file, &source, format)? {
            match places.get(&note.id).map(|&at| &mut notes[at]) {
                None => {
                    places.insert(note.id.clone(), notes.len());
                    notes.push(note);
                }
                Some(earlier) if earlier.single && note.single && earlier.file == note.file => {
                    earlier.claims.extend(note.claims);
                }
                Some(_) => {
                    return Err(CorpusError::layout(
                        &note.file,
                        note.line,
                        "spans of a note that has some already; give each note once",
                    ));
                }
            }
        }
    }
    Ok((first.unwrap_or(SpanFormat::Jsonl), notes))
}

fn read_file(path: &Path, source: &str, format: SpanFormat) -> Result<Vec<NoteSpans>, CorpusError> {
    let whole = |text, claims| -> Result<Vec<NoteSpans>, CorpusError> {
        Ok(vec![NoteSpans {
            id: file_name(path)?,
            named: false,
            file: path.to_owned(),
            line: 1,
            text,
            claims,
            single: false,
        }])
    };
    if let Some(form) = format.json() {
        return json::read(path, source, form);
    }
    match format {
        SpanFormat::Brat => whole(None, brat::claims(path, source)?),
        _ => {
            let (text, claims) = i2b2::parts(path, source)?;
            whole(Some(text.finish().0), claims)
        }
    }
}

/// Detects the format from a file's content, and brat's also from its name.
fn detect(path: &Path, source: &str) -> Result<SpanFormat, CorpusError> {
    let start = source.strip_prefix('\u{feff}').unwrap_or(source).trim_start();
    let brat = extension(path) == Some("ann");
    match start.chars().next() {
        _ if brat => Ok(SpanFormat::Brat),
        Some('<') => Ok(SpanFormat::Philter),
        Some('{' | '[') => Ok(json::detect(start)),
        // A file without a span, whatever its format.
        None => Ok(SpanFormat::Jsonl),
        Some('T') if start.lines().next().is_some_and(|line| line.contains('\t')) => Ok(SpanFormat::Brat),
        Some(_) => Err(CorpusError::whole(
            path,
            "unknown format; expected JSON lines, Presidio's or Comprehend's JSON, Philter's XML or brat's `.ann`; name it with --format",
        )),
    }
}

/// Returns the files of a folder that may hold spans, by name.
fn files_of(folder: &Path) -> Result<Vec<PathBuf>, CorpusError> {
    const EXTENSIONS: [&str; 6] = ["json", "jsonl", "ndjson", "out", "xml", "ann"];
    let io = |source| CorpusError::io(folder, source);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let hidden = path
            .file_name()
            .is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
        if !hidden && path.is_file() && extension(&path).is_some_and(|kind| EXTENSIONS.contains(&kind)) {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(CorpusError::whole(
            folder,
            "no file that may hold spans; expected .json, .jsonl, .out, .xml or .ann",
        ));
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests;
