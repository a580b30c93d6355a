//! The feature extractor that all linear members share: the properties of each token, as columns of hashed
//! features.
//!
//! The templates are those of Yang 2019 and Kim 2020 (section 2.2), with further ones for forms: words,
//! affixes, shapes, neighbours, fields and sections, lists, rules, the rest of the note.

mod combined;
mod document;
mod hash;
mod hits;
mod intern;
mod layout;
mod lists;
mod spelling;
mod tables;
mod templates;
#[cfg(test)]
mod tests;
mod windows;
mod words;

use std::ops::Range;
use std::sync::Arc;

use lethe_core::{Cache, Caches, NoteBatch};
use lethe_dictionaries::Dictionary;
use lethe_learn::POS_FILE;
use serde::{Deserialize, Serialize};

use crate::Columns;
use crate::pos::PosTagger;
use document::Document;
use hash::{of_bytes, pair};
use hits::{Hits, Rules};
use intern::Interner;
use lists::Groups;
use tables::{Read, Tables};
pub use windows::Window;
use words::{Lists, Words};

/// Raised with every change of the templates or of [`salted`](crate::salted): a model runs only on the
/// version of features that it was trained on.
pub const FEATURES_VERSION: u32 = 3;

/// The features in use. A model's settings contain them, so that training and running agree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FeatureConfig {
    /// The [`FEATURES_VERSION`] of the program that trained.
    pub version: u32,
    /// Whether the dictionary's lists are features (Yang 2019's knowledge-based features).
    pub lists: bool,
    /// Whether the rule members' spans are features, which the paper does not have.
    pub rules: bool,
    /// Whether the other occurrences of a word in the note are features.
    pub document: bool,
    /// The file of the part-of-speech tagger in the model's folder; without one, there are no parts of
    /// speech.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pos: Option<String>,
    /// The tagger itself; see [`FeatureConfig::with_tagger`].
    #[serde(skip)]
    pub tagger: Option<Arc<PosTagger>>,
}

impl Default for FeatureConfig {
    fn default() -> Self {
        Self {
            version: FEATURES_VERSION,
            lists: true,
            rules: true,
            document: true,
            pos: None,
            tagger: None,
        }
    }
}

/// Why features cannot be built from a model's settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FeatureError {
    /// Another version built the model's features.
    #[error(
        "the model was trained over features of version {found}, but this program computes version {FEATURES_VERSION}; train the model again"
    )]
    Version {
        /// The model's version.
        found: u32,
    },
    /// The settings name a part-of-speech tagger and none was given, or one was given that they do not name.
    #[error("the model's settings and its folder disagree about a part-of-speech tagger")]
    Tagger,
}

impl FeatureConfig {
    /// Returns the same features with parts of speech by this tagger.
    #[must_use]
    pub fn with_tagger(self, tagger: Arc<PosTagger>) -> Self {
        Self {
            pos: Some(POS_FILE.to_owned()),
            tagger: Some(tagger),
            ..self
        }
    }

    /// Returns the files that a model's folder needs for these features, besides its weights.
    pub(crate) fn files(&self) -> Vec<(&'static str, Vec<u8>)> {
        let tagger = self.tagger.iter();
        tagger.map(|tagger| (POS_FILE, tagger.to_bytes())).collect()
    }

    /// Builds the extractor with these settings.
    ///
    /// # Errors
    /// [`FeatureError::Version`] if the settings are of another version, [`FeatureError::Tagger`] if they
    /// name a part-of-speech tagger and none is given.
    pub fn build(&self, dictionary: &Arc<Dictionary>) -> Result<Extractor, FeatureError> {
        let tagger = self.tagger.clone();
        if self.pos.is_some() != tagger.is_some() {
            return Err(FeatureError::Tagger);
        }
        if self.version != FEATURES_VERSION {
            return Err(FeatureError::Version { found: self.version });
        }
        Ok(Extractor {
            key: self.key(dictionary, tagger.as_deref()),
            groups: Groups::new(dictionary),
            rules: self.rules.then(|| Rules::new(dictionary)),
            dictionary: Arc::clone(dictionary),
            tagger,
            config: self.clone(),
            caches: Caches::default(),
        })
    }

    /// Returns a key that distinguishes these settings from others on the same batch.
    fn key(&self, dictionary: &Dictionary, tagger: Option<&PosTagger>) -> u64 {
        let flags = [self.lists, self.rules, self.document];
        let flags = flags
            .iter()
            .fold(u64::from(self.version), |bits, &on| bits << 1 | u64::from(on));
        let tagger = tagger.map_or(0, |tagger| of_bytes(&tagger.to_bytes()));
        pair(pair(flags, tagger), of_bytes(dictionary.digest()))
    }
}

/// Builds a batch's columns.
pub struct Extractor {
    config: FeatureConfig,
    dictionary: Arc<Dictionary>,
    groups: Groups,
    rules: Option<Rules>,
    tagger: Option<Arc<PosTagger>>,
    key: u64,
    /// Caches that threads reuse between batches. They hold hashes of note text, and are never printed.
    caches: Caches<Scratch>,
}

/// The cache of one thread, so that most words are looked up and not computed.
#[derive(Default)]
struct Scratch {
    words: Words,
    interners: [Interner; tables::INTERNED],
    read: Read,
    hits: Hits,
    document: Document,
}

impl Cache for Scratch {
    fn bytes(&self) -> usize {
        let interners: usize = self.interners.iter().map(Interner::bytes).sum();
        self.words.bytes() + interners + self.read.bytes() + self.document.bytes()
    }
}

impl Extractor {
    /// Returns the settings.
    pub const fn config(&self) -> &FeatureConfig {
        &self.config
    }

    /// Returns the columns of a batch, which the first request builds.
    pub fn shared(&self, batch: &NoteBatch) -> Arc<Columns> {
        batch.shared(self.key, || self.columns(batch))
    }

    /// Returns the columns of some of a batch's rows, which the first request builds.
    pub(crate) fn shared_rows(&self, batch: &NoteBatch, rows: Range<usize>) -> Arc<Columns> {
        let key = pair(pair(self.key, rows.start as u64), rows.end as u64);
        batch.shared(key, || self.columns(&batch.slice(rows.start, rows.len())))
    }

    /// Returns the columns of a batch. The same note has the same features in every batch.
    pub fn columns(&self, batch: &NoteBatch) -> Columns {
        self.extract(batch, &mut self.caches.take())
    }

    /// Returns the bytes of memory that its caches take.
    pub(crate) fn cache_bytes(&self) -> usize {
        self.caches.bytes()
    }

    /// Returns the lists for look-ups of words.
    fn lists(&self) -> Lists<'_> {
        Lists {
            tagger: self.tagger.as_deref(),
            dictionary: self.config.lists.then_some((&*self.dictionary, &self.groups)),
        }
    }

    fn extract(&self, batch: &NoteBatch, scratch: &mut Scratch) -> Columns {
        let total: usize = batch.notes().map(|note| note.tokens.len()).sum();
        let lists = self.lists();
        let Scratch {
            words,
            interners,
            read,
            hits,
            document,
        } = scratch;
        let mut tables = Tables::new(interners, words.begin(total), total);
        let ruled = self.rules.as_ref().map(|rules| rules.tag(batch));
        let mut matcher = self.config.lists.then(|| self.dictionary.matcher());
        let mut notes = Vec::with_capacity(batch.len());
        let mut start = 0;
        for note in batch.notes() {
            notes.push(start..start + note.tokens.len());
            start += note.tokens.len();
            read.note(&note, words, &mut tables.words, &lists);
            tables.push_places(read);
            if let Some(matcher) = &mut matcher {
                hits.clear();
                let all = 0..note.tokens.len();
                hits::phrases(&note, all, matcher, &self.groups, &mut [0; 64], hits);
                tables.push_phrases(read, hits);
            }
            if let Some(ruled) = &ruled {
                hits.clone_from(&ruled[note.row]);
                tables.push_rules(read, hits);
            }
            if self.config.document {
                document.read(&read.words, &read.places);
                tables.push_document(read, document);
            }
            if let Some(tagger) = &self.tagger {
                tables.push_parts(&note, read, tagger);
            }
        }
        tables.finish(notes, &self.config)
    }
}

impl std::fmt::Debug for Extractor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Extractor({:?})", self.config)
    }
}
