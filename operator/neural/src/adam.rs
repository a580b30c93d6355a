//! The optimiser: Adam (Kingma and Ba 2015), which updates only those rows of the word table that a step
//! touched.

use crate::model::{Params, slot};

const BETA1: f32 = 0.9;
const BETA2: f32 = 0.999;
const EPSILON: f32 = 1e-8;

/// Running means of gradients and of their squares.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Adam {
    pub(crate) mean: Params,
    pub(crate) square: Params,
    pub(crate) steps: u64,
}

impl Adam {
    /// Creates an optimiser without history.
    pub(crate) fn new(params: &Params) -> Self {
        Self {
            mean: params.zeros_like(),
            square: params.zeros_like(),
            steps: 0,
        }
    }

    /// Takes a step: gradients are scaled by `scale`, then so that their norm is at most `clip`; they are
    /// zeroed for the next step. Only the rows `words` (sorted, distinct) of the word table have gradients.
    pub(crate) fn step(
        &mut self,
        params: &mut Params,
        grads: &mut Params,
        words: &[u32],
        rate: f32,
        scale: f32,
        clip: f32,
    ) {
        self.steps += 1;
        let size = grads.0[slot::WORD].columns;
        let ranges = |at: usize, len: usize| -> Vec<std::ops::Range<usize>> {
            if at == slot::WORD {
                let row = |&word: &u32| word as usize * size..(word as usize + 1) * size;
                words.iter().map(row).collect()
            } else {
                std::iter::once(0..len).collect()
            }
        };
        let mut sum = 0.0_f64;
        for (at, tensor) in grads.0.iter().enumerate() {
            for range in ranges(at, tensor.data.len()) {
                let squares: f32 = tensor.data[range].iter().map(|g| g * g).sum();
                sum += f64::from(squares);
            }
        }
        let norm = sum.sqrt() as f32 * scale;
        let scale = if norm > clip { scale * clip / norm } else { scale };
        let t = self.steps as f64;
        let correct1 = 1.0 - f64::from(BETA1).powf(t);
        let correct2 = 1.0 - f64::from(BETA2).powf(t);
        let rate = (f64::from(rate) * correct2.sqrt() / correct1) as f32;
        for (at, grad) in grads.0.iter_mut().enumerate() {
            for range in ranges(at, grad.data.len()) {
                let p = params.0[at].data[range.clone()].iter_mut();
                let m = self.mean.0[at].data[range.clone()].iter_mut();
                let v = self.square.0[at].data[range.clone()].iter_mut();
                for (((g, p), m), v) in grad.data[range].iter_mut().zip(p).zip(m).zip(v) {
                    let d = *g * scale;
                    *g = 0.0;
                    *m += (1.0 - BETA1) * (d - *m);
                    *v += (1.0 - BETA2) * (d * d - *v);
                    *p -= rate * *m / (v.sqrt() + EPSILON);
                }
            }
        }
    }
}
