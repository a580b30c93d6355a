//! `memm`: a Markov model of maximum entropy (McCallum et al. 2000): the probability of each token's state
//! given the previous one, decoded over whole notes.

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
    batch::fit(config, StepLikelihood, Form::Local, data, states, run)
}

/// The negative log-likelihood of each gold state given the previous gold state.
pub(crate) struct StepLikelihood;

impl Loss for StepLikelihood {
    const STEPS: bool = true;

    fn note(
        &self,
        chain: &Chain,
        scores: &[f32],
        gold: Gold<'_>,
        pull: &mut [f32],
        steps: &mut [f64],
        _: &mut Scratch,
    ) -> f64 {
        let (states, width) = (chain.states(), chain.states().width());
        let (layout, free) = (Layout::of(states), states.free_width());
        let mut loss = 0.0f64;
        let mut before: Option<usize> = None;
        for ((row, pull), &gold) in scores
            .chunks_exact(width)
            .zip(pull.chunks_exact_mut(width))
            .zip(gold.states)
        {
            let gold = gold as usize;
            // Each state's step: the free ones are in a row, since only closed states and the start lead
            // there.
            let open = before.is_some_and(|state| !states.closed().contains(&(state as u8)));
            let first = before.unwrap_or(width) * free;
            let inner = before.into_iter().flat_map(|state| {
                (free..width).filter_map(move |next| Some((next, layout.at(states, Some(state), next)?)))
            });
            let inner: Vec<(usize, usize)> = inner.collect();
            let mut logits = [f32::MIN; 256];
            if !open {
                for next in 0..states.free() {
                    logits[next] = row[next] + chain.steps[first + next];
                }
            }
            for &(next, at) in &inner {
                logits[next] = row[next] + chain.steps[at];
            }
            let logits = &logits[..width];
            let most = kernel::largest(logits);
            kernel::exp_row(pull, logits, most);
            for (p, &logit) in pull.iter_mut().zip(logits) {
                *p = if logit == f32::MIN { 0.0 } else { *p };
            }
            let total = kernel::sum(pull);
            loss += f64::from(most + total.ln() - logits[gold]);
            for p in pull.iter_mut() {
                *p /= total;
            }
            pull[gold] -= 1.0;
            if !open {
                for next in 0..states.free() {
                    steps[first + next] += f64::from(pull[next]);
                }
            }
            for &(next, at) in &inner {
                steps[at] += f64::from(pull[next]);
            }
            before = Some(gold);
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
        check_gradient(StepLikelihood, u32::MAX);
    }
}
