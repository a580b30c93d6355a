//! `mira`: the margin infused relaxed algorithm (Crammer and Singer 2003; 1-best, McDonald et al. 2005), averaged: the
//! least correction by which gold beats the path that was found.

use lethe_learn::Scheme;
use serde::{Deserialize, Serialize};

use crate::chain::Scratch;
use crate::dense::{Averaged, Change, order};
use crate::model::{Fitted, Form};
use crate::train::{Run, TrainError};
use crate::{Data, States};

/// Settings of `mira`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How spans are spread over tags.
    pub scheme: Scheme,
    /// Features that fewer tokens have are left out.
    pub cut_off: u32,
    /// Largest factor of one correction (Kim 2020, table 3).
    pub c: f64,
    /// Passes at most; fewer if one finds nothing to correct.
    pub epochs: u32,
    /// About how many tokens are corrected at once.
    pub stretch: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            scheme: Scheme::Bio,
            cut_off: 2,
            c: 0.1,
            epochs: 12,
            stretch: 12,
        }
    }
}

/// Passes between two states on disk.
const SAVED_EVERY: u32 = 2;

impl Config {
    pub(crate) fn fit(&self, data: &Data, states: &States, run: &mut Run<'_>) -> Result<Fitted, TrainError> {
        let stretches = data.stretches(self.stretch);
        let mut weights = Averaged::new(data, states);
        let (mut pass, mut ended) = (0, false);
        run.resume(|bytes| {
            pass = bytes.u32()?;
            weights.restore(bytes)
        })?;
        let (mut scores, mut scratch, mut path) = (Vec::new(), Scratch::default(), Vec::new());
        let mut memory = Vec::new();
        while pass < self.epochs && !ended {
            let mut wrong = 0usize;
            for (i, &stretch) in order(stretches.len(), run.seed, pass).iter().enumerate() {
                run.step(i, stretches.len());
                let stretch = &stretches[stretch as usize];
                let (gold, before) = (&data.gold[stretch.clone()], data.before(stretch.start));
                weights.now.scores(data, stretch, &mut scores);
                weights
                    .chain
                    .best_path_after(before, &scores, &mut scratch, &mut path);
                let errors = gold
                    .iter()
                    .zip(&path)
                    .filter(|(gold, found)| gold != found)
                    .count();
                if errors == 0 {
                    continue;
                }
                wrong += errors;
                let change = Change::between(states, stretch.start, before, gold, &path);
                let short = errors as f32 - change.score(stretch.start, &scores, &weights.chain);
                let by = (short / change.squares(data, &mut memory)).clamp(0.0, self.c as f32);
                let when = f64::from(pass) + i as f64 / stretches.len() as f64;
                weights.add(data, &change, by, when as f32);
            }
            pass += 1;
            ended = wrong == 0 || run.epoch(pass, self.epochs, wrong as f64).is_break();
            if !ended && pass % SAVED_EVERY == 0 {
                run.save(|out| {
                    out.u32(pass);
                    weights.save(out);
                })?;
            }
        }
        let (weights, steps) = weights.average(data, pass.max(1) as f32);
        Ok(Fitted {
            form: Form::Chain,
            weights,
            steps,
            history: Vec::new(),
        })
    }
}
