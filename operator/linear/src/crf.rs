//! `crf`: a linear-chain conditional random field (Lafferty et al. 2001), with the exact likelihood of whole
//! notes maximised.

use crate::batch::{self, Config};
use crate::chain::{Chain, Layout, Scratch};
use crate::data::Data;
use crate::gradient::{Gold, Loss};
use crate::model::{Fitted, Form};
use crate::train::{Run, TrainError};
use crate::{States, kernel};

pub(crate) fn fit(
    config: &Config,
    data: &Data,
    states: &States,
    run: &mut Run<'_>,
) -> Result<Fitted, TrainError> {
    batch::fit(config, Likelihood, Form::Chain, data, states, run)
}

/// The negative log-likelihood of a note's gold path.
pub(crate) struct Likelihood;

impl Loss for Likelihood {
    const STEPS: bool = true;

    fn note(
        &self,
        chain: &Chain,
        scores: &[f32],
        gold: Gold<'_>,
        pull: &mut [f32],
        steps: &mut [f64],
        scratch: &mut Scratch,
    ) -> f64 {
        let (states, width) = (chain.states(), chain.states().width());
        let layout = Layout::of(states);
        let gold = gold.states;
        let (marginals, log_sum) = chain.marginals(scores, scratch);
        pull.copy_from_slice(marginals);
        chain.add_expected_steps(gold.len(), scratch, steps);
        let mut path = 0.0f64;
        let mut before = None;
        for (t, &state) in gold.iter().enumerate() {
            let at = t * width + state as usize;
            pull[at] -= 1.0;
            path += f64::from(scores[at]);
            // Gold follows its scheme, so the layout has every step of it.
            if let Some(step) = layout.at(states, before, state as usize) {
                steps[step] -= 1.0;
                path += f64::from(chain.steps[step]);
            }
            before = Some(state as usize);
        }
        debug_assert!(kernel::largest(pull) <= 1.0 + 1e-3);
        log_sum - path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradient::tests::check_gradient;

    #[test]
    fn the_gradient_equals_differences_of_the_objective() {
        check_gradient(Likelihood, u32::MAX);
        check_gradient(Likelihood, 3);
    }
}
