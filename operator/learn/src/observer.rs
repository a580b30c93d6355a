//! Observers of training, which can also stop it between two steps.

use std::ops::ControlFlow;

/// The progress after a pass over the training data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epoch {
    /// The passes so far, from 1.
    pub done: u32,
    /// The maximum number of passes.
    pub of: u32,
    /// The objective, in the learner's own unit.
    pub loss: f64,
    /// Strict micro-F1 on the held-out set, if it was measured.
    pub held_out: Option<f64>,
}

/// Observes the progress of a training and can end it; the training then keeps its result so far.
pub trait Observer {
    /// Called before the first pass when a stopped training resumes from its state on disk.
    fn resumed(&mut self) {}

    /// Called after each pass. [`ControlFlow::Break`] ends the training.
    fn epoch(&mut self, epoch: Epoch) -> ControlFlow<()>;

    /// Called within a pass, after `done` of `of` steps. Called often; must be cheap.
    fn step(&mut self, done: usize, of: usize) {
        let _: (usize, usize) = (done, of);
    }
}

/// Ignores all progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn epoch(&mut self, _: Epoch) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
