//! The source of all random choices: the caller's keyed function, extended to as many numbers as a choice
//! needs.

/// A keyed pseudo-random function, already bound to a key and a patient.
///
/// Equal parts must give equal bytes, and different lists of parts unrelated ones: an implementation must
/// encode the ends of parts (`["ab", "c"]` is not `["a", "bc"]`). HMAC-SHA-256 over length-prefixed parts is
/// one.
pub trait Draw {
    /// Returns the function's value for `parts`.
    fn draw(&self, parts: &[&[u8]]) -> [u8; 32];
}

impl<D: Draw + ?Sized> Draw for &D {
    fn draw(&self, parts: &[&[u8]]) -> [u8; 32] {
        (**self).draw(parts)
    }
}

/// A stream of numbers from one draw (xoshiro256**, Blackman and Vigna 2018, seeded with the draw's 256
/// bits), so that a repeated choice needs no second call of the keyed function.
pub(crate) struct Stream([u64; 4]);

impl Stream {
    /// Creates the stream of `parts`.
    pub(crate) fn of(draw: &dyn Draw, parts: &[&[u8]]) -> Self {
        let bytes = draw.draw(parts);
        let mut state = [0u64; 4];
        for (word, eight) in state.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = eight.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
        }
        // The all-zero state is the generator's one fixed point.
        state[3] |= u64::from(state == [0; 4]);
        let mut stream = Self(state);
        // These steps mix the state even if the draw is little more than a counter.
        for _ in 0..4 {
            stream.next();
        }
        stream
    }

    /// Returns the next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        let [a, b, c, d] = self.0;
        let out = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let (c, d) = (c ^ a, d ^ b);
        self.0 = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        out
    }

    /// Returns a number below `bound`; 0 if `bound` is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        // The product's upper half: its bias is under 2^-40 for any list here.
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// Returns one of `items`.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }
}

/// A draw for tests: SHA-256 over length-prefixed parts and a seed. It has no key.
#[cfg(test)]
pub(crate) mod testing {
    use sha2::{Digest, Sha256};

    use super::Draw;

    pub(crate) struct Seeded(pub(crate) u64);

    impl Draw for Seeded {
        fn draw(&self, parts: &[&[u8]]) -> [u8; 32] {
            let mut hash = Sha256::new();
            hash.update(self.0.to_le_bytes());
            for part in parts {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
            hash.finalize().into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::Seeded;
    use super::*;

    #[test]
    fn a_bound_is_never_reached_and_every_number_below_it_is() {
        let mut stream = Stream::of(&Seeded(1), &[b"x"]);
        let mut seen = [false; 7];
        for _ in 0..200 {
            seen[stream.below(7)] = true;
        }
        assert_eq!(seen, [true; 7]);
        assert_eq!(stream.below(0), 0);
        assert!(stream.pick::<u8>(&[]).is_none());
    }

    #[test]
    fn other_parts_give_another_stream() {
        let first = |parts: &[&[u8]]| Stream::of(&Seeded(1), parts).next();
        assert_eq!(first(&[b"ab", b"c"]), first(&[b"ab", b"c"]));
        assert_ne!(first(&[b"ab", b"c"]), first(&[b"a", b"bc"]));
    }

    #[test]
    fn a_draw_of_zeros_still_gives_numbers() {
        struct Zeros;
        impl Draw for Zeros {
            fn draw(&self, _: &[&[u8]]) -> [u8; 32] {
                [0; 32]
            }
        }
        let mut stream = Stream::of(&Zeros, &[]);
        assert_ne!(stream.next(), stream.next());
    }
}
