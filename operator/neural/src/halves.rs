//! Tables of half precision, as a model's file has them: half the memory, and no time to convert rows that no note needs.

use std::borrow::Cow;
use std::ops::Range;

use half::f16;
use half::slice::HalfFloatSliceExt as _;
use lethe_kernel::prefetch;

/// A table of numbers of half precision (IEEE 754 binary16, little-endian) within the bytes of a file.
pub(crate) struct Halves {
    file: Cow<'static, [u8]>,
    table: Range<usize>,
    columns: usize,
}

impl Halves {
    /// Creates the table at a place of a file.
    pub(crate) const fn new(file: Cow<'static, [u8]>, table: Range<usize>, columns: usize) -> Self {
        Self { file, table, columns }
    }

    /// Writes a row in single precision, which is exact.
    pub(crate) fn row(&self, row: usize, to: &mut [f32]) {
        widen(self.bytes(row), to);
    }

    /// Prefetches a row.
    pub(crate) fn prefetch(&self, row: usize) {
        prefetch(self.bytes(row));
    }

    fn bytes(&self, row: usize) -> &[u8] {
        let size = self.columns * 2;
        &self.file[self.table.clone()][row * size..(row + 1) * size]
    }
}

/// Writes numbers of half precision in single precision.
pub(crate) fn widen(bytes: &[u8], to: &mut [f32]) {
    let (halves, _) = bytes.as_chunks::<2>();
    // Only its slices are converted by the processor's own instruction.
    let mut some = [f16::ZERO; 64];
    for (to, from) in to.chunks_mut(some.len()).zip(halves.chunks(some.len())) {
        let some = &mut some[..from.len()];
        for (half, &bytes) in some.iter_mut().zip(from) {
            *half = f16::from_le_bytes(bytes);
        }
        some.convert_to_f32_slice(to);
    }
}

/// Returns whether numbers of half precision are all finite.
pub(crate) fn are_finite(bytes: &[u8]) -> bool {
    const EXPONENT: u16 = 0x7C00;
    let (halves, _) = bytes.as_chunks::<2>();
    halves
        .iter()
        .all(|&half| u16::from_le_bytes(half) & EXPONENT != EXPONENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(numbers: &[f32]) -> Vec<u8> {
        numbers
            .iter()
            .flat_map(|&x| f16::from_f32(x).to_le_bytes())
            .collect()
    }

    #[test]
    fn a_row_has_its_numbers_wherever_the_table_is_in_the_file() {
        let mut file = vec![7; 3];
        file.extend(bytes(&[0.5, -2.0, 65504.0, 0.0, 6.0e-8, -0.25]));
        let table = Halves::new(file.into(), 3..15, 2);
        for (row, numbers) in [[0.5, -2.0], [65504.0, 0.0], [5.960_464_5e-8, -0.25]]
            .into_iter()
            .enumerate()
        {
            let mut to = [0.0; 2];
            table.row(row, &mut to);
            assert_eq!(to, numbers);
        }
    }

    #[test]
    fn all_numbers_of_half_precision_are_widened_and_told_from_those_that_are_not_finite() {
        for half in 0..=u16::MAX {
            let (mut to, number) = ([0.0], f16::from_bits(half));
            widen(&half.to_le_bytes(), &mut to);
            assert_eq!(to[0].to_bits(), number.to_f32().to_bits());
            assert_eq!(are_finite(&half.to_le_bytes()), number.is_finite());
        }
    }
}
