//! Letters of other scripts that look like Latin ones.

/// The letters of other scripts in `LETTERS`, by the Latin letter that they look like: Cyrillic, Greek,
/// Armenian and phonetic ones.
const LETTERS: [(char, &str); 43] = [
    ('A', "АΑ"),
    ('B', "ВΒ"),
    ('C', "СϹ"),
    ('E', "ЕΕ"),
    ('G', "Ԍ"),
    ('H', "НΗҺ"),
    ('I', "ІΙӀ"),
    ('J', "ЈͿ"),
    ('K', "КΚ"),
    ('L', "Լ"),
    ('M', "МΜ"),
    ('N', "Ν"),
    ('O', "ОΟՕ"),
    ('P', "РΡ"),
    ('Q', "Ԛ"),
    ('S', "ЅՏ"),
    ('T', "ТΤ"),
    ('U', "Ս"),
    ('V', "Ѵ"),
    ('W', "Ԝ"),
    ('X', "ХΧ"),
    ('Y', "УΥҮ"),
    ('Z', "Ζ"),
    ('a', "аαɑ"),
    ('c', "сϲ"),
    ('d', "ԁ"),
    ('e', "её"),
    ('g', "ɡց"),
    ('h', "һհ"),
    ('i', "іιї"),
    ('j', "јϳ"),
    ('k', "кκ"),
    ('l', "ӏ"),
    ('n', "ո"),
    ('o', "оοօ"),
    ('p', "рρ"),
    ('q', "ԛ"),
    ('s', "ѕ"),
    ('u', "υս"),
    ('v', "νѵ"),
    ('w', "ԝ"),
    ('x', "хχ"),
    ('y', "уγү"),
];

/// Returns the Latin letter that a letter of another script looks like.
pub(super) fn latin(c: char) -> Option<char> {
    // Phonetic letters come first among these, Armenian ones last.
    if !('\u{251}'..='\u{587}').contains(&c) {
        return None;
    }
    LETTERS
        .iter()
        .find_map(|&(latin, others)| others.contains(c).then_some(latin))
}
