//! Check digits of published identifier schemes, which distinguish an identifier from any other run of
//! digits.
//!
//! The functions ignore blanks and hyphens between digits unless they say otherwise, and accept letters in
//! either case.

/// Returns the digits among `bytes`, as numbers.
fn digits(bytes: &[u8]) -> impl DoubleEndedIterator<Item = u32> + Clone + '_ {
    bytes
        .iter()
        .filter(|byte| byte.is_ascii_digit())
        .map(|byte| u32::from(byte - b'0'))
}

/// Counts the digits in `bytes`.
pub fn count(bytes: &[u8]) -> usize {
    digits(bytes).count()
}

/// Returns the remainder of the digits' number, after `prefix`, by `modulus`.
fn remainder(prefix: u64, numbers: impl Iterator<Item = u32>, modulus: u64) -> u64 {
    numbers.fold(prefix % modulus, |rest, digit| {
        (rest * 10 + u64::from(digit)) % modulus
    })
}

fn luhn_sum(numbers: impl DoubleEndedIterator<Item = u32>) -> u32 {
    let double = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    numbers
        .rev()
        .enumerate()
        .map(|(i, digit)| if i % 2 == 1 { double(digit) } else { digit })
        .sum()
}

/// Returns the digit that completes `number` under Luhn's formula (ISO/IEC 7812-1, annex B).
///
/// ```
/// assert_eq!(lethe_text::check::luhn_digit(b"7992739871"), b'3');
/// ```
pub fn luhn_digit(number: &[u8]) -> u8 {
    let shifted: Vec<u32> = digits(number).chain([0]).collect();
    b'0' + ((10 - luhn_sum(shifted.into_iter()) % 10) % 10) as u8
}

/// Checks a payment card's number or an IMEI (ISO/IEC 7812-1, annex B).
pub fn luhn(number: &[u8]) -> bool {
    count(number) > 1 && luhn_sum(digits(number)).is_multiple_of(10)
}

/// Checks a US National Provider Identifier (45 CFR 162.406): Luhn over `80840` and the ten digits.
pub fn npi(number: &[u8]) -> bool {
    count(number) == 10
        && matches!(digits(number).next(), Some(1 | 2))
        && (luhn_sum(digits(number)) + 24).is_multiple_of(10)
}

/// Returns the last digit of a DEA registration with these six digits: the last digit of the sum of the
/// first, third and fifth and twice the others.
pub fn dea_digit(number: &[u8]) -> u8 {
    let sum: u32 = digits(number)
        .take(6)
        .enumerate()
        .map(|(i, d)| if i % 2 == 0 { d } else { 2 * d })
        .sum();
    b'0' + (sum % 10) as u8
}

/// Checks a DEA registration: two letters (the second may be `9`), six digits and a check digit.
pub fn dea(number: &[u8]) -> bool {
    let [a, b, rest @ ..] = number else { return false };
    let shaped = a.is_ascii_alphabetic() && b.is_ascii_alphanumeric() && rest.len() == 7 && count(rest) == 7;
    shaped && rest.last() == Some(&dea_digit(rest))
}

/// Checks an NHS number: eleven minus the weighted sum of nine digits, modulo 11.
pub fn nhs(number: &[u8]) -> bool {
    if count(number) != 10 {
        return false;
    }
    let sum: u32 = digits(number)
        .take(9)
        .zip((2..=10).rev())
        .map(|(digit, weight)| digit * weight)
        .sum();
    let check = (11 - sum % 11) % 11;
    check < 10 && digits(number).next_back() == Some(check)
}

/// The letters of a DNI by the remainder of its number.
pub const DNI_LETTERS: &[u8; 23] = b"TRWAGMYFPDXBNJZSQVHLCKE";

/// Checks a Spanish DNI (eight digits) or NIE (X, Y or Z and seven digits) by its letter, the number modulo
/// 23 (Real Decreto 1553/2005).
pub fn dni(number: &[u8]) -> bool {
    let [body @ .., letter] = number else { return false };
    let (prefix, body) = match body {
        [first @ (b'X' | b'x' | b'Y' | b'y' | b'Z' | b'z'), rest @ ..] => {
            (u64::from(first.to_ascii_uppercase() - b'X'), rest)
        }
        _ => (0, body),
    };
    let wanted = if body.len() + 1 == number.len() { 8 } else { 7 };
    if body.len() != wanted || count(body) != wanted {
        return false;
    }
    DNI_LETTERS[remainder(prefix, digits(body), 23) as usize] == letter.to_ascii_uppercase()
}

/// Checks a Spanish CIF: a letter, seven digits, and a check digit or letter.
pub fn cif(number: &[u8]) -> bool {
    let [kind, body @ .., check] = number else {
        return false;
    };
    if body.len() != 7 || count(body) != 7 || !b"ABCDEFGHJNPQRSUVW".contains(&kind.to_ascii_uppercase()) {
        return false;
    }
    let mut doubled = digits(body).chain(std::iter::once(0)).collect::<Vec<_>>();
    doubled.truncate(8);
    let wanted = (10 - luhn_sum(doubled.into_iter()) % 10) % 10;
    u32::from(*check) == u32::from(b'0') + wanted
        || check.to_ascii_uppercase() == b"JABCDEFGHI"[wanted as usize]
}

/// Checks a Spanish social security number: ten digits, then their remainder by 97 as two digits. A serial
/// below ten million counts as seven digits after the province.
pub fn nass(number: &[u8]) -> bool {
    if count(number) != 12 {
        return false;
    }
    let all: Vec<u32> = digits(number).collect();
    let (province, serial, check) = (&all[..2], &all[2..10], &all[10..]);
    let serial = if serial[0] == 0 { &serial[1..] } else { serial };
    let body = province.iter().chain(serial).copied();
    remainder(0, body, 97) == remainder(0, check.iter().copied(), 1000)
}

/// Checks an IBAN (ISO 13616): with the country and check digits moved to the end, and letters as numbers
/// from 10, the remainder by 97 is 1.
pub fn iban(number: &[u8]) -> bool {
    let mut solid = number.iter().filter(|byte| byte.is_ascii_alphanumeric());
    let (Some(a), Some(b), Some(c), Some(d)) = (solid.next(), solid.next(), solid.next(), solid.next())
    else {
        return false;
    };
    let head = a.is_ascii_alphabetic() && b.is_ascii_alphabetic() && c.is_ascii_digit() && d.is_ascii_digit();
    if !head || !(11..=30).contains(&solid.clone().count()) {
        return false;
    }
    let rest = solid.chain([a, b, c, d]).fold(0u64, |rest, byte| match byte {
        b'0'..=b'9' => (rest * 10 + u64::from(byte - b'0')) % 97,
        letter => (rest * 100 + u64::from(letter.to_ascii_uppercase() - b'A') + 10) % 97,
    });
    rest == 1
}

/// Returns the check character of a vehicle identification number (49 CFR 565.15), its ninth character: a
/// digit or `X`. `None` if the number does not have seventeen characters or has an I, O or Q; the ninth may
/// be any other.
pub fn vin_check(number: &[u8]) -> Option<u8> {
    const WEIGHTS: [u32; 17] = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];
    // A to Z; 0 for letters that do not occur in a number.
    const VALUES: [u32; 26] = [
        1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 0, 7, 0, 9, 2, 3, 4, 5, 6, 7, 8, 9,
    ];
    if number.len() != 17 {
        return None;
    }
    let mut sum = 0;
    for (byte, weight) in number.iter().zip(WEIGHTS) {
        let value = match byte {
            b'0'..=b'9' => u32::from(byte - b'0'),
            b'A'..=b'Z' | b'a'..=b'z' => match VALUES[usize::from(byte.to_ascii_uppercase() - b'A')] {
                0 => return None,
                value => value,
            },
            _ => return None,
        };
        sum += value * weight;
    }
    Some(match sum % 11 {
        10 => b'X',
        digit => b'0' + digit as u8,
    })
}

/// Checks a vehicle identification number (49 CFR 565.15): seventeen characters without I, O and Q.
pub fn vin(number: &[u8]) -> bool {
    vin_check(number).is_some_and(|check| number[8].to_ascii_uppercase() == check)
}

/// Checks the format of a Medicare Beneficiary Identifier (CMS): eleven characters, letters without S, L, O,
/// I, B, Z. It has no check digit.
pub fn mbi(number: &[u8]) -> bool {
    let solid: Vec<u8> = number
        .iter()
        .filter(|&&byte| byte != b'-')
        .map(u8::to_ascii_uppercase)
        .collect();
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

    /// A check, a number that its publisher gives as an example, and whether its last digit is the check
    /// digit.
    type Case = (&'static str, fn(&[u8]) -> bool, &'static str);

    /// Examples from the standards' own pages, or computed by hand from their formulas.
    const HOLD: &[Case] = &[
        ("payment card", luhn, "4111 1111 1111 1111"),
        ("payment card", luhn, "79927398713"),
        ("IMEI", luhn, "490154203237518"),
        ("NPI", npi, "1234567893"),
        ("DEA", dea, "AB1234563"),
        ("NHS", nhs, "943 476 5919"),
        ("DNI", dni, "12345678Z"),
        ("NIE", dni, "X1234567L"),
        ("CIF", cif, "A58818501"),
        ("NASS", nass, "281234567840"),
        ("IBAN", iban, "GB82 WEST 1234 5698 7654 32"),
        ("IBAN", iban, "ES91 2100 0418 4502 0005 1332"),
        ("VIN", vin, "1M8GDM9AXKP042788"),
        ("VIN", vin, "11111111111111111"),
        ("MBI", mbi, "1EG4-TE5-MK73"),
    ];

    #[test]
    fn published_examples_hold() {
        for (name, check, number) in HOLD {
            assert!(check(number.as_bytes()), "{name} {number}");
        }
    }

    #[test]
    fn nothing_holds_for_the_empty_number() {
        for (name, check, _) in HOLD {
            assert!(!check(b""), "{name}");
        }
    }

    proptest! {
        /// Luhn, the weighted sums modulo 11 and the remainders by 23 and 97 all detect a change of any one
        /// digit.
        #[test]
        fn any_one_changed_digit_breaks_a_check(case in 0usize..14, at in 0usize..40, by in 1u8..10) {
            let (name, check, number) = HOLD[case];
            // Transliterated letters of a VIN make some changes of weight 10 invisible only at the check
            // digit itself.
            let mut bytes = number.as_bytes().to_vec();
            let places: Vec<usize> = (0..bytes.len()).filter(|&i| bytes[i].is_ascii_digit()).collect();
            let place = places[at % places.len()];
            bytes[place] = b'0' + (bytes[place] - b'0' + by) % 10;
            // DEA doubles without carrying, so it does not detect a change by 5 at an even position.
            prop_assume!(name != "DEA" || by != 5);
            prop_assert!(!check(&bytes), "{name} still holds with digit {place} changed by {by}");
        }

        #[test]
        fn no_bytes_make_a_check_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            for (_, check, _) in HOLD {
                check(&bytes);
            }
        }

        #[test]
        fn no_look_alike_makes_a_check_panic(number in "[A-Za-z0-9 -]{0,36}") {
            for (_, check, _) in HOLD {
                check(number.as_bytes());
            }
        }
    }
}
