//! Random choices from one seeded source.

use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// A source of choices. The same seed gives the same ones on every machine.
#[derive(Clone, Debug)]
pub(crate) struct Chance(ChaCha8Rng);

impl Chance {
    /// Creates the source for `seed` and a document's number.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        Self(rng)
    }

    /// Returns true with this probability.
    pub(crate) fn often(&mut self, share: f64) -> bool {
        self.0.random_bool(share.clamp(0.0, 1.0))
    }

    /// Returns a number of the range, both ends included.
    pub(crate) fn within(&mut self, low: i64, high: i64) -> i64 {
        self.0.random_range(low..=high.max(low))
    }

    /// Returns a number below `bound`, which must be at least 1.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0.random_range(0..bound.max(1))
    }

    /// Returns a number from 0 to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        self.0.random()
    }

    /// Returns one of them; `""` if there are none.
    pub(crate) fn word<'a, S: AsRef<str>>(&mut self, of: &'a [S]) -> &'a str {
        of.choose(&mut self.0).map_or("", AsRef::as_ref)
    }

    /// Returns one of them.
    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.choose(&mut self.0)
    }

    /// Returns one of them, by its weight.
    pub(crate) fn weighted<T: Copy>(&mut self, of: &[(T, f64)], otherwise: T) -> T {
        let mut left = self.unit() * of.iter().map(|(_, weight)| weight).sum::<f64>();
        for &(item, weight) in of {
            left -= weight;
            if left < 0.0 {
                return item;
            }
        }
        otherwise
    }

    /// Fills in a layout: `#` is a digit, `@` a capital, `?` either, `%` a digit other than 0, `~` a
    /// lower-case letter; other characters stay.
    pub(crate) fn layout(&mut self, layout: &str) -> String {
        const CAPITALS: &[u8; 26] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let mut out = String::new();
        for char in layout.chars() {
            let digit =
                |chance: &mut Self, low| char::from(b'0' + u8::try_from(chance.within(low, 9)).unwrap_or(0));
            let letter = |chance: &mut Self| char::from(CAPITALS[chance.below(26)]);
            out.push(match char {
                '#' => digit(self, 0),
                '%' => digit(self, 1),
                '@' => letter(self),
                '~' => letter(self).to_ascii_lowercase(),
                '?' if self.often(0.6) => digit(self, 0),
                '?' => letter(self),
                other => other,
            });
        }
        out
    }
}
