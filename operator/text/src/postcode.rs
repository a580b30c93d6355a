//! Postcodes of the United Kingdom and Canada.

/// The postcode areas of the United Kingdom, its islands and the forces: the letters that begin a postcode.
pub const AREAS: &[&str] = &[
    "AB", "AL", "B", "BA", "BB", "BD", "BF", "BH", "BL", "BN", "BR", "BS", "BT", "CA", "CB", "CF", "CH",
    "CM", "CO", "CR", "CT", "CV", "CW", "DA", "DD", "DE", "DG", "DH", "DL", "DN", "DT", "DY", "E", "EC",
    "EH", "EN", "EX", "FK", "FY", "G", "GL", "GU", "GY", "HA", "HD", "HG", "HP", "HR", "HS", "HU", "HX",
    "IG", "IM", "IP", "IV", "JE", "KA", "KT", "KW", "KY", "L", "LA", "LD", "LE", "LL", "LN", "LS", "LU", "M",
    "ME", "MK", "ML", "N", "NE", "NG", "NN", "NP", "NR", "NW", "OL", "OX", "PA", "PE", "PH", "PL", "PO",
    "PR", "RG", "RH", "RM", "S", "SA", "SE", "SG", "SK", "SL", "SM", "SN", "SO", "SP", "SR", "SS", "ST",
    "SW", "SY", "TA", "TD", "TF", "TN", "TQ", "TR", "TS", "TW", "UB", "W", "WA", "WC", "WD", "WF", "WN",
    "WR", "WS", "WV", "YO", "ZE",
];

/// What follows a digit in a dose, a count or an ordinal more often than in a postcode.
const UNITS: &[&[u8]] = &[
    b"ST", b"ND", b"RD", b"TH", b"HR", b"YR", b"WK", b"FR", b"GY", b"LB", b"PT",
];

/// Returns whether the capitals and digits of `solid`, which has no blank, have the form of a postcode of the
/// United Kingdom (BS 7666): an area, a district, and a digit and two letters, none of which is C, I, K, M, O
/// or V. Whether the area exists is not looked at.
///
/// ```
/// use lethe_text::postcode::is_british_form;
///
/// assert!(is_british_form(b"SW1A2AA"));
/// assert!(!is_british_form(b"L45MG"));
/// ```
pub fn is_british_form(solid: &[u8]) -> bool {
    let Some((outward, [digit, unit @ ..])) = solid.len().checked_sub(3).map(|at| solid.split_at(at)) else {
        return false;
    };
    let letters = outward
        .iter()
        .take_while(|byte| byte.is_ascii_uppercase())
        .count();
    let district = &outward[letters..];
    let has_district = match district {
        [one] => one.is_ascii_digit(),
        [one, two] => one.is_ascii_digit() && two.is_ascii_alphanumeric() && !two.is_ascii_lowercase(),
        _ => false,
    };
    (1..=2).contains(&letters)
        && has_district
        && digit.is_ascii_digit()
        && unit
            .iter()
            .all(|byte| byte.is_ascii_uppercase() && !b"CIKMOV".contains(byte))
}

/// Returns whether `solid` is such a postcode, of an area that exists, and does not look like a dose or an
/// ordinal: "L5 5HR", "B12 2ND".
///
/// ```
/// use lethe_text::postcode::is_british;
///
/// assert!(is_british(b"SW1A2AA"));
/// assert!(!is_british(b"QX12AA"));
/// ```
pub fn is_british(solid: &[u8]) -> bool {
    let letters = solid.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    is_british_form(solid)
        && AREAS.iter().any(|area| area.as_bytes() == &solid[..letters])
        && !UNITS.contains(&&solid[solid.len() - 2..])
}

/// Returns whether `solid`, which has no blank, is a postal code of Canada: letter, digit, letter, digit,
/// letter, digit, without the letters D, F, I, O, Q and U, and without W and Z at the beginning.
///
/// ```
/// use lethe_text::postcode::is_canadian;
///
/// assert!(is_canadian(b"K1A0B1"));
/// assert!(!is_canadian(b"W1A0B1"));
/// ```
pub fn is_canadian(solid: &[u8]) -> bool {
    solid.len() == 6
        && solid.iter().enumerate().all(|(at, byte)| {
            if at % 2 == 1 {
                byte.is_ascii_digit()
            } else {
                byte.is_ascii_uppercase() && !b"DFIOQU".contains(byte) && (at > 0 || !b"WZ".contains(byte))
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_district_is_known() {
        for code in ["M11AA", "M601NW", "CR26XH", "DN551PT", "W1A1HQ", "EC1A1BB"] {
            assert!(is_british_form(code.as_bytes()), "{code}");
        }
        for code in [
            "", "1AA", "M1AA", "m11AA", "ABC11AA", "M1231AA", "M1a1AA", "M111AC",
        ] {
            assert!(!is_british_form(code.as_bytes()), "{code}");
        }
    }

    #[test]
    fn doses_and_ordinals_are_no_postcodes() {
        for code in ["L55HR", "B122ND", "S128FR"] {
            assert!(
                is_british_form(code.as_bytes()) && !is_british(code.as_bytes()),
                "{code}"
            );
        }
    }
}
