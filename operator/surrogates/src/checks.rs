//! The identifier scheme whose check digits a number satisfies, so that its surrogate satisfies them too.

use lethe_text::check;

/// A scheme with check characters. Its functions take only ASCII letters and digits, in capitals.
#[derive(Clone, Copy)]
pub(crate) struct Scheme {
    /// Returns whether the check characters are right.
    pub(crate) holds: fn(&[u8]) -> bool,
    /// The positions of the check characters, from the start or, if negative, from the end.
    pub(crate) check: &'static [isize],
    /// The possible check characters.
    pub(crate) alphabet: &'static [u8],
    /// The number of leading characters that give the kind and stay: a country, the entity type of a provider
    /// number.
    pub(crate) kept: usize,
    /// The letters of the scheme.
    pub(crate) letters: &'static [u8],
}

const DIGITS: &[u8] = b"0123456789";
pub(crate) const ALL: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// The schemes, the strictest first: a number that satisfies several belongs to the first.
const SCHEMES: &[Scheme] = &[
    // ISO 13616: IBAN.
    Scheme {
        holds: check::iban,
        check: &[2, 3],
        alphabet: DIGITS,
        kept: 2,
        letters: ALL,
    },
    // 49 CFR 565.15: vehicle identification number.
    Scheme {
        holds: vin,
        check: &[8],
        alphabet: b"0123456789X",
        kept: 0,
        letters: b"ABCDEFGHJKLMNPRSTUVWXYZ",
    },
    // Real Decreto 1553/2005: DNI and NIE.
    Scheme {
        holds: check::dni,
        check: &[-1],
        alphabet: check::DNI_LETTERS,
        kept: 0,
        letters: b"XYZ",
    },
    // Spanish social security number.
    Scheme {
        holds: nass,
        check: &[-2, -1],
        alphabet: DIGITS,
        kept: 0,
        letters: ALL,
    },
    // DEA registration.
    Scheme {
        holds: dea,
        check: &[-1],
        alphabet: DIGITS,
        kept: 0,
        letters: ALL,
    },
    // CMS: Medicare Beneficiary Identifier. It has no check digit, only letters that it excludes.
    Scheme {
        holds: check::mbi,
        check: &[],
        alphabet: DIGITS,
        kept: 0,
        letters: b"ACDEFGHJKMNPQRTUVWXY",
    },
    // 45 CFR 162.406: National Provider Identifier.
    Scheme {
        holds: npi,
        check: &[-1],
        alphabet: DIGITS,
        kept: 1,
        letters: ALL,
    },
    // NHS number: modulus 11.
    Scheme {
        holds: nhs,
        check: &[-1],
        alphabet: DIGITS,
        kept: 0,
        letters: ALL,
    },
    // ISO/IEC 7812-1: payment cards, IMEI.
    Scheme {
        holds: luhn,
        check: &[-1],
        alphabet: DIGITS,
        kept: 0,
        letters: ALL,
    },
];

/// Returns the scheme that the characters satisfy.
pub(crate) fn scheme(solid: &[u8]) -> Option<&'static Scheme> {
    SCHEMES.iter().find(|scheme| (scheme.holds)(solid))
}

fn all_digits(solid: &[u8]) -> bool {
    solid.iter().all(u8::is_ascii_digit)
}

/// Checks numbers of eight digits or more; one in ten of all numbers satisfies the formula by chance.
fn luhn(solid: &[u8]) -> bool {
    solid.len() >= 8 && all_digits(solid) && check::luhn(solid)
}

fn npi(solid: &[u8]) -> bool {
    all_digits(solid) && check::npi(solid)
}

fn nhs(solid: &[u8]) -> bool {
    all_digits(solid) && check::nhs(solid)
}

fn nass(solid: &[u8]) -> bool {
    all_digits(solid) && check::nass(solid)
}

fn dea(solid: &[u8]) -> bool {
    solid.get(1).is_some_and(u8::is_ascii_alphabetic) && check::dea(solid)
}

/// Checks a VIN, except seventeen digits, which are more likely another kind of number.
fn vin(solid: &[u8]) -> bool {
    !all_digits(solid) && check::vin(solid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A check, and a number that satisfies it.
    type Case = (fn(&[u8]) -> bool, &'static str);

    /// Examples from the standards' own pages, or computed by hand from their formulas.
    const HOLD: &[Case] = &[
        (luhn, "4111111111111111"),
        (luhn, "490154203237518"),
        (npi, "1234567893"),
        (dea, "AB1234563"),
        (nhs, "9434765919"),
        (check::dni, "12345678Z"),
        (check::dni, "X1234567L"),
        (nass, "281234567840"),
        (check::iban, "GB82WEST12345698765432"),
        (check::iban, "ES9121000418450200051332"),
        (vin, "1M8GDM9AXKP042788"),
        (check::mbi, "1EG4TE5MK73"),
    ];

    #[test]
    fn published_examples_hold_and_with_another_last_digit_do_not() {
        for (check, number) in HOLD {
            assert!(check(number.as_bytes()), "{number}");
            assert!(scheme(number.as_bytes()).is_some(), "{number}");
            let mut other = number.as_bytes().to_vec();
            let last = other.len() - 1;
            other[last] = if other[last] == b'7' { b'8' } else { b'7' };
            assert!(number == &"1EG4TE5MK73" || !check(&other), "{number}");
        }
    }

    proptest! {
        #[test]
        fn no_characters_make_a_check_panic(number in proptest::collection::vec(any::<u8>(), 0..40), like in "[A-Z0-9]{0,34}") {
            for (check, _) in HOLD {
                check(&number);
                check(like.as_bytes());
            }
        }
    }
}
