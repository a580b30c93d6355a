//! The pauses between attempts: one policy for everything that is tried again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// Pauses that double from a first one to a longest one, each shortened by up to a quarter, so that many lanes that lost the
/// same store do not return at the same moment.
///
/// How much each pause is shortened depends on the name and on the attempt alone. So a simulated run repeats exactly.
///
/// ```
/// use std::time::Duration;
/// use lethe_core::Backoff;
///
/// let mut backoff = Backoff::new("notes/3").attempts(3);
/// let (first, second) = (backoff.pause().unwrap(), backoff.pause().unwrap());
/// assert!(first <= Duration::from_millis(200) && first >= Duration::from_millis(150));
/// assert!(second <= Duration::from_millis(400) && second >= Duration::from_millis(300));
/// assert_eq!(backoff.pause(), None, "the third attempt was the last");
/// ```
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    most: Option<u32>,
    failed: u32,
    name: u64,
}

impl Backoff {
    /// Creates a backoff without an end, of 200 ms to 15 s. `name` identifies what is tried among its like, for instance a
    /// topic and partition.
    pub fn new(name: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        Self {
            first: Duration::from_millis(200),
            longest: Duration::from_secs(15),
            most: None,
            failed: 0,
            name: hasher.finish(),
        }
    }

    /// Sets the first and the longest pause.
    #[must_use]
    pub const fn between(mut self, first: Duration, longest: Duration) -> Self {
        (self.first, self.longest) = (first, longest);
        self
    }

    /// Limits the attempts, including the first.
    #[must_use]
    pub const fn attempts(mut self, most: u32) -> Self {
        self.most = Some(most);
        self
    }

    /// Returns how long to wait after a failed attempt, or `None` if it was the last.
    pub fn pause(&mut self) -> Option<Duration> {
        self.failed = self.failed.saturating_add(1);
        if self.most.is_some_and(|most| self.failed >= most) {
            return None;
        }
        let doubled = 2_u32.saturating_pow(self.failed - 1);
        let pause = self.first.saturating_mul(doubled).min(self.longest);
        let mut hasher = DefaultHasher::new();
        (self.name, self.failed).hash(&mut hasher);
        let shorter = (hasher.finish() % 1024) as u32;
        Some(pause - pause / 4096 * shorter)
    }

    /// Begins again with the first pause, after an attempt that succeeded.
    pub const fn reset(&mut self) {
        self.failed = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_lose_a_quarter_at_most() {
        let mut backoff = Backoff::new("a/0").between(Duration::from_secs(1), Duration::from_secs(8));
        for whole in [1, 2, 4, 8, 8, 8] {
            let (pause, whole) = (backoff.pause().unwrap(), Duration::from_secs(whole));
            assert!(pause <= whole && pause >= whole * 3 / 4, "{pause:?} of {whole:?}");
        }
        backoff.reset();
        assert!(backoff.pause().unwrap() <= Duration::from_secs(1));
    }

    #[test]
    fn the_same_name_has_the_same_pauses_and_another_has_others() {
        let pauses = |name| {
            let mut backoff = Backoff::new(name);
            (0..4).map(|_| backoff.pause()).collect::<Vec<_>>()
        };
        assert_eq!(pauses("a/0"), pauses("a/0"));
        assert_ne!(pauses("a/0"), pauses("a/1"));
    }

    #[test]
    fn a_backoff_of_one_attempt_has_no_pause() {
        assert_eq!(Backoff::new("a").attempts(1).pause(), None);
    }

    #[test]
    fn a_pause_after_years_of_failures_is_the_longest() {
        let mut backoff = Backoff::new("a");
        backoff.failed = u32::MAX - 1;
        assert!(backoff.pause().unwrap() <= Duration::from_secs(15));
        assert!(backoff.pause().unwrap() <= Duration::from_secs(15));
    }
}
