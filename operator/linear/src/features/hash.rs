//! Features as 64-bit numbers, computed from a template and a value without a string in between.

/// Mixes the bits of a number without collisions: SplitMix64's finaliser (Steele et al. 2014).
#[inline]
pub(super) const fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Combines two numbers, in this order.
#[inline]
pub(super) const fn pair(a: u64, b: u64) -> u64 {
    mix(a.rotate_left(23) ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d).wrapping_add(a)
}

/// Combines numbers in this order, faster than [`pair`] one after another: their products do not wait for each
/// other.
#[inline]
pub(super) fn all<const N: usize>(numbers: [u64; N]) -> u64 {
    // Odd factors that differ for each place.
    let spread = |(sum, factor): (u64, u64), &number: &u64| {
        let product = (number ^ number >> 32).wrapping_mul(factor);
        (
            sum.wrapping_add(product),
            factor.wrapping_mul(0xd130_2dcb_5a9b_7c31),
        )
    };
    mix(numbers
        .iter()
        .fold((0x2545_f491_4f6c_dd1d, 0x9e37_79b9_7f4a_7c15), spread)
        .0)
}

/// Returns the feature of a template for a value.
#[inline]
pub(super) const fn feature(template: u64, value: u64) -> u64 {
    pair(template.wrapping_mul(0xd6e8_feb8_6659_fd93), value)
}

/// Hashes bytes, with the same result on every machine.
pub(super) fn of_bytes(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(bytes.len() as u64, |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        pair(hash, u64::from_le_bytes(word))
    })
}

/// Returns a word's bytes as a key: the bytes themselves if they fit in sixteen, else a hash that no short
/// word has.
#[inline]
pub(super) fn word_key(text: &[u8], start: usize, end: usize) -> u128 {
    let len = end - start;
    if len > 15 {
        return long_key(&text[start..end]);
    }
    let mut word = [0; 16];
    match text.get(start..start + 16) {
        Some(bytes) => word.copy_from_slice(bytes),
        None => word[..len].copy_from_slice(&text[start..end]),
    }
    u128::from_le_bytes(word) & ((1u128 << (8 * len)) - 1)
}

/// Hashes a long word. The key's highest byte is never zero, unlike that of a word with at most fifteen
/// bytes.
fn long_key(word: &[u8]) -> u128 {
    let (low, high) = (of_bytes(word), of_bytes(&word[3..]));
    u128::from(low) | u128::from(high) << 64 | 1 << 127
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_a_pair_counts_and_templates_tell_values_apart() {
        assert_ne!(pair(1, 2), pair(2, 1));
        assert_ne!(pair(0, 0), 0);
        assert_ne!(feature(1, 7), feature(2, 7));
    }

    #[test]
    fn a_words_key_depends_on_its_bytes_alone() {
        let text = b"Ana and Ana, electroencephalography and electroencephalographers Ana";
        assert_eq!(word_key(text, 0, 3), word_key(text, 8, 11));
        assert_eq!(word_key(text, 0, 3), word_key(text, 65, 68));
        assert_ne!(word_key(text, 0, 3), word_key(text, 4, 7));
        assert_ne!(word_key(text, 13, 36), word_key(text, 41, 64));
    }
}
