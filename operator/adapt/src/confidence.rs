//! Scales down an overconfident learner by a factor that is estimated like the weight: from new documents,
//! before they are learnt.
//!
//! Naive Bayes assumes independent features, so its probabilities are far too extreme. Without this factor,
//! the weight would have to correct the confidence as well as measure the quality.

/// The candidate factors, from 1/32 to 2 in steps of √2.
pub(crate) const CONFIDENCES: [f32; 13] = [
    0.031_25,
    0.044_194_174,
    0.062_5,
    0.088_388_35,
    0.125,
    0.176_776_7,
    0.25,
    0.353_553_4,
    0.5,
    std::f32::consts::FRAC_1_SQRT_2,
    1.0,
    std::f32::consts::SQRT_2,
    2.0,
];

/// The sum of the logarithmic loss under each of [`CONFIDENCES`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Confidence {
    losses: [f64; CONFIDENCES.len()],
}

impl Confidence {
    /// Adds a batch's losses, one per confidence.
    pub(crate) fn add(&mut self, losses: &[f64]) {
        for (sum, loss) in self.losses.iter_mut().zip(losses) {
            *sum += loss;
        }
    }

    /// Returns the confidence with the lowest loss; 1 without evidence.
    pub(crate) fn best(&self) -> f32 {
        let all = self.losses.iter().zip(CONFIDENCES);
        let least = all.min_by(|a, b| a.0.total_cmp(b.0));
        match least {
            Some((&loss, confidence)) if loss > 0.0 => confidence,
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_confidence_is_the_one_whose_loss_over_all_batches_is_least() {
        let mut confidence = Confidence::default();
        assert_eq!(confidence.best(), 1.0);
        let losses = |least: usize, by: f64| {
            let loss = |i: usize| 1.0 + by * i.abs_diff(least) as f64;
            (0..CONFIDENCES.len()).map(loss).collect::<Vec<f64>>()
        };
        confidence.add(&losses(4, 1.0));
        assert_eq!(confidence.best(), 0.125);
        confidence.add(&losses(8, 3.0));
        assert_eq!(confidence.best(), 0.5);
    }
}
