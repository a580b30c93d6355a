//! Leaves the group within a time limit.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer as _};

use super::commit::commit_last;
use super::context::Context;
use crate::Stop;
use crate::sink::Receipt;

/// Limit for leaving the group without a stop request.
const UNHURRIED: Duration = Duration::from_secs(10);
/// Limit after a stop: from the beginning of the stop if no broker responds, otherwise beyond the drain
/// limit.
const HURRIED: Duration = Duration::from_secs(1);
/// How often to check a leaving consumer.
const LOOK: Duration = Duration::from_millis(20);

/// Commits the receipts of drained lanes and leaves the group within a time limit.
///
/// Both can take long: the client waits for an unavailable coordinator, and during a rebalance the
/// coordinator processes nothing else on a connection until the other members join. Nothing essential is
/// outstanding, since a commit is a hint. But if the group is not notified, it waits for the session to time
/// out, and no member reads the partitions until then. So brokers that respond get the rest of the drain
/// limit.
pub(super) fn leave(consumer: BaseConsumer<Context>, receipts: Option<Vec<Receipt>>, stop: &Stop) {
    let begun = Instant::now();
    let timeout = limit(stop, begun, false) / 2;
    let (sender, answered) = channel();
    std::thread::spawn(move || {
        if brokers_answer(&consumer, timeout) {
            // The receiver may have timed out.
            sender.send(()).unwrap_or_default();
            if let Some(receipts) = receipts {
                commit_last(&consumer, &receipts, timeout);
            }
        }
        consumer.context().flow().lanes.clear();
        consumer.unsubscribe();
        drop(consumer);
        // The sender is dropped here: the member has left.
    });
    let mut answers = false;
    loop {
        match answered.recv_timeout(LOOK) {
            Ok(()) => answers = true,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let limit = limit(stop, begun, answers);
        if begun.elapsed() >= limit {
            tracing::warn!(
                "the group did not confirm within {:.1} s that this member has left; its partitions are reassigned when the session ends",
                limit.as_secs_f64()
            );
            return;
        }
    }
}

/// Returns whether any broker responds within `timeout` to a metadata request for the topic. The group's
/// coordinator is not asked, since its connection may wait for a rebalance.
fn brokers_answer(consumer: &BaseConsumer<Context>, timeout: Duration) -> bool {
    let topics = consumer.subscription().unwrap_or_default();
    let topics = topics.elements();
    let topic = topics.first().map(|element| element.topic());
    match consumer.fetch_metadata(topic, timeout) {
        Ok(_) => true,
        Err(error) => {
            tracing::warn!(%error, "offset hints not committed: no broker responds");
            false
        }
    }
}

/// Returns the limit for leaving that began at this moment, depending on whether brokers respond.
fn limit(stop: &Stop, begun: Instant, answers: bool) -> Duration {
    let Some(deadline) = stop.deadline() else {
        return UNHURRIED;
    };
    let drain = match answers {
        true => deadline.into_std().saturating_duration_since(begun),
        false => Duration::ZERO,
    };
    drain + HURRIED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaving_ends_a_second_after_the_drain_limit_and_at_once_if_nobody_answers() {
        let begun = Instant::now();
        let stop = Stop::new(Duration::from_secs(30));
        assert_eq!(limit(&stop, begun, true), UNHURRIED);
        stop.request();
        let limits = |answers| limit(&stop, begun, answers);
        assert_eq!(limits(false), HURRIED);
        assert!(limits(true) >= Duration::from_secs(31));
        let over = stop.with_drain(Duration::ZERO);
        // The lanes used up the drain limit.
        assert!(limit(&over, begun + Duration::from_secs(1), true) <= HURRIED);
    }
}
