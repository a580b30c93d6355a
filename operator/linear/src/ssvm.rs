//! `ssvm`: a structural support vector machine (Tsochantaridis et al. 2005), with its margin scaled by the
//! number of wrong tokens, fitted by block-coordinate Frank-Wolfe (Lacoste-Julien et al. 2013, algorithm 4,
//! with weighted averaging).

use crate::bytes::{Malformed, Reader, Writer};
use crate::chain::Scratch;
use crate::dense::{Averaged, Change, order};
use crate::margin::{Config, SAVED_EVERY};
use crate::model::{Fitted, Form};
use crate::train::{Run, TrainError};
use crate::{Data, States};

/// The contribution of one stretch to the weights, as a change, and to the loss.
#[derive(Clone, Default)]
struct Block {
    change: Change,
    loss: f32,
}

pub(crate) fn fit(
    config: &Config,
    data: &Data,
    states: &States,
    run: &mut Run<'_>,
) -> Result<Fitted, TrainError> {
    let width = states.width();
    let stretches = data.stretches(config.stretch);
    let mut blocks = vec![Block::default(); stretches.len()];
    let mut weights = Averaged::new(data, states);
    if let Some(start) = &run.start {
        weights.begin(start);
    }
    let mut pass = 0;
    run.resume(|bytes| {
        pass = bytes.u32()?;
        for block in &mut blocks {
            *block = Block::restore(bytes)?;
        }
        weights.restore(bytes)
    })?;
    let (mut scores, mut scratch, mut path) = (Vec::new(), Scratch::default(), Vec::new());
    let mut memory = Vec::new();
    let mut ended = false;
    while pass < config.epochs && !ended {
        let mut gap = 0.0f64;
        for (i, &at) in order(stretches.len(), run.seed, pass).iter().enumerate() {
            run.step(i, stretches.len());
            let stretch = &stretches[at as usize];
            let (gold, before) = (&data.gold[stretch.clone()], data.before(stretch.start));
            weights.now.scores(data, stretch, &mut scores);
            // The path with the greatest sum of score and errors.
            for (row, &gold) in scores.chunks_exact_mut(width).zip(gold) {
                row.iter_mut().for_each(|score| *score += 1.0);
                row[gold as usize] -= 1.0;
            }
            weights
                .chain
                .best_path_after(before, &scores, &mut scratch, &mut path);
            for (row, &gold) in scores.chunks_exact_mut(width).zip(gold) {
                row.iter_mut().for_each(|score| *score -= 1.0);
                row[gold as usize] += 1.0;
            }
            let block = &mut blocks[at as usize];
            let wrong = gold
                .iter()
                .zip(&path)
                .filter(|(gold, found)| gold != found)
                .count();
            if wrong == 0 && block.change.is_empty() {
                continue;
            }
            // The path's corner, C times its change; the move towards it; and the best step length.
            let corner = Change::between(states, stretch.start, before, gold, &path);
            let direction = corner.mixed(config.c as f32, &block.change, -1.0);
            let squares = direction.squares(data, &mut memory);
            let loss = config.c as f32 * wrong as f32;
            let gain = loss - block.loss - direction.score(stretch.start, &scores, &weights.chain);
            if squares <= 1e-9 || gain <= 0.0 {
                continue;
            }
            gap += f64::from(gain);
            let along = (gain / squares).min(1.0);
            // Later weights count for more: the k-th of K by k (section 3.3 of the paper).
            let when = f64::from(pass) + i as f64 / stretches.len() as f64;
            weights.add(data, &direction, along, (when * when) as f32);
            block.change = corner.mixed(config.c as f32 * along, &block.change, 1.0 - along);
            block.loss += along * (loss - block.loss);
        }
        pass += 1;
        ended = run.epoch(pass, config.epochs, gap).is_break();
        if !ended && pass % SAVED_EVERY == 0 {
            run.save(|out| {
                out.u32(pass);
                blocks.iter().for_each(|block| block.save(out));
                weights.save(out);
            })?;
        }
    }
    let end = pass.max(1) as f32;
    let (weights, steps) = weights.average(data, end * end);
    Ok(Fitted {
        form: Form::Chain,
        weights,
        steps,
        history: Vec::new(),
    })
}

impl Block {
    fn save(&self, out: &mut Writer) {
        out.f32(self.loss);
        out.u32(self.change.tokens.len() as u32);
        for &(token, state, by) in &self.change.tokens {
            out.u32(token);
            out.bytes(&[state]);
            out.f32(by);
        }
        out.u32(self.change.steps.len() as u32);
        for &(at, by) in &self.change.steps {
            out.u32(at);
            out.f32(by);
        }
    }

    fn restore(bytes: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut block = Self {
            loss: bytes.f32()?,
            ..Self::default()
        };
        for _ in 0..bytes.u32()? {
            block
                .change
                .tokens
                .push((bytes.u32()?, bytes.u8()?, bytes.f32()?));
        }
        for _ in 0..bytes.u32()? {
            block.change.steps.push((bytes.u32()?, bytes.f32()?));
        }
        Ok(block)
    }
}
