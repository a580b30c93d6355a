//! Converts HL7's time stamps (v2.5.1, section 2.A.22 and 2.A.77:
//! `YYYY[MM[DD[HH[MM[SS[.S[S[S[S]]]]]]]]][+/-ZZZZ]`) to ISO dates and back.

use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};

/// The parts of a time stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp<'a> {
    /// `YYYY`, `YYYYMM` or `YYYYMMDD`.
    date: &'a str,
    /// The unparsed rest after the date: the time of day and the offset from UTC.
    pub(crate) time: &'a str,
}

impl<'a> Stamp<'a> {
    /// Parses a time stamp. `None` if it does not have the standard's form.
    pub(crate) fn read(raw: &'a str) -> Option<Self> {
        let digits = raw.bytes().take_while(u8::is_ascii_digit).count();
        let (date, time) = raw.split_at_checked(digits.min(8))?;
        let rest = raw.get(digits..)?;
        let (fraction, offset) = match rest.find(['+', '-']) {
            Some(at) => rest.split_at_checked(at)?,
            None => (rest, ""),
        };
        let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let fraction_fits = fraction.is_empty()
            || digits == 14
                && fraction
                    .strip_prefix('.')
                    .is_some_and(|f| (1..=6).contains(&f.len()) && all_digits(f));
        let offset_fits = offset.is_empty() || offset.get(1..).is_some_and(|o| o.len() == 4 && all_digits(o));
        let fits = matches!(digits, 4 | 6 | 8 | 10 | 12 | 14) && fraction_fits && offset_fits;
        fits.then_some(Self { date, time })
    }

    /// Returns the date in ISO 8601: `YYYY-MM-DD`, or as much of it as there is.
    pub(crate) fn iso(&self) -> String {
        let mut iso = String::with_capacity(10);
        for (i, digit) in self.date.chars().enumerate() {
            if matches!(i, 4 | 6) {
                iso.push('-');
            }
            iso.push(digit);
        }
        iso
    }

    /// Returns whether it is a valid day, month or year in 1850 to 2149. A number of eight digits rarely is.
    pub(crate) fn is_of_a_person(&self) -> bool {
        let part = |from: usize, to: usize| self.date.get(from..to).and_then(|digits| digits.parse().ok());
        let Some(year) = part(0, 4).filter(|year| (1850..2150).contains(year)) else {
            return false;
        };
        let two = |from: usize| match self.date.len() > from {
            true => part(from, from + 2).and_then(|number| i8::try_from(number).ok()),
            false => Some(1),
        };
        two(4)
            .zip(two(6))
            .is_some_and(|(month, day)| Date::new(year, month, day).is_ok())
    }

    /// Returns milliseconds since 1970-01-01T00:00:00Z. A day without a time means midnight. `None` without a
    /// day or an offset (its own or configured), or for an invalid time.
    pub(super) fn instant(&self, configured: Option<Offset>) -> Option<i64> {
        let number = |text: &str, from: usize, len: usize| match text.get(from..from + len) {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse::<i16>().ok(),
            _ => None,
        };
        let written = self.time.find(['+', '-']);
        let (clock, written) = self.time.split_at_checked(written.unwrap_or(self.time.len()))?;
        let of_day = |from| number(clock, from, 2).and_then(|n| i8::try_from(n).ok());
        let month = i8::try_from(number(self.date, 4, 2)?).ok()?;
        let day = i8::try_from(number(self.date, 6, 2)?).ok()?;
        let (hour, minute, second) = (of_day(0), of_day(2), of_day(4));
        let offset = if written.is_empty() {
            configured?
        } else {
            read_offset(written)?
        };
        let fraction = clock.split_once('.').map(|(_, fraction)| fraction);
        let (nanos, _) = fraction
            .unwrap_or_default()
            .bytes()
            .fold((0, 100_000_000), |(sum, unit), digit| {
                (sum + i32::from(digit - b'0') * unit, unit / 10)
            });
        let civil = DateTime::new(
            number(self.date, 0, 4)?,
            month,
            day,
            hour.unwrap_or(0),
            minute.unwrap_or(0),
            second.unwrap_or(0),
            nanos,
        );
        let zoned = civil.ok()?.to_zoned(TimeZone::fixed(offset)).ok()?;
        Some(zoned.timestamp().as_millisecond())
    }
}

/// Parses an offset from UTC: `+0100`, `+01:00`, `Z`.
pub(super) fn read_offset(text: &str) -> Option<Offset> {
    if text == "Z" {
        return Some(Offset::UTC);
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+')?),
    };
    let digits: Vec<u8> = digits.bytes().filter(|&byte| byte != b':').collect();
    let [a, b, c, d] = digits.as_slice() else {
        return None;
    };
    let value = |byte: u8| char::from(byte).to_digit(10).and_then(|n| i32::try_from(n).ok());
    let (hours, minutes) = (value(*a)? * 10 + value(*b)?, value(*c)? * 10 + value(*d)?);
    if hours > 14 || minutes > 59 {
        return None;
    }
    Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()
}

/// Returns the new content of a date field: `replacement` in HL7's form if it is an ISO date, a month or a
/// year; otherwise nothing, since the field accepts nothing else. A complete date keeps the time of day,
/// which reveals nothing without its day.
pub(crate) fn typed(replacement: &str, time: &str) -> String {
    let bytes = replacement.as_bytes();
    let shaped = |shape: &[u8]| {
        bytes.len() == shape.len()
            && bytes.iter().zip(shape).all(|(byte, shape)| match shape {
                b'0' => byte.is_ascii_digit(),
                other => byte == other,
            })
    };
    let digits = replacement.replace('-', "");
    if shaped(b"0000-00-00") {
        digits + time
    } else if shaped(b"0000-00") || shaped(b"0000") {
        digits
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_is_a_date_and_a_time_of_day() {
        let iso = |raw| Stamp::read(raw).map(|stamp| (stamp.iso(), stamp.time));
        assert_eq!(
            iso("20240501083000.25-0500"),
            Some(("2024-05-01".into(), "083000.25-0500"))
        );
        assert_eq!(iso("20240501"), Some(("2024-05-01".into(), "")));
        assert_eq!(iso("202405"), Some(("2024-05".into(), "")));
        assert_eq!(iso("1931"), Some(("1931".into(), "")));
        for bad in [
            "",
            "2024050",
            "2024-05-01",
            "20240501Prado",
            "20240501083000.",
            "20240501+1",
            "20240501é",
        ] {
            assert_eq!(Stamp::read(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_date_of_a_person_is_in_the_calendar() {
        let is = |raw| Stamp::read(raw).unwrap().is_of_a_person();
        for good in ["19580714", "195807", "1958", "20240229", "195807140830"] {
            assert!(is(good), "{good}");
        }
        for bad in [
            "44129071", "19581314", "19580732", "20230229", "4412", "17991231", "195800",
        ] {
            assert!(!is(bad), "{bad}");
        }
    }

    #[test]
    fn an_instant_needs_a_day_and_an_offset() {
        let at = |raw, offset: Option<&str>| Stamp::read(raw).unwrap().instant(offset.and_then(read_offset));
        assert_eq!(at("20240229235959.25-0500", None), Some(1_709_269_199_250));
        assert_eq!(at("20240229235959.25", Some("-05:00")), Some(1_709_269_199_250));
        assert_eq!(at("197001010100", Some("+0100")), Some(0));
        assert_eq!(at("19700101", Some("Z")), Some(0));
        assert_eq!(at("1970010101", Some("Z")), Some(3_600_000));
        assert_eq!(at("1970010101+0010", None), Some(3_000_000));
        assert_eq!(at("19700101", None), None);
        assert_eq!(at("197001", Some("Z")), None);
        assert_eq!(at("20230229", Some("Z")), None);
        assert_eq!(at("202302280830+9900", Some("Z")), None);
    }

    #[test]
    fn only_a_date_is_put_where_a_date_was() {
        assert_eq!(typed("2031-12-24", "0830+0100"), "203112240830+0100");
        assert_eq!(typed("2031-12", "0830"), "203112");
        assert_eq!(typed("2031", "0830"), "2031");
        for other in ["[DATE]", "24/12/2031", "2031-1-1", "90 or older", ""] {
            assert_eq!(typed(other, "0830"), "");
        }
    }

    #[test]
    fn an_offset_has_hours_and_minutes() {
        assert_eq!(read_offset("-0330").map(|o| o.seconds()), Some(-12_600));
        for bad in ["", "0100", "+1", "+01:0", "+99:00", "+00:60", "CET"] {
            assert_eq!(read_offset(bad), None, "{bad}");
        }
    }
}
