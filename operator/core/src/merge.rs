//! Merges adjacent decisions of one label, so that "Ana" "Ruiz" becomes one tag and not two. Also extends
//! decisions by the text that an apostrophe joins to them, so that no half of "Hi'ilei" or "To'rayeva" is
//! left.

use crate::{Decision, LabelId, LabelSet, Span};

/// Which decisions are merged.
#[derive(Clone, Debug)]
pub struct Merging {
    /// The longest gap, in bytes, that may lie between them.
    pub max_gap: usize,
    /// The characters that the gap may consist of.
    pub gap: String,
    /// Labels that are never merged: two dates in a row are two dates.
    pub never: Vec<LabelId>,
    /// Labels whose spans are extended by the text that an apostrophe joins to them.
    pub whole: Vec<LabelId>,
}

impl Default for Merging {
    /// Allows one blank, tab, or hyphen in the gap, and excludes no label.
    fn default() -> Self {
        Self {
            max_gap: 1,
            gap: " \t-".to_owned(),
            never: Vec::new(),
            whole: Vec::new(),
        }
    }
}

impl Merging {
    /// Returns the setting that merges nothing, for measuring a member's predictions span by span.
    pub fn none(labels: &LabelSet) -> Self {
        let count = u16::try_from(labels.labels().len()).unwrap_or(u16::MAX);
        Self {
            never: (0..count).map(LabelId).collect(),
            ..Self::default()
        }
    }

    /// Returns the labels of names, for [`Merging::whole`].
    pub fn names(labels: &LabelSet) -> Vec<LabelId> {
        let all = (0..).map(LabelId).zip(labels.labels());
        all.filter(|(_, label)| label.category == "NAME")
            .map(|(id, _)| id)
            .collect()
    }

    /// Extends and merges decisions in place. `decisions` are sorted and free of overlaps, and stay so.
    pub fn apply(&self, text: &str, decisions: &mut Vec<Decision>) {
        self.grow(text, decisions);
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

    /// Extends decisions by the text that an apostrophe joins to them, up to their neighbours.
    fn grow(&self, text: &str, decisions: &mut [Decision]) {
        let mut before = 0;
        for place in 0..decisions.len() {
            let after = decisions
                .get(place + 1)
                .map_or(text.len(), |next| next.span.start());
            let Some(decision) = decisions.get_mut(place) else {
                continue;
            };
            let (mut start, mut end) = (decision.span.start(), decision.span.end());
            if self.whole.contains(&decision.label) {
                let part = |from: usize, to: usize| Span::between(from as u32, to as u32).of(text);
                let (rest, next) = (part(before, start), part(end, after));
                start -= joined_before(rest);
                end += joined_behind(next);
                decision.span = Span::between(start as u32, end as u32);
            }
            before = end;
        }
    }
}

/// Characters within names: the typed and the typographic apostrophe, the ʻokina, and their substitutes.
const APOSTROPHES: [char; 6] = ['\'', '\u{2019}', '\u{2018}', '\u{2bb}', '\u{2bc}', '`'];
/// Endings that English joins to any word; they are not part of a name.
const ENDINGS: [&str; 7] = ["s", "d", "ll", "re", "ve", "m", "t"];

/// Returns the bytes of letters and apostrophes at the beginning of `rest` that continue the word before it;
/// 0 for a possessive.
fn joined_behind(rest: &str) -> usize {
    let mut left = rest;
    while let Some(part) = left.strip_prefix(APOSTROPHES) {
        let after = part.trim_start_matches(char::is_alphanumeric);
        let word = part.strip_suffix(after).unwrap_or_default();
        if ENDINGS.iter().any(|ending| word.eq_ignore_ascii_case(ending)) {
            break;
        }
        if word.is_empty() {
            // If nothing lies between the apostrophe and the end, the other half is a decision of its own.
            left = if part.is_empty() { part } else { left };
            break;
        }
        left = after;
    }
    rest.len() - left.len()
}

/// Returns the bytes of letters and apostrophes at the end of `rest` that the word after it continues.
fn joined_before(rest: &str) -> usize {
    let mut left = rest;
    while let Some(part) = left.strip_suffix(APOSTROPHES) {
        let word = part.trim_end_matches(char::is_alphanumeric);
        if word.len() == part.len() {
            break;
        }
        left = word;
    }
    rest.len() - left.len()
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
            whole: vec![LabelId(0)],
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
    fn what_an_apostrophe_joins_goes_with_it_and_a_possessive_does_not() {
        for (text, spans, all) in [
            ("Hi'ilei sat", &[(0, 2, 0)][..], &["Hi'ilei"][..]),
            (
                "by To\u{2019}lg\u{2019}anoy,",
                &[(13, 17, 0)],
                &["To\u{2019}lg\u{2019}anoy"],
            ),
            ("Naho'opi'i here", &[(5, 8, 0)], &["Naho'opi'i"]),
            ("Ka'onohi", &[(0, 2, 0), (3, 8, 0)], &["Ka'onohi"]),
            ("Ka'onohi", &[(0, 2, 0), (3, 8, 1)], &["Ka'", "onohi"]),
            ("Ana's son, ANA'S", &[(0, 3, 0), (11, 14, 0)], &["Ana", "ANA"]),
            ("said 'Ana' and 'Bo", &[(6, 9, 0), (16, 18, 0)], &["Ana", "Bo"]),
            ("in the 1980'ies", &[(7, 11, 9)], &["1980"]),
        ] {
            let of = |&(start, end): &(usize, usize)| Span::between(start as u32, end as u32).of(text);
            let found: Vec<_> = merged(text, spans).iter().map(of).collect();
            assert_eq!(found, all, "{text}");
        }
    }

    #[test]
    fn a_line_break_another_label_or_an_exempt_label_keeps_them_apart() {
        assert_eq!(merged("Ana\nRuiz", &[(0, 3, 0), (4, 8, 0)]).len(), 2);
        assert_eq!(merged("Ana Ruiz", &[(0, 3, 0), (4, 8, 1)]).len(), 2);
        assert_eq!(merged("2001 2002", &[(0, 4, 9), (5, 9, 9)]).len(), 2);
    }
}
