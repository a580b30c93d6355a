//! A batch's scores under a model: each type's weights are summed once, and a token's scores are the sum of
//! one row per view.
//!
//! Memory accesses dominate the time, not sums: so rows are cached between batches, one look-up finds a
//! type's rows for all views of its table, and the next token's rows are prefetched while one token's rows
//! are added.

mod cache;

use std::ops::Range;
use std::sync::Arc;

pub(crate) use cache::Cache;
use cache::ZERO;
use lethe_core::vec_bytes;

use crate::kernel::{self, Rows};
use crate::model::{Lookup, Model, Place};
use crate::{Columns, Table, View, salted};

/// Tokens in progress at once while a note is scored, and types while their rows are computed.
const HANDS: usize = 5;

/// The sources of a token's scores.
pub(crate) struct Plan<'c> {
    recurring: Vec<Recurring<'c>>,
    single: Vec<Single<'c>>,
    /// The largest shift of a view.
    reach: usize,
}

/// A view with recurring types, each of which has a row.
struct Recurring<'c> {
    ids: &'c [u32],
    shift: isize,
    /// The rows of the table's types, `stride` each; this view's is the `nth`.
    rows: Arc<Vec<u32>>,
    stride: usize,
    nth: usize,
}

/// A view in which nearly every token has its own type: its features are looked up directly.
struct Single<'c> {
    table: &'c Table,
    part: u8,
    shift: isize,
    view: usize,
}

/// The pending rows of a token or a type, and its features to look up, first by hash, then by the position of
/// their weights. Each is prefetched one step before it is read, so that the read does not stall.
#[derive(Default)]
struct Ahead {
    rows: Vec<u32>,
    hashes: Vec<u64>,
    places: Vec<Place>,
    dense: Vec<u32>,
}

impl Ahead {
    /// Returns the bytes of memory that it takes.
    fn bytes(&self) -> usize {
        let numbers = vec_bytes(&self.rows) + vec_bytes(&self.dense);
        numbers + vec_bytes(&self.hashes) + vec_bytes(&self.places)
    }

    /// Appends the hashes of a type's features, and prefetches the part of the filter for each.
    fn hash(&mut self, weights: &Lookup, features: &[u64], view: usize) {
        // 0 marks the absence of a feature.
        let features = features.iter().filter(|&&feature| feature != 0);
        self.hashes.extend(features.map(|&feature| {
            let hash = salted(feature, view);
            weights.fetch_filter(hash);
            hash
        }));
    }

    /// Keeps the hashes of features that the model may have, and prefetches their slots.
    fn keep(&mut self, weights: &Lookup) {
        let mut used = 0;
        for i in 0..self.hashes.len() {
            let hash = self.hashes[i];
            self.hashes[used] = hash;
            // There is no branch, because the features that the model has are unpredictable.
            used += usize::from(weights.may_have(hash));
        }
        self.hashes.truncate(used);
        for &hash in &self.hashes {
            weights.fetch(hash);
        }
    }

    /// Locates the weights of those hashes that the model has, and prefetches them.
    fn locate(&mut self, weights: &Lookup) {
        self.places.clear();
        self.dense.clear();
        for &hash in &self.hashes {
            let place = weights.locate(hash);
            weights.fetch_weights(place);
            match place.row() {
                Some(row) => self.dense.push(row),
                None => self.places.push(place),
            }
        }
    }

    /// Adds up the located weights, and the found rows of `rows`.
    fn add(&self, weights: &Lookup, rows: &[i16], sums: &mut [i16]) {
        let sparse = &mut [0i32; 256][..sums.len()];
        weights.add(&self.places, sparse);
        let rows = Rows {
            all: rows,
            which: &self.rows,
        };
        let dense = Rows {
            all: weights.rows(),
            which: &self.dense,
        };
        kernel::sum_rows([rows, dense], sparse, sums);
    }
}

impl<'c> Plan<'c> {
    /// Finds or computes the rows of all types of a batch.
    pub(crate) fn new(model: &Model, columns: &'c Columns, cache: &mut Cache) -> Self {
        cache.begin(model.states().width());
        let tokens = columns.tokens();
        let (mut recurring, mut single) = (Vec::new(), Vec::new());
        for (number, table) in columns.tables.iter().enumerate() {
            let views: Vec<(usize, View)> = (columns.views.iter().copied().enumerate())
                .filter(|(_, view)| view.table == number)
                .collect();
            if table.types() > 64 + tokens / 2 {
                single.extend(views.iter().map(|&(view, View { part, shift, .. })| Single {
                    table,
                    part,
                    shift: shift.into(),
                    view,
                }));
                continue;
            }
            let parts: Vec<(usize, u8)> = views.iter().map(|&(view, read)| (view, read.part)).collect();
            let rows = Arc::new(cache.rows_of(model.lookup(), table, number, &parts));
            recurring.extend(views.iter().enumerate().map(|(nth, (_, view))| Recurring {
                ids: &table.ids,
                shift: view.shift.into(),
                rows: Arc::clone(&rows),
                stride: views.len(),
                nth,
            }));
        }
        let shifts = columns.views.iter().map(|view| view.shift.unsigned_abs());
        Self {
            recurring,
            single,
            reach: shifts.max().unwrap_or(0).into(),
        }
    }

    /// Computes the scores of a note's tokens, one row per token. `cache` must be the one that the plan was
    /// made with.
    pub(crate) fn scores(
        &self,
        model: &Model,
        cache: &mut Cache,
        note: &Range<usize>,
        scores: &mut Vec<f32>,
    ) {
        self.scores_of(model, cache, note, note.clone(), scores);
    }

    /// Computes the same for some of the note's tokens, all of which are in view.
    pub(crate) fn scores_of(
        &self,
        model: &Model,
        cache: &mut Cache,
        note: &Range<usize>,
        part: Range<usize>,
        scores: &mut Vec<f32>,
    ) {
        let width = model.states().width();
        scores.clear();
        scores.resize(part.len() * width, 0.0);
        let sums = &mut [0i16; 256][..width];
        let (weights, Cache { hands, rows, .. }) = (model.lookup(), cache);
        for i in 0..part.len() + HANDS - 1 {
            if i < part.len() {
                let newest = &mut hands[i % HANDS];
                newest.hashes.clear();
                for view in &self.single {
                    let id = id_at(&view.table.ids, note, part.start + i, view.shift);
                    newest.hash(weights, view.table.of(id, view.part), view.view);
                }
            }
            if let Some(t) = i.checked_sub(1).filter(|&t| t < part.len()) {
                hands[t % HANDS].keep(weights);
            }
            if let Some(t) = i.checked_sub(2).filter(|&t| t < part.len()) {
                let next = &mut hands[t % HANDS];
                self.find_rows(rows, width, note, part.start + t, &mut next.rows);
                next.locate(weights);
            }
            if let Some(t) = i.checked_sub(HANDS - 1) {
                hands[t % HANDS].add(weights, rows, sums);
                for (score, &sum) in scores[t * width..][..width].iter_mut().zip(&*sums) {
                    *score = f32::from(sum) * model.scale();
                }
            }
        }
    }

    /// Finds a token's rows and prefetches them.
    fn find_rows(&self, rows: &[i16], width: usize, note: &Range<usize>, token: usize, found: &mut Vec<u32>) {
        found.clear();
        found.resize(self.recurring.len(), ZERO);
        let mut used = 0;
        let mut add = |view: &Recurring<'_>, id: u32| {
            let row = view.rows[id as usize * view.stride + view.nth];
            // There is no branch, because the views with a row are unpredictable.
            found[used] = row;
            used += usize::from(row != ZERO);
        };
        if note.start + self.reach <= token && token + self.reach < note.end {
            for view in &self.recurring {
                add(view, view.ids[token.wrapping_add_signed(view.shift)]);
            }
        } else {
            for view in &self.recurring {
                add(view, id_at(view.ids, note, token, view.shift));
            }
        }
        found.truncate(used);
        for &row in &*found {
            kernel::fetch(&rows[row as usize * width..][..width]);
        }
    }
}

#[inline]
fn id_at(ids: &[u32], note: &Range<usize>, token: usize, shift: isize) -> u32 {
    let at = token.wrapping_add_signed(shift);
    if note.contains(&at) { ids[at] } else { 0 }
}
