//! `ogd`: online gradient descent in the manner of Vowpal Wabbit: each token separately, one logistic model
//! per state against the rest, each weight with its own rate (Duchi et al. 2011). Only decoding follows the
//! scheme.

use lethe_learn::Scheme;
use serde::{Deserialize, Serialize};

use crate::chain::Layout;
use crate::dense::{Dense, order};
use crate::model::{Fitted, Form};
use crate::train::{Run, TrainError};
use crate::{Data, States, kernel};

/// Settings of `ogd`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How spans are encoded as tags.
    pub scheme: Scheme,
    /// Features of fewer tokens are left out.
    pub cut_off: u32,
    /// The learning rate of a weight's first update.
    pub rate: f64,
    /// The number of passes (Kim 2020, table 3).
    pub epochs: u32,
    /// A token is not learned from again if all its probabilities are this close to gold.
    pub enough: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            scheme: Scheme::Bio,
            cut_off: 2,
            rate: 0.1,
            epochs: 10,
            enough: 0.01,
        }
    }
}

/// Passes between two saved states.
const SAVED_EVERY: u32 = 2;

/// Tokens between two progress reports.
const TOLD_EVERY: usize = 4096;

/// Weights, each with the squares of its updates: the larger their sum, the smaller the next update.
pub(crate) struct Adaptive {
    pub(crate) weights: Dense,
    squares: Dense,
    rate: f32,
}

impl Adaptive {
    pub(crate) fn new(data: &Data, states: &States, rate: f32) -> Self {
        Self {
            weights: Dense::new(data, states),
            squares: Dense::new(data, states),
            rate,
        }
    }

    /// Updates the weights of a token's features against `pull`, the loss' derivative by each score.
    pub(crate) fn correct(&mut self, data: &Data, token: usize, pull: &[f32]) {
        for feature in data.features_of(token) {
            descend(
                self.weights.row(feature),
                self.squares.row(feature),
                pull,
                self.rate,
            );
        }
    }

    pub(crate) fn save(&self, out: &mut crate::bytes::Writer) {
        out.sparse(&self.weights.values);
        out.sparse(&self.squares.values);
    }

    pub(crate) fn restore(
        &mut self,
        bytes: &mut crate::bytes::Reader<'_>,
    ) -> Result<(), crate::bytes::Malformed> {
        let (weights, squares) = (bytes.sparse()?, bytes.sparse()?);
        if weights.len() != self.weights.values.len() || squares.len() != weights.len() {
            return Err(crate::bytes::Malformed);
        }
        (self.weights.values, self.squares.values) = (weights, squares);
        Ok(())
    }
}

/// Takes one adaptive step of a row.
#[inline]
pub(crate) fn descend(weights: &mut [f32], squares: &mut [f32], pull: &[f32], rate: f32) {
    for ((w, s), g) in weights.iter_mut().zip(squares).zip(pull) {
        *s += g * g;
        // The smallest number avoids 0 / 0 for weights without updates.
        *w -= rate * g / (*s + f32::MIN_POSITIVE).sqrt();
    }
}

impl Config {
    pub(crate) fn fit(&self, data: &Data, states: &States, run: &mut Run<'_>) -> Result<Fitted, TrainError> {
        let width = states.width();
        let mut model = Adaptive::new(data, states, self.rate as f32);
        if let Some(start) = &run.start {
            model.weights.begin(start);
        }
        let mut pass = 0;
        run.resume(|bytes| {
            pass = bytes.u32()?;
            model.restore(bytes)
        })?;
        let real: Vec<f32> = (0..width)
            .map(|state| if states.is_state(state) { 1.0 } else { 0.0 })
            .collect();
        let mut pull = vec![0.0f32; width];
        let mut ended = false;
        while pass < self.epochs && !ended {
            let mut loss = 0.0f64;
            for (i, &token) in order(data.tokens(), run.seed, pass).iter().enumerate() {
                if i % TOLD_EVERY == 0 {
                    run.step(i, data.tokens());
                }
                let (token, gold) = (token as usize, data.gold[token as usize] as usize);
                model.weights.score(data, token, &mut pull);
                // From scores to probabilities of each state, minus the truth.
                for (p, real) in pull.iter_mut().zip(&real) {
                    *p = real / (1.0 + kernel::exp(-*p));
                }
                loss -= f64::from(pull[gold].max(1e-9)).ln();
                pull[gold] -= 1.0;
                for p in &mut pull {
                    *p = if p.abs() < self.enough as f32 { 0.0 } else { *p };
                }
                if pull.iter().any(|&p| p != 0.0) {
                    model.correct(data, token, &pull);
                }
            }
            pass += 1;
            ended = run.epoch(pass, self.epochs, loss).is_break();
            if !ended && pass % SAVED_EVERY == 0 {
                run.save(|out| {
                    out.u32(pass);
                    model.save(out);
                })?;
            }
        }
        Ok(Fitted {
            form: Form::Chain,
            weights: model.weights.weights(data),
            steps: vec![0.0; Layout::of(states).len()],
            history: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weights_steps_shrink_with_the_root_of_its_squares() {
        let (mut weights, mut squares) = ([0.0f32; 2], [0.0f32; 2]);
        descend(&mut weights, &mut squares, &[2.0, 0.0], 0.5);
        assert_eq!((weights, squares), ([-0.5, 0.0], [4.0, 0.0]));
        descend(&mut weights, &mut squares, &[-2.0, 0.0], 0.5);
        assert!((weights[0] - (-0.5 + 0.5 * 2.0 / 8f32.sqrt())).abs() < 1e-6);
    }
}
