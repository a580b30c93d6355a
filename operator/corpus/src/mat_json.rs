//! MAT-JSON, the documents of MIST (the MITRE Identification Scrubber Toolkit): one JSON object per file, with the
//! text in `signal` and one annotation set per type in `asets`.
//!
//! Versions 1 and 2 of the format are read. An annotation is a list that begins with its start and end in
//! code points. The types of tokens, zones and of MAT's own records are no findings and are ignored; so are
//! annotations without a span.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::Document;
use crate::error::{CorpusError, LineError, content, named};
use crate::format::file_name;
use crate::places::{Claim, Places, settle};

/// Types that MAT itself defines.
const STRUCTURE: [&str; 5] = ["lex", "zone", "untaggable", "SEGMENT", "VOTE"];

#[derive(Deserialize)]
struct Mat {
    signal: String,
    #[serde(default)]
    asets: Vec<Set>,
}

#[derive(Deserialize)]
struct Set {
    r#type: String,
    #[serde(rename = "hasSpan", default = "yes")]
    has_span: bool,
    #[serde(default)]
    annots: Vec<Vec<Value>>,
}

fn yes() -> bool {
    true
}

/// Returns whether a JSON text has the one key that the format requires.
pub(crate) fn is_mat(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Signal {
        #[serde(rename = "signal")]
        _signal: serde::de::IgnoredAny,
    }
    serde_json::from_str::<Signal>(text).is_ok()
}

/// Reads the document of a file, named by the file.
pub(crate) fn read(path: &Path) -> Result<Document, CorpusError> {
    let source = content(path)?;
    let source = source.strip_prefix('\u{feff}').unwrap_or(&source);
    let mat: Mat = serde_json::from_str(source).map_err(|error| {
        let (column, category) = (error.column(), error.classify());
        CorpusError::at(path, error.line(), LineError::Json { column, category })
    })?;
    let mut claims = Vec::new();
    for set in mat.asets {
        if !set.has_span || STRUCTURE.contains(&set.r#type.as_str()) {
            continue;
        }
        for annotation in set.annots {
            let place = |index: usize| annotation.get(index)?.as_u64()?.try_into().ok();
            let part = place(0).zip(place(1));
            let part = part.ok_or_else(|| {
                CorpusError::whole(path, "an annotation does not begin with its start and end")
            })?;
            claims.push(Claim {
                which: named("annotation", None, claims.len()),
                line: 1,
                parts: vec![part],
                label: set.r#type.clone(),
                text: None,
                score: None,
            });
        }
    }
    let text = mat.signal;
    let mut document = Document {
        id: file_name(path)?,
        patient: None,
        marks: settle(path, &text, &[Places::of(&text)], &claims)?,
        text,
    };
    document.sort();
    Ok(document)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(content: &str) -> Result<Document, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("12-3.json");
        std::fs::write(&path, content).unwrap();
        read(&path).map_err(|error| error.to_string())
    }

    fn found(content: &str) -> Vec<(String, String)> {
        let document = parse(content).unwrap();
        let mark = |mark: &crate::Mark| (mark.label.clone(), mark.span.of(&document.text).to_owned());
        document.marks.iter().map(mark).collect()
    }

    #[test]
    fn findings_of_both_versions_are_read_and_structure_is_not() {
        let one = r#"{"signal": "né Ana, 40", "asets": [{"type": "lex", "attrs": [], "annots": [[0, 2]]},
            {"type": "NAME", "attrs": [], "annots": [[3, 6]]}], "version": 1}"#;
        assert_eq!(found(one), [("NAME".to_owned(), "Ana".to_owned())]);
        let two = r#"{"signal": "Ana, 40", "metadata": {}, "version": 2, "asets": [
            {"type": "SEGMENT", "hasID": false, "hasSpan": true, "attrs": [], "annots": [[0, 7, "gold"]]},
            {"type": "relation", "hasID": true, "hasSpan": false, "attrs": [], "annots": [["5"]]},
            {"type": "AGE", "hasID": true, "hasSpan": true, "attrs": [], "annots": [[5, 7, "1", null]]}]}"#;
        assert_eq!(found(two), [("AGE".to_owned(), "40".to_owned())]);
        assert_eq!(parse(two).unwrap().id, "12-3");
        assert!(is_mat(two) && !is_mat("{\"doc_id\": \"a\", \"text\": \"signal\"}\n{}"));
    }

    #[test]
    fn a_span_outside_of_the_text_or_without_numbers_is_refused_without_text() {
        let with = |annotation: &str| {
            format!(r#"{{"signal": "Okafor", "asets": [{{"type": "NAME", "annots": [{annotation}]}}]}}"#)
        };
        for bad in ["[0, 99]", "[6, 0]", "[\"Okafor\", 1]", "[3]", "[-1, 3]"] {
            let error = parse(&with(bad)).unwrap_err();
            assert!(
                error.contains("12-3.json") && !error.contains("Okafor"),
                "{error}"
            );
        }
        assert!(
            parse("{\"asets\": []}")
                .unwrap_err()
                .contains("12-3.json, line 1")
        );
    }
}
