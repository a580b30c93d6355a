//! The numbers of records, row after row: one allocation for tens of thousands of short rows.

use crate::read::{LoadError, Reader};

/// Rows of numbers.
pub(super) struct Numbers {
    /// The end of each row.
    ends: Vec<u32>,
    all: Vec<u32>,
}

impl Numbers {
    /// Reads a counted sequence of counted rows.
    ///
    /// # Errors
    /// [`LoadError::Damaged`] if they are cut short.
    pub(super) fn read(from: &mut Reader<'_>) -> Result<Self, LoadError> {
        let mut all = Vec::new();
        let ends = from.many(|from| {
            for _ in 0..from.u32()? {
                all.push(from.u32()?);
            }
            // The file has fewer than 4 GiB.
            Ok(all.len() as u32)
        })?;
        Ok(Self { ends, all })
    }

    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns a row; an empty one if it does not exist.
    pub(super) fn row(&self, row: usize) -> &[u32] {
        let start = row
            .checked_sub(1)
            .map_or(Some(&0), |before| self.ends.get(before));
        match (start, self.ends.get(row)) {
            (Some(&start), Some(&end)) => &self.all[start as usize..end as usize],
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_numbers_and_a_cut_is_refused() {
        let words = [3u32, 2, 7, 9, 0, 1, 5];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let read = |bytes: &[u8]| Numbers::read(&mut Reader::over(bytes));
        let numbers = read(&bytes).unwrap();
        assert_eq!(numbers.len(), 3);
        let rows: [&[u32]; 4] = [&[7, 9], &[], &[5], &[]];
        assert_eq!([0, 1, 2, 3].map(|row| numbers.row(row)), rows);
        for cut in 0..bytes.len() {
            assert!(read(&bytes[..cut]).is_err(), "{cut}");
        }
    }
}
