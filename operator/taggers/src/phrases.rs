//! `phrases`: phrases that a site has listed itself, found wherever they occur in the same form.
//!
//! The member reads a compiled dictionary of its own, whose every entry is redacted: not a list of names with
//! exceptions, but phrases that people have annotated in this site's notes. Each of its lists has the label
//! of its entries.

use std::path::PathBuf;
use std::sync::Arc;

use lethe_core::{Annotations, LabelError, LabelId, LabelSet, NoteBatch, TagError, Tagger, hex, tag_each};
use lethe_dictionaries::{Dictionary, ListSet, LoadError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The member's score: a person listed the phrase.
const SCORE: f32 = 1.0;

/// Settings of a `phrases` member.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhrasesConfig {
    /// The dictionary file, which `lethe dictionary build` compiled.
    #[schemars(extend("examples" = ["site.dict"]))]
    pub path: PathBuf,
    /// The member's name in votes and audit.
    #[serde(default = "name")]
    pub name: String,
}

fn name() -> String {
    "phrases".to_owned()
}

/// Why a list of phrases cannot be used. Contains no entry.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PhrasesError {
    /// The dictionary cannot be read.
    #[error("member `{member}`: {}: {source}", path.display())]
    Load {
        /// The member's name.
        member: String,
        /// The file.
        path: PathBuf,
        /// The problem.
        source: LoadError,
    },
    /// The label set lacks a list's label.
    #[error("member `{member}`: list `{list}`: {source}")]
    Label {
        /// The member's name.
        member: String,
        /// The list.
        list: String,
        /// The reason.
        source: LabelError,
    },
}

impl PhrasesConfig {
    /// Reads the dictionary.
    ///
    /// # Errors
    /// [`PhrasesError`], naming the member, and the file or the list.
    pub fn build(&self, labels: &LabelSet) -> Result<Phrases, PhrasesError> {
        let dictionary = self.load()?;
        let label = |list: &lethe_dictionaries::ListInfo| {
            let own = labels
                .by_name(&list.label)
                .map_or_else(|| labels.resolve(&list.label), Ok);
            own.map_err(|source| PhrasesError::Label {
                member: self.name.clone(),
                list: list.id.clone(),
                source,
            })
        };
        let by_list = dictionary.lists().iter().map(label).collect::<Result<_, _>>()?;
        Ok(Phrases {
            name: self.name.clone(),
            wanted: dictionary.lists_where(|_| true),
            by_list,
            dictionary: Arc::new(dictionary),
        })
    }

    /// Returns a digest of the dictionary: other phrases under the same path are a different member.
    ///
    /// # Errors
    /// [`PhrasesError::Load`].
    pub fn fingerprint(&self) -> Result<String, PhrasesError> {
        Ok(hex(self.load()?.digest()))
    }

    fn load(&self) -> Result<Dictionary, PhrasesError> {
        Dictionary::load(&self.path).map_err(|source| PhrasesError::Load {
            member: self.name.clone(),
            path: self.path.clone(),
            source,
        })
    }
}

/// A `phrases` member.
pub struct Phrases {
    name: String,
    dictionary: Arc<Dictionary>,
    wanted: ListSet,
    /// The engine's label of each list.
    by_list: Vec<LabelId>,
}

impl Tagger for Phrases {
    fn name(&self) -> &str {
        &self.name
    }

    fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
        let mut matcher = self.dictionary.matcher();
        tag_each(batch, |note, out| {
            matcher.longest(&note, self.wanted, |found| {
                // A phrase is in one list, that of its label.
                let lists = self.dictionary.lists().iter().zip(&self.by_list);
                let mut own = lists.filter(|(list, _)| found.entry.lists().contains(list.list));
                if let Some((_, &label)) = own.next() {
                    out.tokens(found.first, found.last, label, SCORE, "phrases.listed");
                }
            });
        })
    }
}

#[cfg(test)]
mod tests {
    use lethe_dictionaries::{List, MatchMode, Role, Source, compile};

    use super::*;
    use crate::conformance;

    fn list(label: &str, items: &[&str]) -> List {
        List {
            id: label.to_lowercase(),
            source: Source {
                title: "t".to_owned(),
                origin: "o".to_owned(),
                licence: "none".to_owned(),
                attribution: String::new(),
                date: "2026-01-01".to_owned(),
                language: "any".to_owned(),
                label: label.to_owned(),
                match_mode: MatchMode::Exact,
                min_length: 1,
                role: Role::Phi,
                number: String::new(),
                variants: false,
            },
            items: items.iter().map(|&item| (item.to_owned(), 0)).collect(),
            exceptions: Vec::new(),
        }
    }

    fn config(folder: &std::path::Path, lists: &[List]) -> PhrasesConfig {
        let path = folder.join("phrases.dictionary");
        std::fs::write(&path, compile(lists).unwrap()).unwrap();
        PhrasesConfig { path, name: name() }
    }

    #[test]
    fn phrases_are_found_as_written_and_longest_first() {
        let folder = tempfile::tempdir().unwrap();
        let labels = LabelSet::i2b2_2014();
        let lists = [
            list("DOCTOR", &["Zorva Quill", "Quill"]),
            list("MEDICALRECORD", &["AX-4471/9"]),
        ];
        let config = config(folder.path(), &lists);
        let member = config.build(&labels).unwrap();
        let text = "Seen by Zorva Quill, file AX-4471/9. quill ZORVA QUILL Quill. Quills";
        let batch = NoteBatch::from_texts([text]).unwrap();
        let found: Vec<(String, String)> = member.tag(&batch)[0]
            .as_ref()
            .unwrap()
            .iter()
            .map(|one| {
                let label = labels.label(one.label).name.clone();
                (one.span.of(text).to_owned(), label)
            })
            .collect();
        let expected = [
            ("Zorva Quill", "DOCTOR"),
            ("AX-4471/9", "MEDICALRECORD"),
            ("Quill", "DOCTOR"),
        ];
        assert_eq!(
            found,
            expected.map(|(text, label)| (text.to_owned(), label.to_owned()))
        );
        assert_eq!(config.fingerprint().unwrap().len(), 64);
    }

    #[test]
    fn it_keeps_the_promises_of_every_member() {
        let folder = tempfile::tempdir().unwrap();
        let labels = LabelSet::i2b2_2014();
        let lists = [
            list("PATIENT", &["Hargrove", "Ana", "J.J"]),
            list("DATE", &["03/04/2022"]),
        ];
        let member = config(folder.path(), &lists).build(&labels).unwrap();
        conformance::check(&member, &labels);
    }

    #[test]
    fn what_cannot_be_used_is_told_without_an_entry() {
        let folder = tempfile::tempdir().unwrap();
        let labels = LabelSet::i2b2_2014();
        let config = config(folder.path(), &[list("NO-SUCH-LABEL", &["Secret"])]);
        let told = |error: PhrasesError| error.to_string();
        let message = config.build(&labels).map(drop).map_err(told).unwrap_err();
        assert!(
            message.starts_with("member `phrases`: list `no-such-label`"),
            "{message}"
        );
        assert!(!message.contains("Secret"));
        std::fs::write(&config.path, "no dictionary").unwrap();
        let message = config.build(&labels).map(drop).map_err(told).unwrap_err();
        assert!(message.contains("phrases.dictionary"), "{message}");
        assert!(config.fingerprint().is_err());
    }
}
