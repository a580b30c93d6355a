//! Pairs overlapping spans one to one, with as many pairs as possible.

use lethe_core::Span;

/// Returns the largest set of pairs (index into `gold`, index into `predicted`) whose spans share a byte,
/// each span in at most one pair. Spans must not be empty.
///
/// The algorithm goes through spans by their end. All spans that overlap the one that ends first contain its
/// last byte, so it is paired with the one of them that ends first. Any other pairing of the same size can be
/// turned into one that has this pair, because the previous partner of that span also overlaps the span that
/// lost it.
pub(crate) fn overlapping(gold: &[Span], predicted: &[Span]) -> Vec<(usize, usize)> {
    let side = |spans: &[Span], is_gold: bool| -> Vec<(Span, bool, usize)> {
        spans
            .iter()
            .enumerate()
            .map(|(i, span)| (*span, is_gold, i))
            .collect()
    };
    let mut all = side(gold, true);
    all.extend(side(predicted, false));
    all.sort_by_key(|&(span, is_gold, i)| (span.end(), span.start(), is_gold, i));
    let mut paired = vec![false; all.len()];
    let mut pairs = Vec::new();
    for (at, &(span, is_gold, index)) in all.iter().enumerate() {
        if paired[at] {
            continue;
        }
        let partner =
            (at + 1..all.len()).find(|&i| !paired[i] && all[i].1 != is_gold && all[i].0.start() < span.end());
        if let Some(i) = partner {
            paired[i] = true;
            pairs.push(if is_gold {
                (index, all[i].2)
            } else {
                (all[i].2, index)
            });
        }
    }
    pairs.sort_unstable();
    pairs
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spans(ends: &[(u32, u32)]) -> Vec<Span> {
        ends.iter()
            .map(|&(start, end)| Span::between(start, end))
            .collect()
    }

    /// Returns the size of the largest set by exhaustive search.
    fn most(gold: &[Span], predicted: &[Span]) -> usize {
        let Some((first, rest)) = gold.split_first() else {
            return 0;
        };
        let mut best = most(rest, predicted);
        for i in 0..predicted.len() {
            if first.overlaps(predicted[i]) {
                let mut left = predicted.to_vec();
                left.remove(i);
                best = best.max(1 + most(rest, &left));
            }
        }
        best
    }

    #[test]
    fn one_long_prediction_finds_one_of_two_gold_spans() {
        let pairs = overlapping(&spans(&[(0, 4), (5, 9)]), &spans(&[(0, 9)]));
        assert_eq!(pairs, [(0, 0)]);
    }

    #[test]
    fn spans_that_touch_do_not_overlap() {
        assert!(overlapping(&spans(&[(0, 4)]), &spans(&[(4, 8)])).is_empty());
    }

    proptest! {
        #[test]
        fn no_other_pairing_has_more_pairs(
            gold in prop::collection::vec((0u32..12, 1u32..6), 0..6),
            predicted in prop::collection::vec((0u32..12, 1u32..6), 0..6),
        ) {
            let make = |ends: Vec<(u32, u32)>| -> Vec<Span> {
                ends.into_iter().map(|(start, len)| Span::between(start, start + len)).collect()
            };
            let (gold, predicted) = (make(gold), make(predicted));
            let pairs = overlapping(&gold, &predicted);
            prop_assert_eq!(pairs.len(), most(&gold, &predicted));
            for (i, &(g, p)) in pairs.iter().enumerate() {
                prop_assert!(gold[g].overlaps(predicted[p]));
                prop_assert!(pairs[..i].iter().all(|&(other, by)| other != g && by != p));
            }
        }
    }
}
