//! Parses FHIR's dates: `YYYY`, `YYYY-MM`, `YYYY-MM-DD`, and the last with a time and an offset (FHIR R4,
//! section 2.24.0.1).

use jiff::civil::Date;

/// Splits a date from `T` and the rest, if there is any. `None` if it is not a date.
pub(super) fn split(value: &str) -> Option<(&str, &str)> {
    let at = value.find('T').unwrap_or(value.len());
    let (date, time) = value.split_at_checked(at)?;
    let full = is_date(date)?;
    let timed = || full && is_time(time) && value.parse::<jiff::Timestamp>().is_ok();
    (time.is_empty() || timed()).then_some((date, time))
}

/// Returns whether it is a complete date, not a year or a month; `None` if it is not a date.
pub(super) fn is_date(date: &str) -> Option<bool> {
    first_day(date).map(|_| date.len() == "2024-05-01".len())
}

/// Returns the first day of a day, a month or a year.
pub(super) fn first_day(date: &str) -> Option<Date> {
    let mut parts = date.split('-');
    let year = digits(parts.next()?, 4)?;
    let month = parts.next().map_or(Some(1), |part| digits(part, 2))?;
    let day = parts.next().map_or(Some(1), |part| digits(part, 2))?;
    if parts.next().is_some() || year == 0 {
        return None;
    }
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

/// Returns milliseconds since 1970-01-01T00:00:00Z. A date without a time means midnight, and without an
/// offset, UTC.
pub(super) fn millis(value: &str) -> Option<i64> {
    let (date, time) = split(value)?;
    if time.is_empty() {
        let start = first_day(date)?.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        return Some(start.timestamp().as_millisecond());
    }
    value
        .parse::<jiff::Timestamp>()
        .ok()
        .map(jiff::Timestamp::as_millisecond)
}

/// Returns whether it is `Thh:mm:ss`, a fraction, and `Z` or an offset.
fn is_time(time: &str) -> bool {
    let Some(rest) = time.strip_prefix('T') else {
        return false;
    };
    let at = rest.find(['Z', '+', '-']).unwrap_or(rest.len());
    let Some((clock, zone)) = rest.split_at_checked(at) else {
        return false;
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let in_time = |clock: &str, parts: usize| {
        let mut of = clock.split(':');
        let all = of
            .by_ref()
            .take(parts)
            .all(|part| digits(part, 2).is_some_and(|n| n < 60));
        all && of.next().is_none() && clock.len() == parts * 3 - 1
    };
    let offset = zone == "Z" || zone.strip_prefix(['+', '-']).is_some_and(|of| in_time(of, 2));
    let fraction = (1..=9).contains(&fraction.len()) && fraction.bytes().all(|b| b.is_ascii_digit());
    in_time(clock, 3) && fraction && offset
}

fn digits(part: &str, len: usize) -> Option<i16> {
    (part.len() == len && part.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| part.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_each_precision_are_told_from_what_is_none() {
        assert_eq!(
            split("2024-05-01T08:30:00.250+02:00"),
            Some(("2024-05-01", "T08:30:00.250+02:00"))
        );
        assert_eq!(split("2024-02-29"), Some(("2024-02-29", "")));
        assert_eq!(split("2024-05"), Some(("2024-05", "")));
        assert_eq!(
            (is_date("2024"), is_date("2024-05-01")),
            (Some(false), Some(true))
        );
        for none in [
            "",
            "[DATE]",
            "2023-02-29",
            "2024-5-1",
            "May 2024",
            "0000",
            "2024-05T08:30:00Z",
            "2024-05-01T",
            "T",
            "2024-05-01T08:30:00",
            "2024-05-01T08:30:00 Okafor",
            "2024-05-01T08:30Z",
            "2024-05-01T8:30:00Z",
            "+024",
        ] {
            assert_eq!(split(none), None, "{none}");
        }
    }

    #[test]
    fn instants_are_milliseconds() {
        assert_eq!(millis("1970-01-02T00:00:00.5+01:00"), Some(82_800_500));
        assert_eq!(millis("1970-02"), Some(31 * 86_400_000));
        assert_eq!(millis("soon"), None);
    }
}
