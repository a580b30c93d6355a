//! Keyed codes instead of values: equal values of one patient have the same code in every note and on every
//! machine, without a shared store.
//!
//! A code is derived from the person, and anybody with the key can try values until one fits: 45 CFR
//! 164.514(c) does not allow that under Safe Harbor. Use the random codes of a [`crate::Vault`] there.
//!
//! # Collisions
//!
//! A code of L characters is one of nearly 2^(5 L) (those with four digits in a row, 5 % at the default
//! length, are drawn again). Among n values of one label and context, any two share a code with a probability
//! of at most n (n - 1) / 2^(5 L + 0.9): at the default 12 characters about 5 in 10^13 for 1,000 values of a
//! patient, 5 in 10^7 for a million values, 5 in 10^5 for ten million.

use std::fmt;

use crate::alphabet;
use crate::keys::{Key, Purpose};
use crate::prf::Prf;

/// The number of characters of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeLength(u8);

impl CodeLength {
    /// The shortest and the longest length.
    pub const RANGE: std::ops::RangeInclusive<u8> = 8..=32;

    /// Creates a length; `None` outside [`CodeLength::RANGE`].
    pub fn new(characters: u8) -> Option<Self> {
        Self::RANGE.contains(&characters).then_some(Self(characters))
    }

    /// Returns the number of characters.
    pub fn get(self) -> u8 {
        self.0
    }
}

impl Default for CodeLength {
    /// Returns 12 characters, 60 bits.
    fn default() -> Self {
        Self(12)
    }
}

/// Codes under one key and context.
#[derive(Clone)]
pub struct Pseudonyms {
    prf: Prf,
    length: CodeLength,
}

impl Pseudonyms {
    /// Creates codes of this length under this key. The context is nearly always the patient; with an empty
    /// one, equal values of different patients have equal codes (which links a clinician, or any other
    /// person, across patients).
    pub fn new(key: &Key, context: &str, length: CodeLength) -> Self {
        Self {
            prf: key.bound(Purpose::Pseudonym, context),
            length,
        }
    }

    /// Returns the code of a value: digits and capital letters, for instance `7K2M9QX4TN5H`. Values are
    /// compared byte by byte: a caller that wants one code for "Dr. Smith" and "SMITH" passes the same text
    /// for both.
    pub fn code(&self, label: &str, value: &str) -> String {
        let length = usize::from(self.length.get());
        let mut attempt = String::from("0");
        loop {
            let bytes = self.prf.code(&[label, value, &attempt]);
            let mut bits = bytes
                .iter()
                .flat_map(|byte| (0..8).rev().map(move |place| byte >> place & 1));
            let code: String = (0..length)
                .map(|_| alphabet::character(bits.by_ref().take(5).fold(0, |five, bit| five << 1 | bit)))
                .collect();
            if alphabet::is_calm(&code) {
                return code;
            }
            // The loop ends: at the greatest length four codes in five are accepted, and each attempt is a
            // new draw.
            attempt.push('0');
        }
    }
}

impl fmt::Debug for Pseudonyms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pseudonyms")
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{Keyring, source_tests::SECRET_A};

    fn codes(context: &str, length: u8) -> Pseudonyms {
        let ring = Keyring::parse_short(&format!("a:{SECRET_A}")).unwrap();
        Pseudonyms::new(ring.current(), context, CodeLength::new(length).unwrap())
    }

    #[test]
    fn a_code_has_its_length_in_letters_and_digits() {
        for length in CodeLength::RANGE {
            let code = codes("p", length).code("DOCTOR", "Quill");
            assert_eq!(code.len(), usize::from(length));
            assert!(
                code.bytes().all(|byte| alphabet::ALPHABET.contains(&byte)),
                "{code}"
            );
        }
        assert_eq!(CodeLength::new(7), None);
        assert_eq!(CodeLength::new(33), None);
    }

    #[test]
    fn value_label_patient_and_key_each_change_the_code() {
        let code = codes("p", 12).code("DOCTOR", "Quill");
        assert_eq!(codes("p", 12).code("DOCTOR", "Quill"), code);
        assert_ne!(codes("p", 12).code("DOCTOR", "Quills"), code);
        assert_ne!(codes("p", 12).code("PATIENT", "Quill"), code);
        assert_ne!(codes("q", 12).code("DOCTOR", "Quill"), code);
    }

    #[test]
    fn no_code_has_four_digits_in_a_row() {
        for length in [8, 12, 32] {
            let codes = codes("p", length);
            for i in 0..2000 {
                let code = codes.code("ID", &i.to_string());
                assert!(alphabet::is_calm(&code), "{code}");
            }
        }
    }

    #[test]
    fn a_hundred_thousand_values_have_a_hundred_thousand_codes() {
        let codes = codes("", 12);
        let all: std::collections::BTreeSet<_> =
            (0..100_000).map(|i| codes.code("ID", &i.to_string())).collect();
        assert_eq!(all.len(), 100_000);
    }
}
