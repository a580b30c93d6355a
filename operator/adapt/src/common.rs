//! Cached predictions of a pair's learners.

use lethe_core::NoteBatch;
use lethe_learn::{Marginals, TagSet};

/// A member's predictions for one batch, cached so that the member does not run twice.
pub(crate) struct CachedMarginals {
    pub(crate) tags: TagSet,
    pub(crate) rows: Vec<Vec<f32>>,
}

impl Marginals for CachedMarginals {
    fn tags(&self) -> &TagSet {
        &self.tags
    }

    fn marginals(&self, _: &NoteBatch) -> Vec<Vec<f32>> {
        self.rows.clone()
    }
}
