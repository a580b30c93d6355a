//! New names for labels, so that corpora with different annotation schemes can be trained on and scored
//! together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::document::sort;
use crate::{Document, Mark};

/// New names for labels, read from TOML: a table `labels` that maps old names to new ones. A label with an
/// empty new name is dropped; one that is not in the table keeps its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rename {
    labels: BTreeMap<String, String>,
}

/// Why a file of label names cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenameError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// It is not a table of names.
    #[error("{}: {source}; expected a table `labels` that maps old names to new ones", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// The parser's error, with its position.
        source: Box<toml::de::Error>,
    },
}

impl Rename {
    /// Reads a file.
    ///
    /// # Errors
    /// [`RenameError`], which names the file.
    pub fn read(path: &Path) -> Result<Self, RenameError> {
        let text = std::fs::read_to_string(path).map_err(|source| RenameError::Io {
            path: path.to_owned(),
            source,
        })?;
        toml::from_str(&text).map_err(|source| RenameError::Toml {
            path: path.to_owned(),
            source: Box::new(source),
        })
    }

    /// Returns whether the table has this label, as an old name or as a new one.
    pub fn knows(&self, label: &str) -> bool {
        self.labels.contains_key(label) || self.labels.values().any(|new| new == label)
    }

    /// Returns the new names.
    pub fn new_names(&self) -> impl Iterator<Item = &str> {
        let names = self.labels.values().filter(|name| !name.is_empty());
        names.map(String::as_str)
    }

    /// Renames the labels of all annotations, and removes duplicates that this creates.
    pub fn apply(&self, documents: &mut [Document]) {
        for document in documents {
            self.apply_to(&mut document.marks);
        }
    }

    /// Renames the labels of one document's annotations, as [`Rename::apply`] does.
    pub fn apply_to(&self, marks: &mut Vec<Mark>) {
        for mark in &mut *marks {
            if let Some(name) = self.labels.get(&mark.label) {
                mark.label.clone_from(name);
            }
        }
        marks.retain(|mark| !mark.label.is_empty());
        sort(marks);
        marks.dedup_by(|next, mark| (next.span, &next.label) == (mark.span, &mark.label));
    }
}

#[cfg(test)]
mod tests {
    use lethe_core::Span;

    use super::*;

    #[test]
    fn labels_are_renamed_left_out_or_kept_and_marks_that_become_one_are_one() {
        let rename: Rename =
            toml::from_str("[labels]\nCITY = \"PLACE\"\nSTREET = \"PLACE\"\nSEX = \"\"\n").unwrap();
        let mark = |label: &str, start| Mark::gold(Span::between(start, 4), label);
        let mut documents = [Document {
            id: "a".to_owned(),
            patient: None,
            text: "text".to_owned(),
            marks: vec![
                mark("STREET", 1),
                mark("SEX", 0),
                mark("CITY", 1),
                mark("NAME", 0),
            ],
        }];
        rename.apply(&mut documents);
        assert_eq!(documents[0].marks, [mark("NAME", 0), mark("PLACE", 1)]);
    }

    #[test]
    fn what_is_no_table_of_names_is_refused_with_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("names.toml");
        for content in ["CITY = \"PLACE\"", "[labels]\nCITY = 3", "["] {
            std::fs::write(&path, content).unwrap();
            let error = Rename::read(&path).unwrap_err().to_string();
            assert!(
                error.contains("names.toml") && error.contains("labels"),
                "{error}"
            );
        }
        assert!(matches!(
            Rename::read(&folder.path().join("none")),
            Err(RenameError::Io { .. })
        ));
    }
}
