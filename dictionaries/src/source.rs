//! Reads a list's folder: `items.txt`, `exceptions.txt` and `SOURCE.toml`.
//!
//! The build script uses it for the bundled lists, and the program for a user's own lists.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// How closely text must match an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchMode {
    /// Letter by letter, including case and accents: "MA" but never "ma".
    Exact,
    /// In any case and with any accents.
    Folded,
    /// Like `Folded`, also with one typing error in one word of six letters or more.
    #[serde(rename = "distance-1")]
    Distance1,
}

/// The role of a list's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// An entry may itself identify somebody.
    Phi,
    /// An entry announces, or belongs to, something that does: a title, a street type.
    Cue,
    /// An entry is an ordinary or medical word that only looks like a name.
    Exception,
}

/// `SOURCE.toml`: the origin of a list and its use.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Source {
    /// Its content, in one line.
    pub title: String,
    /// Package and version, or the compiler of the list.
    pub origin: String,
    /// SPDX identifier, or "public domain".
    pub licence: String,
    /// The attribution that the licence requires.
    #[serde(default)]
    pub attribution: String,
    /// Day on which the items were made, `YYYY-MM-DD`.
    pub date: String,
    /// ISO 639-1 code, or "any".
    pub language: String,
    /// The label that an entry suggests; empty for cues and exceptions.
    #[serde(default)]
    pub label: String,
    /// How closely text must match an entry.
    #[serde(rename = "match")]
    pub match_mode: MatchMode,
    /// Entries with fewer letters are left out of the automaton.
    pub min_length: usize,
    /// The role of the entries.
    pub role: Role,
    /// The meaning of an entry's number; empty if the list has no numbers.
    #[serde(default)]
    pub number: String,
    /// Whether to add spelling variants: "Saint" for "St", "Marys" for "Mary's" and so on.
    #[serde(default)]
    pub variants: bool,
}

/// The content of a list's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// The folder's name.
    pub id: String,
    /// Its `SOURCE.toml`.
    pub source: Source,
    /// Entries with their numbers (0 in a list without numbers).
    pub items: Vec<(String, u32)>,
    /// Entries that are also ordinary words.
    pub exceptions: Vec<String>,
}

/// Why a list cannot be used. Lists contain no patient data, so messages may quote entries.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// `SOURCE.toml` has an unknown, missing or mistyped key.
    #[error("{}: {message}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// The parser's message, with line and key.
        message: String,
    },
    /// A line is not an entry.
    #[error("{}:{line}: {fault}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Counted from one.
        line: usize,
        /// The problem.
        fault: &'static str,
    },
    /// The folder's name is not a valid id.
    #[error("{}: a list's folder name may have only lower-case letters, digits and hyphens", path.display())]
    Id {
        /// The folder.
        path: PathBuf,
    },
}

impl List {
    /// Reads the list in `folder`.
    ///
    /// # Errors
    /// [`SourceError`], with the file and, if possible, the line.
    pub fn read(folder: &Path) -> Result<Self, SourceError> {
        let id = folder
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if id.is_empty()
            || !id
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        {
            return Err(SourceError::Id { path: folder.into() });
        }
        let exceptions = folder.join("exceptions.txt");
        let exceptions = if exceptions.exists() {
            read(&exceptions)?
        } else {
            String::new()
        };
        let [source, items] = ["SOURCE.toml", "items.txt"].map(|file| read(&folder.join(file)));
        Self::of_texts(folder, id, &source?, &items?, &exceptions)
    }

    /// Reads a list from the texts of its files, which are or were in `folder`.
    pub(crate) fn of_texts(
        folder: &Path,
        id: &str,
        source: &str,
        items: &str,
        exceptions: &str,
    ) -> Result<Self, SourceError> {
        let source: Source = toml::from_str(source).map_err(|error| SourceError::Toml {
            path: folder.join("SOURCE.toml"),
            message: error.to_string(),
        })?;
        let items = entries(&folder.join("items.txt"), items, !source.number.is_empty())?;
        let exceptions = entries(&folder.join("exceptions.txt"), exceptions, false)?;
        Ok(Self {
            id: id.to_owned(),
            source,
            items,
            exceptions: exceptions.into_iter().map(|(entry, _)| entry).collect(),
        })
    }
}

fn read(path: &Path) -> Result<String, SourceError> {
    fs::read_to_string(path).map_err(|source| SourceError::Read {
        path: path.into(),
        source,
    })
}

/// Reads the entries of a file: one per line, a number after a tab if the list has numbers, and comments that
/// begin with `#`.
fn entries(path: &Path, text: &str, numbered: bool) -> Result<Vec<(String, u32)>, SourceError> {
    let mut out = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let fault = |fault| SourceError::Line {
            path: path.into(),
            line: index + 1,
            fault,
        };
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let (entry, number) = match line.split_once('\t') {
            Some((entry, number)) if numbered => {
                let number = number
                    .trim()
                    .parse()
                    .map_err(|_| fault("the number after the tab is not a whole number"))?;
                (entry, number)
            }
            Some(_) => return Err(fault("there is a tab, but SOURCE.toml has no `number`")),
            None => (line, 0),
        };
        let entry = entry.trim();
        if !entry.chars().any(char::is_alphanumeric) {
            return Err(fault("an entry needs a letter or a digit"));
        }
        out.push((entry.to_owned(), number));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "title = 't'\norigin = 'o'\nlicence = 'MIT'\ndate = '2026-11-21'\nlanguage = 'en'\n\
                          match = 'folded'\nmin-length = 2\nrole = 'phi'\n";

    fn folder(source: &str, items: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("my-list");
        fs::create_dir(&list).unwrap();
        fs::write(list.join("SOURCE.toml"), source).unwrap();
        fs::write(list.join("items.txt"), items).unwrap();
        dir
    }

    #[test]
    fn comments_and_empty_lines_are_no_entries() {
        let dir = folder(SOURCE, "# names\n\nRuiz\n");
        let list = List::read(&dir.path().join("my-list")).unwrap();
        assert_eq!(list.items, [("Ruiz".to_owned(), 0)]);
    }

    #[test]
    fn a_bad_number_is_reported_with_file_and_line() {
        let dir = folder(
            &format!("{SOURCE}number = 'population'\n"),
            "Boston\t12\nParis\tmany\n",
        );
        let error = List::read(&dir.path().join("my-list")).unwrap_err().to_string();
        assert!(error.contains("items.txt:2: the number"), "{error}");
    }

    #[test]
    fn an_unknown_key_is_reported_with_file_and_key() {
        let dir = folder(&format!("{SOURCE}licens = 'x'\n"), "Ruiz\n");
        let error = List::read(&dir.path().join("my-list")).unwrap_err().to_string();
        assert!(
            error.contains("SOURCE.toml") && error.contains("licens"),
            "{error}"
        );
    }

    #[test]
    fn a_missing_file_is_named() {
        let dir = folder(SOURCE, "Ruiz\n");
        fs::remove_file(dir.path().join("my-list/items.txt")).unwrap();
        let error = List::read(&dir.path().join("my-list")).unwrap_err().to_string();
        assert!(error.contains("items.txt"), "{error}");
    }
}
