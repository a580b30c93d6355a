//! What the values of a column look like, in numbers. No value is kept.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use jiff::civil::{Date, DateTime};

/// Shares and sizes of a sample of values, without the empty ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Look {
    /// Values that are not empty.
    pub(super) count: usize,
    /// Different values.
    pub(super) distinct: usize,
    /// Words of an average value.
    pub(super) words: f64,
    /// Whether a value is longer than any name or code, or has line breaks.
    pub(super) long: bool,
    /// Values of only digits, a sign, and a decimal point.
    numbers: usize,
    /// Numbers with a decimal point.
    pub(super) decimals: usize,
    dates: usize,
    phones: usize,
    emails: usize,
    urls: usize,
    addresses: usize,
    social: usize,
    /// Letters and digits without spaces, with at least four digits.
    ids: usize,
    /// One to five words that begin with a capital letter, without digits.
    names: usize,
    /// Values with a digit.
    pub(super) digits: usize,
}

/// A value longer than this is no name and no code.
const LONG: usize = 120;

impl Look {
    pub(super) fn of<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        let mut look = Self::default();
        let (mut seen, mut words) = (BTreeSet::new(), 0);
        for value in values.map(str::trim).filter(|value| !value.is_empty()) {
            look.count += 1;
            let mut hasher = DefaultHasher::new();
            value.hash(&mut hasher);
            seen.insert(hasher.finish());
            words += value.split_whitespace().count();
            look.long |= value.len() > LONG || value.contains('\n');
            look.add(value);
        }
        look.distinct = seen.len();
        look.words = words as f64 / look.count.max(1) as f64;
        look
    }

    fn add(&mut self, value: &str) {
        let digits = value.bytes().filter(u8::is_ascii_digit).count();
        self.digits += usize::from(digits > 0);
        let number = value.parse::<f64>().is_ok() && digits > 0;
        self.numbers += usize::from(number);
        self.decimals += usize::from(number && value.contains('.'));
        let is_date = date(value);
        self.dates += usize::from(is_date);
        self.emails += usize::from(email(value));
        self.urls += usize::from(value.contains("://") || value.starts_with("www."));
        self.addresses += usize::from(value.parse::<std::net::IpAddr>().is_ok());
        self.social += usize::from(shape(value) == "999-99-9999");
        self.phones += usize::from(!is_date && phone(value, digits));
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | '.' | ':');
        self.ids += usize::from(!is_date && digits >= 4 && value.chars().all(plain));
        let word = |word: &str| word.chars().next().is_some_and(char::is_uppercase);
        let count = value.split_whitespace().count();
        self.names +=
            usize::from(digits == 0 && (1..=5).contains(&count) && value.split_whitespace().all(word));
    }

    fn share(&self, of: usize) -> f64 {
        of as f64 / self.count.max(1) as f64
    }

    pub(super) fn numbers(&self) -> f64 {
        self.share(self.numbers)
    }

    pub(super) fn dates(&self) -> f64 {
        self.share(self.dates)
    }

    pub(super) fn phones(&self) -> f64 {
        self.share(self.phones)
    }

    pub(super) fn emails(&self) -> f64 {
        self.share(self.emails)
    }

    pub(super) fn urls(&self) -> f64 {
        self.share(self.urls)
    }

    pub(super) fn addresses(&self) -> f64 {
        self.share(self.addresses)
    }

    pub(super) fn social(&self) -> f64 {
        self.share(self.social)
    }

    pub(super) fn ids(&self) -> f64 {
        self.share(self.ids)
    }

    pub(super) fn names(&self) -> f64 {
        self.share(self.names)
    }

    /// Returns how many rows have the same value on average.
    pub(super) fn repeats(&self) -> f64 {
        self.count as f64 / self.distinct.max(1) as f64
    }
}

/// Returns the value with `9` for each digit.
fn shape(value: &str) -> String {
    value
        .chars()
        .map(|c| if c.is_ascii_digit() { '9' } else { c })
        .collect()
}

fn date(value: &str) -> bool {
    let iso = value.parse::<DateTime>().is_ok()
        || value.parse::<Date>().is_ok()
        || value.parse::<jiff::Timestamp>().is_ok();
    // Days, months and years in any order, with a time behind them.
    let first = value.split([' ', 'T']).next().unwrap_or_default();
    let parts: Vec<&str> = first.split(['/', '.', '-']).collect();
    let part = |part: &&str| {
        let number = part.bytes().all(|byte| byte.is_ascii_digit()) && matches!(part.len(), 1 | 2 | 4);
        let month = part.len() == 3 && part.bytes().all(|byte| byte.is_ascii_alphabetic());
        number || month
    };
    iso || parts.len() == 3 && parts.iter().all(part)
}

fn email(value: &str) -> bool {
    value.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty() && host.contains('.') && !value.contains(char::is_whitespace)
    })
}

/// Returns whether a value is written as telephone numbers are: with separators or a plus sign.
fn phone(value: &str, digits: usize) -> bool {
    let of_phone = |c: char| c.is_ascii_digit() || matches!(c, ' ' | '-' | '.' | '(' | ')' | '+' | '/' | 'x');
    let written = value.starts_with('+') || value.contains(['(', '-', ' ', '.']);
    (7..=15).contains(&digits) && written && value.chars().all(of_phone) && value.parse::<f64>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(values: &[&str]) -> Look {
        Look::of(values.iter().copied())
    }

    #[test]
    fn shapes_of_values_are_counted() {
        assert_eq!(look(&["2024-01-31", "31.01.2024", "Jan-3-2024", ""]).dates(), 1.0);
        assert_eq!(look(&["(555) 010-2233", "+49 30 901820"]).phones(), 1.0);
        assert_eq!(look(&["a@b.example", "a b@c.example"]).emails(), 0.5);
        assert_eq!(look(&["078-05-1120"]).social(), 1.0);
        assert_eq!(look(&["A-10293", "77120345"]).ids(), 1.0);
        assert_eq!(look(&["Ada Roth", "OKAFOR, JUNE"]).names(), 1.0);
        assert_eq!(look(&["1.5", "-2"]).numbers(), 1.0);
        assert_eq!(look(&["1.5", "-2", "12345678"]).phones(), 0.0);
    }

    #[test]
    fn repeated_values_are_counted_once() {
        let look = look(&["A", "B", "A", "A"]);
        assert_eq!((look.count, look.distinct, look.repeats()), (4, 2, 2.0));
    }
}
