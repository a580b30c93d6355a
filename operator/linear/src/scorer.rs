//! A batch's scores under a model: each type's weights are added up once, a token's scores are the sum of a row a view.

use std::ops::Range;

use crate::model::Model;
use crate::{Columns, kernel, salted};

/// Rows that are kept between batches at most: a few MB, and most words of most batches.
const MOST_ROWS: usize = 1 << 16;

/// What stands for the row that is all zeros, which is never added.
const ZERO: u32 = 0;

/// Rows of types, by what their features are: kept from batch to batch, since the same words come again.
#[derive(Default)]
pub(crate) struct Cache {
    /// Keys by hash, 0 where free.
    keys: Vec<u64>,
    /// The row of each key.
    at: Vec<u32>,
    /// Rows, one after another; row 0 is all zeros.
    rows: Vec<i16>,
    used: usize,
}

/// Where a token's scores come from, view by view.
pub(crate) struct Plan<'c> {
    views: Vec<Source<'c>>,
}

enum Source<'c> {
    /// Types recur: each has a row.
    Rows {
        ids: &'c [u32],
        shift: isize,
        row_of: Vec<u32>,
    },
    /// Nearly every token is a type of its own: its features are looked up at once.
    Features {
        table: &'c crate::Table,
        shift: isize,
        view: usize,
    },
}

impl Cache {
    fn begin(&mut self, width: usize) {
        if self.keys.is_empty() || self.used > MOST_ROWS {
            self.keys = vec![0; 4 * MOST_ROWS];
            self.at = vec![ZERO; 4 * MOST_ROWS];
            self.rows = vec![0; width];
            self.used = 0;
        }
    }

    /// The row of a key; made if it is not there.
    fn row(&mut self, key: u64, width: usize, make: impl FnOnce(&mut [i16])) -> u32 {
        let mask = self.keys.len() - 1;
        let mut at = (key >> 32) as usize & mask;
        while self.keys[at] != 0 {
            if self.keys[at] == key {
                return self.at[at];
            }
            at = (at + 1) & mask;
        }
        let start = self.rows.len();
        self.rows.resize(start + width, 0);
        let row = &mut self.rows[start..];
        make(row);
        let row = if row.iter().all(|&score| score == 0) {
            self.rows.truncate(start);
            ZERO
        } else {
            (start / width) as u32
        };
        // A batch of very many types: the table stays at most half full, the rest is made anew each time.
        if self.used < self.keys.len() / 2 {
            self.used += 1;
            self.keys[at] = key;
            self.at[at] = row;
        }
        row
    }
}

impl<'c> Plan<'c> {
    /// Finds or makes the rows of all types of a batch.
    pub(crate) fn new(model: &Model, columns: &'c Columns, cache: &mut Cache) -> Self {
        let width = model.states().width();
        cache.begin(width);
        let tokens = columns.tokens();
        let recurring: Vec<bool> = columns
            .tables
            .iter()
            .map(|table| table.types() <= 64 + tokens / 2)
            .collect();
        let keys: Vec<Vec<u64>> = columns
            .tables
            .iter()
            .zip(&recurring)
            .map(|(table, &recurring)| {
                let types = if recurring { table.types() } else { 0 };
                (0..types as u32).map(|id| key_of(table.of(id))).collect()
            })
            .collect();
        let source = |(v, view): (usize, &crate::View)| {
            let table = &columns.tables[view.table];
            let shift = isize::from(view.shift);
            if !recurring[view.table] {
                return Source::Features {
                    table,
                    shift,
                    view: v,
                };
            }
            let row_of = keys[view.table].iter().enumerate().map(|(id, &key)| {
                cache.row(salted(key, v), width, |row| {
                    add_features(model, table.of(id as u32), v, row);
                })
            });
            Source::Rows {
                ids: &table.ids,
                shift,
                row_of: row_of.collect(),
            }
        };
        Self {
            views: columns.views.iter().enumerate().map(source).collect(),
        }
    }

    /// The scores of a note's tokens, a row a token. `cache` is the one that the plan was made with.
    pub(crate) fn scores(&self, model: &Model, cache: &Cache, note: &Range<usize>, scores: &mut Vec<f32>) {
        let width = model.states().width();
        scores.clear();
        scores.resize(note.len() * width, 0.0);
        let mut sum = [0i16; 256];
        let sum = &mut sum[..width];
        for (i, row) in scores.chunks_exact_mut(width).enumerate() {
            sum.fill(0);
            for source in &self.views {
                match source {
                    Source::Rows { ids, shift, row_of } => {
                        let row = row_of[id_at(ids, note, i, *shift) as usize];
                        if row != ZERO {
                            let from = &cache.rows[row as usize * width..][..width];
                            for (s, r) in sum.iter_mut().zip(from) {
                                *s = s.saturating_add(*r);
                            }
                        }
                    }
                    Source::Features { table, shift, view } => {
                        let id = id_at(&table.ids, note, i, *shift);
                        add_features(model, table.of(id), *view, sum);
                    }
                }
            }
            for (score, &whole) in row.iter_mut().zip(&*sum) {
                *score = f32::from(whole) * model.scale();
            }
        }
        debug_assert!(scores.is_empty() || kernel::largest(scores).is_finite());
    }
}

#[inline]
fn id_at(ids: &[u32], note: &Range<usize>, i: usize, shift: isize) -> u32 {
    let at = (note.start + i).wrapping_add_signed(shift);
    if note.contains(&at) { ids[at] } else { 0 }
}

#[inline]
fn add_features(model: &Model, features: &[u64], view: usize, row: &mut [i16]) {
    for &feature in features {
        // 0 stands for no feature.
        if feature != 0 {
            model.add(salted(feature, view), row);
        }
    }
}

/// A type's features as one number. Types of the same features share a row; that others do is as likely as a fault of the
/// memory.
fn key_of(features: &[u64]) -> u64 {
    features.iter().fold(features.len() as u64 + 1, |key, &feature| {
        (key ^ feature)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29)
    })
}
