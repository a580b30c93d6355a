//! How much of its own words a learner is believed, told like the weight: from what arrives, before it is learnt.
//!
//! Naive Bayes takes its features for independent and is far surer than it is right. A mixture would then pay with the
//! weight, which has to hold both how good a learner is and how loud.

/// The factors that are tried on what a learner says, from a 32nd to twice, each √2 times the one before.
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

/// The logarithmic loss so far of each of [`CONFIDENCES`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Confidence {
    losses: [f64; CONFIDENCES.len()],
}

impl Confidence {
    /// Adds a batch's losses, one for each confidence.
    pub(crate) fn add(&mut self, losses: &[f64]) {
        for (sum, loss) in self.losses.iter_mut().zip(losses) {
            *sum += loss;
        }
    }

    /// The confidence of the least loss; 1 before anything tells.
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
