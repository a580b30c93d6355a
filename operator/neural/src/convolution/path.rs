//! The best sequence of tags that a scheme allows, where no allowed transition is better than another.

use std::ops::Range;

use lethe_learn::TagSet;

/// The tags that may follow each other, together with those that follow the same ones: in BILOU, every tag
/// that begins a span or lies outside follows the same tags, and `I-` and `L-` of a label follow two.
pub(super) struct Paths {
    tags: usize,
    groups: Vec<Group>,
    /// Whether the tag of a column may follow that of a row.
    allowed: Vec<bool>,
    starts: Vec<bool>,
    ends: Vec<bool>,
}

struct Group {
    before: Vec<usize>,
    after: Vec<usize>,
}

impl Paths {
    /// Reads which tags may follow each other.
    pub(super) fn new(tags: &TagSet) -> Self {
        let all = || 0..tags.len();
        let mut groups: Vec<Group> = Vec::new();
        for tag in all() {
            let may = |&before: &usize| tags.may_follow(Some(before as u16), Some(tag as u16));
            let before: Vec<usize> = all().filter(may).collect();
            match groups.iter_mut().find(|group| group.before == before) {
                Some(group) => group.after.push(tag),
                None => groups.push(Group {
                    before,
                    after: vec![tag],
                }),
            }
        }
        let follows =
            |before: usize| all().map(move |after| tags.may_follow(Some(before as u16), Some(after as u16)));
        Self {
            tags: tags.len(),
            groups,
            allowed: all().flat_map(follows).collect(),
            starts: all().map(|tag| tags.may_follow(None, Some(tag as u16))).collect(),
            ends: all().map(|tag| tags.may_follow(Some(tag as u16), None)).collect(),
        }
    }

    /// Returns the tags, one for each row of scores, with the highest sum of scores.
    ///
    /// No path has a higher sum than each row's best tag. So only where these may not follow each other are paths
    /// compared: between two tokens that are best outside of spans, as long as they stay outside on the best path there.
    #[inline(always)]
    pub(super) fn best(&self, scores: &[f32]) -> Vec<u16> {
        let outside = |tag: &u16| *tag == TagSet::OUTSIDE;
        let rows = scores.chunks_exact(self.tags);
        let mut tags: Vec<u16> = rows.map(|row| best_of(row) as u16).collect();
        let mut from = 0;
        // The part before, and whether it has the note's start.
        let mut last: Option<(Range<usize>, bool)> = None;
        while let Some(gap) = self.next_gap(&tags, from) {
            let settled = last.as_ref().map_or(0, |(part, _)| part.end - 1);
            let before = tags[settled..gap].iter().rposition(outside);
            let (mut first, mut from_start) = match (before, &last) {
                // Parts that share a token are one: a better path may leave it.
                (Some(0) | None, Some((part, from_start))) => (part.start, *from_start),
                (Some(place), _) => (settled + place, false),
                (None, None) => (0, true),
            };
            let end_after = |at: usize| tags[at..].iter().position(outside).map(|place| at + place + 1);
            let (mut end, mut to_end) = end_after(gap).map_or((tags.len(), true), |end| (end, false));
            let found = loop {
                let part = &scores[first * self.tags..end * self.tags];
                let found = self.best_in(part, from_start, to_end);
                let open_start = !from_start && found.first() != Some(&TagSet::OUTSIDE);
                let open_end = !to_end && found.last() != Some(&TagSet::OUTSIDE);
                // Otherwise a path from outside the part may be better.
                if !open_start && !open_end {
                    break found;
                }
                if open_start {
                    (first, from_start) = (0, true);
                }
                if open_end {
                    (end, to_end) = end_after(end).map_or((tags.len(), true), |end| (end, false));
                }
            };
            tags[first..end].copy_from_slice(&found);
            from = end;
            last = Some((first..end, from_start));
        }
        tags
    }

    /// Returns the first token from `from` on that may not follow the one before it; the number of tokens if the last
    /// one may not end a note.
    #[inline(always)]
    fn next_gap(&self, tags: &[u16], from: usize) -> Option<usize> {
        let may_follow = |at: &usize| {
            let before = at.checked_sub(1).map(|before| usize::from(tags[before]));
            match (before, tags.get(*at)) {
                (Some(before), Some(&tag)) => self.allowed[before * self.tags + usize::from(tag)],
                (None, Some(&tag)) => self.starts[usize::from(tag)],
                (Some(last), None) => self.ends[last],
                (None, None) => true,
            }
        };
        (from..=tags.len()).find(|at| !may_follow(at))
    }

    /// Returns the best tags of some rows of a note. The first and the last may be any, unless the note begins or ends
    /// there.
    #[inline(always)]
    fn best_in(&self, scores: &[f32], from_start: bool, to_end: bool) -> Vec<u16> {
        let mut rows = scores.chunks_exact(self.tags);
        let Some(first) = rows.next() else {
            return Vec::new();
        };
        let only = |allowed: bool, score: f32| if allowed { score } else { f32::NEG_INFINITY };
        let mut sums: Vec<f32> = first
            .iter()
            .zip(&self.starts)
            .map(|(&score, &may)| only(may || !from_start, score))
            .collect();
        let mut next = sums.clone();
        let mut came_from = vec![0_u16; scores.len() - self.tags];
        for (row, from) in rows.zip(came_from.chunks_exact_mut(self.tags)) {
            for Group { before, after } in &self.groups {
                let (best, sum) = highest(before.iter().map(|&tag| (tag, sums[tag])));
                for &tag in after {
                    next[tag] = sum + row[tag];
                    from[tag] = best as u16;
                }
            }
            // Sums stay near zero, so that a note's end is added as exactly as its beginning.
            let top = next.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            next.iter_mut().for_each(|sum| *sum -= top);
            std::mem::swap(&mut sums, &mut next);
        }
        let last = sums.iter().zip(&self.ends).enumerate();
        let (last, _) = highest(last.map(|(tag, (&sum, &may))| (tag, only(may || !to_end, sum))));
        let mut tags = vec![last as u16];
        for from in came_from.chunks_exact(self.tags).rev() {
            let tag = from[usize::from(tags[tags.len() - 1])];
            tags.push(tag);
        }
        tags.reverse();
        tags
    }
}

/// Returns the first place of a row's highest score.
#[inline(always)]
fn best_of(row: &[f32]) -> usize {
    // First the score alone, in lanes: so the processor compares many at once.
    let mut lanes = [f32::NEG_INFINITY; 16];
    let (parts, rest) = row.as_chunks::<16>();
    for part in parts {
        for (lane, &score) in lanes.iter_mut().zip(part) {
            *lane = if score > *lane { score } else { *lane };
        }
    }
    let most = lanes
        .iter()
        .chain(rest)
        .copied()
        .fold(f32::NEG_INFINITY, f32::max);
    row.iter().position(|&score| score == most).unwrap_or(0)
}

/// Returns the first of the tags with the highest sum, and that sum.
#[inline(always)]
fn highest(tags: impl Iterator<Item = (usize, f32)>) -> (usize, f32) {
    let none = (0, f32::NEG_INFINITY);
    tags.fold(none, |best, one| if one.1 > best.1 { one } else { best })
}

#[cfg(test)]
mod tests {
    use lethe_learn::Scheme;
    use proptest::prelude::*;

    use super::*;

    /// Returns every allowed sequence.
    fn all(tags: &TagSet, length: usize) -> Vec<Vec<u16>> {
        let mut paths = vec![Vec::new()];
        for _ in 0..length {
            let longer = |path: &Vec<u16>| {
                let path = path.clone();
                let last = path.last().copied();
                let may = |&tag: &u16| tags.may_follow(last, Some(tag));
                let next: Vec<u16> = (0..tags.len() as u16).filter(may).collect();
                next.into_iter()
                    .map(move |tag| [path.as_slice(), &[tag]].concat())
            };
            paths = paths.iter().flat_map(longer).collect();
        }
        paths.retain(|path| path.last().is_none_or(|&last| tags.may_follow(Some(last), None)));
        paths
    }

    proptest! {
        #[test]
        fn no_allowed_sequence_has_a_higher_sum(
            scheme in prop_oneof![Just(Scheme::Bilou), Just(Scheme::Bio)],
            length in 0..6_usize,
            outside in 0_i8..10,
            scores in prop::collection::vec(-8_i8..8, 5 * 9),
        ) {
            let tags = TagSet::new(scheme, vec!["AGE".to_owned(), "DATE".to_owned()]);
            let mut scores: Vec<f32> = scores.iter().map(|&score| f32::from(score)).take(length * tags.len()).collect();
            // Some tokens are best outside of spans, and paths are compared between them alone.
            scores.iter_mut().step_by(tags.len()).for_each(|score| *score += f32::from(outside));
            prop_assume!(scores.len() == length * tags.len());
            let sum = |path: &[u16]| -> f32 {
                path.iter().zip(scores.chunks_exact(tags.len())).map(|(&tag, row)| row[usize::from(tag)]).sum()
            };
            let found = Paths::new(&tags).best(&scores);
            let paths = all(&tags, length);
            prop_assert!(paths.contains(&found));
            prop_assert!(paths.iter().all(|path| sum(path) <= sum(&found)));
        }

        #[test]
        fn a_path_in_parts_has_the_sum_of_the_path_through_the_whole(
            scheme in prop_oneof![Just(Scheme::Bilou), Just(Scheme::Bio)],
            outside in 0_i8..12,
            scores in prop::collection::vec(prop::collection::vec(-8_i8..8, 9), 1..60),
        ) {
            let tags = TagSet::new(scheme, vec!["AGE".to_owned(), "DATE".to_owned()]);
            let row = |row: Vec<i8>| row.into_iter().take(tags.len()).map(f32::from);
            let mut scores: Vec<f32> = scores.into_iter().flat_map(row).collect();
            scores.iter_mut().step_by(tags.len()).for_each(|score| *score += f32::from(outside));
            let paths = Paths::new(&tags);
            let sum = |path: &[u16]| -> f32 {
                path.iter().zip(scores.chunks_exact(tags.len())).map(|(&tag, row)| row[usize::from(tag)]).sum()
            };
            let (parts, whole) = (paths.best(&scores), paths.best_in(&scores, true, true));
            prop_assert_eq!(paths.next_gap(&parts, 0), None);
            prop_assert_eq!(sum(&parts), sum(&whole));
        }
    }
}
