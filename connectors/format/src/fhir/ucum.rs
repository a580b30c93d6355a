//! Recognises units by their UCUM form (The Unified Code for Units of Measure, case sensitive). Annotations
//! in braces are free text, so a unit with one is refused.

const MAX_UNIT: usize = 32;

/// Atoms that take a prefix.
const METRIC: [&str; 44] = [
    "m", "s", "g", "rad", "K", "C", "cd", "mol", "sr", "Hz", "N", "Pa", "J", "W", "A", "V", "F", "Ohm", "S",
    "Wb", "Cel", "T", "H", "lm", "lx", "Bq", "Gy", "Sv", "L", "l", "bar", "u", "eV", "eq", "osm", "kat", "U",
    "[iU]", "[IU]", "cal", "B", "bit", "By", "m[Hg]",
];
/// Atoms that stand alone.
const PLAIN: [&str; 35] = [
    "10*", "10^", "%", "deg", "'", "''", "min", "h", "d", "wk", "mo", "a", "a_j", "a_g", "[pi]", "[degF]",
    "[lb_av]", "[oz_av]", "[in_i]", "[ft_i]", "[in_us]", "[mi_i]", "[pH]", "[ppth]", "[ppm]", "[ppb]",
    "[drp]", "[CFU]", "[arb'U]", "[HPF]", "[LPF]", "[foz_us]", "[tsp_us]", "[tbs_us]", "[diop]",
];
const PREFIXES: [&str; 14] = [
    "da", "Y", "Z", "E", "P", "T", "G", "M", "k", "h", "d", "c", "m", "u",
];
const SMALL: [&str; 5] = ["n", "p", "f", "a", "z"];

/// Powers of ten and numbers of hours that are allowed as factors after a slash, as in `/100` and `mL/24.h`.
/// Any other number could be part of a telephone number or a date.
const FACTORS: [&str; 10] = ["2", "4", "6", "8", "10", "12", "24", "48", "100", "1000"];

/// Returns whether the text is a unit: atoms with prefixes and exponents, joined by dots and slashes.
pub(crate) fn is_unit(text: &str) -> bool {
    if text.is_empty() || text.len() > MAX_UNIT {
        return false;
    }
    let mut rest = text;
    let (mut divides, mut has_atom) = (false, text == "1");
    if let Some(after) = rest.strip_prefix('/') {
        (rest, divides) = (after, true);
    }
    loop {
        let end = rest.find(['/', '.']).unwrap_or(rest.len());
        let Some((term, after)) = rest.split_at_checked(end) else {
            return false;
        };
        match term {
            "1" if text == "1" => {}
            _ if divides && FACTORS.contains(&term) => {}
            _ if is_term(term) => has_atom = true,
            _ => return false,
        }
        let mut next = after.chars();
        match next.next() {
            None => return has_atom,
            Some(joint) => divides = joint == '/',
        }
        rest = next.as_str();
    }
}

/// Returns whether it is an atom with an exponent: of up to two digits for ten, otherwise of one.
fn is_term(term: &str) -> bool {
    let atom = term.trim_end_matches(|c: char| c.is_ascii_digit());
    let exponent = term.len() - atom.len();
    let most = if atom.starts_with("10") { 2 } else { 1 };
    let atom = atom.strip_suffix(['-', '+']).unwrap_or(atom);
    exponent <= most && is_atom(atom)
}

fn is_atom(atom: &str) -> bool {
    PLAIN.contains(&atom)
        || METRIC.contains(&atom)
        || PREFIXES.iter().chain(&SMALL).any(|prefix| {
            atom.strip_prefix(prefix)
                .is_some_and(|rest| METRIC.contains(&rest))
        })
}

#[cfg(test)]
mod tests {
    use super::is_unit;

    #[test]
    fn units_pass_and_words_do_not() {
        for unit in [
            "mmol/L", "mm[Hg]", "10*3/uL", "%", "kg/m2", "mg/dL", "/min", "[iU]/L", "a", "mL/min", "1",
            "10*12/L", "s-1", "mg/24.h", "/100.m",
        ] {
            assert!(is_unit(unit), "{unit}");
        }
        for word in [
            "Okafor",
            "mg{Okafor}",
            "1234567",
            "years",
            "2024-05-01",
            "",
            "mg dL",
            // A telephone number, a record number, a ZIP code, a year and a birth date in common spellings.
            "617.555.0142",
            "555/0142",
            "/555.0142",
            "219.09.8734",
            "1999",
            "02139",
            "03/05/1950",
            "/1950",
            "m61",
            "100",
            ".",
            "m.",
            "m//s",
        ] {
            assert!(!is_unit(word), "{word}");
        }
    }
}
