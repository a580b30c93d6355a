//! `mira`: the margin infused relaxed algorithm (Crammer and Singer 2003; 1-best, McDonald et al. 2005),
//! averaged: each update is the smallest with which gold beats the found path.

use crate::chain::Scratch;
use crate::dense::{Averaged, Change, order};
use crate::margin::{Config, SAVED_EVERY};
use crate::model::{Fitted, Form};
use crate::train::{Run, TrainError};
use crate::{Data, States};

pub(crate) fn fit(
    config: &Config,
    data: &Data,
    states: &States,
    run: &mut Run<'_>,
) -> Result<Fitted, TrainError> {
    let stretches = data.stretches(config.stretch);
    let mut weights = Averaged::new(data, states);
    if let Some(start) = &run.start {
        weights.begin(start);
    }
    let (mut pass, mut ended) = (0, false);
    run.resume(|bytes| {
        pass = bytes.u32()?;
        weights.restore(bytes)
    })?;
    let (mut scores, mut scratch, mut path) = (Vec::new(), Scratch::default(), Vec::new());
    let mut memory = Vec::new();
    while pass < config.epochs && !ended {
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
            let by = (short / change.squares(data, &mut memory)).clamp(0.0, config.c as f32);
            let when = f64::from(pass) + i as f64 / stretches.len() as f64;
            weights.add(data, &change, by, when as f32);
        }
        pass += 1;
        ended = wrong == 0 || run.epoch(pass, config.epochs, wrong as f64).is_break();
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
