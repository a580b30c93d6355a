//! The number of days by which a patient's dates move.
//!
//! Each patient and key has one number for all notes, so that intervals between any two dates of a patient
//! stay unchanged. A shifted date is still a date: Safe Harbor does not allow it (45 CFR
//! 164.514(b)(2)(i)(C)).

use std::num::NonZeroU64;

use crate::keys::{Key, Purpose};

/// The range of a patient's shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShiftRule {
    greatest: u32,
    step: u32,
}

impl Default for ShiftRule {
    /// Returns 1 to 364 days, in either direction.
    fn default() -> Self {
        Self {
            greatest: 364,
            step: 1,
        }
    }
}

/// Why a rule is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShiftError {
    /// No shift is possible, or dates would leave the calendar in use.
    #[error("a shift must be of 1 to {MOST} days (7 to {MOST} if weekdays are kept), not {0}")]
    Days(u32),
}

/// A hundred years: larger shifts would move dates out of any lifetime.
const MOST: u32 = 36_500;

impl ShiftRule {
    /// Creates a rule for shifts of at most `greatest` days in either direction; with `weekdays` only by
    /// whole weeks.
    ///
    /// # Errors
    ///
    /// [`ShiftError::Days`].
    pub fn new(greatest: u32, weekdays: bool) -> Result<Self, ShiftError> {
        let step = if weekdays { 7 } else { 1 };
        if !(step..=MOST).contains(&greatest) {
            return Err(ShiftError::Days(greatest));
        }
        Ok(Self { greatest, step })
    }

    /// Returns the days of this patient's shift: uniform over the multiples of the step from -greatest to
    /// +greatest, never 0.
    pub fn days(&self, key: &Key, patient: &str) -> i32 {
        let each_way = u64::from(self.greatest / self.step);
        // Invariant: `greatest` is at least the step and at most 36,500 (`new`), so both directions have 2 to
        // 73,000 steps.
        let both = NonZeroU64::new(2 * each_way).expect("at least one step each way");
        let drawn = key.bound(Purpose::Shift, patient).number(&["days"], both);
        let (steps, later) = (drawn % each_way + 1, drawn >= each_way);
        // At most 36,500.
        let days = steps as i32 * self.step as i32;
        if later { days } else { -days }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{Keyring, source_tests::SECRET_A};

    fn ring() -> Keyring {
        Keyring::parse_short(&format!("a:{SECRET_A}")).unwrap()
    }

    #[test]
    fn every_shift_in_the_range_comes_up_and_none_is_zero() {
        let (ring, rule) = (ring(), ShiftRule::new(5, false).unwrap());
        let mut seen = std::collections::BTreeMap::new();
        for patient in 0..10_000 {
            *seen
                .entry(rule.days(ring.current(), &patient.to_string()))
                .or_insert(0) += 1;
        }
        assert_eq!(
            seen.keys().copied().collect::<Vec<_>>(),
            [-5, -4, -3, -2, -1, 1, 2, 3, 4, 5]
        );
        // Six standard deviations of a binomial count (30) around 1,000.
        assert!(
            seen.values().all(|count| (820..=1180).contains(count)),
            "{seen:?}"
        );
    }

    #[test]
    fn the_default_is_364_days_either_way() {
        let ring = ring();
        let days: Vec<_> = (0..50_000)
            .map(|patient| ShiftRule::default().days(ring.current(), &patient.to_string()))
            .collect();
        assert_eq!(days.iter().min(), Some(&-364));
        assert_eq!(days.iter().max(), Some(&364));
        assert!(!days.contains(&0));
    }

    #[test]
    fn weekdays_are_kept_by_whole_weeks() {
        let (ring, rule) = (ring(), ShiftRule::new(20, true).unwrap());
        let seen: std::collections::BTreeSet<_> = (0..1000)
            .map(|patient| rule.days(ring.current(), &patient.to_string()))
            .collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [-14, -7, 7, 14]);
    }

    #[test]
    fn a_patient_has_one_shift() {
        let rule = ShiftRule::default();
        assert_eq!(
            rule.days(ring().current(), "MRN 5"),
            rule.days(ring().current(), "MRN 5")
        );
    }

    #[test]
    fn rules_without_a_shift_are_refused() {
        assert_eq!(ShiftRule::new(0, false), Err(ShiftError::Days(0)));
        assert_eq!(ShiftRule::new(6, true), Err(ShiftError::Days(6)));
        assert_eq!(ShiftRule::new(40_000, false), Err(ShiftError::Days(40_000)));
        assert_eq!(
            ShiftError::Days(0).to_string(),
            "a shift must be of 1 to 36500 days (7 to 36500 if weekdays are kept), not 0"
        );
    }
}
