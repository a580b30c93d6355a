//! The one folding of words for comparison: lower case, no accents.
//!
//! Folding works on a word's characters and writes elsewhere; offsets into the note are never touched.

use unicode_normalization::char::{decompose_canonical, is_combining_mark};

/// Calls `emit` with the folded characters of one character: none for a combining mark, two for "ß", else one.
#[inline]
pub(crate) fn fold_char(c: char, mut emit: impl FnMut(char)) {
    if c.is_ascii() {
        emit(c.to_ascii_lowercase());
        return;
    }
    for lower in c.to_lowercase() {
        decompose_canonical(lower, |part| match part {
            'ß' => "ss".chars().for_each(&mut emit),
            'æ' => "ae".chars().for_each(&mut emit),
            'œ' => "oe".chars().for_each(&mut emit),
            'þ' => "th".chars().for_each(&mut emit),
            'ø' => emit('o'),
            'ł' => emit('l'),
            'đ' | 'ð' => emit('d'),
            'ħ' => emit('h'),
            'ı' => emit('i'),
            // Zero-width characters, soft hyphens and variation selectors change how a word looks, not what it says.
            '\u{ad}' | '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' => {}
            part if is_combining_mark(part) => {}
            part => emit(part),
        });
    }
}

/// Appends the folded form of `text` to `out`.
pub fn fold_into(text: &str, out: &mut String) {
    for c in text.chars() {
        fold_char(c, |folded| out.push(folded));
    }
}

/// The folded form of `text`: lower case, without accents, with "ß", "æ", "œ", "þ" in two letters.
pub fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    fold_into(text, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_accents_fold_away() {
        for (text, folded) in [
            ("Ibáñez", "ibanez"),
            ("Iba\u{301}n\u{303}ez", "ibanez"),
            ("STRASSE", "strasse"),
            ("Straße", "strasse"),
            ("Łódź", "lodz"),
            ("Œuvre", "oeuvre"),
            ("Nguyễn", "nguyen"),
            ("İstanbul", "istanbul"),
            ("nº", "nº"),
        ] {
            assert_eq!(fold(text), folded);
        }
    }
}
