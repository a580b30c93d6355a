//! Leaving the group, within bounds.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer as _};

use super::commit::commit_last;
use super::context::Context;
use crate::Stop;
use crate::sink::Receipt;

/// How long leaving the group may take, and how long once the stop is requested.
const LEAVE: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(1));
/// How often a leaving consumer is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Commits the receipts of drained lanes and leaves the group, within [`LEAVE`].
///
/// Either can take long: a coordinator that is away is waited for, and so is a rebalance that overtakes the leaving. Nothing
/// is owed any more by then: a commit is a hint, and the group takes this member for dead when its session ends.
pub(super) fn leave(consumer: BaseConsumer<Context>, receipts: Option<Vec<Receipt>>, stop: &Stop) {
    let limit = |stop: &Stop| if stop.is_requested() { LEAVE.1 } else { LEAVE.0 };
    let answer = limit(stop) / 2;
    let (sender, left) = channel();
    std::thread::spawn(move || {
        if let Some(receipts) = receipts {
            commit_last(&consumer, &receipts, answer);
        }
        consumer.context().flow().lanes.clear();
        consumer.unsubscribe();
        drop(consumer);
        // Nobody listens any more if it took too long.
        sender.send(()).unwrap_or_default();
    });
    let begun = Instant::now();
    while left.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        if begun.elapsed() >= limit(stop) {
            tracing::warn!(
                "the group has not let go of this member within {} s; it will when the session ends",
                limit(stop).as_secs()
            );
            return;
        }
    }
}
