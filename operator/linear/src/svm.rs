//! `svm`: each token separately, one support vector machine per state, with LIBLINEAR's objective (Fan et al.
//! 2008: L2-regularised squared hinge, one against the rest). All states are fitted together; only decoding
//! follows the scheme.

use lethe_learn::Scheme;
use serde::{Deserialize, Serialize};

use crate::States;
use crate::batch;
use crate::chain::{Chain, Scratch};
use crate::data::Data;
use crate::gradient::{Gold, Loss};
use crate::model::{Fitted, Form};
use crate::train::{Run, TrainError};

/// Settings of `svm`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How spans are encoded as tags.
    pub scheme: Scheme,
    /// Features of fewer tokens are left out.
    pub cut_off: u32,
    /// Features of at least this many tokens get a weight for every state, others for the states they were
    /// seen with.
    pub all_from: u32,
    /// LIBLINEAR's C: the penalty of a token within the margin.
    pub c: f64,
    /// The weight of a token that is not of the state, relative to one that is.
    pub negative_weight: f64,
    /// The maximum number of passes.
    pub iterations: u32,
    /// Stops when five passes gain less than this share of the objective.
    pub least_gain: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            scheme: Scheme::Bio,
            cut_off: 2,
            all_from: u32::MAX,
            c: 0.1,
            negative_weight: 1.0,
            iterations: 100,
            least_gain: 0.005,
        }
    }
}

impl Config {
    pub(crate) fn fit(&self, data: &Data, states: &States, run: &mut Run<'_>) -> Result<Fitted, TrainError> {
        let config = batch::Config {
            scheme: self.scheme,
            cut_off: self.cut_off,
            all_from: self.all_from,
            l1: 0.0,
            l2: 1.0,
            iterations: self.iterations,
            least_gain: self.least_gain,
        };
        let loss = SquaredHinge {
            positive: self.c as f32,
            negative: (self.c * self.negative_weight) as f32,
        };
        batch::fit(&config, loss, Form::Chain, data, states, run)
    }
}

/// C times the squared shortfall from the margin, for each token in each state's machine.
pub(crate) struct SquaredHinge {
    positive: f32,
    negative: f32,
}

impl Loss for SquaredHinge {
    const STEPS: bool = false;

    fn note(
        &self,
        chain: &Chain,
        scores: &[f32],
        gold: Gold<'_>,
        pull: &mut [f32],
        _: &mut [f64],
        _: &mut Scratch,
    ) -> f64 {
        let states = chain.states();
        let width = states.width();
        let weight: Vec<f32> = (0..width)
            .map(|state| {
                if states.is_state(state) {
                    self.negative
                } else {
                    0.0
                }
            })
            .collect();
        let mut loss = 0.0f64;
        for ((row, pull), &gold) in scores
            .chunks_exact(width)
            .zip(pull.chunks_exact_mut(width))
            .zip(gold.states)
        {
            let mut squares = 0.0f32;
            for ((p, s), c) in pull.iter_mut().zip(row).zip(&weight) {
                let short = if *s > -1.0 { 1.0 + s } else { 0.0 };
                squares += c * short * short;
                *p = 2.0 * c * short;
            }
            let gold = gold as usize;
            let wrongly = (1.0 + row[gold]).max(0.0);
            let short = (1.0 - row[gold]).max(0.0);
            pull[gold] = -2.0 * self.positive * short;
            loss += f64::from(squares - weight[gold] * wrongly * wrongly + self.positive * short * short);
        }
        loss
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradient::tests::check_gradient;

    #[test]
    fn the_gradient_equals_differences_of_the_objective() {
        let loss = SquaredHinge {
            positive: 0.7,
            negative: 0.2,
        };
        check_gradient(loss, 1);
    }
}
