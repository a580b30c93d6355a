//! What learners of a pair said, kept.

use lethe_core::NoteBatch;
use lethe_learn::{Marginals, TagSet};

/// What a member said of one batch, so that it is not asked again.
pub(crate) struct Told {
    pub(crate) tags: TagSet,
    pub(crate) rows: Vec<Vec<f32>>,
}

impl Marginals for Told {
    fn tags(&self) -> &TagSet {
        &self.tags
    }

    fn marginals(&self, _: &NoteBatch) -> Vec<Vec<f32>> {
        self.rows.clone()
    }
}
