//! Units by their UCUM shape (The Unified Code for Units of Measure, case sensitive). Annotations in braces are free
//! text, so a unit with one does not pass.

const MAX_UNIT: usize = 32;

/// Atoms that take a prefix.
const METRIC: [&str; 44] = [
    "m", "s", "g", "rad", "K", "C", "cd", "mol", "sr", "Hz", "N", "Pa", "J", "W", "A", "V", "F", "Ohm", "S",
    "Wb", "Cel", "T", "H", "lm", "lx", "Bq", "Gy", "Sv", "L", "l", "bar", "u", "eV", "eq", "osm", "kat", "U",
    "[iU]", "[IU]", "cal", "B", "bit", "By", "m[Hg]",
];
/// Atoms that stand alone.
const PLAIN: [&str; 36] = [
    "10*", "10^", "%", "deg", "'", "''", "min", "h", "d", "wk", "mo", "a", "a_j", "a_g", "[pi]", "[degF]",
    "[lb_av]", "[oz_av]", "[in_i]", "[ft_i]", "[in_us]", "[mi_i]", "[pH]", "[ppth]", "[ppm]", "[ppb]",
    "[drp]", "[CFU]", "[arb'U]", "[HPF]", "[LPF]", "[foz_us]", "[tsp_us]", "[tbs_us]", "1", "[diop]",
];
const PREFIXES: [&str; 14] = [
    "da", "Y", "Z", "E", "P", "T", "G", "M", "k", "h", "d", "c", "m", "u",
];
const SMALL: [&str; 5] = ["n", "p", "f", "a", "z"];

/// Whether the text is a unit: atoms with prefixes and exponents, joined by dots and slashes.
pub(crate) fn is_unit(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= MAX_UNIT
        && text
            .strip_prefix('/')
            .unwrap_or(text)
            .split(['/', '.'])
            .all(is_term)
}

fn is_term(term: &str) -> bool {
    let atom = term.trim_end_matches(|c: char| c.is_ascii_digit());
    let exponent = term.len() - atom.len();
    let atom = atom.strip_suffix(['-', '+']).unwrap_or(atom);
    // A term may be a small factor, as in `/100`.
    if atom.is_empty() {
        return (1..=4).contains(&exponent);
    }
    exponent <= 2 && is_atom(atom)
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
            "mmol/L", "mm[Hg]", "10*3/uL", "%", "kg/m2", "mg/dL", "/min", "[iU]/L", "a", "mL/min",
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
        ] {
            assert!(!is_unit(word), "{word}");
        }
    }
}
