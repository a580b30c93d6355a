//! Distinguishes errors that pass by waiting from those that end the run.

use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};

use super::context::Context;
use super::unreadable::is_unreadable;
use super::{Credentials, SourceError, fault};
use crate::kafka::token::Login;
use crate::source::ErrorKind;

/// Refusals this far apart are unrelated: librdkafka retries a login within seconds, and reports a repeated
/// failure at least every 30 s.
const APART: Duration = Duration::from_secs(90);

/// Tracks for how long the login has failed.
pub(super) struct LoginFailures {
    timeout: Duration,
    refused: Option<(Instant, Instant)>,
}

impl LoginFailures {
    /// Starts without a failure.
    pub(super) const fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            refused: None,
        }
    }

    /// Returns an error if no token has been available for too long. Lethe waits for an unavailable server,
    /// as for brokers.
    pub(super) fn look(&self, login: &Login) -> Result<(), SourceError> {
        match login.trouble() {
            Some((since, error)) if !error.is_temporary() && since > self.timeout => Err(SourceError::Login(
                format!("no token for the login for {} s: {error}", since.as_secs()),
            )),
            _ => Ok(()),
        }
    }

    /// Records a refused login. Returns whether it may still resolve.
    fn refused(&mut self, now: Instant) -> bool {
        let first = match self.refused {
            Some((first, last)) if now.saturating_duration_since(last) < APART => first,
            _ => now,
        };
        self.refused = Some((first, now));
        now.saturating_duration_since(first) < self.timeout
    }
}

/// Handles an error of the consumer. Most resolve, since librdkafka retries by itself; errors that a retry
/// cannot fix end the run.
pub(super) fn consumer_error(
    consumer: &BaseConsumer<Context>,
    faults: &mut LoginFailures,
    credentials: &Credentials,
    error: KafkaError,
) -> Result<(), SourceError> {
    let interrupted = error.rdkafka_error_code() == Some(Code::Authentication)
        && consumer.context().login_was_interrupted();
    let kind = if interrupted {
        ErrorKind::Other
    } else {
        kind(&error)
    };
    consumer.context().lanes().erred(kind);
    if is_fatal(&error) {
        return Err(fault("consume", error));
    }
    match (kind, error.rdkafka_error_code()) {
        (ErrorKind::Unreadable, _) => {
            tracing::warn!(%error, "kafka; a batch cannot be read, looking where it is");
            consumer.context().halt_unreadable(consumer, credentials, &error);
            Ok(())
        }
        (_, Some(Code::AutoOffsetReset | Code::OffsetOutOfRange)) => {
            if let Err(error) = consumer.context().out_of_range(consumer) {
                // The poll loop ends the run, as after a failed assignment.
                consumer.context().flow().failed = Some(error);
            }
            Ok(())
        }
        // These two have the code of a refused login. librdkafka connects again; `look` handles a missing token.
        _ if interrupted => Ok(()),
        (_, Some(Code::Authentication)) if consumer.context().login().trouble().is_some() => Ok(()),
        (_, Some(Code::SaslAuthenticationFailed | Code::Authentication))
            if faults.refused(Instant::now()) =>
        {
            tracing::warn!(%error, "kafka; the login is refused, trying again");
            Ok(())
        }
        (ErrorKind::Authorization | ErrorKind::Login | ErrorKind::Topic, _) | (_, Some(Code::Fatal)) => {
            Err(fault("consume", error))
        }
        _ => {
            tracing::warn!(%error, "kafka; trying again");
            Ok(())
        }
    }
}

/// Returns the kind of an error.
fn kind(error: &KafkaError) -> ErrorKind {
    if is_unreadable(error) {
        return ErrorKind::Unreadable;
    }
    match error.rdkafka_error_code() {
        Some(
            Code::TopicAuthorizationFailed
            | Code::GroupAuthorizationFailed
            | Code::ClusterAuthorizationFailed,
        ) => ErrorKind::Authorization,
        Some(Code::SaslAuthenticationFailed | Code::Authentication | Code::UnsupportedSASLMechanism) => {
            ErrorKind::Login
        }
        Some(Code::UnknownTopicOrPartition | Code::UnknownTopic) => ErrorKind::Topic,
        Some(Code::FencedInstanceId) => ErrorKind::Fenced,
        _ => ErrorKind::Other,
    }
}

/// Returns whether librdkafka has given up this client, for instance because another member took its static
/// name. The code is then that of the cause, not `Fatal`.
const fn is_fatal(error: &KafkaError) -> bool {
    matches!(error, KafkaError::MessageConsumptionFatal(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fenced_member_is_fatal_whatever_the_code() {
        assert!(is_fatal(&KafkaError::MessageConsumptionFatal(
            Code::FencedInstanceId
        )));
        assert!(!is_fatal(&KafkaError::MessageConsumption(Code::FencedInstanceId)));
    }

    #[test]
    fn a_login_may_be_refused_for_a_while_and_no_longer() {
        let mut faults = LoginFailures::new(Duration::from_secs(100));
        let start = Instant::now();
        let mut at = |seconds| faults.refused(start + Duration::from_secs(seconds));
        assert!(at(0) && at(60) && at(99));
        assert!(!at(101) && !at(150));
        assert!(at(300), "the login has succeeded since the first refusal");
    }

    #[test]
    fn a_login_that_nobody_renews_may_not_be_refused_at_all() {
        assert!(!LoginFailures::new(Duration::ZERO).refused(Instant::now()));
    }
}
