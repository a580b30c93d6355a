//! Whether a refusal may pass by itself.
//!
//! Keys are made and taken away by others, in an order and at times of their own: a bucket that has let us in and now
//! refuses is most often one whose keys are being replaced. One that never has is one that is set up wrongly.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::store::Op;

/// How long a refusal may last: a mounted Secret takes up to two minutes to reach its pods.
const PATIENCE: Duration = Duration::from_secs(300);

/// For each operation, as rights are given by operation.
#[derive(Debug, Default)]
pub(super) struct Admission(Mutex<[State; Op::ALL.len()]>);

#[derive(Clone, Copy, Debug, Default)]
struct State {
    let_in: bool,
    refused: Option<Instant>,
}

impl Admission {
    /// The store did it.
    pub(super) fn let_in(&self, op: Op) {
        self.with(op, |state| {
            *state = State {
                let_in: true,
                refused: None,
            };
        });
    }

    /// The store refused it at this time; whether it may let us in again.
    pub(super) fn may_pass(&self, op: Op, now: Instant) -> bool {
        self.with(op, |state| {
            let since = *state.refused.get_or_insert(now);
            state.let_in && now.saturating_duration_since(since) < PATIENCE
        })
    }

    /// Whether the store ever did anything.
    pub(super) fn has_let_in(&self) -> bool {
        let states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        states.iter().any(|state| state.let_in)
    }

    fn with<T>(&self, op: Op, act: impl FnOnce(&mut State) -> T) -> T {
        // Each change is one assignment: a panic leaves nothing half done.
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)[op as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_let_us_in_may_refuse_for_a_while() {
        let admission = Admission::default();
        let now = Instant::now();
        admission.let_in(Op::Create);
        assert!(admission.has_let_in() && !Admission::default().has_let_in());
        assert!(admission.may_pass(Op::Create, now));
        assert!(admission.may_pass(Op::Create, now + PATIENCE / 2));
        assert!(!admission.may_pass(Op::Create, now + PATIENCE));
        admission.let_in(Op::Create);
        assert!(admission.may_pass(Op::Create, now + PATIENCE));
    }

    #[test]
    fn what_was_never_let_in_is_refused_for_good_whatever_else_is_let_in() {
        let admission = Admission::default();
        for op in [Op::List, Op::Read] {
            admission.let_in(op);
        }
        assert!(!admission.may_pass(Op::Create, Instant::now()));
    }
}
