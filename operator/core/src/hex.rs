//! Digests as hexadecimal text.

/// Returns the bytes in lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves
        .filter_map(|half| char::from_digit(half.into(), 16))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_two_small_digits() {
        assert_eq!(hex(&[0x00, 0x0a, 0x9f, 0xff]), "000a9fff");
        assert_eq!(hex(&[]), "");
    }
}
