//! Records offsets with problems.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// Findings of one kind: all are counted, and the first thousand stretches are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// Number of offsets.
    pub count: u64,
    /// Stretches in the order in which they were found; the first thousand.
    pub at: Vec<Finding>,
}

/// Consecutive offsets with the same problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// First offset.
    pub from: i64,
    /// Offset after the last.
    pub to: i64,
    /// The problem, as a code.
    pub why: &'static str,
}

impl Findings {
    const LISTED: usize = 1000;

    pub(super) fn add(&mut self, offset: i64, why: &'static str) {
        self.add_range(offset, offset.saturating_add(1), why);
    }

    pub(super) fn add_range(&mut self, from: i64, to: i64, why: &'static str) {
        self.count += (to - from).unsigned_abs();
        if let Some(last) = self.at.last_mut()
            && last.to == from
            && last.why == why
        {
            last.to = to;
        } else if self.at.len() < Self::LISTED {
            self.at.push(Finding { from, to, why });
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to - self.from {
            1 => write!(f, "offset {}", self.from)?,
            _ => write!(f, "offsets {} to {}", self.from, self.to - 1)?,
        }
        write!(f, " ({})", self.why)
    }
}

/// A set of offsets, as ranges.
#[derive(Debug, Default)]
pub(super) struct Ranges(BTreeMap<i64, i64>);

impl Ranges {
    /// Adds an offset; they mostly ascend.
    pub(super) fn add(&mut self, offset: i64) {
        if let Some((_, to)) = self.0.range_mut(..=offset).next_back()
            && *to >= offset
        {
            *to = (*to).max(offset + 1);
            return;
        }
        self.0.insert(offset, offset + 1);
    }

    /// Removes an offset.
    pub(super) fn remove(&mut self, offset: i64) {
        let Some((&from, &to)) = self.0.range(..=offset).next_back() else {
            return;
        };
        if to <= offset {
            return;
        }
        self.0.remove(&from);
        if from < offset {
            self.0.insert(from, offset);
        }
        if offset + 1 < to {
            self.0.insert(offset + 1, to);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (i64, i64)> {
        self.0.iter().map(|(&from, &to)| (from, to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_grow_and_are_split() {
        let mut ranges = Ranges::default();
        (3..8).for_each(|offset| ranges.add(offset));
        ranges.remove(5);
        ranges.remove(3);
        ranges.remove(30);
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [(4, 5), (6, 8)]);
    }

    #[test]
    fn findings_count_all_and_list_stretches() {
        let mut findings = Findings::default();
        [1, 2, 3, 7]
            .into_iter()
            .for_each(|offset| findings.add(offset, "no_row"));
        assert_eq!((findings.count, findings.at.len()), (4, 2));
        assert_eq!(findings.at[0].to_string(), "offsets 1 to 3 (no_row)");
    }
}
