//! Windows over a note that is longer than the encoder's input.

use std::ops::Range;

/// Returns, for `count` sub-words, windows of `size`, each sharing `overlap` with the next (the last one
/// more, so that it is as full as the others), and for each the sub-words that it answers for: those that are
/// farther from an edge in it than in its neighbours, so that the middle of the shared part divides two
/// windows. A note's own ends are not edges.
pub(super) fn windows(
    count: usize,
    size: usize,
    overlap: usize,
) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
    let stride = size.saturating_sub(overlap).max(1);
    let beyond = count.saturating_sub(size).div_ceil(stride);
    let start = move |window: usize| (window * stride).min(count.saturating_sub(size));
    let end = move |window: usize| (start(window) + size).min(count);
    // The border between window `w - 1` and window `w`.
    let border = move |window: usize| match window {
        0 => 0,
        _ if window > beyond => count,
        _ => (start(window) + end(window - 1)).div_ceil(2),
    };
    let windows = if count == 0 { 0 } else { beyond + 1 };
    (0..windows).map(move |window| (start(window)..end(window), border(window)..border(window + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_short_note_is_one_window_and_an_empty_one_none() {
        assert_eq!(windows(7, 10, 2).collect::<Vec<_>>(), [(0..7, 0..7)]);
        assert_eq!(windows(0, 10, 2).count(), 0);
    }

    #[test]
    fn the_middle_of_the_shared_part_divides_and_the_last_window_is_full() {
        let all: Vec<_> = windows(23, 10, 4).collect();
        assert_eq!(
            all,
            [(0..10, 0..8), (6..16, 8..14), (12..22, 14..18), (13..23, 18..23)]
        );
    }

    proptest! {
        #[test]
        fn every_piece_is_answered_once_by_the_window_with_most_context(count in 1_usize..300, size in 1_usize..60, overlap in 0_usize..60) {
            let overlap = overlap.min(size - 1);
            let all: Vec<_> = windows(count, size, overlap).collect();
            let kept: Vec<usize> = all.iter().flat_map(|(_, kept)| kept.clone()).collect();
            prop_assert_eq!(kept, (0..count).collect::<Vec<_>>());
            let context = |seen: &Range<usize>, piece: usize| {
                let left = if seen.start == 0 { usize::MAX } else { piece - seen.start };
                let right = if seen.end == count { usize::MAX } else { seen.end - 1 - piece };
                left.min(right)
            };
            for (seen, kept) in &all {
                prop_assert!(seen.len() == size.min(count) && seen.end <= count);
                for piece in kept.clone() {
                    prop_assert!(seen.contains(&piece));
                    let others = all.iter().filter(|(seen, _)| seen.contains(&piece));
                    let most = others.map(|(seen, _)| context(seen, piece)).max().unwrap();
                    // Two windows in which it is equally far from an edge, or one step apart, are equally
                    // good.
                    prop_assert!(context(seen, piece).saturating_add(1) >= most);
                }
            }
        }
    }
}
