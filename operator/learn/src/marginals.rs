//! How likely each tag is at each token, for ensembles that weigh more than spans.

use lethe_core::NoteBatch;

use crate::TagSet;

/// A member that can tell how likely each tag of each token is.
pub trait Marginals {
    /// Returns the tags, in the order of the probabilities.
    fn tags(&self) -> &TagSet;

    /// For each row of the batch its tokens' probabilities, [`TagSet::len`] a token, which sum to 1; nothing for rows that
    /// are no notes.
    fn marginals(&self, batch: &NoteBatch) -> Vec<Vec<f32>>;
}
