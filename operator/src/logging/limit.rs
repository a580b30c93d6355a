//! No warning can drown the other lines of the log: each place in the code may warn so often in a while, and what it would have
//! said beyond that is counted and told once.
//!
//! A store that is away makes every lane warn again and again. The first lines say what is wrong; thousands more cost money and
//! hide the next fault. Errors are always said, since each may be of another partition and somebody must act; so is what is no
//! warning: progress, and what is asked for by `debug` and `trace`.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter};

/// Lines that a place may say in [`WHILE`].
const LINES: u32 = 20;
const WHILE: Duration = Duration::from_secs(10);

/// What one place has said.
#[derive(Clone, Copy, Debug)]
struct Place {
    name: &'static str,
    since: Instant,
    said: u32,
    left_out: u64,
}

impl Place {
    /// Whether it may say another line now.
    fn may(&mut self, now: Instant) -> bool {
        if now.duration_since(self.since) >= WHILE {
            (self.since, self.said) = (now, 0);
        }
        self.said = self.said.saturating_add(1);
        let may = self.said <= LINES;
        self.left_out += u64::from(!may);
        may
    }
}

/// All places that have warned.
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
            said: 0,
            left_out: 0,
        });
        place.may(now)
    }

    /// Where lines were left out since the last time, and how many.
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

/// Tells how many lines were left out, and of which place in the code, if any were.
pub(crate) fn tell_left_out() {
    for (place, count) in Places::of_program().left_out() {
        tracing::info!(place, "{count} lines like others of this place were left out");
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
        let said = (0..50).filter(|_| places.may(event(), begun)).count();
        assert_eq!(said, LINES as usize);
        assert_eq!(places.left_out(), [("a warning", 30)]);
        assert_eq!(places.left_out(), []);
        assert!(places.may(event(), begun + WHILE));
    }
}
