//! Folds words for comparison: lower case, no accents.
//!
//! Folding works on a copy; offsets into the note stay valid.

use std::sync::LazyLock;

use unicode_normalization::char::{decompose_canonical, is_combining_mark};

/// The folded characters of one character, and their number.
type Folded = (u8, [char; 2]);

/// The characters with two bytes in UTF-8, including most letters of Latin, Greek, Cyrillic, Hebrew and
/// Arabic.
const TABLE: std::ops::Range<u32> = 0x80..0x800;

/// The folded characters of those in [`TABLE`]; the number 3 and no characters for one that folds to more
/// than two.
static FOLDED: LazyLock<Vec<Folded>> = LazyLock::new(|| {
    let folded = |c: u32| {
        let (mut count, mut chars) = (0, ['\0'; 2]);
        fold_slowly(char::from_u32(c).unwrap_or('\0'), |part| {
            if let Some(place) = chars.get_mut(count) {
                *place = part;
            }
            count += 1;
        });
        (count.min(3) as u8, chars)
    };
    TABLE.map(folded).collect()
});

/// Calls `emit` with the folded characters of one character: none for a combining mark, two for "ß", else
/// one.
#[inline]
pub fn fold_char(c: char, mut emit: impl FnMut(char)) {
    if c.is_ascii() {
        emit(c.to_ascii_lowercase());
        return;
    }
    // For other characters, lower case, decomposition and category are three look-ups.
    match TABLE
        .contains(&u32::from(c))
        .then(|| FOLDED[(u32::from(c) - TABLE.start) as usize])
    {
        Some((count @ 0..=2, chars)) => chars.into_iter().take(count.into()).for_each(emit),
        _ => fold_slowly(c, emit),
    }
}

fn fold_slowly(c: char, mut emit: impl FnMut(char)) {
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
            // Zero-width characters, soft hyphens and variation selectors do not change a word.
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

/// Returns the folded form of `text`: lower case, without accents, with "ß", "æ", "œ", "þ" as two letters.
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

    #[test]
    fn every_character_folds_by_the_table_as_without_it() {
        for c in ('\0'..=char::MAX).take(0x1000) {
            let mut slowly = String::new();
            fold_slowly(c, |part| slowly.push(part));
            assert_eq!(fold(&c.to_string()), slowly, "{c:?}");
        }
    }
}
