//! Connects again after librdkafka has forgotten every broker.
//!
//! librdkafka forgets a broker that a metadata response does not list, and adds those of `bootstrap.servers` again once
//! all connections are lost. But a response can list none: while the controllers have fenced every broker, for instance
//! because a disk was slow for longer than `broker.session.timeout.ms`. Then the bootstrap brokers may be forgotten too, and
//! the client never tries to connect again (librdkafka issue 5301, seen with 2.12.1). So they are added from here until a broker is
//! connected.
#![expect(
    unsafe_code,
    reason = "a call of librdkafka that its Rust binding does not have"
)]

use std::ffi::CString;
use std::time::{Duration, Instant};

use rdkafka::bindings as native;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};

use super::context::Context;

/// Pauses before bootstrap brokers are added: the first gives librdkafka the time to do it itself. librdkafka remembers
/// what was added, so it must not be often.
const PAUSES: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(30));

/// Adds the bootstrap brokers while none is connected.
pub(super) struct Bootstrap {
    brokers: CString,
    pause: Duration,
    next: Option<Instant>,
}

impl Bootstrap {
    /// Takes the addresses from a client's settings.
    pub(super) fn new(client: &ClientConfig) -> Self {
        let brokers = client.get("bootstrap.servers").unwrap_or_default();
        Self {
            // librdkafka has refused settings with a zero byte.
            brokers: CString::new(brokers).unwrap_or_default(),
            pause: PAUSES.0,
            next: None,
        }
    }

    /// Must be called in each turn of the poll loop.
    pub(super) fn look(&mut self, consumer: &BaseConsumer<Context>) {
        if !self.is_due(consumer.context().is_connected(), Instant::now()) {
            return;
        }
        tracing::warn!("kafka; no broker is connected, asking those of `source.brokers` again");
        // SAFETY: the client lives as long as the borrow of its consumer, and librdkafka copies the text.
        unsafe {
            native::rd_kafka_brokers_add(consumer.client().native_ptr(), self.brokers.as_ptr());
        }
    }

    /// Returns whether to add the brokers now.
    fn is_due(&mut self, connected: bool, now: Instant) -> bool {
        if connected {
            (self.next, self.pause) = (None, PAUSES.0);
            return false;
        }
        let due = *self.next.get_or_insert(now + self.pause);
        if now < due {
            return false;
        }
        self.pause = (self.pause * 2).min(PAUSES.1);
        self.next = Some(now + self.pause);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brokers_are_added_ever_more_rarely_until_one_is_connected() {
        let mut bootstrap = Bootstrap::new(&ClientConfig::new());
        let start = Instant::now();
        let mut due =
            |connected: bool, seconds: u64| bootstrap.is_due(connected, start + Duration::from_secs(seconds));
        assert!(!due(true, 0) && !due(false, 10) && !due(false, 11));
        assert!(due(false, 12) && !due(false, 13) && !due(false, 15));
        assert!(due(false, 16) && !due(false, 23) && due(false, 24));
        let hour: Vec<u64> = (25..3600).filter(|&at| due(false, at)).collect();
        assert!(hour.len() < 130 && hour.last() > Some(&3560), "{hour:?}");
        assert!(!due(true, 3600) && !due(false, 3610) && due(false, 3612));
    }
}
