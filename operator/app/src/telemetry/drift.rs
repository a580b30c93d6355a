//! Detects changes of a feed: compares the recent PHI per thousand tokens and vote margins with the long-term
//! ones.
//!
//! Two exponential averages, a short and a long one, are weighted by tokens and not by time, so that a quiet
//! night is not drift. Their ratio is the signal. It shows a change of the notes (another system, a template,
//! a language) long before anybody reads a note; it also shows a member that stopped finding anything.

use std::sync::{Mutex, PoisonError};

/// The signals' names in metrics.
pub(crate) const SIGNALS: [&str; 2] = ["phi_density", "vote_margin"];

/// The numbers of tokens after which a value counts half: some hundred notes, and some ten thousand.
const SHORT: f64 = 100_000.0;
const LONG: f64 = 10_000_000.0;
/// The number of tokens before the first evaluation.
const ENOUGH: f64 = 500_000.0;
/// A ratio outside this range triggers a warning; back within the inner range it may warn again.
const OUTER: (f64, f64) = (0.67, 1.5);
const INNER: (f64, f64) = (0.8, 1.25);

/// The observations of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Seen {
    pub(crate) tokens: u64,
    pub(crate) spans: u64,
    /// The sum of the spans' margins.
    pub(crate) margins: f64,
}

/// An exponential average.
#[derive(Clone, Copy, Debug, Default)]
struct Average {
    tokens: f64,
    spans: f64,
    margins: f64,
}

impl Average {
    fn add(&mut self, seen: &Seen, half: f64) {
        let keep = 0.5f64.powf(seen.tokens as f64 / half);
        self.tokens = self.tokens * keep + seen.tokens as f64;
        self.spans = self.spans * keep + seen.spans as f64;
        self.margins = self.margins * keep + seen.margins;
    }

    /// Returns the values of [`SIGNALS`].
    fn signals(&self) -> [Option<f64>; 2] {
        let ratio = |a: f64, b: f64| (b > 0.0).then(|| a / b);
        [ratio(self.spans, self.tokens), ratio(self.margins, self.spans)]
    }
}

#[derive(Debug, Default)]
struct State {
    seen: f64,
    short: Average,
    long: Average,
    away: [bool; 2],
}

/// The drift of one program's feed.
#[derive(Debug, Default)]
pub(crate) struct Drift(Mutex<State>);

impl Drift {
    /// Adds a batch. Returns the signals that have just left their range, with their ratio.
    pub(crate) fn add(&self, seen: &Seen) -> Vec<(&'static str, f64)> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.tokens == 0 {
            return Vec::new();
        }
        state.seen += seen.tokens as f64;
        state.short.add(seen, SHORT);
        state.long.add(seen, LONG);
        if state.seen < ENOUGH {
            return Vec::new();
        }
        let ratios = ratios(&state);
        let mut left = Vec::new();
        for ((ratio, away), name) in ratios.into_iter().zip(&mut state.away).zip(SIGNALS) {
            let Some(ratio) = ratio else { continue };
            let within = |(low, high): (f64, f64)| (low..=high).contains(&ratio);
            if !*away && !within(OUTER) {
                *away = true;
                left.push((name, ratio));
            } else if within(INNER) {
                *away = false;
            }
        }
        left
    }

    /// Starts over: with another engine, detection changes as well.
    pub(crate) fn reset(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = State::default();
    }

    /// Returns the recent average over the long one, by signal; `None` without enough tokens.
    pub(crate) fn ratios(&self) -> [Option<f64>; 2] {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.seen < ENOUGH {
            [None; 2]
        } else {
            ratios(&state)
        }
    }

    /// Returns the redacted spans per thousand recent tokens.
    pub(crate) fn density(&self) -> Option<f64> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let [density, _] = state.short.signals();
        density.map(|density| density * 1000.0)
    }
}

fn ratios(state: &State) -> [Option<f64>; 2] {
    let [short, long] = [state.short.signals(), state.long.signals()];
    let of = |signal: usize| Some(short[signal]? / long[signal].filter(|long| *long > 0.0)?);
    [of(0), of(1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(spans: u64, margin: f64) -> Seen {
        Seen {
            tokens: 10_000,
            spans,
            margins: margin * spans as f64,
        }
    }

    #[test]
    fn a_feed_that_stays_what_it_is_never_warns() {
        let drift = Drift::default();
        for round in 0..500 {
            assert_eq!(drift.add(&batch(290 + round % 20, 0.9)), []);
        }
        let [density, margin] = drift.ratios().map(Option::unwrap);
        assert!((0.9..1.1).contains(&density) && (0.99..1.01).contains(&margin));
        assert!((280.0..320.0).contains(&(drift.density().unwrap() * 10.0)));
    }

    #[test]
    fn a_feed_that_changes_warns_once_and_again_after_it_was_back() {
        let drift = Drift::default();
        for _ in 0..200 {
            drift.add(&batch(300, 0.9));
        }
        let warned = |spans, margin| {
            (0..60)
                .flat_map(|_| drift.add(&batch(spans, margin)))
                .collect::<Vec<_>>()
        };
        let first = warned(60, 0.9);
        assert_eq!(first.len(), 1, "{first:?}");
        assert_eq!(first[0].0, "phi_density");
        assert!(first[0].1 < 0.67);
        assert_eq!(warned(300, 0.9), []);
        let [(name, ratio)] = warned(300, 0.3)[..] else {
            panic!("one signal")
        };
        assert!(name == "vote_margin" && ratio < 0.67, "{name} {ratio}");
    }

    #[test]
    fn little_text_and_another_engine_version_are_not_compared() {
        let drift = Drift::default();
        drift.add(&batch(300, 0.9));
        assert_eq!(drift.ratios(), [None; 2]);
        for _ in 0..100 {
            drift.add(&batch(300, 0.9));
        }
        assert!(drift.ratios()[0].is_some());
        drift.reset();
        assert_eq!(
            (drift.ratios(), drift.add(&batch(1, 0.1))),
            ([None; 2], Vec::new())
        );
        assert_eq!(drift.add(&Seen::default()), []);
    }
}
