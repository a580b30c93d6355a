//! The loss on soft labels: the distance of the layer's paths from those that the labels expect.
//!
//! Labels are shares of tags, token by token. Their expected transitions are those of the product of the
//! tokens' shares over the paths that the scheme allows: labels with a single path then give the loss of gold
//! exactly.

use lethe_kernel::Buffer;

use super::{Allowed, Crf, Grads};
use crate::bucket::Bucket;

/// The least share; the sums have a floor of their own.
const LEAST: f32 = 1e-30;

impl Crf {
    /// Returns the layer with the same weight for all transitions of the scheme.
    pub(crate) fn free(&self, allowed: &Allowed) -> Self {
        let n = self.tags;
        Self::new(self.isa, allowed, &vec![0.0; n * n], &vec![0.0; n], &vec![0.0; n])
    }

    /// Computes [`Crf::loss`] on `soft` labels: a share of each tag, row by row. The loss is `log Z` minus
    /// the score that the labels expect. `free` is [`Crf::free`].
    pub(crate) fn soft_loss(
        &self,
        free: &Self,
        bucket: &Bucket,
        scores: &mut Buffer,
        soft: &[f32],
        grads: Grads<'_>,
    ) -> f64 {
        let (width, tags) = (self.width(), self.tags);
        let mut labels = Buffer::zeros(scores.len());
        for (row, shares) in labels.chunks_exact_mut(width).zip(soft.chunks_exact(tags)) {
            row.iter_mut()
                .zip(shares)
                .for_each(|(to, q)| *to = q.max(LEAST).ln());
        }
        let mut pairs = vec![0.0; tags * tags];
        let (mut starts, mut ends) = (vec![0.0; tags], vec![0.0; tags]);
        let expected = Grads {
            pairs: &mut pairs,
            starts: &mut starts,
            ends: &mut ends,
        };
        free.marginals(bucket, &mut labels, Some(expected));
        let mut path = 0.0_f64;
        for (row, labels) in scores.chunks_exact(width).zip(labels.chunks_exact(width)) {
            for (score, q) in row[..tags].iter().zip(labels) {
                path += f64::from(*score) * f64::from(*q);
            }
        }
        for (at, often) in pairs.iter().enumerate().filter(|&(_, &often)| often != 0.0) {
            path += f64::from(*often) * f64::from(self.into[at % tags * tags + at / tags]);
        }
        for (often, score) in starts.iter().zip(&self.start).chain(ends.iter().zip(&self.end)) {
            if *often != 0.0 {
                path += f64::from(*often) * f64::from(*score);
            }
        }
        for (grads, often) in [
            (&mut *grads.pairs, &pairs),
            (&mut *grads.starts, &starts),
            (&mut *grads.ends, &ends),
        ] {
            grads.iter_mut().zip(often).for_each(|(g, often)| *g -= often);
        }
        let log_sum = self.marginals(bucket, scores, Some(grads));
        for (row, labels) in scores.chunks_exact_mut(width).zip(labels.chunks_exact(width)) {
            row[..tags].iter_mut().zip(labels).for_each(|(p, q)| *p -= q);
        }
        log_sum - path
    }
}
