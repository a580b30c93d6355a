//! Times as the metadata of tables have them.

use std::time::SystemTime;

/// Returns a time in ms since 1970.
pub(crate) fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the time now, in ms since 1970.
pub(crate) fn now() -> i64 {
    millis(SystemTime::now())
}
