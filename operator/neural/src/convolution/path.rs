//! The best sequence of tags that a scheme allows, where no allowed transition is better than another.

use lethe_learn::TagSet;

/// The tags that may follow each other, together with those that follow the same ones: in BILOU, every tag
/// that begins a span or lies outside follows the same tags, and `I-` and `L-` of a label follow two.
pub(super) struct Paths {
    tags: usize,
    groups: Vec<Group>,
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
        Self {
            tags: tags.len(),
            groups,
            starts: all().map(|tag| tags.may_follow(None, Some(tag as u16))).collect(),
            ends: all().map(|tag| tags.may_follow(Some(tag as u16), None)).collect(),
        }
    }

    /// Returns the tags, one for each row of scores, with the highest sum of scores. Of tags with the same
    /// sum, the first is taken.
    #[inline(always)]
    pub(super) fn best(&self, scores: &[f32]) -> Vec<u16> {
        let mut rows = scores.chunks_exact(self.tags);
        let Some(first) = rows.next() else {
            return Vec::new();
        };
        let only = |allowed: bool, score: f32| if allowed { score } else { f32::NEG_INFINITY };
        let mut sums: Vec<f32> = first
            .iter()
            .zip(&self.starts)
            .map(|(&score, &starts)| only(starts, score))
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
        let ends = sums.iter().zip(&self.ends).enumerate();
        let (last, _) = highest(ends.map(|(tag, (&sum, &ends))| (tag, only(ends, sum))));
        let mut tags = vec![last as u16];
        for from in came_from.chunks_exact(self.tags).rev() {
            let tag = from[usize::from(tags[tags.len() - 1])];
            tags.push(tag);
        }
        tags.reverse();
        tags
    }
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
            length in 0..5_usize,
            scores in prop::collection::vec(-8_i8..8, 4 * 9),
        ) {
            let tags = TagSet::new(scheme, vec!["AGE".to_owned(), "DATE".to_owned()]);
            let scores: Vec<f32> = scores.iter().map(|&score| f32::from(score)).take(length * tags.len()).collect();
            prop_assume!(scores.len() == length * tags.len());
            let sum = |path: &[u16]| -> f32 {
                path.iter().zip(scores.chunks_exact(tags.len())).map(|(&tag, row)| row[usize::from(tag)]).sum()
            };
            let found = Paths::new(&tags).best(&scores);
            let paths = all(&tags, length);
            prop_assert!(paths.contains(&found));
            prop_assert!(paths.iter().all(|path| sum(path) <= sum(&found)));
        }
    }
}
