//! `ssvm`: a structural support vector machine (Tsochantaridis et al. 2005), its margin scaled by the number of wrong tokens,
//! fitted by block-coordinate Frank-Wolfe (Lacoste-Julien et al. 2013, algorithm 4, with weighted averaging).

use lethe_learn::Scheme;
use serde::{Deserialize, Serialize};

use crate::bytes::{Malformed, Reader, Writer};
use crate::chain::Scratch;
use crate::dense::{Averaged, Change, order};
use crate::model::{Fitted, Form};
use crate::train::{Run, TrainError};
use crate::{Data, States};

/// Settings of `ssvm`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How spans are spread over tags.
    pub scheme: Scheme,
    /// Features that fewer tokens have are left out.
    pub cut_off: u32,
    /// The price of a token within the margin.
    pub c: f64,
    /// Passes.
    pub epochs: u32,
    /// About how many tokens make one constraint.
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

/// What one stretch holds of the weights, as a change, and of the loss.
#[derive(Clone, Default)]
struct Block {
    change: Change,
    loss: f32,
}

impl Config {
    pub(crate) fn fit(&self, data: &Data, states: &States, run: &mut Run<'_>) -> Result<Fitted, TrainError> {
        let width = states.width();
        let stretches = data.stretches(self.stretch);
        let mut blocks = vec![Block::default(); stretches.len()];
        let mut weights = Averaged::new(data, states);
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
        while pass < self.epochs && !ended {
            let mut gap = 0.0f64;
            for (i, &at) in order(stretches.len(), run.seed, pass).iter().enumerate() {
                run.step(i, stretches.len());
                let stretch = &stretches[at as usize];
                let (gold, before) = (&data.gold[stretch.clone()], data.before(stretch.start));
                weights.now.scores(data, stretch, &mut scores);
                // The path that is worst to take for gold: its score and what is wrong in it together.
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
                // The corner that the path is, C times its change; the move towards it; how far along is best.
                let corner = Change::between(states, stretch.start, before, gold, &path);
                let direction = corner.mixed(self.c as f32, &block.change, -1.0);
                let squares = direction.squares(data, &mut memory);
                let loss = self.c as f32 * wrong as f32;
                let gain = loss - block.loss - direction.score(stretch.start, &scores, &weights.chain);
                if squares <= 1e-9 || gain <= 0.0 {
                    continue;
                }
                gap += f64::from(gain);
                let along = (gain / squares).min(1.0);
                // Later weights count for more: the k-th of K by k (section 3.3 of the paper).
                let when = f64::from(pass) + i as f64 / stretches.len() as f64;
                weights.add(data, &direction, along, (when * when) as f32);
                block.change = corner.mixed(self.c as f32 * along, &block.change, 1.0 - along);
                block.loss += along * (loss - block.loss);
            }
            pass += 1;
            ended = run.epoch(pass, self.epochs, gap).is_break();
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
