//! Training that can be watched, and stopped between two steps.

use std::ops::ControlFlow;

/// What is known after a pass over the training data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epoch {
    /// Passes so far, from 1.
    pub done: u32,
    /// Passes at most.
    pub of: u32,
    /// The objective, in the learner's own unit.
    pub loss: f64,
    /// Strict micro-F1 on what was held out, where it was measured.
    pub held_out: Option<f64>,
}

/// Told of progress; may end the training, which then keeps what it has.
pub trait Observer {
    /// Before the first pass, where an interrupted training resumes from its state on disk.
    fn resumed(&mut self) {}

    /// After each pass. [`ControlFlow::Break`] ends the training.
    fn epoch(&mut self, epoch: Epoch) -> ControlFlow<()>;

    /// Within a pass: `done` of `of` steps. Called often; must be cheap.
    fn step(&mut self, done: usize, of: usize) {
        let _: (usize, usize) = (done, of);
    }
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn epoch(&mut self, _: Epoch) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
