//! Parses HL7's points in time: `YYYYMMDDHHMMSS.UUUU+ZZZZ`, truncated anywhere after the year.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};

/// Returns milliseconds since 1970-01-01T00:00:00Z. Without an offset the time is UTC.
pub(super) fn millis(value: &str) -> Option<i64> {
    let at = value.find(['+', '-']).unwrap_or(value.len());
    let (local, zone) = value.split_at_checked(at)?;
    let local = local.split('.').next()?;
    let date = date(local)?;
    let part = |from: usize| match local.get(from..) {
        None | Some("") => Some(0),
        Some(_) => digits(local.get(from..from + 2)?),
    };
    let time = Time::new(narrow(part(8)?)?, narrow(part(10)?)?, narrow(part(12)?)?, 0).ok()?;
    let offset = match zone.split_at_checked(1) {
        None => Offset::UTC,
        Some((sign, hours)) => {
            let seconds =
                i32::from(digits(hours.get(..2)?)?) * 3600 + i32::from(digits(hours.get(2..4)?)?) * 60;
            Offset::from_seconds(if sign == "-" { -seconds } else { seconds }).ok()?
        }
    };
    let zoned = DateTime::from_parts(date, time)
        .to_zoned(TimeZone::fixed(offset))
        .ok()?;
    Some(zoned.timestamp().as_millisecond())
}

/// Returns a complete birth date in ISO 8601.
pub(super) fn iso_date(value: &str) -> Option<String> {
    let day = value.get(..8)?;
    Some(date(day)?.to_string())
}

/// Returns the first day of a date that may lack its day or its month.
pub(super) fn date(value: &str) -> Option<Date> {
    let year = digits(value.get(..4)?)?;
    let part = |from: usize| match value.get(from..) {
        None | Some("") => Some(1),
        Some(_) => digits(value.get(from..from + 2)?),
    };
    Date::new(year, narrow(part(4)?)?, narrow(part(6)?)?).ok()
}

fn narrow(number: i16) -> Option<i8> {
    i8::try_from(number).ok()
}

fn digits(text: &str) -> Option<i16> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_however_short_they_are_cut() {
        assert_eq!(millis("19700102030405.678+0100"), Some(86_400_000 + 7_445_000));
        assert_eq!(
            millis("197001020304-0100"),
            Some(86_400_000 + 4 * 3_600_000 + 240_000)
        );
        assert_eq!(millis("19700201"), Some(31 * 86_400_000));
        assert_eq!(millis("1970"), Some(0));
        for none in [
            "",
            "197",
            "19701301",
            "1970010225",
            "19700102+",
            "197001020",
            "1970-01-02",
            "Okafor",
            "1970é",
        ] {
            assert_eq!(millis(none), None, "{none}");
        }
        assert_eq!(iso_date("19610228120000+0100").as_deref(), Some("1961-02-28"));
        assert_eq!((iso_date("196102"), iso_date("19610231")), (None, None));
    }
}
