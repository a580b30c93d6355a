//! Replaces characters by others of the same class in the same places: digits by digits, letters by letters.

use lethe_text::fold;

use crate::draw::{Draw, Stream};

/// Appends as many digits as `written` has, each different from the digit in its place.
pub(crate) fn digits(written: &str, draw: &dyn Draw, out: &mut String) {
    let mut stream = Stream::of(draw, &[b"digits", fold(written).as_bytes()]);
    for c in written.chars() {
        // Digits of other scripts become ASCII digits.
        let value = c.to_digit(10).unwrap_or(10);
        let other = stream.below(9) as u32;
        let digit = if other >= value { other + 1 } else { other };
        out.push(char::from_digit(digit % 10, 10).unwrap_or('0'));
    }
}
