//! Reads documents with spans, as JSON lines: `text`, and `spans` of `start`, `end` (code points) and
//! `label`.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use anyhow::Context as _;
use lethe_core::Span;
use serde::Deserialize;

/// A document with its spans in bytes.
pub struct Document {
    /// The text.
    pub text: String,
    /// Spans with their labels.
    pub spans: Vec<(Span, String)>,
}

#[derive(Deserialize)]
struct Line {
    text: String,
    #[serde(default)]
    spans: Vec<Marked>,
}

#[derive(Deserialize)]
struct Marked {
    start: usize,
    end: usize,
    label: String,
}

/// Reads documents.
///
/// # Errors
/// Names the file and the line.
pub fn read(path: &Path) -> anyhow::Result<Vec<Document>> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    let mut documents = Vec::new();
    for (i, line) in BufReader::new(file).lines().enumerate() {
        let place = || format!("{}, line {}", path.display(), i + 1);
        let line: Line = serde_json::from_str(&line.with_context(place)?).with_context(place)?;
        let mut bytes: Vec<usize> = line.text.char_indices().map(|(at, _)| at).collect();
        bytes.push(line.text.len());
        let mut spans = Vec::with_capacity(line.spans.len());
        for marked in line.spans {
            let at = |offset: usize| {
                bytes
                    .get(offset)
                    .copied()
                    .with_context(|| format!("{}: offset {offset} is outside the text", place()))
            };
            spans.push((
                Span::checked(&line.text, at(marked.start)?, at(marked.end)?).with_context(place)?,
                marked.label,
            ));
        }
        documents.push(Document {
            text: line.text,
            spans,
        });
    }
    Ok(documents)
}
