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
mod words;

use std::sync::{Arc, Mutex};

use lethe_core::NoteBatch;
use lethe_dictionaries::Dictionary;
use serde::{Deserialize, Serialize};

use crate::pos::PosTagger;
use crate::{Columns, View};
use document::Document;
use hash::{feature, of_bytes, pair};
use hits::{Hits, Rules};
use intern::{Interned, Interner, each, end_each};
use layout::{Gap, Place, gap_of, lay_out};
use lists::Groups;
use words::{Form, Lists, TABLES, Word, Words};

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
    interners: [Interner; 7],
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
const VIEWS: [(usize, i8); 20] = [
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
];

/// Features of combinations a token has at most.
const COMBINED: usize = 16;

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
            interners: [a, b, c, d, e, f, g],
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
            lay_out(own, gaps, places);
            for (i, place) in places.iter().enumerate() {
                push_layout(&mut layout, place);
                push_field(&mut fields, place);
                push_chunk(&mut chunks, place);
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

/// A distance by ever wider steps.
fn bucket(n: u16) -> u64 {
    match n {
        0..=5 => u64::from(n),
        6..=7 => 6,
        8..=11 => 7,
        12..=19 => 8,
        20..=39 => 9,
        40..=99 => 10,
        _ => 11,
    }
}

fn push_layout(table: &mut Interned<'_>, place: &Place) {
    let (before, after) = (place.before as u64, place.after as u64);
    let (from_start, to_end) = (bucket(place.from_start), bucket(place.to_end).min(6));
    let (above, below) = (u64::from(place.line.min(24)), bucket(place.lines_after).min(9));
    let key = before | after << 4 | from_start << 8 | to_end << 12 | above << 16 | below << 24;
    table.push(hash::mix(key + 1), |out| {
        out.push(feature(100, before));
        out.push(feature(101, after));
        out.push(feature(102, pair(before, after)));
        out.push(feature(103, from_start));
        out.push(feature(104, to_end));
        out.push(feature(105, above));
        out.push(feature(106, below));
        out.push(feature(107, pair(below, from_start)));
    });
}

fn push_field(table: &mut Interned<'_>, place: &Place) {
    let since = bucket(place.since).min(9);
    let flags = u64::from(place.in_key) | since << 1;
    let line = bucket(place.from_start).min(6);
    let near = place.from_start < 12;
    let key = [
        place.key2,
        place.head,
        place.section,
        flags,
        if near { place.first2 } else { 0 },
        line,
    ]
    .iter()
    .fold(3, |key, &part| pair(key, part));
    table.push(key, |out| {
        out.push(feature(110, place.key));
        out.push(feature(111, place.key2));
        out.push(feature(112, pair(place.key2, flags)));
        out.push(feature(113, pair(place.head, u64::from(place.in_key))));
        out.push(feature(114, place.section));
        out.push(feature(115, pair(place.section, pair(place.head, since))));
        out.push(feature(116, u64::from(place.in_key)));
        out.push(feature(117, flags));
        if near {
            out.push(feature(118, pair(place.first, line)));
            out.push(feature(119, pair(place.first2, line)));
        }
    });
}

fn push_chunk(table: &mut Interned<'_>, place: &Place) {
    let part = u64::from(place.in_chunk);
    let length = u64::from(place.chunk_len.min(12));
    let key = pair(pair(place.chunk, part), length);
    table.push(key, |out| {
        out.push(feature(120, pair(length, part)));
        if place.chunk != 0 {
            out.push(feature(121, place.chunk));
            out.push(feature(122, pair(place.chunk, part)));
        }
    });
}

/// One type for each set of features.
fn push_all(table: &mut Interned<'_>, features: &[u64]) {
    let key = features.iter().fold(5, |key, &one| pair(key, one));
    table.push(key, |out| out.extend_from_slice(features));
}

/// Tokens with what hits them, in the note's order.
fn push_hits(table: &mut Interned<'_>, tokens: usize, hits: &mut Hits) {
    hits.sort_unstable();
    hits.dedup();
    let mut rest = hits.as_slice();
    for i in 0..tokens as u32 {
        let own = rest.iter().take_while(|hit| hit.0 == i).count();
        let key = rest[..own].iter().fold(7, |key, hit| pair(key, hit.1));
        table.push(key, |out| out.extend(rest[..own].iter().map(|hit| hit.1)));
        rest = &rest[own..];
    }
}

/// Parts of speech of a token and of those around it.
fn push_parts(table: &mut Interned<'_>, tokens: usize, pos: &[u8]) {
    for i in 0..tokens {
        let at = |i: Option<usize>| i.and_then(|i| pos.get(i)).map_or(31, |&tag| u64::from(tag));
        let own = at(Some(i));
        let (before2, before) = (at(i.checked_sub(2)), at(i.checked_sub(1)));
        let (next, next2) = (at(Some(i + 1)), at(Some(i + 2)));
        let key = own | before << 5 | next << 10 | before2 << 15 | next2 << 20;
        table.push(hash::mix(key + 1), |out| {
            if own < 31 {
                out.push(feature(150, own));
                out.push(feature(151, pair(before, own)));
                out.push(feature(152, pair(own, next)));
                out.push(feature(153, pair(pair(before, own), next)));
                out.push(feature(154, pair(before2, before)));
                out.push(feature(155, pair(next, next2)));
            }
        });
    }
}

/// What stands beyond a note's ends.
const NOTHING: (u64, u64, u64) = (2, 2, 2);

/// Combinations of a token with its neighbours and its field.
fn combine(words: &[Word], places: &[Place], i: usize, out: &mut Vec<u64>) {
    let at = |ahead: isize| {
        i.checked_add_signed(ahead)
            .and_then(|i| words.get(i))
            .map_or(NOTHING, |word| (word.norm, word.shape, word.short))
    };
    let (p2, p1, own, n1, n2) = (at(-2), at(-1), at(0), at(1), at(2));
    let place = &places[i];
    let (word, form) = (&words[i], words[i].form);
    let mut push = |template: u64, a: u64, b: u64| out.push(feature(template, pair(a, b)));
    push(130, p1.0, own.0);
    push(131, own.0, n1.0);
    push(132, p1.0, n1.0);
    push(133, p2.0, p1.0);
    push(134, n1.0, n2.0);
    push(135, pair(p1.1, own.1), n1.1);
    push(136, pair(pair(p2.2, p1.2), own.2), pair(n1.2, n2.2));
    push(137, p1.0, own.1);
    push(138, own.1, n1.0);
    push(139, pair(p2.0, p1.0), own.2);
    push(140, place.key2, own.0);
    push(141, place.key2, pair(own.1, place.before as u64));
    push(142, place.key2, pair(p1.0, own.2));
    if form != Form::Mark {
        push(143, place.section, own.1);
        push(144, pair(word.groups, form as u64), p1.0);
        push(145, pair(word.groups, form as u64), place.key2);
    }
}
