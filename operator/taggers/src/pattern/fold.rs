//! Words as keys: folded to unaccented lower case and packed into one number.

/// A word's letters, folded and packed, first letter lowest.
pub(crate) type Key = u128;

/// How a word is capitalised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Case {
    /// No capital.
    Lower,
    /// The first letter alone.
    Title,
    /// Every letter, and more than one.
    Upper,
    /// Anything else.
    Mixed,
}

/// Returns a word folded to unaccented lower-case letters, and its case. A word longer than sixteen letters
/// or with letters beyond Latin-1 folds to 0, which is no word's key.
pub(crate) fn fold(bytes: &[u8]) -> (Key, Case) {
    let mut word = [0; 16];
    if bytes.len() <= word.len() {
        word[..bytes.len()].copy_from_slice(bytes);
        if let Some(folded) = fold_ascii(u128::from_le_bytes(word), bytes.len()) {
            return folded;
        }
    }
    fold_any(bytes)
}

/// Returns [`fold`] of `text[start..end]`, without a copy if sixteen bytes can be read at once.
pub(crate) fn fold_at(text: &[u8], start: usize, end: usize) -> (Key, Case) {
    if end - start <= 16
        && let Some(word) = text.get(start..start + 16).and_then(|word| word.try_into().ok())
        && let Some(folded) = fold_ascii(u128::from_le_bytes(word), end - start)
    {
        return folded;
    }
    fold(&text[start..end])
}

/// Folds a word of `len` ASCII letters, the lowest byte first; `None` if it has other bytes. All letters are
/// folded at once: bit 5 of a letter is its case.
fn fold_ascii(word: u128, len: usize) -> Option<(Key, Case)> {
    const ONES: u128 = u128::from_le_bytes([1; 16]);
    let mask = if len >= 16 {
        u128::MAX
    } else {
        (1 << (8 * len)) - 1
    };
    let word = word & mask;
    if word & (ONES << 7) != 0 {
        return None;
    }
    let lower = ONES << 5 & mask;
    let capitals = (!word & lower).count_ones();
    let case = match capitals {
        0 => Case::Lower,
        1 if word & 0x20 == 0 => Case::Title,
        n if n as usize == len => Case::Upper,
        _ => Case::Mixed,
    };
    Some((word | lower, case))
}

/// Folds a word letter by letter.
fn fold_any(bytes: &[u8]) -> (Key, Case) {
    let (mut key, mut letters, mut capitals, mut first) = (0u128, 0u32, 0u32, false);
    let mut known = true;
    let mut i = 0;
    while i < bytes.len() {
        let byte = bytes[i];
        let (letter, capital, width) = if byte < 0x80 {
            (byte | 0x20, byte.is_ascii_uppercase(), 1)
        } else {
            let next = bytes.get(i + 1).copied().unwrap_or(0);
            match byte {
                0xc3 => (LATIN[usize::from(next & 0x3f)], next < 0x9f, 2),
                0xc2 if next == 0xba => (b'o', false, 2),
                0xc2 if next == 0xaa => (b'a', false, 2),
                // Combining accents do not change a letter.
                0xcc => {
                    i += 2;
                    continue;
                }
                _ => (
                    0,
                    false,
                    if byte >= 0xf0 {
                        4
                    } else if byte >= 0xe0 {
                        3
                    } else {
                        2
                    },
                ),
            }
        };
        known &= letter != 0;
        first |= capital && letters == 0;
        capitals += u32::from(capital);
        letters += 1;
        if letters <= 16 {
            key |= u128::from(letter) << (8 * (letters - 1));
        }
        i += width;
    }
    let case = match capitals {
        0 => Case::Lower,
        1 if first => Case::Title,
        n if n == letters => Case::Upper,
        _ => Case::Mixed,
    };
    (if known && letters <= 16 { key } else { 0 }, case)
}

/// The letters under U+00C0 to U+00FF, 0 for those that are not letters.
const LATIN: [u8; 64] = *b"aaaaaaaceeeeiiiidnooooo\0ouuuuyt\0aaaaaaaceeeeiiiidnooooo\0ouuuuyty";

/// Returns the key of a word of a table.
pub(crate) fn key_of(word: &str) -> Key {
    fold(word.as_bytes()).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_folds_alike_letter_by_letter_and_all_at_once() {
        let text = "we saw MRN Hale's McKay supercalifragili supercalifragilis a Z";
        for (start, end) in [
            (0, 2),
            (3, 6),
            (7, 10),
            (11, 15),
            (18, 23),
            (24, 40),
            (41, 58),
            (59, 60),
            (61, 62),
        ] {
            let word = &text.as_bytes()[start..end];
            assert_eq!(fold_any(word), fold(word), "{start}");
            assert_eq!(fold_at(text.as_bytes(), start, end), fold(word), "{start}");
        }
    }

    #[test]
    fn the_case_of_a_word_is_told() {
        let case = |word: &str| fold(word.as_bytes()).1;
        assert_eq!(
            [
                case("may"),
                case("May"),
                case("MAY"),
                case("mAy"),
                case("Álvarez"),
                case("M")
            ],
            [
                Case::Lower,
                Case::Title,
                Case::Upper,
                Case::Mixed,
                Case::Title,
                Case::Title
            ]
        );
    }

    #[test]
    fn a_word_too_long_or_of_another_script_is_no_word() {
        assert_eq!(fold("otorrinolaringologia".as_bytes()).0, 0);
        assert_eq!(fold("мая".as_bytes()).0, 0);
    }

    #[test]
    fn accents_case_and_combining_marks_fold_away() {
        for word in ["Año", "AÑO", "an\u{303}o", "año"] {
            assert_eq!(fold(word.as_bytes()).0, key_of("ano"), "{word}");
        }
    }
}
