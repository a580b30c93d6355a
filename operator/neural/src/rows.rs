//! Rows that are computed once and cached, for both directions of an LSTM: in single precision, or as whole numbers
//! of a small unit, which take half the memory. Reading a note's rows takes as long as its memory does.

use std::ops::Range;

use lethe_core::vec_bytes;
use lethe_kernel::{Buffer, Isa, prefetch};

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
    /// Returns the bytes of memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.pages.iter().flatten().map(Buffer::bytes).sum()
    }

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

/// The parts of 1 in which [`ShortRows`] count. What lies beyond 32, where gates are closed or open, is cut.
const PARTS: f32 = 1024.0;

/// The same table in whole numbers of sixteen bits.
#[derive(Clone, Default)]
pub(crate) struct ShortRows {
    pages: Vec<[Vec<i16>; 2]>,
    /// A page before it is rounded.
    exact: [Buffer; 2],
    len: usize,
}

impl ShortRows {
    /// Returns the bytes of memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.pages.iter().flatten().map(vec_bytes).sum()
    }

    /// Removes all rows; keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.pages.iter_mut().flatten().for_each(Vec::clear);
        self.len = 0;
    }

    /// As [`Rows::grow`].
    pub(crate) fn grow(
        &mut self,
        isa: Isa,
        len: usize,
        mut fill: impl FnMut(Range<usize>, [&mut Buffer; 2]),
    ) {
        while self.len < len {
            let page = self.len / PAGE;
            if page == self.pages.len() {
                self.pages.push(<[Vec<i16>; 2]>::default());
            }
            let new = self.len..len.min((page + 1) * PAGE);
            self.len = new.end;
            let [fore, back] = &mut self.exact;
            fore.reset(0);
            back.reset(0);
            fill(new, [fore, back]);
            for (exact, page) in self.exact.iter().zip(&mut self.pages[page]) {
                let old = page.len();
                page.resize(old + exact.len(), 0);
                isa.widely(
                    #[inline(always)]
                    || {
                        for (to, x) in page[old..].iter_mut().zip(exact.iter()) {
                            *to = (x * PARTS).round_ties_even() as i16;
                        }
                    },
                );
            }
        }
    }

    fn get(&self, direction: usize, row: u32, width: usize) -> &[i16] {
        let row = row as usize;
        &self.pages[row / PAGE][direction][row % PAGE * width..][..width]
    }

    /// Prefetches a row of `width` numbers.
    pub(crate) fn prefetch(&self, direction: usize, row: u32, width: usize) {
        prefetch(self.get(direction, row, width));
    }

    /// Writes a row of a direction in single precision.
    #[inline(always)]
    pub(crate) fn read(&self, direction: usize, row: u32, to: &mut [f32]) {
        let row = self.get(direction, row, to.len());
        for (to, &x) in to.iter_mut().zip(row) {
            *to = f32::from(x) * (1.0 / PARTS);
        }
    }

    /// Writes the sum of a row and one of another table.
    #[inline(always)]
    pub(crate) fn read_both(
        &self,
        direction: usize,
        row: u32,
        (other, other_row): (&Self, u32),
        to: &mut [f32],
    ) {
        let rows = self.get(direction, row, to.len()).iter();
        let rows = rows.zip(other.get(direction, other_row, to.len()));
        for (to, (&x, &y)) in to.iter_mut().zip(rows) {
            *to = (i32::from(x) + i32::from(y)) as f32 * (1.0 / PARTS);
        }
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

    #[test]
    fn short_rows_are_the_numbers_to_a_part_and_add_up() {
        for isa in Isa::all() {
            let (mut own, mut more) = (ShortRows::default(), ShortRows::default());
            for rows in [&mut own, &mut more] {
                rows.grow(isa, 3, |new, both| {
                    for (direction, page) in both.into_iter().enumerate() {
                        page.resize(new.len() * 2);
                        for row in new.clone() {
                            let x = row as f32 * 0.37 - direction as f32;
                            page[2 * row..2 * row + 2].copy_from_slice(&[x, 100.0 * x]);
                        }
                    }
                });
            }
            for (direction, row) in [(0, 0_u16), (1, 0), (0, 2), (1, 2)] {
                let x = f32::from(row) * 0.37 - direction as f32;
                let (mut once, mut twice) = ([0.0; 2], [0.0; 2]);
                own.read(direction, row.into(), &mut once);
                own.read_both(direction, row.into(), (&more, row.into()), &mut twice);
                for (found, exact) in [
                    (once[0], x),
                    (once[1], (100.0 * x).clamp(-32.0, 32.0)),
                    (twice[0], 2.0 * x),
                ] {
                    assert!((found - exact).abs() <= 2.0 / PARTS, "{found} {exact}");
                }
            }
        }
    }
}
