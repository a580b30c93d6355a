//! Merging of adjacent decisions of one label, so that "Ana" "Ruiz" leaves one tag and not two.

use crate::{Decision, LabelId, LabelSet, Span};

/// Which decisions are one.
#[derive(Clone, Debug)]
pub struct Merging {
    /// The longest gap, in bytes, that may lie between them.
    pub max_gap: usize,
    /// The characters that the gap may consist of.
    pub gap: String,
    /// Labels that are never merged: two dates in a row are two dates.
    pub never: Vec<LabelId>,
}

impl Default for Merging {
    /// One blank, tab, or hyphen; no label exempt.
    fn default() -> Self {
        Self {
            max_gap: 1,
            gap: " \t-".to_owned(),
            never: Vec::new(),
        }
    }
}

impl Merging {
    /// Merges nothing: for measuring what a member says, span by span.
    pub fn none(labels: &LabelSet) -> Self {
        let count = u16::try_from(labels.labels().len()).unwrap_or(u16::MAX);
        Self {
            never: (0..count).map(LabelId).collect(),
            ..Self::default()
        }
    }

    /// Merges in place. `decisions` are sorted and free of overlaps, and stay so.
    pub fn apply(&self, text: &str, decisions: &mut Vec<Decision>) {
        decisions.dedup_by(|next, last| {
            let same = next.label == last.label && !self.never.contains(&next.label);
            let gap = Span::between(last.span.end() as u32, next.span.start() as u32);
            if !same || gap.len() > self.max_gap || !gap.of(text).chars().all(|c| self.gap.contains(c)) {
                return false;
            }
            last.join(next);
            true
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemberSet;

    fn merged(text: &str, spans: &[(u32, u32, u16)]) -> Vec<(usize, usize)> {
        let decision = |&(start, end, label): &(u32, u32, u16)| {
            Decision::new(
                Span::between(start, end),
                LabelId(label),
                MemberSet::default().with(0),
                1.0,
            )
        };
        let mut decisions: Vec<_> = spans.iter().map(decision).collect();
        Merging {
            never: vec![LabelId(9)],
            ..Merging::default()
        }
        .apply(text, &mut decisions);
        decisions.iter().map(|d| (d.span.start(), d.span.end())).collect()
    }

    #[test]
    fn neighbours_of_one_label_merge_across_a_blank() {
        assert_eq!(
            merged("Ana Ruiz Gil", &[(0, 3, 0), (4, 8, 0), (9, 12, 0)]),
            [(0, 12)]
        );
    }

    #[test]
    fn where_nothing_is_to_merge_neighbours_stay_apart() {
        let labels = LabelSet::i2b2_2014();
        let decision = |start, end| {
            Decision::new(
                Span::between(start, end),
                LabelId(29),
                MemberSet::default().with(0),
                1.0,
            )
        };
        let mut decisions = vec![decision(0, 3), decision(4, 8)];
        Merging::none(&labels).apply("Ana Ruiz", &mut decisions);
        assert_eq!(decisions.len(), 2);
    }

    #[test]
    fn a_line_break_another_label_or_an_exempt_label_keeps_them_apart() {
        assert_eq!(merged("Ana\nRuiz", &[(0, 3, 0), (4, 8, 0)]).len(), 2);
        assert_eq!(merged("Ana Ruiz", &[(0, 3, 0), (4, 8, 1)]).len(), 2);
        assert_eq!(merged("2001 2002", &[(0, 4, 9), (5, 9, 9)]).len(), 2);
    }
}
