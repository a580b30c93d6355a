//! Merges corpora that were annotated separately (Yang 2019, "merging corpora"): with common label names,
//! with distinct ids, and without contradictory annotations of one text.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};

use crate::format::{Stand, read_placed};
use crate::{CorpusError, Document, Rename};

/// A corpus to merge.
#[derive(Clone, Debug)]
pub struct Source {
    /// The prefix of its documents' ids.
    pub name: String,
    /// A file or a folder.
    pub path: PathBuf,
    /// New names for its labels. If present, it must list every label, as an old name or as a new one.
    pub rename: Option<Rename>,
}

/// Counts of labels in one corpus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// The corpus' name.
    pub name: String,
    /// Its documents.
    pub documents: usize,
    /// Spans by label, under the new names.
    pub labels: BTreeMap<String, usize>,
    /// Spans that the names leave out, or that became duplicates.
    pub left_out: usize,
}

/// Why corpora cannot be merged. It names files and lines, never text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// A corpus cannot be read.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// Two corpora have the same name.
    #[error("two corpora are called `{name}`; give each its own name, as in NAME=FILE")]
    SameName {
        /// The name.
        name: String,
    },
    /// Two documents of a corpus have the same id.
    #[error("{second}: the document has the same id as {first}")]
    SameId {
        /// Position of the first.
        first: Stand,
        /// Position of the second.
        second: Stand,
    },
    /// Two documents have the same text but different spans.
    #[error("{second}: the document has the same text as {first}, but different spans")]
    Quarrel {
        /// Position of the first.
        first: Stand,
        /// Position of the second.
        second: Stand,
    },
    /// Two spans of a document have the same offsets but different labels after renaming.
    #[error("{at}: `{first}` and `{second}` label the same span of the document")]
    Doubled {
        /// Position of the document.
        at: Stand,
        /// One label.
        first: String,
        /// The other.
        second: String,
    },
    /// A label has no new name.
    #[error(
        "{at}: the label `{label}` is not in the table of label names{}; give it a new name there, or an empty one to leave it out",
        if *.own { "" } else { " of the other corpora" }
    )]
    Label {
        /// Position of the first document that has it.
        at: Stand,
        /// The label.
        label: String,
        /// Whether the corpus has its own file of names.
        own: bool,
    },
}

impl fmt::Display for Stand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        self.line.map_or(Ok(()), |line| write!(f, ", line {line}"))
    }
}

/// Merges corpora in this order. Ids and patients get the corpus' name and a slash as a prefix. If any corpus
/// is given new names, one without names of its own may only have labels that occur among them.
///
/// # Errors
/// [`MergeError`].
pub fn merge(sources: &[Source]) -> Result<(Vec<Document>, Vec<Joined>), MergeError> {
    let mut names = BTreeSet::new();
    for source in sources {
        if !names.insert(&source.name) {
            return Err(MergeError::SameName {
                name: source.name.clone(),
            });
        }
    }
    let given: BTreeSet<&str> = sources
        .iter()
        .filter_map(|source| source.rename.as_ref())
        .flat_map(Rename::new_names)
        .collect();
    let (mut all, mut joined) = (Vec::new(), Vec::new());
    let mut texts: HashMap<String, (Stand, usize)> = HashMap::new();
    for source in sources {
        let placed = read_placed(&source.path, None)?;
        let (mut documents, stands): (Vec<Document>, Vec<Stand>) = placed.into_iter().unzip();
        labels_known(source, &documents, &stands, &given)?;
        let before: usize = documents.iter().map(|document| document.marks.len()).sum();
        if let Some(rename) = &source.rename {
            rename.apply(&mut documents);
        }
        let mut own = Joined {
            name: source.name.clone(),
            documents: documents.len(),
            ..Joined::default()
        };
        let mut ids: HashMap<String, Stand> = HashMap::new();
        for (mut document, stand) in documents.into_iter().zip(stands) {
            if let Some(first) = ids.insert(document.id.clone(), stand.clone()) {
                return Err(MergeError::SameId { first, second: stand });
            }
            not_doubled(&document, &stand)?;
            for mark in &document.marks {
                *own.labels.entry(mark.label.clone()).or_default() += 1;
            }
            document.id = format!("{}/{}", source.name, document.id);
            document.patient = document
                .patient
                .map(|patient| format!("{}/{patient}", source.name));
            match texts.get(&document.text) {
                Some((first, at)) if !same_marks(&all[*at], &document) => {
                    return Err(MergeError::Quarrel {
                        first: first.clone(),
                        second: stand,
                    });
                }
                Some(_) => {}
                None => {
                    texts.insert(document.text.clone(), (stand, all.len()));
                }
            }
            all.push(document);
        }
        own.left_out = before - own.labels.values().sum::<usize>();
        joined.push(own);
    }
    Ok((all, joined))
}

fn labels_known(
    source: &Source,
    documents: &[Document],
    stands: &[Stand],
    given: &BTreeSet<&str>,
) -> Result<(), MergeError> {
    if given.is_empty() {
        return Ok(());
    }
    let known = |label: &str| match &source.rename {
        Some(rename) => rename.knows(label),
        None => given.contains(label),
    };
    for (document, stand) in documents.iter().zip(stands) {
        if let Some(mark) = document.marks.iter().find(|mark| !known(&mark.label)) {
            return Err(MergeError::Label {
                at: stand.clone(),
                label: mark.label.clone(),
                own: source.rename.is_some(),
            });
        }
    }
    Ok(())
}

/// Refuses two labels on one span. Annotations are sorted, so those of one span are neighbours.
fn not_doubled(document: &Document, stand: &Stand) -> Result<(), MergeError> {
    let mut pairs = document.marks.iter().zip(document.marks.iter().skip(1));
    match pairs.find(|(mark, next)| mark.span == next.span && mark.label != next.label) {
        Some((mark, next)) => Err(MergeError::Doubled {
            at: stand.clone(),
            first: mark.label.clone(),
            second: next.label.clone(),
        }),
        None => Ok(()),
    }
}

fn same_marks(one: &Document, other: &Document) -> bool {
    let marks = |document: &Document| -> Vec<_> {
        let marks = document.marks.iter();
        marks.map(|mark| (mark.span, mark.label.clone())).collect()
    };
    marks(one) == marks(other)
}

/// Parses `GOLD` or `NAME=GOLD`, each with an optional `:RENAME`. Without a name, a corpus is called by its
/// file name without the extension.
///
/// # Errors
/// [`crate::RenameError`], which names the file.
pub fn source(argument: &str) -> Result<Source, crate::RenameError> {
    let (name, rest) = match argument.split_once('=') {
        Some((name, rest)) if !name.is_empty() && !name.contains('/') => (Some(name), rest),
        _ => (None, argument),
    };
    let (path, rename) = match rest.rsplit_once(':') {
        Some((path, rename)) if !Path::new(rest).exists() => (path, Some(Rename::read(Path::new(rename))?)),
        _ => (rest, None),
    };
    let stem = Path::new(path)
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    Ok(Source {
        name: name.map(str::to_owned).or(stem).unwrap_or_default(),
        path: path.into(),
        rename,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = r#"{"doc_id":"1","patient_id":"p","text":"Ana, 3 May","spans":[{"start":0,"end":3,"label":"PER"},{"start":5,"end":10,"label":"DAY"}]}"#;
    const SECOND: &str = r#"{"doc_id":"1","patient_id":"p","text":"Luis, 9 May, old","spans":[{"start":0,"end":4,"label":"NAME"},{"start":13,"end":16,"label":"AGE"}]}"#;

    fn sources(first: &str, second: &str, names: [Option<&str>; 2]) -> (tempfile::TempDir, Vec<Source>) {
        let folder = tempfile::tempdir().unwrap();
        let one = |(file, content, names): (&str, &str, Option<&str>)| {
            let path = folder.path().join(file);
            std::fs::write(&path, content).unwrap();
            Source {
                name: file.replace(".jsonl", ""),
                path,
                rename: names.map(|names| toml::from_str(names).unwrap()),
            }
        };
        let sources = [("a.jsonl", first, names[0]), ("b.jsonl", second, names[1])]
            .into_iter()
            .map(one)
            .collect();
        (folder, sources)
    }

    const NAMES: Option<&str> = Some("[labels]\nPER = \"NAME\"\nDAY = \"DATE\"");
    const NO_AGE: Option<&str> = Some("[labels]\nAGE = \"\"\nX = \"NAME\"");

    #[test]
    fn corpora_are_joined_under_common_labels_and_ids_of_their_own() {
        let (_folder, sources) = sources(FIRST, SECOND, [NAMES, NO_AGE]);
        let (documents, joined) = merge(&sources).unwrap();
        let ids: Vec<&str> = documents.iter().map(|document| document.id.as_str()).collect();
        assert_eq!(ids, ["a/1", "b/1"]);
        assert_eq!(documents[1].patient.as_deref(), Some("b/p"));
        let labels = |at: usize| -> Vec<&str> {
            documents[at]
                .marks
                .iter()
                .map(|mark| mark.label.as_str())
                .collect()
        };
        assert_eq!((labels(0), labels(1)), (vec!["NAME", "DATE"], vec!["NAME"]));
        assert_eq!((joined[0].left_out, joined[1].left_out), (0, 1));
        assert_eq!(joined[1].labels, BTreeMap::from([("NAME".to_owned(), 1)]));
    }

    #[test]
    fn a_label_without_a_place_is_refused_with_file_and_line() {
        let blank = format!("\n\n{SECOND}\n");
        for (names, told) in [
            ([NAMES, Some("[labels]\nNAME = \"NAME\"")], "AGE"),
            ([NAMES, None], "other corpora"),
        ] {
            let (_folder, sources) = sources(FIRST, &blank, names);
            let message = merge(&sources).unwrap_err().to_string();
            assert!(
                message.contains("b.jsonl, line 3") && message.contains("`AGE`"),
                "{message}"
            );
            assert!(message.contains(told), "{message}");
        }
        // If nothing is renamed, every corpus keeps its own labels.
        let (_folder, sources) = sources(FIRST, SECOND, [None, None]);
        assert_eq!(merge(&sources).unwrap().0.len(), 2);
    }

    #[test]
    fn what_clashes_is_refused_with_both_places() {
        let message = |first: &str, second: &str, names| {
            let (_folder, sources) = sources(first, second, names);
            merge(&sources).unwrap_err().to_string()
        };
        let twice = format!("{FIRST}\n{FIRST}");
        let same = message(&twice, SECOND, [None, None]);
        assert!(
            same.contains("a.jsonl, line 2") && same.contains("a.jsonl, line 1"),
            "{same}"
        );
        let other = FIRST.replace("\"end\":3", "\"end\":4");
        let quarrel = message(FIRST, &other, [None, None]);
        assert!(
            quarrel.contains("b.jsonl, line 1") && quarrel.contains("a.jsonl, line 1"),
            "{quarrel}"
        );
        assert!(!quarrel.contains("Ana"));
        let doubled = FIRST.replace("\"start\":5,\"end\":10", "\"start\":0,\"end\":3");
        let doubled = message(&doubled, SECOND, [None, None]);
        assert!(
            doubled.contains("a.jsonl, line 1") && doubled.contains("`DAY` and `PER`"),
            "{doubled}"
        );
        let (_folder, mut sources) = sources(FIRST, SECOND, [None, None]);
        sources[1].name = "a".to_owned();
        assert!(merge(&sources).unwrap_err().to_string().contains("called `a`"));
    }

    #[test]
    fn the_same_text_with_the_same_spans_is_no_clash() {
        let (_folder, sources) = sources(FIRST, FIRST, [None, None]);
        assert_eq!(merge(&sources).unwrap().0.len(), 2);
    }

    #[test]
    fn a_corpus_is_named_by_its_file_or_as_one_says_and_brings_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let names = folder.path().join("names.toml");
        std::fs::write(&names, NAMES.unwrap()).unwrap();
        let plain = source("x/train.jsonl").unwrap();
        assert_eq!((plain.name.as_str(), plain.rename.is_none()), ("train", true));
        let named = source(&format!("home=x/train.jsonl:{}", names.display())).unwrap();
        assert_eq!(
            (named.name.as_str(), named.path.as_path()),
            ("home", Path::new("x/train.jsonl"))
        );
        assert!(named.rename.unwrap().knows("DAY"));
        let message = source("x.jsonl:none.toml").unwrap_err().to_string();
        assert!(message.contains("none.toml"), "{message}");
    }
}
