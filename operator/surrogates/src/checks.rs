//! Check digits of published identifier schemes: which one an identifier satisfies, so that its surrogate does too.

/// A scheme with check characters. Functions take letters and digits only, ASCII capitals.
#[derive(Clone, Copy)]
pub(crate) struct Scheme {
    /// Whether the check characters are right.
    pub(crate) holds: fn(&[u8]) -> bool,
    /// Where the check characters stand, from the start or, negative, from the end.
    pub(crate) check: &'static [isize],
    /// What a check character can be.
    pub(crate) alphabet: &'static [u8],
    /// Leading characters that say the kind and stay: a country, the entity of a provider number.
    pub(crate) kept: usize,
    /// Letters that the scheme has.
    pub(crate) letters: &'static [u8],
}

const DIGITS: &[u8] = b"0123456789";
pub(crate) const ALL: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const NIF: &[u8] = b"TRWAGMYFPDXBNJZSQVHLCKE";

/// The schemes, the strictest first: a number that satisfies several is taken for the first.
const SCHEMES: &[Scheme] = &[
    // ISO 13616: IBAN.
    Scheme {
        holds: iban,
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
        holds: nif,
        check: &[-1],
        alphabet: NIF,
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
    // CMS: Medicare Beneficiary Identifier. It has no check digit, only letters that it never has.
    Scheme {
        holds: mbi,
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

/// The scheme that the characters satisfy.
pub(crate) fn scheme(solid: &[u8]) -> Option<&'static Scheme> {
    SCHEMES.iter().find(|scheme| (scheme.holds)(solid))
}

/// The characters as digits; `None` if one is none.
fn digits(solid: &[u8]) -> Option<Vec<u32>> {
    let digit = |&byte: &u8| char::from(byte).to_digit(10);
    solid.iter().map(digit).collect()
}

fn luhn_sum(digits: &[u32]) -> u32 {
    let double = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let places = digits.iter().rev().enumerate();
    places
        .map(|(i, &digit)| if i % 2 == 1 { double(digit) } else { digit })
        .sum()
}

/// Numbers of eight digits or more: in shorter ones one in ten holds by chance.
fn luhn(solid: &[u8]) -> bool {
    solid.len() >= 8 && digits(solid).is_some_and(|digits| luhn_sum(&digits).is_multiple_of(10))
}

/// Luhn over 80840 and the ten digits.
fn npi(solid: &[u8]) -> bool {
    solid.len() == 10
        && matches!(solid[0], b'1' | b'2')
        && digits(solid).is_some_and(|digits| (luhn_sum(&digits) + 24).is_multiple_of(10))
}

fn nhs(solid: &[u8]) -> bool {
    let Some(digits) = digits(solid).filter(|digits| digits.len() == 10) else {
        return false;
    };
    let sum: u32 = digits
        .iter()
        .take(9)
        .zip((2..=10).rev())
        .map(|(digit, weight)| digit * weight)
        .sum();
    (11 - sum % 11) % 11 == digits[9]
}

/// Two letters, six digits, and the last digit of the odd places' sum and twice the even places'.
fn dea(solid: &[u8]) -> bool {
    let [a, b, rest @ ..] = solid else { return false };
    let Some(digits) = digits(rest).filter(|digits| digits.len() == 7) else {
        return false;
    };
    let sum: u32 = (0..6).map(|i| digits[i] * (1 + i as u32 % 2)).sum();
    a.is_ascii_alphabetic() && b.is_ascii_alphabetic() && sum % 10 == digits[6]
}

fn nif(solid: &[u8]) -> bool {
    let [head, body @ .., letter] = solid else {
        return false;
    };
    if solid.len() != 9 {
        return false;
    }
    let first = match head {
        b'X'..=b'Z' => u32::from(head - b'X'),
        b'0'..=b'9' => u32::from(head - b'0'),
        _ => return false,
    };
    let Some(digits) = digits(body) else { return false };
    let number = digits.iter().fold(first, |number, digit| number * 10 + digit);
    NIF[number as usize % 23] == *letter
}

/// Ten digits, then their remainder by 97. A serial below ten million counts as seven digits.
fn nass(solid: &[u8]) -> bool {
    let Some(digits) = digits(solid).filter(|digits| digits.len() == 12) else {
        return false;
    };
    let number = |digits: &[u32]| {
        digits
            .iter()
            .fold(0u64, |number, &digit| number * 10 + u64::from(digit))
    };
    let (province, serial) = (number(&digits[..2]), number(&digits[2..10]));
    let body = if serial < 10_000_000 {
        province * 10_000_000 + serial
    } else {
        province * 100_000_000 + serial
    };
    body % 97 == number(&digits[10..])
}

/// The country and check digits moved behind, letters as numbers from 10: the remainder by 97 is 1.
fn iban(solid: &[u8]) -> bool {
    let [a, b, c, d, body @ ..] = solid else {
        return false;
    };
    let head = a.is_ascii_uppercase() && b.is_ascii_uppercase() && c.is_ascii_digit() && d.is_ascii_digit();
    if !head || !(11..=30).contains(&body.len()) {
        return false;
    }
    let moved = body.iter().chain([a, b, c, d]);
    let rest = moved.fold(0u64, |rest, &byte| match byte {
        b'0'..=b'9' => (rest * 10 + u64::from(byte - b'0')) % 97,
        letter => (rest * 100 + u64::from(letter.saturating_sub(b'A')) + 10) % 97,
    });
    rest == 1
}

fn vin(solid: &[u8]) -> bool {
    const WEIGHTS: [u32; 17] = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];
    // A to Z; 0 for the letters that no number has.
    const VALUES: [u32; 26] = [
        1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 0, 7, 0, 9, 2, 3, 4, 5, 6, 7, 8, 9,
    ];
    // Seventeen digits are rather a number of another kind.
    if solid.len() != 17 || !solid.iter().any(u8::is_ascii_uppercase) {
        return false;
    }
    let mut sum = 0;
    for (&byte, weight) in solid.iter().zip(WEIGHTS) {
        let value = match byte {
            b'0'..=b'9' => u32::from(byte - b'0'),
            b'A'..=b'Z' => VALUES[usize::from(byte - b'A')],
            _ => 0,
        };
        if value == 0 && byte != b'0' {
            return false;
        }
        sum += value * weight;
    }
    let check = if sum % 11 == 10 {
        b'X'
    } else {
        b'0' + (sum % 11) as u8
    };
    solid[8] == check
}

fn mbi(solid: &[u8]) -> bool {
    let letter = |byte: &u8| byte.is_ascii_uppercase() && !b"SLOIBZ".contains(byte);
    solid.len() == 11
        && solid.iter().enumerate().all(|(i, byte)| match i {
            0 => (b'1'..=b'9').contains(byte),
            1 | 4 | 7 | 8 => letter(byte),
            2 | 5 => letter(byte) || byte.is_ascii_digit(),
            _ => byte.is_ascii_digit(),
        })
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
        (nif, "12345678Z"),
        (nif, "X1234567L"),
        (nass, "281234567840"),
        (iban, "GB82WEST12345698765432"),
        (iban, "ES9121000418450200051332"),
        (vin, "1M8GDM9AXKP042788"),
        (mbi, "1EG4TE5MK73"),
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
