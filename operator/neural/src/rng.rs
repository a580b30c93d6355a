//! Seeded random numbers without state between steps: the draws of a step depend only on the seed and its
//! position, so that a resumed training draws the same numbers.

/// SplitMix64 (Steele et al. 2014).
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    /// Creates the generator of a position, for instance (seed, epoch, batch).
    pub(crate) fn new(place: &[u64]) -> Self {
        let mut rng = Self(0x1234_5678_9abc_def0);
        for &part in place {
            rng.0 ^= part.wrapping_mul(0xd6e8_feb8_6659_fd93);
            rng.0 = rng.next();
        }
        rng
    }

    /// Returns 64 random bits.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    /// Returns a number from 0 to below 1.
    #[inline]
    pub(crate) fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 24) as f32
    }

    /// Returns a number from 0 to below `n`.
    #[inline]
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// Shuffles items (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_always_draws_the_same_and_another_place_others() {
        let draw = |place: &[u64]| -> Vec<usize> {
            let mut rng = Rng::new(place);
            (0..20).map(|_| rng.below(1000)).collect()
        };
        assert_eq!(draw(&[1, 2]), draw(&[1, 2]));
        assert_ne!(draw(&[1, 2]), draw(&[2, 1]));
        let mut rng = Rng::new(&[7]);
        let mean = (0..10_000).map(|_| rng.unit()).sum::<f32>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.02);
    }
}
