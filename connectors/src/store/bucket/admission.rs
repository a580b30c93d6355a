//! Decides whether a refusal may be temporary.
//!
//! Other programs rotate keys in their own order and time: a bucket that has accepted requests and now
//! refuses them usually has its keys replaced. A bucket that has never accepted one is misconfigured.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::store::Op;

/// How long a refusal may last: a mounted Secret takes up to two minutes to reach its pods.
const REFUSAL_GRACE: Duration = Duration::from_secs(300);

/// One state per operation, since permissions are granted by operation.
#[derive(Debug, Default)]
pub(super) struct Admission(Mutex<[State; Op::ALL.len()]>);

#[derive(Clone, Copy, Debug, Default)]
struct State {
    let_in: bool,
    refused: Option<Instant>,
}

impl Admission {
    /// Records that the store accepted the operation.
    pub(super) fn let_in(&self, op: Op) {
        self.with(op, |state| {
            *state = State {
                let_in: true,
                refused: None,
            };
        });
    }

    /// Records that the store refused the operation. Returns whether the refusal may be temporary.
    pub(super) fn may_pass(&self, op: Op, now: Instant) -> bool {
        self.with(op, |state| {
            let since = *state.refused.get_or_insert(now);
            state.let_in && now.saturating_duration_since(since) < REFUSAL_GRACE
        })
    }

    /// Returns whether the store has ever accepted an operation.
    pub(super) fn has_let_in(&self) -> bool {
        let states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        states.iter().any(|state| state.let_in)
    }

    fn with<T>(&self, op: Op, act: impl FnOnce(&mut State) -> T) -> T {
        // Each change is one assignment, so a panic leaves nothing inconsistent.
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
        assert!(admission.may_pass(Op::Create, now + REFUSAL_GRACE / 2));
        assert!(!admission.may_pass(Op::Create, now + REFUSAL_GRACE));
        admission.let_in(Op::Create);
        assert!(admission.may_pass(Op::Create, now + REFUSAL_GRACE));
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
