//! The one extractor that every linear member reads: what is known of each token, as columns of hashed features.
//!
//! The templates are those of Yang 2019 and Kim 2020 (section 2.2) and what forms ask for beside: words, affixes, shapes,
//! neighbours, fields and sections, lists, rules, the rest of the note.

mod document;
mod hash;
mod hits;
mod intern;
mod layout;
mod lists;
mod templates;
#[cfg(test)]
mod tests;
mod words;

use std::sync::{Arc, Mutex};

use lethe_core::NoteBatch;
use lethe_dictionaries::Dictionary;
use serde::{Deserialize, Serialize};

use crate::pos::PosTagger;
use crate::{Columns, View};
use document::Document;
use hash::{of_bytes, pair};
use hits::{Hits, Rules};
use intern::{Interned, Interner, each, end_each};
use layout::{Gap, Place, gap_of, lay_out};
use lists::Groups;
use templates::{
    COMBINED, combine, push_all, push_chunk, push_cue, push_field, push_hits, push_layout, push_parts,
};
use words::{Lists, TABLES, Word, Words};

/// Goes up with every change of the templates: a model runs over the features it was trained over, or not at all.
pub const FEATURES_VERSION: u32 = 1;

/// Which features there are. Stands in a model's settings, so that training and running agree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FeatureConfig {
    /// [`FEATURES_VERSION`] of the program that trained.
    pub version: u32,
    /// What the dictionary's lists say (Yang 2019's lexical features).
    pub lists: bool,
    /// What the rule members find (Yang 2019's knowledge features).
    pub rules: bool,
    /// What the rest of the note says of a word.
    pub document: bool,
    /// The file of the part-of-speech tagger in the model's folder; without one, no parts of speech.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pos: Option<String>,
}

impl Default for FeatureConfig {
    fn default() -> Self {
        Self {
            version: FEATURES_VERSION,
            lists: true,
            rules: true,
            document: true,
            pos: None,
        }
    }
}

/// Why features cannot be made as a model's settings ask.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FeatureError {
    /// Another version made the model's features.
    #[error(
        "the model was trained over features of version {found}, and this program makes version {FEATURES_VERSION}; train the model again"
    )]
    Version {
        /// The model's.
        found: u32,
    },
    /// The settings name a part-of-speech tagger, and none was given; or the other way round.
    #[error("the model's settings and its folder disagree about a part-of-speech tagger")]
    Tagger,
}

impl FeatureConfig {
    /// The extractor these settings describe, which name no part-of-speech tagger.
    ///
    /// # Errors
    /// As [`FeatureConfig::build_with`].
    pub fn build(&self, dictionary: &Arc<Dictionary>) -> Result<Extractor, FeatureError> {
        self.build_with(dictionary, None)
    }

    /// The extractor these settings describe, with the part-of-speech tagger that they name.
    ///
    /// # Errors
    /// [`FeatureError::Version`] if they are of another version, [`FeatureError::Tagger`] if they name a tagger and there
    /// is none, or the other way round.
    pub fn build_with(
        &self,
        dictionary: &Arc<Dictionary>,
        tagger: Option<Arc<PosTagger>>,
    ) -> Result<Extractor, FeatureError> {
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
            pool: Mutex::default(),
        })
    }

    /// What tells these settings from others over the same batch.
    fn key(&self, dictionary: &Dictionary, tagger: Option<&PosTagger>) -> u64 {
        let flags = [self.lists, self.rules, self.document];
        let flags = flags
            .iter()
            .fold(u64::from(self.version), |bits, &on| bits << 1 | u64::from(on));
        let tagger = tagger.map_or(0, |tagger| of_bytes(&tagger.to_bytes()));
        pair(pair(flags, tagger), of_bytes(dictionary.digest()))
    }
}

/// Makes a batch's columns.
pub struct Extractor {
    config: FeatureConfig,
    dictionary: Arc<Dictionary>,
    groups: Groups,
    rules: Option<Rules>,
    tagger: Option<Arc<PosTagger>>,
    key: u64,
    /// What threads remember between batches. Holds note text's hashes: never printed.
    pool: Mutex<Vec<Scratch>>,
}

/// What one thread remembers from batch to batch, so that most words are looked up and not made.
#[derive(Default)]
struct Scratch {
    words: Words,
    interners: [Interner; 8],
    document: Document,
    places: Vec<Place>,
    note: Vec<Word>,
    gaps: Vec<Gap>,
    ids: Vec<u32>,
    pos: Vec<u8>,
    hits: Hits,
    features: Vec<u64>,
}

/// What is read of the tables, and where: the order of [`Extractor::columns`]' tables.
const VIEWS: [(usize, i8); 21] = [
    (0, 0),
    (1, -1),
    (1, 1),
    (2, -2),
    (2, 2),
    (2, -3),
    (2, 3),
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (6, -1),
    (6, 1),
    (7, 0),
    (7, -1),
    (7, 1),
    (8, 0),
    (8, -1),
    (9, 0),
    (10, 0),
    (11, 0),
];

impl Extractor {
    /// The settings.
    pub const fn config(&self) -> &FeatureConfig {
        &self.config
    }

    /// The columns of a batch, made by the first member that asks.
    pub fn shared(&self, batch: &NoteBatch) -> Arc<Columns> {
        batch.shared(self.key, || self.columns(batch))
    }

    /// The columns of a batch. The same note has the same features in every batch.
    pub fn columns(&self, batch: &NoteBatch) -> Columns {
        let mut scratch = self
            .pool
            .lock()
            .map(|mut pool| pool.pop())
            .unwrap_or_default()
            .unwrap_or_default();
        let columns = self.extract(batch, &mut scratch);
        if let Ok(mut pool) = self.pool.lock() {
            pool.push(scratch);
        }
        columns
    }

    fn extract(&self, batch: &NoteBatch, scratch: &mut Scratch) -> Columns {
        let total: usize = batch.notes().map(|note| note.tokens.len()).sum();
        let lists = Lists {
            tagger: self.tagger.as_deref(),
            dictionary: self.config.lists.then_some((&*self.dictionary, &self.groups)),
        };

        let Scratch {
            words: store,
            interners: [a, b, c, d, e, f, g, h],
            places,
            note: own,
            gaps,
            ids,
            pos,
            hits,
            features,
            document: seen,
        } = scratch;
        let mut words = store.begin(total);
        let mut layout = Interned::new(a, total, total / 4, &[]);
        let mut fields = Interned::new(b, total, total / 2, &[]);
        let mut chunks = Interned::new(c, total, total / 4, &[]);
        let mut phrases = Interned::new(d, total, total / 8, &[]);
        let mut rules = Interned::new(e, total, total / 8, &[]);
        let mut document = Interned::new(f, total, total / 4, &[]);
        let mut cues = Interned::new(h, total, total / 4, &[]);
        let mut parts = Interned::new(g, total, 512, &[]);
        let mut combined = each(total, COMBINED);
        let ruled = self.rules.as_ref().map(|rules| rules.tag(batch));
        let mut matcher = self.config.lists.then(|| self.dictionary.matcher());
        let mut notes = Vec::with_capacity(batch.len());
        let mut start = 0;
        for note in batch.notes() {
            let tokens = note.tokens;
            notes.push(start..start + tokens.len());
            start += tokens.len();
            own.clear();
            gaps.clear();
            ids.clear();
            let text = note.text.as_bytes();
            let mut end = 0;
            for i in 0..tokens.len() {
                let span = (tokens.starts[i] as usize, tokens.ends[i] as usize, tokens.kind(i));
                gaps.push(if i == 0 {
                    Gap::Edge
                } else {
                    gap_of(&text[end..span.0])
                });
                end = span.1;
                let id = store.push(&mut words, note.text, span, &lists);
                ids.push(id);
                own.push(words.words[id as usize]);
            }
            gaps.push(Gap::Edge);
            lay_out(own, gaps, note.sentence_ends, places);
            for (i, place) in places.iter().enumerate() {
                push_layout(&mut layout, place);
                push_field(&mut fields, place);
                push_chunk(&mut chunks, place);
                push_cue(&mut cues, place, own[i].form);
                combine(own, places, i, &mut combined.features);
                end_each(&mut combined);
            }
            hits.clear();
            if let Some(matcher) = &mut matcher {
                hits::phrases(&note, matcher, &self.groups, hits);
            }
            push_hits(&mut phrases, tokens.len(), hits);
            hits.clear();
            if let Some(ruled) = &ruled {
                hits.extend_from_slice(&ruled[note.row]);
            }
            push_hits(&mut rules, tokens.len(), hits);
            pos.clear();
            if let Some(tagger) = &self.tagger {
                let mut from = 0;
                for &end in note.sentence_ends {
                    let sentence = ids[from..end as usize].iter();
                    tagger.tag(sentence.map(|&id| &words.vectors[id as usize]), pos);
                    from = end as usize;
                }
            }
            push_parts(&mut parts, tokens.len(), pos);
            if self.config.document {
                seen.read(own, places);
            }
            for (i, word) in own.iter().enumerate() {
                features.clear();
                if self.config.document {
                    seen.features(i, word, features);
                }
                push_all(&mut document, features);
            }
        }
        let [w0, w1, w2]: [crate::Table; TABLES] = words.tables;
        Columns {
            notes,
            tables: vec![
                w0,
                w1,
                w2,
                layout.table,
                fields.table,
                chunks.table,
                phrases.table,
                rules.table,
                document.table,
                combined,
                parts.table,
                cues.table,
            ],
            views: VIEWS.map(|(table, shift)| View { table, shift }).to_vec(),
        }
    }
}

impl std::fmt::Debug for Extractor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Extractor({:?})", self.config)
    }
}
