//! Named points where a test can kill the process, to test recovery from each of them.

/// All points of a commit, in order.
pub const POINTS: [&str; 6] = [
    "sealed",
    "audit_written",
    "temporary_written",
    "linked",
    "notes_written",
    "receipt_given",
];

/// Additional points of an erasure, in order.
pub const ERASURE_POINTS: [&str; 5] = [
    "erasure_recorded",
    "replacement_written",
    "replaced",
    "file_erased",
    "files_erased",
];

/// Additional points of publishing to a Delta table, in order. Each write to the table's log also passes
/// `temporary_written` and `linked`.
pub const DELTA_POINTS: [&str; 4] = ["table_created", "files_found", "committed", "checkpoint_written"];

/// Additional points of publishing to an Iceberg table, in order. Each file of metadata that Lethe writes also passes
/// `temporary_written` and `linked`.
pub const ICEBERG_POINTS: [&str; 5] = [
    "table_created",
    "files_found",
    "manifest_written",
    "manifest_list_written",
    "committed",
];

/// Kills the process like `kill -9` if the environment variable `LETHE_CRASH_AT` is `NAME`, or `NAME:N` at
/// the N-th passage (from 1). Does nothing unless the crate is built with the feature `fault-injection`.
#[cfg(feature = "fault-injection")]
pub fn point(name: &'static str) {
    use std::sync::atomic::{AtomicU64, Ordering};
    static PASSED: AtomicU64 = AtomicU64::new(0);
    let lists = [POINTS.as_slice(), &ERASURE_POINTS, &DELTA_POINTS, &ICEBERG_POINTS];
    let is_listed = lists.iter().any(|points| points.contains(&name));
    debug_assert!(is_listed, "a point that is not listed");
    let Ok(wanted) = std::env::var("LETHE_CRASH_AT") else {
        return;
    };
    let (wanted, nth) = match wanted.split_once(':') {
        Some((wanted, nth)) => (wanted, nth.parse().unwrap_or(1)),
        None => (wanted.as_str(), 1),
    };
    if wanted == name && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == nth {
        std::process::abort();
    }
}

/// Does nothing: the crate is built without the feature `fault-injection`.
#[cfg(not(feature = "fault-injection"))]
#[inline(always)]
pub const fn point(_name: &'static str) {}

/// Panics with the text as its message if it contains the value of the environment variable `LETHE_PANIC_ON`:
/// the worst that a library could do with a note. Does nothing unless the crate is built with the feature
/// `fault-injection`.
#[cfg(feature = "fault-injection")]
pub fn panic_on(text: &str) {
    if std::env::var("LETHE_PANIC_ON").is_ok_and(|wanted| text.contains(&wanted)) {
        std::panic::panic_any(text.to_owned());
    }
}

/// Does nothing: the crate is built without the feature `fault-injection`.
#[cfg(not(feature = "fault-injection"))]
#[inline(always)]
pub const fn panic_on(_text: &str) {}

/// Aborts the process like the out-of-memory killer if the text contains the value of the environment
/// variable `LETHE_ABORT_ON`. Does nothing unless the crate is built with the feature `fault-injection`.
#[cfg(feature = "fault-injection")]
pub fn abort_on(text: &str) {
    if std::env::var("LETHE_ABORT_ON").is_ok_and(|wanted| text.contains(&wanted)) {
        std::process::abort();
    }
}

/// Does nothing: the crate is built without the feature `fault-injection`.
#[cfg(not(feature = "fault-injection"))]
#[inline(always)]
pub const fn abort_on(_text: &str) {}
