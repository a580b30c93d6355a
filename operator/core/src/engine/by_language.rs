//! One ensemble a language: each note is decided by the members of its own.

use std::ops::Range;
use std::sync::Arc;

use super::Engine;
use crate::{LabelSet, MemberSet, NoteBatch};

/// Chooses the language of a note.
pub trait ChooseLanguage: Send + Sync {
    /// Returns the place of the note's language among those of the engine.
    fn choose(&self, text: &str) -> usize;
}

/// Why engines cannot become one of several languages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MixedLabels {
    /// Two have different labels, so that no policy could name those of both.
    #[error("its labels are `{found}`, but those of `{first}` are `{expected}`")]
    Labels {
        /// The language.
        language: String,
        /// Its label set.
        found: String,
        /// The language that it was compared with.
        first: String,
        /// The label set of that one.
        expected: String,
    },
    /// They have too many members together.
    #[error("the bundles have {0} members together; an engine has at most {most}", most = MemberSet::CAPACITY)]
    Members(usize),
}

impl MixedLabels {
    /// Returns the language at fault, if it is one.
    pub fn language(&self) -> Option<&str> {
        match self {
            Self::Labels { language, .. } => Some(language),
            Self::Members(_) => None,
        }
    }
}

impl Engine {
    /// Creates an engine that decides each note with the members of its language. The redactor, and what happens
    /// after the vote, are those of the first engine.
    ///
    /// # Errors
    /// [`MixedLabels`].
    ///
    /// # Panics
    /// If there is no engine.
    pub fn of_languages(
        engines: Vec<(String, Self)>,
        choose: Arc<dyn ChooseLanguage>,
    ) -> Result<Self, MixedLabels> {
        let mut engines = engines.into_iter();
        let (first, mut all) = engines.next().expect("there is a first engine");
        let written = |labels: &LabelSet| format!("{} v{}", labels.id(), labels.version());
        let named = |language: &str, engine: &Self| -> Vec<String> {
            let names = engine.names.iter();
            names.map(|name| format!("{language}/{name}")).collect()
        };
        all.names = named(&first, &all);
        for (language, engine) in engines {
            if engine.labels.to_toml() != all.labels.to_toml() {
                return Err(MixedLabels::Labels {
                    language,
                    found: written(&engine.labels),
                    first,
                    expected: written(&all.labels),
                });
            }
            all.names.extend(named(&language, &engine));
            all.ensembles.extend(engine.ensembles);
        }
        if all.names.len() > MemberSet::CAPACITY {
            return Err(MixedLabels::Members(all.names.len()));
        }
        all.choose = Some(choose);
        Ok(all)
    }

    /// Cuts a range of rows into parts of one language each, in order.
    pub(super) fn by_language(&self, batch: &NoteBatch, rows: Range<usize>) -> Vec<(Range<usize>, usize)> {
        let Some(choose) = &self.choose else {
            return vec![(rows, 0)];
        };
        let mut parts: Vec<(Range<usize>, usize)> = Vec::new();
        for row in rows {
            let language = choose.choose(batch.note(row).text).min(self.ensembles.len() - 1);
            match parts.last_mut() {
                Some((part, same)) if *same == language => part.end = row + 1,
                _ => parts.push((row..row + 1, language)),
            }
        }
        parts
    }

    /// Returns the place of a language's first member among all members.
    pub(super) fn first_member(&self, language: usize) -> usize {
        let before = &self.ensembles[..language];
        before.iter().map(|ensemble| ensemble.members.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Action, Annotations, Carried, LabelId, Merging, Redactor, TagError, Tagger, Voting, tag_each,
    };

    /// Tags one word.
    struct Word(&'static str);

    impl Tagger for Word {
        fn name(&self) -> &str {
            "word"
        }

        fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
            tag_each(batch, |note, out| {
                for i in 0..note.tokens.len() {
                    if note.word(i) == self.0 {
                        out.tokens(i, i, LabelId(0), 1.0, "word");
                    }
                }
            })
        }
    }

    /// Takes notes with the word "der" for the second language.
    struct Der;

    impl ChooseLanguage for Der {
        fn choose(&self, text: &str) -> usize {
            usize::from(text.split(' ').any(|word| word == "der"))
        }
    }

    fn engine(labels: LabelSet, words: &[&'static str]) -> Engine {
        let labels = Arc::new(labels);
        let redactor = Redactor::new(&labels, Action::Tag, Carried::default());
        let members = words.iter().map(|word| Arc::new(Word(word)) as Arc<dyn Tagger>);
        Engine::new(
            labels,
            members.collect(),
            Arc::new(Voting::default()),
            Merging::default(),
            redactor,
        )
    }

    fn both() -> Engine {
        let of = |words: &[&'static str]| engine(LabelSet::i2b2_2014(), words);
        let engines = vec![
            ("en".to_owned(), of(&["Ana", "Otto"])),
            ("de".to_owned(), of(&["Otto"])),
        ];
        Engine::of_languages(engines, Arc::new(Der)).unwrap()
    }

    const TEXTS: [&str; 5] = ["Ana saw Otto", "der Otto kennt Ana", "", "der Ana", "Ana left"];

    #[test]
    fn each_note_is_decided_by_the_members_of_its_language() {
        let engine = both();
        let batch = NoteBatch::from_texts(TEXTS).unwrap();
        let outcomes = engine.decide(&batch);
        let redacted: Vec<String> = (0..TEXTS.len())
            .map(|row| engine.redact(&batch, row, &outcomes[row]).unwrap().text)
            .collect();
        assert_eq!(
            redacted,
            [
                "[PATIENT] saw [PATIENT]",
                "der [PATIENT] kennt Ana",
                "",
                "der Ana",
                "[PATIENT] left"
            ]
        );
    }

    #[test]
    fn members_are_named_and_numbered_with_their_language() {
        let engine = both();
        assert_eq!(engine.members(), ["en/word", "en/word", "de/word"]);
        let batch = NoteBatch::from_texts(TEXTS).unwrap();
        let outcomes = engine.decide(&batch);
        let members = |row: usize| -> Vec<usize> {
            let decisions = outcomes[row].as_ref().unwrap();
            decisions.iter().flat_map(|one| one.members.iter()).collect()
        };
        assert_eq!(members(0), [0, 1]);
        assert_eq!(members(1), [2]);
        let traces = engine.trace(&batch);
        let found: Vec<usize> = traces[1]
            .as_ref()
            .unwrap()
            .predictions
            .iter()
            .map(Annotations::len)
            .collect();
        assert_eq!(found, [0, 0, 1]);
    }

    #[test]
    fn languages_with_different_labels_are_refused() {
        let engines = vec![
            ("en".to_owned(), engine(LabelSet::i2b2_2014(), &["Ana"])),
            ("es".to_owned(), engine(LabelSet::meddocan(), &["Ana"])),
        ];
        let why = Engine::of_languages(engines, Arc::new(Der))
            .map(|_| ())
            .unwrap_err();
        assert_eq!(why.language(), Some("es"));
        assert!(why.to_string().contains("meddocan"), "{why}");
    }
}
