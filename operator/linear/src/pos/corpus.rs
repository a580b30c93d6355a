//! Tagged sentences in two columns: token, tab, tag; an empty line ends a sentence.

use std::path::{Path, PathBuf};

use lethe_core::{TokenKind, tokenize};

use super::model::TAGS;

/// Words with the numbers of their tags, split like the notes' tokens.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Sentence {
    /// The words.
    pub words: Vec<String>,
    /// The index of each word's tag in [`TAGS`].
    pub tags: Vec<u8>,
}

/// Why a file of tagged sentences was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TsvError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A line does not have two columns.
    #[error("{}, line {line}: not a token, a tab and one of the 17 universal tags", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
}

/// Reads tagged sentences. A token that is several tokens in a note ("3.5") gives its tag to each, and
/// `PUNCT` to punctuation marks in it; the articles that Spanish treebanks split from "del" and "al" are
/// joined again.
///
/// # Errors
/// [`TsvError`], naming file and line.
pub fn read_tsv(path: &Path) -> Result<Vec<Sentence>, TsvError> {
    let text = std::fs::read_to_string(path).map_err(|source| TsvError::Io {
        path: path.to_owned(),
        source,
    })?;
    let mut sentences = vec![Sentence::default()];
    for (i, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            sentences.push(Sentence::default());
            continue;
        }
        let columns = line.split_once('\t');
        let columns =
            columns.and_then(|(word, tag)| Some((word, TAGS.iter().position(|t| *t == tag.trim())?)));
        let (word, tag) = columns.ok_or_else(|| TsvError::Line {
            path: path.to_owned(),
            line: i + 1,
        })?;
        if let Some(sentence) = sentences.last_mut() {
            sentence.push(word, tag);
        }
    }
    sentences.retain(|sentence| !sentence.words.is_empty());
    Ok(sentences)
}

const DET: usize = 5;
const PUNCT: usize = 12;
const SYM: usize = 14;

impl Sentence {
    fn push(&mut self, word: &str, tag: usize) {
        if let Some(last) = self.words.last_mut()
            && tag == DET
            && word == "el"
            && matches!(last.as_str(), "de" | "a" | "De" | "A")
        {
            last.push('l');
            return;
        }
        let alone = word.chars().nth(1).is_none();
        tokenize(word, |token| {
            let mark = token.kind == TokenKind::Punctuation && !alone && tag != SYM;
            self.words.push(token.span.of(word).to_owned());
            self.tags.push(if mark { PUNCT } else { tag } as u8);
        });
    }
}

impl std::fmt::Debug for Sentence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sentence({} words)", self.words.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Sentence>, TsvError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.tsv");
        std::fs::write(&path, text).unwrap();
        read_tsv(&path)
    }

    #[test]
    fn words_are_cut_as_notes_are_and_contractions_put_back() {
        let sentences = read("Vino\tVERB\nde\tADP\nel\tDET\nmar\tNOUN\n\n\n3.5\tNUM\n").unwrap();
        assert_eq!(sentences.len(), 2);
        assert_eq!(sentences[0].words, ["Vino", "del", "mar"]);
        assert_eq!(sentences[1].words, ["3", ".", "5"]);
        let names: Vec<_> = sentences[1]
            .tags
            .iter()
            .map(|&tag| TAGS[usize::from(tag)])
            .collect();
        assert_eq!(names, ["NUM", "PUNCT", "NUM"]);
    }

    #[test]
    fn a_line_without_a_universal_tag_is_refused_by_its_number() {
        let message = read("Vino\tVERB\nmar\tNN\n").unwrap_err().to_string();
        assert!(
            message.contains("own.tsv, line 2") && !message.contains("mar"),
            "{message}"
        );
    }
}
