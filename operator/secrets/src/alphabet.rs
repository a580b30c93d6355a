//! Crockford's base32: digits and capital letters without I, L, O and U, so that a code can be read aloud.
//!
//! Codes never have four digits in a row. So a member never takes a part of one for an identifier, and no
//! digit group of a redacted value can remain in a note as part of a code.

/// The 32 characters, by value.
pub(crate) const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// The most digits in a row.
const DIGITS: usize = 3;

/// Returns the character of the lowest five bits.
pub(crate) fn character(bits: u8) -> char {
    char::from(ALPHABET[usize::from(bits & 31)])
}

/// Returns the value of a character in either case.
pub(crate) fn value(character: char) -> Option<u8> {
    let upper = character.to_ascii_uppercase();
    let place = ALPHABET.iter().position(|&known| char::from(known) == upper)?;
    u8::try_from(place).ok()
}

/// Returns whether a code has no more than three digits in a row.
pub(crate) fn is_calm(code: &str) -> bool {
    let mut run = 0;
    code.bytes().all(|byte| {
        run = if byte.is_ascii_digit() { run + 1 } else { 0 };
        run <= DIGITS
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_is_read_back() {
        for bits in 0..32 {
            assert_eq!(value(character(bits)), Some(bits));
            assert_eq!(value(character(bits).to_ascii_lowercase()), Some(bits));
        }
        for other in ['I', 'L', 'O', 'U', '-', 'é'] {
            assert_eq!(value(other), None);
        }
    }

    #[test]
    fn four_digits_in_a_row_are_not_calm() {
        assert!(is_calm("123A456B"));
        assert!(!is_calm("A1234"));
        assert!(!is_calm("0000"));
    }
}
