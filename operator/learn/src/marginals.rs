//! Tag probabilities of each token, for ensembles that combine more than spans.

use lethe_core::NoteBatch;

use crate::TagSet;

/// A member that computes the probability of each tag for each token.
pub trait Marginals {
    /// Returns the tags, in the order of the probabilities.
    fn tags(&self) -> &TagSet;

    /// Returns, for each row of the batch, its tokens' probabilities, [`TagSet::len`] per token, which sum to
    /// 1; nothing for rows that are not notes.
    fn marginals(&self, batch: &NoteBatch) -> Vec<Vec<f32>>;
}
