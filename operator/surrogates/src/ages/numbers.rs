//! Numbers of ages in digits and in words, English and Spanish.

use lethe_text::Language;

/// A part of an age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    /// A number; a fraction after it is dropped.
    Number {
        /// Its value.
        value: u32,
        /// Whether it is spelt in Spanish.
        spanish: bool,
    },
    /// "90s", "nineties".
    Decade {
        /// Its first year.
        value: u32,
    },
    /// A run of digits that is too long for an age.
    Long,
    /// "over", "more than", ">".
    Over,
    /// "+", "or older".
    Plus,
    /// Any other word.
    Word(&'t str),
    /// Any other punctuation mark.
    Mark,
}

/// Returns the parts of a folded text.
pub(super) fn tokens(folded: &str) -> Vec<Token<'_>> {
    let raw = split(folded);
    let mut out = Vec::with_capacity(raw.len());
    let mut at = 0;
    while let Some(&part) = raw.get(at) {
        let (token, used) = one(&raw, at, part);
        out.push(token);
        at += used;
    }
    out
}

/// Splits a text into runs of digits, runs of letters and single marks, without white space.
fn split(text: &str) -> Vec<&str> {
    let kind = |c: char| match c {
        c if c.is_ascii_digit() => 0,
        c if c.is_alphabetic() => 1,
        c if c.is_whitespace() => 2,
        _ => 3,
    };
    let mut out = vec![];
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match kind(first) {
            3 => first.len_utf8(),
            same => rest.find(|c| kind(c) != same).unwrap_or(rest.len()),
        };
        let Some((part, tail)) = rest.split_at_checked(end) else {
            break;
        };
        if kind(first) != 2 {
            out.push(part);
        }
        rest = tail;
    }
    out
}

/// Returns the token at `at`, and how many parts it takes.
fn one<'t>(raw: &[&'t str], at: usize, part: &'t str) -> (Token<'t>, usize) {
    let get = |ahead: usize| raw.get(at + ahead).copied().unwrap_or_default();
    if part.as_bytes().first().is_some_and(u8::is_ascii_digit) {
        return figures(part, &get);
    }
    if let Some((value, spanish, used)) = spelt(raw, at) {
        return (Token::Number { value, spanish }, used);
    }
    let token = match part {
        "twenties" => Token::Decade { value: 20 },
        "thirties" => Token::Decade { value: 30 },
        "forties" => Token::Decade { value: 40 },
        "fifties" => Token::Decade { value: 50 },
        "sixties" => Token::Decade { value: 60 },
        "seventies" => Token::Decade { value: 70 },
        "eighties" => Token::Decade { value: 80 },
        "nineties" => Token::Decade { value: 90 },
        "over" | "above" | "exceeding" | "mayor" | "mayores" | ">" | "≥" | "older" | "more" | "mas" => {
            // "or older", "o mas" after the number; "older than", "mas de" before it.
            if at > 0 && matches!(raw[at - 1], "or" | "and" | "o" | "y") {
                Token::Plus
            } else {
                Token::Over
            }
        }
        "+" => Token::Plus,
        word if word.chars().next().is_some_and(char::is_alphabetic) => Token::Word(word),
        _ => Token::Mark,
    };
    (token, 1)
}

/// Returns a number in digits: "94", "94.5", "94 6/12", "1,080", "90s".
fn figures<'t>(part: &'t str, get: &impl Fn(usize) -> &'t str) -> (Token<'t>, usize) {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut used = 1;
    let mut value: u32 = part.parse().unwrap_or(u32::MAX);
    if matches!(get(1), "," | ".") && digits(get(2)) {
        used = 3;
        if get(1) == "," && get(2).len() == 3 {
            let more = get(2).parse().unwrap_or(0);
            value = value.saturating_mul(1000).saturating_add(more);
        }
    } else if digits(get(1)) && get(2) == "/" && digits(get(3)) {
        // A fraction of a year: "94 6/12".
        used = 4;
    } else if get(1) == "/" && digits(get(2)) {
        // "6/12": twelfths of a year.
        return (
            Token::Number {
                value: 0,
                spanish: false,
            },
            3,
        );
    }
    let plural = if matches!(get(1), "'" | "\u{2019}") {
        get(2)
    } else {
        get(1)
    };
    if plural == "s" && value.is_multiple_of(10) && value < 200 {
        let used = if plural == get(1) { 2 } else { 3 };
        return (Token::Decade { value }, used);
    }
    // Only smaller units reach four digits.
    let small = matches!(
        get(used),
        "months" | "mos" | "weeks" | "wks" | "days" | "hours" | "meses" | "semanas" | "dias" | "horas"
    );
    if value > 150 && !small {
        return (Token::Long, used);
    }
    (
        Token::Number {
            value,
            spanish: false,
        },
        used,
    )
}

/// Returns a number in words at `at`: its value, whether it is Spanish, and how many parts it takes.
fn spelt(raw: &[&str], at: usize) -> Option<(u32, bool, usize)> {
    let get = |i: usize| raw.get(i).copied().unwrap_or_default();
    let (mut total, mut spanish, mut used) = (0, false, 0);
    let mut i = at;
    // "a hundred", "one hundred (and)", "cien", "ciento".
    match (get(i), get(i + 1)) {
        ("a" | "one", "hundred") => (total, i) = (100, i + 2),
        ("hundred", _) => (total, i) = (100, i + 1),
        ("cien" | "ciento", _) => (total, spanish, i) = (100, true, i + 1),
        _ => {}
    }
    if total > 0 {
        used = i - at;
        if get(i) == "and" {
            i += 1;
        }
    }
    if let Some((value, es)) = simple(get(i)) {
        total += value;
        spanish |= es;
        i += 1;
        used = i - at;
        if value >= 20 && value.is_multiple_of(10) {
            let joined = usize::from(matches!(get(i), "-" | "y"));
            if let Some((unit @ 1..10, es)) = simple(get(i + joined)) {
                total += unit;
                spanish |= es;
                used = i + joined + 1 - at;
            }
        }
    }
    (used > 0).then_some((total, spanish, used))
}

/// Returns one word's value, and whether it is Spanish.
fn simple(word: &str) -> Option<(u32, bool)> {
    let (value, language) = lethe_text::numbers::value(word)?;
    Some((value.into(), language == Language::Spanish))
}
