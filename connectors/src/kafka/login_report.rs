//! Distinguishes a refused login from a connection that was lost during the login.

use rdkafka::error::RDKafkaErrorCode as Code;

/// What librdkafka writes of the two requests of a login (KIP-152) that received no response. Errors that
/// begin with `Local` are the client's own, such as a closed connection or a timeout; those of a broker begin
/// with `Broker`.
const UNANSWERED: [&str; 2] = [
    "mechanism handshake failed: Local: ",
    "SaslAuthenticateRequest failed: Local: ",
];

/// Returns the code that describes a report. librdkafka gives a connection that was lost during the login the
/// code of a refused login; the first passes, as when a broker restarts, and the second needs intervention.
pub(super) fn code_of_report(code: Code, reason: &str) -> Code {
    if code == Code::Authentication && UNANSWERED.iter().any(|text| reason.contains(text)) {
        Code::BrokerTransportFailure
    } else {
        code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_lost_during_the_login_is_no_refusal() {
        for reason in [
            "sasl_ssl://b:9093/1: SASL OAUTHBEARER mechanism handshake failed: Local: Broker transport failure: broker's supported mechanisms: (n/a) (after 0ms in state DOWN)",
            "sasl_ssl://b:9093/1: SaslAuthenticateRequest failed: Local: Timed out (after 0ms in state DOWN)",
        ] {
            assert_eq!(
                code_of_report(Code::Authentication, reason),
                Code::BrokerTransportFailure
            );
        }
    }

    #[test]
    fn a_refusal_and_other_errors_keep_their_code() {
        for reason in [
            "sasl_ssl://b:9093/1: SASL PLAIN mechanism handshake failed: Broker: Unsupported SASL mechanism: broker's supported mechanisms: OAUTHBEARER",
            "sasl_ssl://b:9093/1: SASL authentication error: Authentication failed (after 3ms in state AUTH_REQ)",
        ] {
            assert_eq!(code_of_report(Code::Authentication, reason), Code::Authentication);
        }
        assert_eq!(code_of_report(Code::SSL, "handshake failed: Local: "), Code::SSL);
    }
}
