//! Fitting by full passes: the code shared by learners with an exact gradient.

use lethe_learn::Scheme;
use serde::{Deserialize, Serialize};

use crate::States;
use crate::bytes::{Reader, Writer};
use crate::chain::Layout;
use crate::data::Data;
use crate::gradient::{Loss, Pairs, Whole};
use crate::model::{Fitted, Form};
use crate::optimise::{Limits, Minimiser};
use crate::train::{Run, TrainError};

/// Passes between two saved states.
const SAVED_EVERY: u32 = 10;

/// Settings of `crf` and `memm`, which differ only in their objective.
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
    /// The factor of the sum of absolute weights, which makes most weights 0.
    pub l1: f64,
    /// The factor of half the sum of squared weights: the strength of a Gaussian prior, centred at 0 or, in a
    /// warm start, at the model's weights (Chelba and Acero 2004); `l1` then limits changes.
    pub l2: f64,
    /// The maximum number of passes.
    pub iterations: u32,
    /// Stops when five passes gain less than this share of the objective.
    pub least_gain: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            scheme: Scheme::Bio,
            cut_off: 1,
            all_from: u32::MAX,
            l1: 0.1,
            l2: 0.1,
            iterations: 150,
            least_gain: 0.002,
        }
    }
}

/// Minimises the loss over all notes, from the saved state if there is one.
pub(crate) fn fit<L: Loss>(
    config: &Config,
    loss: L,
    form: Form,
    data: &Data,
    states: &States,
    run: &mut Run<'_>,
) -> Result<Fitted, TrainError> {
    let pairs = Pairs::new(
        data,
        states,
        config.all_from,
        run.start.as_ref(),
        &loss.likely(data),
    );
    let old = run.start.as_ref().map(|start| pairs.centre(start));
    let (centre, first) = if run.held { (old, None) } else { (None, old) };
    let mut whole = Whole::new(data, states, &pairs, loss, config.l2, centre);
    let limits = Limits {
        l1: config.l1,
        iterations: config.iterations,
        least_gain: config.least_gain,
    };
    let mut search = Minimiser::new(limits, first.unwrap_or_else(|| vec![0.0; whole.size()]));
    run.resume(|bytes: &mut Reader<'_>| search.restore(bytes))?;
    while search.step(&mut whole) {
        let done = search.done();
        let stop = run.epoch(done, config.iterations, search.value()).is_break();
        if stop {
            break;
        }
        if done.is_multiple_of(SAVED_EVERY) {
            run.save(|out: &mut Writer| search.save(out))?;
        }
    }
    let found = whole.weights(&search.x);
    let mut weights = Vec::new();
    for feature in 0..data.hashes.len() as u32 {
        let (first, states) = pairs.of(feature);
        for (&state, &weight) in states.iter().zip(&found[first..]) {
            if weight != 0.0 {
                weights.push((feature, state, weight as f32));
            }
        }
    }
    let steps: Vec<f32> = found[pairs.len()..].iter().map(|&w| w as f32).collect();
    debug_assert_eq!(steps.len(), Layout::of(states).len());
    Ok(Fitted {
        form,
        weights,
        steps,
        history: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use lethe_learn::NoObserver;

    use super::*;
    use crate::crf::Likelihood;
    use crate::data::tests::invented;
    use crate::model::Model;
    use crate::warm_start::Start;

    fn fitted(data: &Data, states: &States, l1: f64, from: Option<(&Model, bool)>) -> Fitted {
        let config = Config {
            l1,
            least_gain: 1e-9,
            iterations: 400,
            ..Config::default()
        };
        let mut observer = NoObserver;
        let mut run = Run::passing(1, &mut observer);
        if let Some((model, held)) = from {
            run.held = held;
            run.start = Some(Start::new(model, states, data));
        }
        fit(&config, Likelihood, Form::Chain, data, states, &mut run).unwrap()
    }

    #[test]
    fn old_weights_are_where_a_search_begins_or_what_its_prior_holds_to() {
        let (columns, gold, states) = invented(4, 40, 2);
        let data = Data::new(&columns, &gold, &states, 1);
        let fresh = fitted(&data, &states, 0.1, None);
        let model = Model::new(&states, fitted(&data, &states, 0.1, None), &data);
        // The objective is convex: a search from another start ends at the same place.
        let begun = fitted(&data, &states, 0.1, Some((&model, false)));
        let near = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 0.02);
        assert!(near(&fresh.steps, &begun.steps));
        // A penalty that leaves no weights leaves the centre of the prior.
        let [free, held] = [false, true].map(|held| fitted(&data, &states, 1e6, Some((&model, held))));
        assert!(free.weights.is_empty());
        assert_eq!(held.weights.len(), model.size().1);
    }
}
