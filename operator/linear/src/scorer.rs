//! A batch's scores under a model: each type's weights are added up once, a token's scores are the sum of a row a view.
//!
//! What costs time is memory, not sums: so rows are kept from batch to batch, a type's rows are found by one look-up for all
//! views of its table, and while one token's rows are added the next one's are read.

use std::hint::black_box;
use std::ops::Range;
use std::sync::Arc;

use crate::model::Model;
use crate::{Columns, salted};

/// Types that are remembered between batches at most: a few MB of rows, and most words of most batches.
const MOST_TYPES: usize = 1 << 16;

/// What stands for the row that is all zeros, which is never added.
const ZERO: u32 = 0;

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

    /// Reads where a key would be, so that it is at hand when it is looked up a little later.
    fn touch(&self, key: u64) {
        let at = (key >> 32) as usize & (self.keys.len() - 1);
        black_box((self.keys[at], self.at[at]));
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
        let start = self.rows.len();
        self.rows.resize(start + width, 0);
        let row = &mut self.rows[start..];
        // 0 stands for no feature. All are read before one is waited for.
        self.hashes.clear();
        let mut marks = 0;
        for &feature in features.iter().filter(|&&feature| feature != 0) {
            let hash = salted(feature, view);
            marks ^= model.touch(hash);
            self.hashes.push(hash);
        }
        black_box(marks);
        for &hash in &self.hashes {
            let place = model.locate(hash);
            if place != 0 {
                model.add(place, row);
            }
        }
        if row.iter().all(|&score| score == 0) {
            self.rows.truncate(start);
            return ZERO;
        }
        (start / width) as u32
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
            let keys: Vec<u64> = (0..table.types() as u32)
                .map(|id| key_of(number, table.of(id)))
                .collect();
            for (id, &key) in keys.iter().enumerate() {
                if let Some(&soon) = keys.get(id + 8) {
                    cache.touch(soon);
                }
                cache.find(key, model, table.of(id as u32), &views, &mut rows);
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
        let mut sum = [0i16; 256];
        let sum = &mut sum[..width];
        // Three tokens in hand: of the one after next the hashes, of the next the places of its weights, of this one the sum.
        let mut hands = [Ahead::default(), Ahead::default(), Ahead::default()];
        for i in 0..note.len() + 2 {
            let [now, next, after] = &mut hands;
            if i < note.len() {
                self.hash(model, note, i, after);
            }
            if (1..=note.len()).contains(&i) {
                self.locate(model, cache, note, i - 1, next);
            }
            if let Some(t) = i.checked_sub(2) {
                let row = &mut scores[t * width..][..width];
                sum.fill(0);
                for &row in &now.rows {
                    let from = &cache.rows[row as usize * width..][..width];
                    for (s, r) in sum.iter_mut().zip(from) {
                        *s = s.saturating_add(*r);
                    }
                }
                for &place in &now.places {
                    model.add(place, sum);
                }
                for (score, &whole) in row.iter_mut().zip(&*sum) {
                    *score = f32::from(whole) * model.scale();
                }
            }
            hands.rotate_left(1);
        }
    }

    /// Hashes the features of a token that are looked up, and reads where each would be.
    fn hash(&self, model: &Model, note: &Range<usize>, i: usize, ahead: &mut Ahead) {
        ahead.hashes.clear();
        let mut marks = 0;
        for view in &self.single {
            let id = id_at(&view.table.ids, note, i, view.shift);
            for &feature in view.table.of(id).iter().filter(|&&feature| feature != 0) {
                let hash = salted(feature, view.view);
                marks ^= model.touch(hash);
                ahead.hashes.push(hash);
            }
        }
        black_box(marks);
    }

    /// Finds a token's rows and the weights of its hashed features, and reads a little of each.
    fn locate(&self, model: &Model, cache: &Cache, note: &Range<usize>, i: usize, ahead: &mut Ahead) {
        let width = model.states().width();
        ahead.rows.clear();
        ahead.places.clear();
        let (mut touched, mut states) = (0, 0);
        for view in &self.recurring {
            let id = id_at(view.ids, note, i, view.shift) as usize;
            let row = view.rows[id * view.stride + view.nth];
            if row != ZERO {
                let from = &cache.rows[row as usize * width..][..width];
                touched ^= from[0] ^ from[width - 1];
                ahead.rows.push(row);
            }
        }
        for &hash in &ahead.hashes {
            let place = model.locate(hash);
            if place != 0 {
                states ^= model.touch_place(place);
                ahead.places.push(place);
            }
        }
        black_box((touched, states));
    }
}

#[inline]
fn id_at(ids: &[u32], note: &Range<usize>, i: usize, shift: isize) -> u32 {
    let at = (note.start + i).wrapping_add_signed(shift);
    if note.contains(&at) { ids[at] } else { 0 }
}

/// A type's features as one number, never 0. Types of the same table and features share rows; that others do is as likely as
/// a fault of the memory.
fn key_of(table: usize, features: &[u64]) -> u64 {
    let key = features.iter().fold(table as u64 + 1, |key, &feature| {
        (key ^ feature)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29)
    });
    salted(key, table)
}
