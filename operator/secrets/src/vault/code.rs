//! A random code, as a number and as text.

use std::fmt;
use std::str::FromStr;

use super::VaultError;
use crate::alphabet;

/// 60 bits from the system's random numbers, displayed as 12 digits and capital letters, for instance
/// `7K2M9QX4TN5H`, never with four digits in a row. A vault never assigns one code to two values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(u64);

const CHARACTERS: u32 = 12;

impl Code {
    /// Draws `count` codes.
    pub(super) fn draw(count: usize) -> Result<Vec<Self>, VaultError> {
        let mut codes = Vec::with_capacity(count);
        let mut bytes = [0; 512];
        while codes.len() < count {
            getrandom::fill(&mut bytes).map_err(|_| VaultError::Random)?;
            let drawn = bytes
                .as_chunks()
                .0
                .iter()
                .map(|eight| Self(u64::from_le_bytes(*eight) >> 4));
            // Codes with four digits in a row, one of twenty, are drawn again: 59.9 bits are left.
            codes.extend(
                drawn
                    .filter(|code| alphabet::is_calm(&code.to_string()))
                    .take(count - codes.len()),
            );
        }
        Ok(codes)
    }

    /// Returns the number that stores keep: 60 bits, never negative.
    pub(super) fn number(self) -> i64 {
        self.0 as i64
    }

    /// Returns the code of a stored number; `None` for an invalid one.
    pub(super) fn from_number(number: i64) -> Option<Self> {
        let number = u64::try_from(number).ok()?;
        (number >> (5 * CHARACTERS) == 0).then_some(Self(number))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for place in (0..CHARACTERS).rev() {
            // `character` masks it to five bits.
            write!(f, "{}", alphabet::character((self.0 >> (5 * place)) as u8))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Code({self})")
    }
}

/// The text is not a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a code is 12 digits and letters, without I, L, O and U")]
pub struct NotACode;

impl FromStr for Code {
    type Err = NotACode;

    /// Parses the displayed form, in either case.
    fn from_str(text: &str) -> Result<Self, NotACode> {
        if text.len() != CHARACTERS as usize {
            return Err(NotACode);
        }
        text.chars()
            .try_fold(0, |number, c| Some(number << 5 | u64::from(alphabet::value(c)?)))
            .map(Self)
            .ok_or(NotACode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_back_from_its_text_and_from_its_number() {
        for code in Code::draw(500).unwrap() {
            assert_eq!(code.to_string().parse(), Ok(code));
            assert_eq!(code.to_string().to_lowercase().parse(), Ok(code));
            assert_eq!(Code::from_number(code.number()), Some(code));
            assert_eq!(code.to_string().len(), 12);
            assert!(alphabet::is_calm(&code.to_string()));
        }
        for text in ["", "7K2M9QX4TN5", "7K2M9QX4TN5HH", "7K2M9QX4TN5I", "7K2M9QX4TNé"] {
            assert_eq!(text.parse::<Code>(), Err(NotACode));
        }
        assert_eq!(Code::from_number(-1), None);
        assert_eq!(Code::from_number(1 << 60), None);
    }

    #[test]
    fn drawn_codes_differ_and_use_every_bit() {
        let codes = Code::draw(10_000).unwrap();
        assert_eq!(codes.len(), 10_000);
        let distinct: std::collections::BTreeSet<_> = codes.iter().collect();
        assert_eq!(distinct.len(), 10_000);
        for bit in 0..60 {
            let set = codes.iter().filter(|code| code.0 >> bit & 1 == 1).count();
            // Digits are slightly rarer than letters, so a bit need not be exactly balanced; it must only
            // vary.
            assert!((4000..6500).contains(&set), "bit {bit}: {set}");
        }
    }
}
