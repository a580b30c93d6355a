//! Stacking by tokens (Kim 2020, "Stacked SEARN"): search-based structured prediction whose only features are
//! the members' predictions: each one's tag of the token, of the two tokens before and the two after it, and
//! the trigrams of these five.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

use lethe_core::{Annotations, Combine, Decision, LabelId, LabelSet, NoteView};
use lethe_learn::{NoObserver, TagSet};
use lethe_linear::{Columns, Decoder, Learner, Model, Searn, States, Table, View, Window, fit_columns};
use serde::{Deserialize, Serialize};

use crate::PredictionSet;
use crate::candidates::{FitError, NoteVotes, check_members};
use crate::saved::{FittedOn, SavedError, pack, unpack};
use crate::tags::{tag_set, token_tags};

const KIND: &str = "stacked-searn";

/// Tokens before and after a token whose tags are read.
const AROUND: i8 = 2;

/// Tokens that are decoded at once: each takes some hundred bytes.
const WINDOW: usize = 1 << 13;

/// Settings of [`StackedSearn`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StackedSearnConfig {
    /// The learning rate of a weight's first update.
    pub rate: f64,
    /// The number of passes.
    pub epochs: u32,
    /// Features that occur at fewer tokens are left out.
    pub cut_off: u32,
    /// The share of gold's choices that a pass leaves to the classifier.
    pub beta: f64,
    /// A token is not learned from again if its gold state has this probability.
    pub enough: f64,
}

impl Default for StackedSearnConfig {
    fn default() -> Self {
        Self {
            rate: 0.025,
            epochs: 20,
            cut_off: 1,
            beta: 0.3,
            enough: 0.01,
        }
    }
}

/// A fitted stacked SEARN.
pub struct StackedSearn {
    on: FittedOn,
    decoder: Decoder,
}

impl StackedSearn {
    /// Learns gold's tags from the members'. The same seed gives the same weights.
    ///
    /// # Errors
    /// [`FitError::Members`] or [`FitError::Train`].
    pub fn fit(
        predictions: &PredictionSet,
        config: &StackedSearnConfig,
        seed: u64,
    ) -> Result<Self, FitError> {
        check_members(predictions)?;
        let tags = tag_set(&predictions.labels);
        let rows = predictions
            .batch
            .notes()
            .map(|note| sequences(note, &predictions.row(note.row), &tags));
        let columns = columns(rows, predictions.members.len());
        let gold: Vec<Vec<u16>> = predictions
            .batch
            .notes()
            .zip(&predictions.gold)
            .map(|(note, gold)| token_tags(note, gold, &tags))
            .collect();
        let learner = Learner::Searn(Searn {
            rate: config.rate,
            epochs: config.epochs,
            cut_off: config.cut_off,
            beta: config.beta,
            enough: config.enough,
            // The first view shows the members' predictions, not words.
            forgets_words: true,
            ..Searn::default()
        });
        let model = fit_columns(&learner, &columns, &gold, &tags, seed, &mut NoObserver)?;
        Ok(Self {
            on: FittedOn::of(predictions),
            decoder: Decoder::new(model),
        })
    }

    /// Returns the members that it was fitted on, in the order in which it takes their predictions.
    pub fn members(&self) -> &[String] {
        &self.on.members
    }

    /// Returns the bytes that [`StackedSearn::from_bytes`] reads.
    ///
    /// # Errors
    /// [`SavedError::Header`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, SavedError> {
        pack(KIND, &self.on, &self.decoder.model().to_bytes())
    }

    /// Reads a saved combiner, to run under the labels that it was fitted with.
    ///
    /// # Errors
    /// [`SavedError`].
    pub fn from_bytes(bytes: &[u8], labels: &LabelSet) -> Result<Self, SavedError> {
        let (on, weights): (FittedOn, _) = unpack(KIND, bytes)?;
        on.check(labels)?;
        let states = States::new(tag_set(labels)).map_err(|_| SavedError::Damaged)?;
        let model = Model::from_bytes(states, weights.to_vec()).map_err(|_| SavedError::Damaged)?;
        Ok(Self {
            on,
            decoder: Decoder::new(model),
        })
    }
}

impl Combine for StackedSearn {
    fn decide(&self, note: NoteView<'_>, predictions: &[&Annotations]) -> Vec<Decision> {
        let tags = self.decoder.model().states().tags();
        let member_tags: Vec<Vec<u16>> = predictions
            .iter()
            .map(|predictions| token_tags(note, predictions, tags))
            .collect();
        let windows = windows(&member_tags, self.on.members.len(), note.tokens.len(), WINDOW);
        let votes = NoteVotes::new(predictions);
        // The callback never ends the work early.
        let found = self
            .decoder
            .spans_in_windows(windows, || Ok(()))
            .unwrap_or_default();
        found
            .into_iter()
            .map(|(span, score)| {
                // The tags are in the order of the label set.
                let label = LabelId(span.label as u16);
                let span = note.tokens_span(span.first, span.last);
                votes.decision(span, label, &self.on.ranks, score)
            })
            .collect()
    }

    /// Counts a tag per member.
    fn token_bytes(&self) -> usize {
        self.on.members.len() * size_of::<u16>()
    }
}

/// Returns the members' tags for each token of a note: one row per token, one tag per member.
fn sequences(note: NoteView<'_>, predictions: &[&Annotations], tags: &TagSet) -> Vec<Vec<u16>> {
    let member_tags: Vec<Vec<u16>> = predictions
        .iter()
        .map(|predictions| token_tags(note, predictions, tags))
        .collect();
    part(&member_tags, 0..note.tokens.len())
}

/// Returns the rows of some tokens.
fn part(member_tags: &[Vec<u16>], tokens: Range<usize>) -> Vec<Vec<u16>> {
    tokens
        .map(|token| member_tags.iter().map(|tags| tags[token]).collect())
        .collect()
}

/// Returns the windows of a note of `count` tokens, `size` tokens each.
fn windows(
    member_tags: &[Vec<u16>],
    members: usize,
    count: usize,
    size: usize,
) -> impl Iterator<Item = Window> {
    let around = usize::from(AROUND.unsigned_abs());
    (0..count).step_by(size).map(move |start| {
        let end = (start + size).min(count);
        let tokens = start.saturating_sub(around)..(end + around).min(count);
        Window {
            columns: columns([part(member_tags, tokens.clone())], members),
            inner: start - tokens.start..end - tokens.start,
            // The model does not use words.
            words: vec![0; end - start],
            last: end == count,
        }
    })
}

/// Returns the features of notes. All members' tags of a token are one type, since most tokens are alike; so
/// are the trigrams around a token.
fn columns(notes: impl IntoIterator<Item = Vec<Vec<u16>>>, members: usize) -> Columns {
    let (mut tags, mut trigrams) = (Types::default(), Types::default());
    let mut ranges = Vec::new();
    let mut tokens = 0;
    for note in notes {
        for i in 0..note.len() {
            let around = [i.checked_sub(1), Some(i), Some(i + 1)].map(|at| at.and_then(|at| note.get(at)));
            tags.add(&note[i], |row| {
                let features = row.iter().zip(0u64..).take(members);
                features
                    .map(|(&tag, member)| feature(&[member, tag.into()]))
                    .collect()
            });
            let key: Vec<Option<Vec<u16>>> = around.iter().map(|row| row.cloned()).collect();
            trigrams.add(&key, |_| {
                let of = |member: usize| {
                    // Positions outside the note have a tag of their own.
                    let tag =
                        |row: Option<&Vec<u16>>| row.map_or(u64::from(u16::MAX), |row| row[member].into());
                    let [before, here, after] = around.map(tag);
                    feature(&[member as u64, before, here, after])
                };
                (0..members.min(note[i].len())).map(of).collect()
            });
        }
        ranges.push(tokens..tokens + note.len());
        tokens += note.len();
    }
    let view = |table: usize| move |shift: i8| View::new(table, shift);
    // Trigrams of the five tags: around the token itself and around its neighbours.
    let views = (-AROUND..=AROUND)
        .map(view(0))
        .chain((1 - AROUND..AROUND).map(view(1)));
    Columns {
        notes: ranges,
        tables: vec![tags.table(), trigrams.table()],
        views: views.collect(),
    }
}

/// Types in the order of their appearance, from 1; 0 is the outside of a note, which has no features.
struct Types<K> {
    known: HashMap<K, u32>,
    ends: Vec<u32>,
    features: Vec<u64>,
    ids: Vec<u32>,
}

impl<K> Default for Types<K> {
    fn default() -> Self {
        Self {
            known: HashMap::new(),
            ends: vec![0],
            features: Vec::new(),
            ids: Vec::new(),
        }
    }
}

impl<K: Hash + Eq + Clone> Types<K> {
    fn add(&mut self, key: &K, features: impl FnOnce(&K) -> Vec<u64>) {
        if let Some(&id) = self.known.get(key) {
            self.ids.push(id);
            return;
        }
        let id = self.ends.len() as u32;
        self.features.extend(features(key));
        self.ends.push(self.features.len() as u32);
        self.known.insert(key.clone(), id);
        self.ids.push(id);
    }

    fn table(self) -> Table {
        Table::new(self.ends, self.features, self.ids)
    }
}

/// Returns a feature's hash, well mixed (the finaliser of splitmix64) and never 0.
fn feature(parts: &[u64]) -> u64 {
    let mix = |x: u64| {
        let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    };
    let sum = parts.iter().fold(parts.len() as u64, |sum, &part| {
        mix(sum.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ part.wrapping_mul(0xd6e8_feb8_6659_fd93))
    });
    sum.max(1)
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use lethe_core::{Annotation, NoteBatch, Span};
    use proptest::prelude::*;

    use super::*;
    use crate::candidates::evaluate;
    use crate::invented::{best_member, invented};

    #[test]
    fn a_token_has_its_members_tags_within_two_tokens_and_their_trigrams() {
        let note = vec![vec![0, 1], vec![3, 1], vec![0, 1]];
        let columns = columns([note], 2);
        let features = |i: usize| -> Vec<Vec<u64>> {
            let view = |&view: &View| {
                let table = &columns.tables[view.table];
                table.of(columns.id(view, &(0..3), i), view.part).to_vec()
            };
            columns.views.iter().map(view).collect()
        };
        let tag = |a: u64, b: u64| vec![feature(&[0, a]), feature(&[1, b])];
        let outside = u64::from(u16::MAX);
        let gram = |a: [u64; 3], b: [u64; 3]| -> Vec<u64> {
            [(0, a), (1, b)]
                .iter()
                .map(|&(m, [x, y, z])| feature(&[m, x, y, z]))
                .collect()
        };
        assert_eq!(
            features(0),
            [
                vec![],
                vec![],
                tag(0, 1),
                tag(3, 1),
                tag(0, 1),
                vec![],
                gram([outside, 0, 3], [outside, 1, 1]),
                gram([0, 3, 0], [1, 1, 1]),
            ]
        );
        // The first and the last token have the same tags: one type, though their trigrams differ.
        assert_eq!((columns.tables[0].types(), columns.tables[1].types()), (3, 4));
    }

    #[test]
    fn where_members_err_apart_it_is_better_than_the_best_of_them_and_the_seed_decides_its_bytes() {
        let (fit, test) = invented(6, 120, &[0.10, 0.12, 0.14, 0.16, 0.18]);
        let config = StackedSearnConfig::default();
        let fitted = StackedSearn::fit(&fit, &config, 1).unwrap();
        let f1 = evaluate(&fitted, &test).f1();
        assert!(
            f1 > best_member(&test) + 0.03,
            "{f1} against {}",
            best_member(&test)
        );

        let bytes = fitted.to_bytes().unwrap();
        let again = StackedSearn::fit(&fit, &config, 1).unwrap().to_bytes().unwrap();
        assert!(bytes == again);
        let read = StackedSearn::from_bytes(&bytes, &test.labels).unwrap();
        assert!(read.to_bytes().unwrap() == bytes);
        for note in test.batch.notes() {
            let predictions = test.row(note.row);
            assert_eq!(read.decide(note, &predictions), fitted.decide(note, &predictions));
        }
        let other = LabelSet::meddocan();
        assert!(matches!(
            StackedSearn::from_bytes(&bytes, &other),
            Err(SavedError::Labels { .. })
        ));
        assert!(StackedSearn::from_bytes(&bytes[..bytes.len() - 9], &test.labels).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8))]
        #[test]
        fn a_note_read_in_windows_has_the_decisions_of_the_note_read_whole(
            predictions in proptest::collection::vec(proptest::collection::vec((0u32..40, 1u32..4, 0u16..3), 0..400), 3),
        ) {
            static FITTED: LazyLock<StackedSearn> = LazyLock::new(|| {
                let (fit, _) = invented(6, 60, &[0.1, 0.15, 0.2]);
                StackedSearn::fit(&fit, &StackedSearnConfig::default(), 1).unwrap()
            });
            // Words of two letters with a space between them; each annotation begins a few words after the
            // previous one.
            let text = "ab ".repeat(16_500);
            let annotations = |spans: &Vec<(u32, u32, u16)>| {
                let mut at = 0;
                let mut next = |&(gap, words, label): &(u32, u32, u16)| {
                    let start = at + gap;
                    at = start + words;
                    let span = Span::between(start * 3, at * 3 - 1);
                    Annotation { span, label: LabelId(label), score: 0.5, rule: "" }
                };
                Annotations::new(&text, spans.iter().map(&mut next).collect()).unwrap()
            };
            let predictions: Vec<Annotations> = predictions.iter().map(annotations).collect();
            let predictions: Vec<&Annotations> = predictions.iter().collect();
            let batch = NoteBatch::from_texts([text.as_str()]).unwrap();
            let note = batch.note(0);
            let tags = FITTED.decoder.model().states().tags();
            let whole: Vec<_> = FITTED.decoder.spans(&columns([sequences(note, &predictions, tags)], 3)).into_iter().flatten().collect();
            let members: Vec<Vec<u16>> = predictions.iter().map(|predictions| token_tags(note, predictions, tags)).collect();
            for size in [50, 173, 1000, 5000] {
                let windows = windows(&members, 3, note.tokens.len(), size);
                let found = FITTED.decoder.spans_in_windows(windows, || Ok(())).unwrap();
                prop_assert_eq!(&found, &whole, "windows of {} tokens", size);
            }
        }
    }
}
