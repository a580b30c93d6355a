//! Ids that never collide: an id and its authority, encrypted into a code of fixed length that the key
//! reverses.
//!
//! FF1 of NIST SP 800-38G under AES-256, over 15 numerals of radix 36: two for the authority, one for the
//! id's length, twelve for the id. The domain has 36^15 values, far above the 10^6 that the standard
//! requires. Encryption is a permutation, so different ids, and equal ids of different authorities, always
//! have different codes.
//!
//! A code is derived from the id: 45 CFR 164.514(c)(1) does not allow it under Safe Harbor. Use the random
//! codes of a [`crate::Vault`] there.

use std::fmt;

use aes::Aes256;
use fpe::ff1::{FF1, FlexibleNumeralString};
use zeroize::Zeroizing;

use crate::keys::{Key, Purpose};

const RADIX: u16 = 36;
/// The numerals of the authority, of the length, and of the id.
const PARTS: [usize; 3] = [2, 1, IdCipher::LONGEST];
const NUMERALS: usize = PARTS[0] + PARTS[1] + PARTS[2];
/// The characters between two dashes: no code has four digits in a row.
const GROUP: usize = 3;

/// Encrypts ids under one key, the same in every patient's notes and in every format.
pub struct IdCipher(FF1<Aes256>);

impl IdCipher {
    /// The most letters and digits of an id.
    pub const LONGEST: usize = 12;
    /// The length of a code, its dashes included.
    pub const WIDTH: usize = NUMERALS + NUMERALS / GROUP - 1;
    /// The maximum number of authorities.
    pub const AUTHORITIES: u16 = RADIX * RADIX;

    /// Returns the cipher of a key.
    pub fn new(key: &Key) -> Self {
        let secret = Zeroizing::new(key.bound(Purpose::Id, "").code(&["ff1"]));
        // Invariant: 36 is a radix that FF1 allows (2 to 65,536), and the key has 32 bytes.
        Self(FF1::new(secret.as_ref(), u32::from(RADIX)).expect("a radix of 36"))
    }

    /// Returns the code of an id, for instance `7K2-M9Q-X4T-N5H-2AB`. Case and separators are ignored:
    /// `ab-12` is `AB12`.
    ///
    /// `None` if the id has no letters and digits or more than [`IdCipher::LONGEST`], if one of them is not
    /// ASCII, or if the authority is not below [`IdCipher::AUTHORITIES`].
    ///
    /// ```
    /// # use lethe_secrets::{IdCipher, Keyring};
    /// # fn cipher(keys: &Keyring) {
    /// let cipher = IdCipher::new(keys.current());
    /// let code = cipher.encrypt(1, "448-20-9137").unwrap_or_default();
    /// assert_eq!(cipher.decrypt(&code), Some((1, "448209137".to_owned())));
    /// # }
    /// ```
    pub fn encrypt(&self, authority: u16, id: &str) -> Option<String> {
        let mut plain = vec![authority / RADIX, authority % RADIX, 0];
        for c in id.chars().filter(|c| c.is_alphanumeric()) {
            if plain.len() == NUMERALS {
                return None;
            }
            plain.push(u16::try_from(c.to_digit(36)?).ok()?);
        }
        let length = plain.len() - PARTS[0] - PARTS[1];
        if length == 0 || authority >= Self::AUTHORITIES {
            return None;
        }
        plain[PARTS[0]] = length as u16;
        plain.resize(NUMERALS, 0);
        let code = self.0.encrypt(&[], &FlexibleNumeralString::from(plain)).ok()?;
        let code: Vec<char> = Vec::from(code).into_iter().filter_map(character).collect();
        let groups = code.chunks(GROUP).map(|group| group.iter().collect::<String>());
        Some(groups.collect::<Vec<_>>().join("-"))
    }

    /// Returns the authority and the id (capital letters and digits) of a code; `None` if it is not a code of
    /// this key.
    ///
    /// A code is not authenticated: another key's code is accepted with a probability of about 1 in 1,000 at
    /// most.
    pub fn decrypt(&self, code: &str) -> Option<(u16, String)> {
        let is_laid_out = code.len() == Self::WIDTH
            && code.bytes().enumerate().all(|(i, byte)| {
                let dash = i % (GROUP + 1) == GROUP;
                dash == (byte == b'-') && (dash || byte.is_ascii_digit() || byte.is_ascii_uppercase())
            });
        if !is_laid_out {
            return None;
        }
        let numerals = code.chars().filter_map(|c| c.to_digit(36)?.try_into().ok());
        let numerals: Vec<u16> = numerals.collect();
        let plain = self.0.decrypt(&[], &FlexibleNumeralString::from(numerals)).ok()?;
        let plain = Vec::from(plain);
        let [high, low, length, id @ ..] = plain.as_slice() else {
            return None;
        };
        let (id, rest) = id.split_at_checked(usize::from(*length))?;
        if id.is_empty() || rest.iter().any(|&numeral| numeral != 0) {
            return None;
        }
        let id = id.iter().copied().filter_map(character).collect();
        Some((high * RADIX + low, id))
    }
}

/// Returns the digit or capital letter of a numeral.
fn character(numeral: u16) -> Option<char> {
    Some(char::from_digit(u32::from(numeral), u32::from(RADIX))?.to_ascii_uppercase())
}

impl fmt::Debug for IdCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdCipher")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::alphabet;
    use crate::keys::{Keyring, source_tests::SECRET_A};

    fn cipher() -> IdCipher {
        IdCipher::new(Keyring::parse_short(&format!("a:{SECRET_A}")).unwrap().current())
    }

    /// NIST, FF1 samples 7 to 9 (AES-256), of the examples to SP 800-38G.
    #[test]
    fn ff1_gives_the_standards_sample_values() {
        let key = "2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F7F036D6F04FC6A94";
        let key: Vec<u8> = (0..32)
            .map(|i| u8::from_str_radix(key.get(2 * i..2 * i + 2).unwrap(), 16).unwrap())
            .collect();
        for (radix, tweak, plain, code) in [
            (10, "", "0123456789", "6657667009"),
            (10, "9876543210", "0123456789", "1001623463"),
            (36, "7777pqrs777", "0123456789abcdefghi", "xs8a0azh2avyalyzuwd"),
        ] {
            let numerals =
                |text: &str| -> Vec<u16> { text.chars().map(|c| c.to_digit(36).unwrap() as u16).collect() };
            let ff1 = FF1::<Aes256>::new(&key, radix).unwrap();
            let made = ff1.encrypt(tweak.as_bytes(), &FlexibleNumeralString::from(numerals(plain)));
            assert_eq!(Vec::from(made.unwrap()), numerals(code));
        }
    }

    #[test]
    fn equal_ids_of_two_authorities_have_two_codes() {
        let cipher = cipher();
        let (one, two) = (cipher.encrypt(1, "12345"), cipher.encrypt(2, "12345"));
        assert!(one.is_some() && one != two);
        assert_ne!(cipher.encrypt(1, "012345"), one);
    }

    #[test]
    fn what_is_no_id_of_1_to_12_letters_and_digits_has_no_code() {
        let cipher = cipher();
        assert!(cipher.encrypt(0, "123456789012").is_some() && cipher.encrypt(1295, "Z").is_some());
        for (authority, id) in [(0, ""), (0, "--"), (0, "1234567890123"), (0, "ñ1"), (1296, "1")] {
            assert_eq!(cipher.encrypt(authority, id), None, "{authority} {id}");
        }
        for code in ["", "7K2M9QX4TN5H", "7K2-M9Q-X4T-N5H-2Aé", "7K2-M9Q-X4T-N5H-2ab"] {
            assert_eq!(cipher.decrypt(code), None, "{code}");
        }
    }

    #[test]
    fn a_million_ids_of_two_authorities_have_two_million_codes() {
        let cipher = cipher();
        let mut seen = HashSet::with_capacity(2_000_000);
        for id in 0..1_000_000 {
            let id = format!("{id:06}");
            for authority in [1, 2] {
                // A code is 15 numerals of radix 36, so it fits 128 bits.
                let code = cipher.encrypt(authority, &id).unwrap().replace('-', "");
                seen.insert(u128::from_str_radix(&code, 36).unwrap());
            }
        }
        assert_eq!(seen.len(), 2_000_000);
    }

    proptest! {
        #[test]
        fn ids_of_1_to_12_characters_come_back(authority in 0u16..1296, id in "[0-9A-Z]{1,12}") {
            let code = cipher().encrypt(authority, &id).unwrap();
            prop_assert!(code.len() == 19 && alphabet::is_calm(&code), "{}", code);
            prop_assert_eq!(cipher().decrypt(&code), Some((authority, id)));
        }

        #[test]
        fn what_writers_vary_makes_no_other_code(id in "[0-9A-Z]{2,12}") {
            let (head, tail) = id.split_at(1);
            let other = format!(" {}-{}", head.to_lowercase(), tail.to_lowercase());
            prop_assert_eq!(cipher().encrypt(7, &other), cipher().encrypt(7, &id));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,30}") {
            cipher().encrypt(3, &text);
            cipher().decrypt(&text);
        }
    }
}
