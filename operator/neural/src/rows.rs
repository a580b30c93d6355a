//! Rows that are computed once and cached, for both directions of an LSTM.

use std::ops::Range;

use lethe_kernel::Buffer;

/// The rows of a page: the memory for reading this many word types by their characters fits the second-level
/// cache.
const PAGE: usize = 128;

/// A table that grows at its end, in pages that never move, so that growing copies nothing.
#[derive(Clone, Default)]
pub(crate) struct Rows {
    pages: Vec<[Buffer; 2]>,
    len: usize,
}

impl Rows {
    /// Removes all rows; keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.pages.iter_mut().flatten().for_each(|page| page.reset(0));
        self.len = 0;
    }

    /// Calls `fill` with the rows that are missing up to `len`, some at a time, and the buffers to append
    /// them to.
    pub(crate) fn grow(&mut self, len: usize, mut fill: impl FnMut(Range<usize>, [&mut Buffer; 2])) {
        while self.len < len {
            let page = self.len / PAGE;
            if page == self.pages.len() {
                self.pages.push(<[Buffer; 2]>::default());
            }
            let new = self.len..len.min((page + 1) * PAGE);
            self.len = new.end;
            let [fore, back] = &mut self.pages[page];
            fill(new, [fore, back]);
        }
    }

    /// Returns a row of `width` numbers of a direction (0 forward, 1 backward).
    #[inline]
    pub(crate) fn get(&self, direction: usize, row: u32, width: usize) -> &[f32] {
        let row = row as usize;
        &self.pages[row / PAGE][direction][row % PAGE * width..][..width]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_filled_once_and_found_again() {
        let mut rows = Rows::default();
        for round in 0..2 {
            let mut seen = 0;
            for len in [1, 1, 100, 128, 129, 700] {
                rows.grow(len, |new, both| {
                    assert_eq!(new.start, seen);
                    seen = new.end;
                    for (direction, page) in both.into_iter().enumerate() {
                        for row in new.clone() {
                            let old = page.len();
                            page.resize(old + 3);
                            page[old..].fill((2 * row + direction + round) as f32);
                        }
                    }
                });
                assert_eq!(seen, len);
            }
            for (direction, row) in [(0, 0), (1, 0), (0, 127), (1, 128), (0, 699)] {
                let value = (2 * row as usize + direction + round) as f32;
                assert_eq!(rows.get(direction, row, 3), [value; 3]);
            }
            rows.clear();
        }
    }
}
