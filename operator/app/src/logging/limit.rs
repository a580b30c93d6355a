//! Limits repeated warnings, so that they do not drown other log lines: each call site may warn a number of
//! times per interval; further warnings are counted, and their number is logged.
//!
//! An unavailable store makes every lane warn repeatedly. The first lines describe the problem; thousands
//! more cost money and hide the next fault. Errors are never limited, since each may concern another
//! partition and needs an operator; neither are the other levels.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter};

/// The lines that a call site may log per [`WHILE`].
const LINES: u32 = 20;
const WHILE: Duration = Duration::from_secs(10);

/// The state of one call site.
#[derive(Clone, Copy, Debug)]
struct Place {
    name: &'static str,
    since: Instant,
    logged: u32,
    left_out: u64,
}

impl Place {
    /// Returns whether it may log another line now.
    fn may(&mut self, now: Instant) -> bool {
        if now.duration_since(self.since) >= WHILE {
            (self.since, self.logged) = (now, 0);
        }
        self.logged = self.logged.saturating_add(1);
        let may = self.logged <= LINES;
        self.left_out += u64::from(!may);
        may
    }
}

/// All call sites that have warned.
#[derive(Debug, Default)]
struct Places(Mutex<HashMap<Identifier, Place>>);

impl Places {
    fn of_program() -> &'static Self {
        static PLACES: OnceLock<Places> = OnceLock::new();
        PLACES.get_or_init(Self::default)
    }

    fn may(&self, metadata: &'static Metadata<'static>, now: Instant) -> bool {
        if *metadata.level() != Level::WARN {
            return true;
        }
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = places.entry(metadata.callsite()).or_insert(Place {
            name: metadata.name(),
            since: now,
            logged: 0,
            left_out: 0,
        });
        place.may(now)
    }

    /// Returns where lines were suppressed since the last call, and how many.
    fn left_out(&self) -> Vec<(&'static str, u64)> {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = places
            .values_mut()
            .map(|place| (place.name, std::mem::take(&mut place.left_out)));
        taken.filter(|&(_, count)| count > 0).collect()
    }
}

/// The filter of the log.
#[derive(Debug)]
pub(super) struct Limit;

impl<S: Subscriber> Filter<S> for Limit {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        Places::of_program().may(event.metadata(), Instant::now())
    }
}

/// Logs how many lines were suppressed at which call site, if any.
pub(crate) fn tell_left_out() {
    for (place, count) in Places::of_program().left_out() {
        tracing::info!(place, "{count} similar lines were suppressed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_says_so_much_in_a_while_and_what_is_left_out_is_counted_once() {
        let places = Places::default();
        let begun = Instant::now();
        let event = || -> &'static Metadata<'static> {
            static SITE: tracing::callsite::DefaultCallsite = {
                static META: Metadata<'static> = tracing::metadata! {
                    name: "a warning", target: "test", level: Level::WARN,
                    fields: &[], callsite: &SITE, kind: tracing::metadata::Kind::EVENT
                };
                tracing::callsite::DefaultCallsite::new(&META)
            };
            tracing::callsite::Callsite::metadata(&SITE)
        };
        let logged = (0..50).filter(|_| places.may(event(), begun)).count();
        assert_eq!(logged, LINES as usize);
        assert_eq!(places.left_out(), [("a warning", 30)]);
        assert_eq!(places.left_out(), []);
        assert!(places.may(event(), begun + WHILE));
    }
}
