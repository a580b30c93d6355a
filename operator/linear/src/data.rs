//! The training set: features by index, and each token's gold state.
//!
//! The separation by type in [`Columns`] is kept: a *slot* is a type seen through a view, its features are
//! stored once, and a token has one slot per view. Scores and gradients are computed per slot, never per
//! token and feature.

use std::ops::Range;

use crate::{Columns, States, salted};

/// A training set.
#[derive(Clone, Debug)]
pub struct Data {
    /// Each note's tokens, as a range of all tokens; none is empty.
    pub notes: Vec<Range<usize>>,
    /// Each token's gold state.
    pub gold: Vec<u8>,
    /// The number of views.
    pub views: usize,
    /// Each token's slots, one per view.
    pub slots: Vec<u32>,
    /// Each feature's hash, salted by its view, in ascending order.
    pub hashes: Vec<u64>,
    /// The number of tokens with each feature.
    pub counts: Vec<u32>,
    ends: Vec<u32>,
    features: Vec<u32>,
}

impl Data {
    /// Indexes the features of at least `cut_off` tokens. `gold` has the tags of each row's tokens.
    ///
    /// # Panics
    /// If `gold` and `columns` do not have the same rows and tokens.
    pub fn new(columns: &Columns, gold: &[Vec<u16>], states: &States, cut_off: u32) -> Self {
        Self::keeping(columns, gold, states, |_, count| count >= cut_off)
    }

    /// Indexes as [`Data::new`] does, but only the features for which `keep` holds, given their salted hash
    /// and number of tokens.
    pub(crate) fn keeping(
        columns: &Columns,
        gold: &[Vec<u16>],
        states: &States,
        keep: impl Fn(u64, u32) -> bool,
    ) -> Self {
        assert_eq!(columns.notes.len(), gold.len(), "gold has one entry per row");
        let views = columns.views.len();
        let tokens = columns.tokens();
        // One slot for each type that some token has in the view.
        let mut slot_of: Vec<Vec<u32>> = columns
            .views
            .iter()
            .map(|view| vec![u32::MAX; columns.tables[view.table].types()])
            .collect();
        let mut slots = Vec::with_capacity(tokens * views);
        let mut owners: Vec<(usize, u32)> = Vec::new();
        let mut uses: Vec<u32> = Vec::new();
        let mut states_of = Vec::with_capacity(tokens);
        let mut notes = Vec::new();
        for (note, tags) in columns.notes.iter().zip(gold) {
            assert_eq!(note.len(), tags.len(), "gold has one tag per token");
            if note.is_empty() {
                continue;
            }
            let first = states_of.len();
            states_of.extend(tags.iter().map(|&tag| states.of(tag)));
            notes.push(first..states_of.len());
            for i in 0..note.len() {
                for (v, &view) in columns.views.iter().enumerate() {
                    let id = columns.id(view, note, i);
                    let slot = &mut slot_of[v][id as usize];
                    if *slot == u32::MAX {
                        *slot = owners.len() as u32;
                        owners.push((v, id));
                        uses.push(0);
                    }
                    uses[*slot as usize] += 1;
                    slots.push(*slot);
                }
            }
        }
        let mut pairs: Vec<(u64, u32)> = Vec::new();
        for (slot, &(v, id)) in owners.iter().enumerate() {
            let table = &columns.tables[columns.views[v].table];
            // 0 marks the absence of a feature.
            let features = table.of(id, columns.views[v].part).iter().filter(|&&f| f != 0);
            pairs.extend(features.map(|&f| (salted(f, v), slot as u32)));
        }
        pairs.sort_unstable();
        let (mut hashes, mut counts) = (Vec::new(), Vec::new());
        let mut lengths = vec![0u32; owners.len()];
        let mut kept: Vec<(u32, u32)> = Vec::with_capacity(pairs.len());
        for group in pairs.chunk_by(|a, b| a.0 == b.0) {
            let count: u32 = group.iter().map(|&(_, slot)| uses[slot as usize]).sum();
            if !keep(group[0].0, count) {
                continue;
            }
            for &(_, slot) in group {
                lengths[slot as usize] += 1;
                kept.push((slot, hashes.len() as u32));
            }
            hashes.push(group[0].0);
            counts.push(count);
        }
        kept.sort_unstable();
        let ends = lengths
            .iter()
            .scan(0, |end, length| {
                *end += length;
                Some(*end)
            })
            .collect();
        Self {
            notes,
            gold: states_of,
            views,
            slots,
            hashes,
            counts,
            ends,
            features: kept.into_iter().map(|(_, feature)| feature).collect(),
        }
    }

    /// Returns the number of tokens.
    pub fn tokens(&self) -> usize {
        self.gold.len()
    }

    /// Returns the number of slots.
    pub fn slot_count(&self) -> usize {
        self.ends.len()
    }

    /// Returns a slot's features.
    pub fn of(&self, slot: usize) -> &[u32] {
        let start = if slot == 0 {
            0
        } else {
            self.ends[slot - 1] as usize
        };
        &self.features[start..self.ends[slot] as usize]
    }

    /// Returns a token's slots, one per view.
    pub fn slots_of(&self, token: usize) -> &[u32] {
        &self.slots[token * self.views..(token + 1) * self.views]
    }

    /// Returns a token's features in all views.
    pub fn features_of(&self, token: usize) -> impl Iterator<Item = u32> + '_ {
        self.slots_of(token)
            .iter()
            .flat_map(|&slot| self.of(slot as usize).iter().copied())
    }

    /// Returns the notes split into stretches of about `length` tokens, each beginning and ending outside
    /// every span: the units of learners that update after one stretch at a time. A stretch begins at its
    /// note's start or after another stretch.
    pub fn stretches(&self, length: usize) -> Vec<Range<usize>> {
        let mut stretches = Vec::new();
        for note in &self.notes {
            let mut start = note.start;
            for i in note.clone() {
                let outside = self.gold[i] == 0 && (i + 1 < note.end && self.gold[i + 1] == 0);
                if outside && i + 1 - start >= length {
                    stretches.push(start..i + 1);
                    start = i + 1;
                }
            }
            if start < note.end {
                stretches.push(start..note.end);
            }
        }
        stretches
    }

    /// Returns the gold state before a token; `None` at a note's start.
    pub(crate) fn before(&self, token: usize) -> Option<u8> {
        let starts = self.notes.binary_search_by_key(&token, |note| note.start).is_ok();
        (!starts).then(|| self.gold[token - 1])
    }

    /// Returns the tokens of each slot, so that gradients are summed slot by slot.
    pub(crate) fn tokens_by_slot(&self) -> BySlot {
        let mut ends = vec![0u32; self.slot_count() + 1];
        for &slot in &self.slots {
            ends[slot as usize + 1] += 1;
        }
        for i in 1..ends.len() {
            ends[i] += ends[i - 1];
        }
        let mut next = ends.clone();
        let mut tokens = vec![0u32; self.slots.len()];
        for (token, slots) in self.slots.chunks_exact(self.views.max(1)).enumerate() {
            for &slot in slots {
                let place = &mut next[slot as usize];
                tokens[*place as usize] = token as u32;
                *place += 1;
            }
        }
        BySlot { starts: ends, tokens }
    }
}

/// The tokens of each slot in ascending order.
pub(crate) struct BySlot {
    starts: Vec<u32>,
    tokens: Vec<u32>,
}

impl BySlot {
    pub(crate) fn of(&self, slot: usize) -> &[u32] {
        &self.tokens[self.starts[slot] as usize..self.starts[slot + 1] as usize]
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use lethe_learn::{Scheme, TagSet};
    use rand::{Rng as _, SeedableRng as _};

    use super::*;
    use crate::{Table, View};

    /// Returns a set of random notes in which a token's gold state correlates with its features; `labels`
    /// labels, BIO.
    pub(crate) fn invented(seed: u64, notes: usize, labels: usize) -> (Columns, Vec<Vec<u16>>, States) {
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
        let names = (0..labels).map(|i| format!("L{i}")).collect();
        let states = States::new(TagSet::new(Scheme::Bio, names)).unwrap();
        let types = 12 * (labels + 1);
        let (mut ends, mut features) = (vec![1u32], vec![77u64]);
        for id in 1..=types as u64 {
            features.extend([id * 1000, 50 + id % 7, 90 + id % (labels as u64 + 1)]);
            ends.push(features.len() as u32);
        }
        let (mut ids, mut ranges, mut gold) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..notes {
            let start = ids.len();
            let mut tags: Vec<u16> = Vec::new();
            for _ in 0..random.random_range(1..30) {
                let id = random.random_range(1..=types as u32);
                let mut label = id as u16 % (labels as u16 + 1);
                if random.random_range(0..10) == 0 {
                    label = random.random_range(0..=labels as u16);
                }
                let before = tags.last().copied().unwrap_or(0);
                let tag = match label {
                    0 => 0,
                    label if before.div_ceil(2) == label => 2 * label,
                    label => 2 * label - 1,
                };
                tags.push(tag);
                ids.push(id);
            }
            ranges.push(start..ids.len());
            gold.push(tags);
        }
        let columns = Columns {
            notes: ranges,
            tables: vec![Table {
                ends,
                features,
                ids,
                ..Table::default()
            }],
            views: [0, -1, 1].map(|shift| View::new(0, shift)).to_vec(),
        };
        (columns, gold, states)
    }

    #[test]
    fn a_tokens_features_are_those_of_its_types_in_every_view_less_the_rare_ones() {
        let (columns, gold, states) = invented(3, 8, 2);
        let all = Data::new(&columns, &gold, &states, 1);
        let some = Data::new(&columns, &gold, &states, 5);
        let mut counts = std::collections::BTreeMap::<u64, u32>::new();
        let expected: Vec<Vec<u64>> = columns
            .notes
            .iter()
            .flat_map(|note| (0..note.len()).map(move |i| (note, i)))
            .map(|(note, i)| {
                let views = columns.views.iter().enumerate();
                let mut hashes: Vec<u64> = views
                    .flat_map(|(v, &view)| {
                        let types = &columns.tables[view.table];
                        types
                            .of(columns.id(view, note, i), view.part)
                            .iter()
                            .map(move |&f| salted(f, v))
                    })
                    .collect();
                hashes.sort_unstable();
                hashes
            })
            .collect();
        for &hash in expected.iter().flatten() {
            *counts.entry(hash).or_default() += 1;
        }
        for (token, expected) in expected.into_iter().enumerate() {
            let read = |data: &Data| {
                let mut hashes: Vec<u64> = data.features_of(token).map(|f| data.hashes[f as usize]).collect();
                hashes.sort_unstable();
                hashes
            };
            assert_eq!(read(&all), expected);
            let frequent: Vec<u64> = expected.into_iter().filter(|hash| counts[hash] >= 5).collect();
            assert_eq!(read(&some), frequent);
        }
        assert!(some.counts.iter().all(|&count| count >= 5));
        assert!(some.hashes.len() < all.hashes.len());
    }

    #[test]
    fn stretches_cover_every_token_once_and_cut_no_span() {
        let (columns, gold, states) = invented(4, 20, 2);
        let data = Data::new(&columns, &gold, &states, 1);
        let stretches = data.stretches(4);
        let covered: Vec<usize> = stretches.iter().cloned().flatten().collect();
        assert_eq!(covered, (0..data.tokens()).collect::<Vec<_>>());
        assert!(stretches.len() > data.notes.len());
        for stretch in stretches {
            assert!(states.may_follow(None, data.gold[stretch.start] as usize));
        }
    }
}
