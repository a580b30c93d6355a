//! Hostile texts, by name.

use lethe_benches::notes::{Dice, notes};

/// Texts that repeat one unit.
const REPEATED: [(&str, &str); 77] = [
    ("one word", "a"),
    ("one word of capitals", "A"),
    ("humps", "aA"),
    ("initials", "J. "),
    ("capital letters", "J "),
    ("one number", "1"),
    ("single digits", "1 "),
    ("digits and hyphens", "1-"),
    ("digits and dots", "1."),
    ("digits and slashes", "1/"),
    ("digits and commas", "1,"),
    ("digits and colons", "1:"),
    ("groups of three digits", "555 "),
    ("groups of four digits", "1234-"),
    ("groups of five digits", "12345 "),
    ("letters and digits", "a1"),
    ("letters, hyphens, digits", "A-1-"),
    ("full stops", "."),
    ("full stops apart", ". "),
    ("at signs", "@"),
    ("letters and at signs", "a@"),
    ("near e-mail", "a.b@c."),
    ("near e-mail, long", "first.last@mail.example."),
    ("opening brackets", "("),
    ("closing brackets", ")"),
    ("square brackets", "[]"),
    ("quotes", "\""),
    ("apostrophes", "'"),
    ("letters and apostrophes", "o'"),
    ("hyphens", "-"),
    ("hyphenated word", "a-"),
    ("newlines", "\n"),
    ("lines of one letter", "a\n"),
    ("carriage returns", "\r\n"),
    ("blanks", " "),
    ("tabs", "\t"),
    ("number signs", "#"),
    ("bars", "|"),
    ("underscores", "_"),
    ("plus signs", "+"),
    ("plus and digits", "+1 "),
    ("control characters", "\u{1}"),
    ("near dates", "01/02/"),
    ("near dates with hyphens", "1-2-"),
    ("near dates in words", "March 1 "),
    ("months", "May "),
    ("Spanish dates", "19 de marzo de "),
    ("near times", "12:30 "),
    ("near telephone numbers", "(404) 555-"),
    ("local numbers", "555-1234 "),
    ("extensions", "ext. 5 "),
    ("near URLs", "http://"),
    ("near hosts", "www."),
    ("paths", "a/b/"),
    ("domains", "com."),
    ("near IP addresses", "1.1.1."),
    ("near MAC addresses", "ab:cd:"),
    ("near addresses", "12 Main "),
    ("street words", "St. "),
    ("Spanish streets", "Calle "),
    ("rooms", "Room "),
    ("titles", "Dr. "),
    ("names", "Pierce "),
    ("titled names", "Dr. Pierce "),
    ("names and commas", "Quillfeather, Ada, "),
    ("particles", "de la "),
    ("hospitals", "General Hospital of "),
    ("professions", "retired teacher "),
    ("ages", "65 year old "),
    ("labels of numbers", "MRN: "),
    ("credentials", "MD, "),
    ("places", "New York, NY "),
    ("Latin and Cyrillic", "aя"),
    ("Hebrew and Latin", "א a "),
    ("ideographs", "日本"),
    ("combining marks", "e\u{301}"),
    ("marks alone", "\u{301}"),
];

/// Creates a text of about this many bytes.
pub(crate) type Text = Box<dyn Fn(usize) -> String>;
/// Appends one more piece of a text.
type Write = fn(&mut Dice, &mut String);

/// All texts.
pub(crate) fn all() -> Vec<(&'static str, Text)> {
    let mut all: Vec<(&str, Text)> = REPEATED
        .iter()
        .map(|&(name, unit)| {
            (
                name,
                Box::new(move |size: usize| unit.repeat(size / unit.len() + 1)) as Text,
            )
        })
        .collect();
    let made: [(&str, Write); 11] = [
        ("accented words", |_, out| out.push_str("ñandú ")),
        ("emoji", |_, out| out.push_str("👩🏽\u{200d}⚕️")),
        ("zero-width blanks", |_, out| out.push_str("a\u{200b}")),
        ("different names", |dice, out| {
            out.push_str("Dr. ");
            word(dice, out);
            out.push(' ');
        }),
        ("different capital words", |dice, out| {
            word(dice, out);
            out.push(' ');
        }),
        ("different record numbers", |dice, out| {
            out.push_str(&format!("MRN: {}\n", 1_000_000 + dice.below(8_000_000)));
        }),
        ("different dates", |dice, out| {
            let (month, day, year) = (1 + dice.below(12), 1 + dice.below(28), 1900 + dice.below(120));
            out.push_str(&format!("{month}/{day}/{year} "));
        }),
        ("table of numbers", |dice, out| {
            out.push_str(&format!("{},", dice.below(10_000)))
        }),
        ("base64", |dice, out| out.push(digit_of_base64(dice))),
        ("lines of base64", |dice, out| {
            (0..76).for_each(|_| out.push(digit_of_base64(dice)));
            out.push('\n');
        }),
        ("punctuation at random", |dice, out| {
            const MARKS: &[u8; 16] = b".,;:()[]'\"-/@#|+";
            out.push(char::from(MARKS[dice.below(16)]));
        }),
    ];
    all.extend(made.map(|(name, push)| {
        let text: Text = Box::new(move |size| {
            let mut dice = Dice::new(7);
            let mut out = String::with_capacity(size + 64);
            while out.len() < size {
                push(&mut dice, &mut out);
            }
            out
        });
        (name, text)
    }));
    all
}

fn digit_of_base64(dice: &mut Dice) -> char {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char::from(ALPHABET[dice.below(64)])
}

/// Returns a capitalised word of seven letters.
pub(crate) fn word(dice: &mut Dice, out: &mut String) {
    out.push(char::from(b'A' + dice.below(26) as u8));
    for _ in 0..6 {
        out.push(char::from(b'a' + dice.below(26) as u8));
    }
}

/// Returns ordinary notes with this many bytes in all.
pub(crate) fn plain(size: usize) -> Vec<String> {
    notes((size / 3000).max(1), 11)
}
