//! A batch's scores under a model: each type's weights are added up once, a token's scores are the sum of a row a view.
//!
//! What costs time is memory, not sums: so rows are kept from batch to batch, a type's rows are found by one look-up for all
//! views of its table, and while one token's rows are added the next one's are read.

use std::ops::Range;
use std::sync::Arc;

use crate::model::Model;
use crate::{Columns, kernel, salted};

/// Types that are remembered between batches at most: a few MB of rows, and most words of most batches.
const MOST_TYPES: usize = 1 << 16;

/// What stands for the row that is all zeros, which is never added.
const ZERO: u32 = 0;

/// Tokens in hand at once while a note is scored.
const HANDS: usize = 4;

/// Rows of types, by what their features are: kept from batch to batch, since the same words come again.
#[derive(Default)]
pub(crate) struct Cache {
    /// Keys by hash, 0 where free.
    keys: Vec<u64>,
    /// Where each key's rows are listed.
    at: Vec<u32>,
    /// For each type one row a view of its table.
    lists: Vec<u32>,
    /// Rows, one after another; row 0 is all zeros.
    rows: Vec<i16>,
    used: usize,
    hashes: Vec<u64>,
    places: Vec<u32>,
}

impl Cache {
    fn begin(&mut self, width: usize) {
        if self.keys.is_empty() || self.used > MOST_TYPES {
            self.keys = vec![0; 4 * MOST_TYPES];
            self.at = vec![0; 4 * MOST_TYPES];
            self.lists.clear();
            self.rows = vec![0; width];
            self.used = 0;
        }
    }

    /// Asks for where a key would be, so that it is at hand when it is looked up a little later.
    fn fetch(&self, key: u64) {
        let at = (key >> 32) as usize & (self.keys.len() - 1);
        kernel::fetch(&self.keys[at..=at]);
        kernel::fetch(&self.at[at..=at]);
    }

    /// Appends a type's rows under each of the views to `list`.
    fn find(&mut self, key: u64, model: &Model, features: &[u64], views: &[usize], list: &mut Vec<u32>) {
        let mask = self.keys.len() - 1;
        let mut at = (key >> 32) as usize & mask;
        while self.keys[at] != 0 {
            if self.keys[at] == key {
                let start = self.at[at] as usize;
                list.extend_from_slice(&self.lists[start..start + views.len()]);
                return;
            }
            at = (at + 1) & mask;
        }
        let first = list.len();
        for &view in views {
            list.push(self.make(model, features, view));
        }
        // A batch of very many types: the table stays at most half full, the rest is made anew each time.
        if self.used < self.keys.len() / 2 {
            self.used += 1;
            self.keys[at] = key;
            self.at[at] = self.lists.len() as u32;
            self.lists.extend_from_slice(&list[first..]);
        }
    }

    fn make(&mut self, model: &Model, features: &[u64], view: usize) -> u32 {
        let width = model.states().width();
        let sum = &mut [0i32; 256][..width];
        self.hashes.clear();
        known(model, features, view, &mut self.hashes);
        self.places.clear();
        located(model, &self.hashes, &mut self.places);
        for &place in &self.places {
            model.add(place, sum);
        }
        if sum.iter().all(|&score| score == 0) {
            return ZERO;
        }
        let row = (self.rows.len() / width) as u32;
        self.rows.extend(sum.iter().map(|&sum| kernel::narrow(sum)));
        row
    }
}

/// Where a token's scores come from.
pub(crate) struct Plan<'c> {
    recurring: Vec<Recurring<'c>>,
    single: Vec<Single<'c>>,
}

/// A view of types that recur: each has a row.
struct Recurring<'c> {
    ids: &'c [u32],
    shift: isize,
    /// Rows of the table's types, `stride` each; this view's is the `nth`.
    rows: Arc<Vec<u32>>,
    stride: usize,
    nth: usize,
}

/// A view in which nearly every token is a type of its own: its features are looked up at once.
struct Single<'c> {
    table: &'c crate::Table,
    shift: isize,
    view: usize,
}

/// One token's rows, and its features that are looked up: first by hash, then where their weights lie.
#[derive(Default)]
struct Ahead {
    rows: Vec<u32>,
    hashes: Vec<u64>,
    places: Vec<u32>,
}

impl<'c> Plan<'c> {
    /// Finds or makes the rows of all types of a batch.
    pub(crate) fn new(model: &Model, columns: &'c Columns, cache: &mut Cache) -> Self {
        cache.begin(model.states().width());
        let tokens = columns.tokens();
        let (mut recurring, mut single) = (Vec::new(), Vec::new());
        for (number, table) in columns.tables.iter().enumerate() {
            let views: Vec<usize> = (0..columns.views.len())
                .filter(|&view| columns.views[view].table == number)
                .collect();
            let shift = |view: usize| isize::from(columns.views[view].shift);
            if table.types() > 64 + tokens / 2 {
                single.extend(views.iter().map(|&view| Single {
                    table,
                    shift: shift(view),
                    view,
                }));
                continue;
            }
            let mut rows = Vec::with_capacity(table.types() * views.len());
            let keys = table.keys();
            for (id, &key) in keys.iter().enumerate() {
                if let Some(&soon) = keys.get(id + 8) {
                    cache.fetch(salted(soon, number));
                }
                cache.find(salted(key, number), model, table.of(id as u32), &views, &mut rows);
            }
            let rows = Arc::new(rows);
            recurring.extend(views.iter().enumerate().map(|(nth, &view)| Recurring {
                ids: &table.ids,
                shift: shift(view),
                rows: Arc::clone(&rows),
                stride: views.len(),
                nth,
            }));
        }
        Self { recurring, single }
    }

    /// The scores of a note's tokens, a row a token. `cache` is the one that the plan was made with.
    pub(crate) fn scores(&self, model: &Model, cache: &Cache, note: &Range<usize>, scores: &mut Vec<f32>) {
        let width = model.states().width();
        scores.clear();
        scores.resize(note.len() * width, 0.0);
        let sum = &mut [0i32; 256][..width];
        // A few tokens in hand: of the newest the hashes, of the one before the places of its weights, of the oldest the sum.
        let mut hands: [Ahead; HANDS] = Default::default();
        for i in 0..note.len() + HANDS - 1 {
            if i < note.len() {
                self.hash(model, note, i, &mut hands[i % HANDS]);
            }
            if let Some(t) = i.checked_sub(1).filter(|&t| t < note.len()) {
                self.locate(model, cache, note, t, &mut hands[t % HANDS]);
            }
            if let Some(t) = i.checked_sub(HANDS - 1) {
                let now = &hands[t % HANDS];
                sum.fill(0);
                for &place in &now.places {
                    model.add(place, sum);
                }
                let out = &mut scores[t * width..][..width];
                kernel::add_rows(&cache.rows, width, &now.rows, sum, model.scale(), out);
            }
        }
    }

    /// Hashes the features of a token that are looked up, and asks for where each would be.
    fn hash(&self, model: &Model, note: &Range<usize>, i: usize, ahead: &mut Ahead) {
        ahead.hashes.clear();
        for view in &self.single {
            let id = id_at(&view.table.ids, note, i, view.shift);
            known(model, view.table.of(id), view.view, &mut ahead.hashes);
        }
    }

    /// Finds a token's rows and the weights of its hashed features, and asks for them.
    fn locate(&self, model: &Model, cache: &Cache, note: &Range<usize>, i: usize, ahead: &mut Ahead) {
        let width = model.states().width();
        ahead.rows.clear();
        ahead.rows.resize(self.recurring.len(), ZERO);
        let mut used = 0;
        for view in &self.recurring {
            let id = id_at(view.ids, note, i, view.shift) as usize;
            let row = view.rows[id * view.stride + view.nth];
            // No branch: which views have a row is as good as random.
            ahead.rows[used] = row;
            used += usize::from(row != ZERO);
        }
        ahead.rows.truncate(used);
        for &row in &ahead.rows {
            kernel::fetch(&cache.rows[row as usize * width..][..width]);
        }
        ahead.places.clear();
        located(model, &ahead.hashes, &mut ahead.places);
    }
}

/// Appends the hashes of those of a type's features that the model may have, and asks for where each would be.
fn known(model: &Model, features: &[u64], view: usize, hashes: &mut Vec<u64>) {
    let first = hashes.len();
    hashes.resize(first + features.len(), 0);
    let mut used = first;
    for &feature in features {
        let hash = salted(feature, view);
        hashes[used] = hash;
        // 0 stands for no feature. No branch: which the model has is as good as random.
        used += usize::from((feature != 0) & model.may_have(hash));
    }
    hashes.truncate(used);
    for &hash in &hashes[first..] {
        model.fetch(hash);
    }
}

/// Appends the places of those of the hashes that the model has, and asks for their weights.
fn located(model: &Model, hashes: &[u64], places: &mut Vec<u32>) {
    for &hash in hashes {
        let place = model.locate(hash);
        if place != 0 {
            model.fetch_place(place);
            places.push(place);
        }
    }
}

#[inline]
fn id_at(ids: &[u32], note: &Range<usize>, i: usize, shift: isize) -> u32 {
    let at = (note.start + i).wrapping_add_signed(shift);
    if note.contains(&at) { ids[at] } else { 0 }
}
